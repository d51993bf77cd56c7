"""The rows of a card: what they hold of a run in rounds, and how much of them a card shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_up_results import levels, observed, result_set

from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY
from drivelab.model.rounds import FiveRounds, PhaseRounds, TrackedSeries
from drivelab.model.run_answer import CombinationResult, LevelEffect, RepeatedMetric, RunAnswer
from drivelab.model.token_bucket import TokenBucket
from drivelab.report.card.content import Card, card_of
from drivelab.report.card.drawing import card_svg
from drivelab.report.card.result_rows import rows_of_sets
from drivelab.report.card.rows import Row, Rows, rows_of_bursts, rows_of_overall, rows_of_pauses, rows_of_rounds
from drivelab.report.finding_lines import finding_lines
from drivelab.report.reported_findings import reported
from drivelab.report.sentences.overall import overall_sentences
from golden_reports import golden_joint

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "runs"


def test_of_rounds_what_is_tracked_is_drawn_a_row_for_each_target() -> None:
    run = golden_joint("check-directory").runs[0]

    def of(target: str, average: float, *metrics: str, is_steady: bool = True) -> PhaseRounds:
        window = FiveRounds(average, 0.05, 0.02, 1.0, is_steady)
        values = tuple(average * factor for factor in (9.0, 0.9, 1.0, 1.0, 1.0, 1.2))
        levels = [{"read_fraction": share, "block_size": "4KiB"} for share in ("0.0", "1.0")]
        tracked = [TrackedSeries("random", each, metrics[0], "1/s", values, window) for each in levels[: len(metrics)]]
        return PhaseRounds(target, "rounds", 25, 6, "steady", (2, 6), tuple(tracked))

    def rows(*phases: PhaseRounds) -> Rows:
        found = rows_of_rounds(replace(run, answer=RunAnswer((), rounds=phases)))
        assert found is not None
        return found

    alone = rows(of("sim:a", 1000.0, "iops"), of("sim:b", 250.0, "iops"))
    assert alone.title == "I/Os per second, mean of 5 rounds: random 4 KiB writes"
    assert [(row.name, row.value, row.low, row.high) for row in alone.rows] == [
        ("sim:a", 1000.0, 900.0, 1200.0),
        ("sim:b", 250.0, 225.0, 300.0),
    ]
    both = rows(of("sim:a", 1000.0, "iops", "iops"), of("sim:b", 250.0, "iops", "iops"))
    assert [row.name for row in both.rows] == [
        f"{target}: random 4 KiB {what}" for what in ("writes", "reads") for target in ("sim:a", "sim:b")
    ]
    restless = rows(of("sim:a", 1000.0, "iops"), of("sim:b", 250.0, "iops", is_steady=False))
    assert [row.name for row in restless.rows] == ["sim:a", "sim:b, not steady"]
    assert rows_of_rounds(run) is None


def test_of_pauses_the_rates_are_drawn_that_the_sentence_tells() -> None:
    run = golden_joint("check-directory").runs[0]
    second = 10**9
    rates = {"wait": RepeatedMetric(3256 / 11, 0.0, 0.0, "1/s", 1), "baseline": RepeatedMetric(3e3, 2e3, 4e3, "1/s", 5)}
    combinations = [
        CombinationResult("sda", name, name, {}, {}, {"iops": rate}, "iops", ("a",)) for name, rate in rates.items()
    ]
    answer = RunAnswer(tuple(combinations), pauses={"wait": (second, 10 * second, 256)})
    found = rows_of_pauses(replace(run, answer=answer))
    assert found is not None
    assert [(row.name, row.value, row.low, row.high) for row in found.rows] == [
        ("between pauses of 10 s", pytest.approx(3000), None, None),
        ("without a pause", 3000, 2000, 4000),
    ]
    assert rows_of_pauses(run) is None


def test_what_is_told_of_all_workloads_is_drawn_of_all_of_them() -> None:
    run = golden_joint("check-directory").runs[0]

    def pair(baseline: str, level: str, *ratio: float) -> LevelEffect:
        estimate = Estimate(*ratio, "1", 3, 3.0, "made up")  # type: ignore[arg-type]
        of = ("sdb", "", "filesystem", level, baseline, "operations_per_s", estimate, (), "not settled")
        return LevelEffect(*of, 0.05, 0.2, 0.3, 12)  # type: ignore[arg-type]

    overall = (
        pair("ext3", "xfs", 1.03, 0.87, 1.2),
        pair("ext3", "ext4", 1.2, 0.99, 1.4),
        pair("xfs", "ext4", 1.1, 1, 1.3),
    )
    of_run = replace(run, answer=RunAnswer((), overall=overall))
    answer = next(overall_sentences(overall, "filesystem"))
    found = rows_of_overall(of_run, (f"Not complete (1 of 148 trials failed): {answer}",))
    assert found is not None
    assert found.title == "Speed over all 12 workloads, as a multiple of ext3"
    assert [(row.name, row.text, row.low, row.high) for row in found.rows] == [
        ("ext3", "1x", None, None),
        ("xfs", "1.03x", 0.87, 1.2),
        ("ext4", "1.2x", 0.99, 1.4),
    ]
    # where something else was answered that is drawn
    assert rows_of_overall(of_run, ("ext4 is faster.",)) is None
    assert rows_of_overall(run, (answer,)) is None


def test_of_bursts_the_rates_are_drawn_that_the_sentences_tell() -> None:
    run = golden_joint("check-directory").runs[0]
    ended = TokenBucket("bucket", "I/Os", 30.0, 3e6, 3000.0, 300.0, lasts_s=2000.0, base_range_per_s=(290.0, 310.0))
    constant = [TokenBucket("no end", "I/Os", 20.0, 1e6, 6e5), TokenBucket("no end", "bytes", 20.0, 1e9, 2e9)]

    def rows(*buckets: tuple[str, TokenBucket]) -> list[tuple[str, str, str]]:
        found = rows_of_bursts(replace(run, answer=RunAnswer((), buckets=buckets)))
        assert found is not None
        return [(row.name, row.text.replace("\u202f", " "), row.span) for row in found.rows]

    assert rows(("gp2", ended), *(("ssd", one) for one in constant)) == [
        ("gp2", "3 000 IOPS", ""),
        ("gp2, then", "300 IOPS", "290–310"),
        ("ssd", "600 000 IOPS", ""),
    ]
    assert rows_of_bursts(run) is None


def test_of_bursts_of_one_drive_the_numbers_of_its_table_are_told_large() -> None:
    joint = golden_joint("ssd-latency-scratch")
    ended = TokenBucket("bucket", "I/Os", 30.0, 3e6, 3000.0, 300.0, lasts_s=2000.0, base_range_per_s=(290.0, 310.0))
    empty = TokenBucket("empty", "I/Os", 30.0, 3e6, None, 300.0)
    constant = TokenBucket("no end", "bytes", 20.0, 1e9, 1.34e8)

    def numbers(*buckets: TokenBucket) -> list[tuple[str, str, str]]:
        answer = RunAnswer((), buckets=tuple(("gp2", one) for one in buckets))
        run = replace(joint.runs[0], answer=answer)
        card = card_of(replace(joint, runs=(run,)))
        assert card.rows is None
        return [(row.name, row.text.replace("\u202f", " "), row.span) for row in card.numbers]

    assert numbers(constant, ended) == [
        ("random reads, fast", "3 000 IOPS", "for 33 min"),
        ("random reads, then", "300 IOPS", "290–310"),
        ("large reads, fast", "134 MB/s", "for at least 20 s"),
    ]
    fell = replace(ended, verdict="fell", lasts_s=None)
    assert [span for _, _, span in numbers(fell)] == ["", "290–310"]
    assert numbers(empty) == [("random reads, then", "300 IOPS", "")]


def test_what_tells_long_names_apart_and_wide_intervals_have_room() -> None:
    drives = ("sim:consumer-ssd", "sim:micron-7450-max")
    names = [f"{drive}: random 64 KiB, R/W {mix}" for mix in ("65/35", "35/65", "5/95") for drive in drives]
    rows = tuple(Row(name, "1 110 000/s", "1 100 000–1 120 000", 1.11e6, 1.10e6, 1.12e6) for name in names)
    sentence = "A sentence that is so long that it takes three lines of a card, whatever it has to say. " * 2
    svg = card_svg(
        Card("", "A question " * 5, "", sentence, rows=Rows("Rates", rows), warnings=("One", "Two", "Three"))
    )
    assert "…" not in svg
    assert svg.count(">1 100 000–1 120 000<") == len(rows)
    assert svg.count(">65/35<") + svg.count("R/W 65/35<") == 2


def test_marks_of_unlike_numbers_have_a_line_each() -> None:
    joint = golden_joint("check-directory")
    (run,) = joint.runs
    drawn = [row.name for row in card_of(joint).numbers]
    shown = [trial.name for trial in run.trials if any(name.startswith(trial.label) for name in drawn)]
    text = "after {} MB the throughput fell to {} %, from 548 MB/s to {} MB/s"
    falls = [(217, 38, 210), (114, 0.42, 0.856), (210, 40, 212)]
    found = [
        Finding("throughput-cliff", "warning", text.format(*numbers), name, {})
        for numbers, name in zip(falls, shown[-3:], strict=True)
    ]
    own = replace(run, findings=reported(found), finding_lines=finding_lines(found, 9))
    marked = [line for line in card_of(replace(joint, runs=(own,))).warnings if line.startswith("!")]
    assert marked == [
        "!1 !3 after 210–217 MB the throughput fell to 38–40 %, from 548 MB/s to 210–212 MB/s",
        "!2 after 114 MB the throughput fell to 0.42 %, from 548 MB/s to 0.856 MB/s",
    ]


def test_marks_of_one_kind_share_a_line_and_leave_room_for_another_warning() -> None:
    joint = golden_joint("check-directory")
    (run,) = joint.runs
    text = "this trial was not alone: others used {} of 2 processors, and tasks waited for a processor {} % of the time"
    drawn = [row.name for row in card_of(joint).numbers]
    shown = [trial.name for trial in run.trials if any(name.startswith(trial.label) for name in drawn)]
    found = [
        Finding("foreign-work", "warning", text.format(0.9 + place, 11 + place), name, {})
        for place, name in enumerate(shown[-2:])
    ]
    virtual = Finding("virtual-drive", "warning", "vda is virtual: the numbers are of the host's storage", "", {})
    own = replace(run, findings=reported([*found, virtual]), finding_lines=finding_lines([*found, virtual], 9))
    warnings = card_of(replace(joint, runs=(own,))).warnings
    assert "Warning: vda is virtual: the numbers are of the host's storage" in warnings
    assert len([line for line in warnings if "not alone: others used" in line]) == 1
    (marked,) = (line for line in warnings if line.startswith("!"))
    # the clause that has no room stands at the finding
    assert marked == "!1 !2 not alone: others used 0.9 to 1.9 of 2 processors"


def test_a_run_stands_beside_published_means_of_its_own_settings_with_its_mean() -> None:
    """A median of a run is no number beside a page's mean, and a raw drive's none beside that of a file system."""
    published = [
        replace(
            observed(f"P{number}", 100 * number, levels=levels(filesystem=kind)), metric=MEAN_LATENCY, is_judged=False
        )
        for number in range(1, 8)
        for kind in ("raw", "ext4")
    ]
    own = [
        replace(observed("mine", value, levels=levels(filesystem="ext4")), metric=metric, is_judged=metric == LATENCY)
        for metric, value in ((LATENCY, 150), (MEAN_LATENCY, 450))
    ]
    found = rows_of_sets([result_set("a", *own), result_set("reference:page", *published, is_reference=True)])
    assert found is not None
    assert "mean latency" in found.title
    assert "7 published" in found.title
    (mine,) = (row for row in found.rows if not row.is_published)
    assert mine.value == 450_000
    assert not any("raw" in row.name for row in found.rows)
