"""The card of a report: valid, within its frame and free of what others wrote as markup, for every kind of run."""

from __future__ import annotations

import re
import struct
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from drivelab.joint_report import joint_report
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.result_set import SIMULATED
from drivelab.reference.load import load_reference
from drivelab.report.card.content import Card, card_of
from drivelab.report.card.drawing import HEIGHT_PX, WIDTH_PX, card_svg, write_card
from drivelab.report.card.letters import cut, one_line, width_px, wrapped
from drivelab.report.card.rows import ROWS_MAX, Row, Rows, rows_of_parts
from drivelab.report.finding_lines import finding_lines
from drivelab.report.gather import gather
from drivelab.report.in_short import source_words, warnings_of
from drivelab.report.joint import Joint
from drivelab.report.reported_findings import reported
from drivelab.store.read import StoredRun, open_run
from golden_reports import golden_joint

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "runs"
_SVG = "{http://www.w3.org/2000/svg}"


def golden(name: str) -> StoredRun:
    return open_run(GOLDEN / name)


def words_of(svg: str) -> str:
    return " ".join(" ".join(ElementTree.fromstring(svg).itertext()).split())


def test_a_card_says_what_was_asked_of_what_and_what_came_out(stored_run: StoredRun) -> None:
    joint = golden_joint(stored_run.name)
    root = ElementTree.fromstring(card_svg(card_of(joint)))
    assert (root.get("width"), root.get("height")) == (str(WIDTH_PX), str(HEIGHT_PX))
    assert {one.tag.removeprefix(_SVG) for one in root.iter()} <= {
        "svg",
        "title",
        "desc",
        "rect",
        "text",
        "line",
        "circle",
    }
    words = words_of(card_svg(card_of(joint)))
    assert " ".join(joint.question.split()[:4]) in words
    assert "measured by drivelab" in words
    assert joint.result_sets[0].measured[:10] in words


def test_a_check_says_within_how_much_of_the_drive_its_random_numbers_lay() -> None:
    joint = golden_joint("check-directory")
    (run,) = joint.runs
    trials = tuple(
        replace(trial, workload={**trial.workload, "target": {"size_bytes": 415 * 2**20}}) for trial in run.trials
    )
    names = [row.name for row in card_of(replace(joint, runs=(replace(run, trials=trials),))).numbers]
    random = [name for name in names if name.startswith("random")]
    assert random
    assert all(name.endswith(", within 415 MiB") for name in random)
    assert not any("within" in name for name in names if name not in random)


def test_a_check_shows_its_limit_and_four_numbers() -> None:
    card = card_of(golden_joint("check-directory"))
    assert card.outcome == "pass"
    assert card.gauge is not None
    assert (card.gauge.limit, round((card.gauge.value or 0) / 1e3)) == (10_000_000, 933)
    assert [row.text.replace("\u00a0", " ") for row in card.numbers] == [
        "314 µs",
        "1.42 GB/s",
        "40 100/s",
        "2.49 GB/s",
    ]
    told = "Throughput fell to 34 % after 1.7 s: what was measured before is a cache, not the drive"
    assert card.warnings[0] == f"!1 {told}"


def test_the_rate_that_lasts_needs_no_warning() -> None:
    joint = golden_joint("check-directory")
    run = joint.runs[0]
    (deep,) = (one for one in run.trials if one.name == "sequential-write-qd8")
    left = Finding(
        "writes-left-in-cache", "warning", "it was less", deep.name, {"token": "bytes", "base_per_s": 209e6}, "longer"
    )
    trials = tuple(replace(one, findings=(left,)) if one is deep else one for one in run.trials)
    run = replace(run, trials=trials, findings=reported([left]), finding_lines=finding_lines([left], 10))
    card = card_of(replace(joint, runs=(run,)))
    assert ("209 MB/s", "at first 1.42 GB/s") in [(row.text, row.span) for row in card.numbers]
    assert not [one for one in card.warnings if "it was less" in one]


def test_a_check_shows_no_probe_and_marks_what_its_warnings_are_about() -> None:
    joint = golden_joint("check-directory")
    run = joint.runs[0]
    (deep,) = (one for one in run.trials if one.name == "sequential-write-qd8")
    probe = replace(deep, name="compression-random-1", label="sequential write of random data, repeat 1")
    fell = Finding("throughput-cliff", "warning", "after 281 MB it fell to 4 %", deep.name)
    lines = finding_lines([fell], 10)
    run = replace(run, trials=(probe, *run.trials), findings=reported([fell]), finding_lines=lines, trial_count=10)
    card = card_of(replace(joint, runs=(run,)))
    assert not [row for row in card.numbers if "repeat" in row.name]
    assert [row.name for row in card.numbers if row.span.endswith(" !1")] == [deep.label]
    assert card.warnings[-1] == "!1 after 281 MB it fell to 4 %"


def test_a_rate_that_was_asked_for_has_its_good_side_on_the_right() -> None:
    joint = golden_joint("check-directory")
    threshold = {
        "trial": "sync-write-4096",
        "metric": "commits_per_s",
        "direction": "at_least",
        "limit": 500.0,
        "unit": "1/s",
        "text": "{value} commits a second by one client",
        "force": "required",
        "source": "asked for with --at-least",
    }
    rate = Estimate(729.0, 661.0, 743.0, "1/s", 900, 900.0, "").to_json()
    check = {"threshold": threshold, "estimate": rate, "outcome": "pass"}
    verdict = {"need": "postgres", "title": "PostgreSQL", "outcome": "pass", "sentence": "Yes", "checks": [check]}
    card = card_of(replace(joint, runs=(replace(joint.runs[0], verdict=verdict),)))
    assert card.gauge is not None
    words = words_of(card_svg(card)).replace("\u00a0", " ")
    assert "729 commits a second by one client (661 to 743)" in words
    assert "PostgreSQL: 500 a second or more wanted" in words


def test_a_second_sentence_is_told_where_it_has_room() -> None:
    joint = golden_joint("ssd-latency-scratch")
    two = ("No burst ended within 51.7 s.", "A is 2.0 times as fast as B.")
    assert card_of(replace(joint, sentences=two)).sentence == " ".join(two)
    assert card_of(replace(joint, sentences=(two[0], "A is fast, and so on. " * 10))).sentence == two[0]


def test_an_experiment_shows_a_bar_for_each_level_with_its_range() -> None:
    card = card_of(golden_joint("ssd-latency-scratch"))
    assert card.rows is not None
    told = [(row.name, row.text.replace("\u00a0", " "), row.span) for row in card.rows.rows]
    assert told == [
        ("raw", "454 µs", "450–458"),
        ("ext4", "973 µs", "971–974"),
        ("xfs", "895 µs", "889–901"),
    ]


def test_a_number_alone_is_told_large_and_not_drawn() -> None:
    joint = golden_joint("ssd-latency-scratch")
    found = joint.result_sets[0]
    few = [one for one in found.observations if one.is_judged][:1]
    card = card_of(replace(joint, result_sets=(replace(found, observations=tuple(few)),)))
    assert card.rows is None
    assert [(row.name, row.text.replace("\u00a0", " ")) for row in card.numbers] == [
        ("512 B written + fdatasync: median latency", "454 µs")
    ]


def test_of_many_numbers_the_ends_are_shown_and_said_to_be_some_of_them() -> None:
    card = card_of(golden_joint("write-size-two-drives"))
    assert card.rows is not None
    names = [row.name.partition(": ") for row in card.rows.rows]
    # of one workload and one shift: what differs in more than the size is not beside each other
    assert [name[2] for name in names] == ["block size 1 B", "block size 1 MiB"] * 2
    assert len({name[0] for name in names}) == 2
    assert card.rows.title.endswith(": median latency, write-cache on, shift 0 B; the first and the last level")
    assert re.search(r"\[(log scale|from 0)\]", words_of(card_svg(card)))
    joint = golden_joint("write-size-two-drives")
    found = joint.result_sets[0]
    drive = found.observations[0].drive
    own = tuple(one for one in found.observations if one.drive == drive)
    card = card_of(replace(joint, result_sets=(replace(found, observations=own),)))
    assert card.rows is not None
    sizes = ("1 B", "512 B", "4 KiB", "32 KiB", "1 MiB")
    assert [row.name for row in card.rows.rows] == [f"block size {size}" for size in sizes]
    assert card.rows.title == "write + fdatasync in reserved space, write-cache on, shift 0 B: median latency"
    longer = tuple(
        replace(one, levels=one.levels | {"block_size": str(size)}, block_size_bytes=size)
        for one in own[:1]
        for size in (1 << power for power in range(20, -1, -1))
    )
    card = card_of(replace(joint, result_sets=(replace(found, observations=longer),)))
    assert card.rows is not None
    assert len(card.rows.rows) == ROWS_MAX
    assert [card.rows.rows[0].name, card.rows.rows[-1].name] == ["block size 1 B", "block size 1 MiB"]
    assert card.rows.title.endswith("; 7 of 21 levels")
    invalid = tuple(replace(one, invalid_trials=1) for one in own)
    assert card_of(replace(joint, result_sets=(replace(found, observations=invalid),))).rows is None


def test_of_two_drives_over_a_curve_its_ends_are_shown_by_the_number_that_counts() -> None:
    joint = golden_joint("write-size-two-drives")
    found = joint.result_sets[0]
    depths = [
        replace(
            one,
            levels={"queue_depth": str(depth)},
            queue_depth=depth,
            block_size_bytes=4096,
            metric=metric,
            is_judged=metric != "iops",
            is_durable=False,
            drive=drive,
            estimate=replace(one.estimate, value=float(depth * (4096 if metric != "iops" else 1)), low=None, high=None),
        )
        for one in found.observations[:1]
        for drive in ("A", "B")
        for depth in (8, 1, 4, 2, 16)
        for metric in ("throughput_bytes_per_s", "iops")
    ]
    card = card_of(replace(joint, result_sets=(replace(found, observations=tuple(depths)),)))
    assert card.rows is not None
    told = [(row.name, row.text) for row in card.rows.rows]
    assert told == [(f"{drive}: queue depth {depth}", f"{depth}/s") for drive in "AB" for depth in (1, 16)]
    assert card.rows.title.endswith("I/Os per second; the first and the last level")


def test_where_one_setting_was_changed_at_a_time_a_row_is_named_by_its_change() -> None:
    joint = golden_joint("ssd-latency-scratch")
    found = joint.result_sets[0]
    first = next(one for one in found.observations if one.is_judged)
    changes = [{}, {"scheduler": "none"}, {"filesystem": "xfs"}, {"scheduler": "bfq", "throttling": "as-found"}]
    usual = {"filesystem": "ext4", "scheduler": "as-found", "throttling": "2ms"}
    card = card_of(
        replace(
            joint,
            result_sets=(replace(found, observations=tuple(replace(first, levels=usual | one) for one in changes)),),
        )
    )
    assert card.rows is not None
    assert [row.name for row in card.rows.rows] == ["baseline", "scheduler none", "xfs", "scheduler bfq"]


@pytest.mark.parametrize("page", ["samsung-840", "ssd-evaluation"])
def test_a_page_without_numbers_to_draw_fills_its_card_with_what_else_it_answers(page: str) -> None:
    reference = load_reference(page)
    card = card_of(joint_report([], [reference]))
    assert (card.numbers, card.rows) == ((), None)
    words = words_of(card_svg(card))
    assert all(" ".join(sentence.split()[:5]) in words for sentence in reference.answer)


def test_seeks_that_a_page_counts_are_drawn() -> None:
    card = card_of(joint_report([], [load_reference("ssd-vs-raid")]))
    assert card.rows is not None
    assert [(row.name, row.text.replace("\u00a0", " ")) for row in card.rows.rows] == [
        ("ext3", "6 200/s"),
        ("xfs, nobarrier", "3 800/s"),
    ]


def test_published_numbers_stand_beside_those_of_the_run_from_the_best_to_the_worst() -> None:
    card = card_of(joint_report([golden("ssd-latency-scratch")], [load_reference("ssd-latency")]))
    assert card.rows is not None
    published = [row for row in card.rows.rows if row.is_published]
    assert len(card.rows.rows) == ROWS_MAX
    assert 0 < len(published) < ROWS_MAX
    assert {row.span for row in published} == {"published"}
    assert "published: " in card.source


def test_a_published_page_alone_says_who_published_it() -> None:
    card = card_of(joint_report([], [load_reference("intel-530")]))
    assert card.source.startswith("published: ")
    assert "measured by" not in card.source


def test_an_explanation_shows_the_parts_of_the_latency_in_their_order() -> None:
    content = gather(golden("explained-appends"))
    joint = golden_joint("explained-appends")
    traced = joint.runs[0].traced
    assert traced
    rows = rows_of_parts(replace(content, traced=traced[:1]))
    assert rows is not None
    assert sum(row.value or 0.0 for row in rows.rows) == pytest.approx(traced[0].explanation.typical_ns, rel=1e-6)
    card = card_of(replace(joint, runs=(replace(joint.runs[0], traced=traced[:1]),)))
    assert card.rows == rows


def test_a_run_that_was_cut_off_says_so_before_all_else() -> None:
    joint = golden_joint("check-directory")
    cut_off = replace(joint.runs[0], facts={**joint.runs[0].facts, "status": "interrupted"})
    assert card_of(replace(joint, runs=(cut_off,))).warnings[0].startswith("Not complete: ")


def test_what_is_told_of_a_check_stands_above_what_limits_it() -> None:
    card = card_of(golden_joint("check-directory"))
    svg = ElementTree.fromstring(card_svg(replace(card, warnings=("One warning", "Two warnings"))))
    texts = [(float(one.get("y", 0)), one.text or "") for one in svg.iter(f"{_SVG}text")]
    one, two, source = (next(y for y, text in texts if text.startswith(word)) for word in ("One", "Two", "measured"))
    others = [y for y, text in texts if not text.startswith(("One", "Two", "measured"))]
    assert max(others) + 15 <= one < two < source - 16


def test_every_simulated_drive_is_told_and_none_was_measured() -> None:
    joint = golden_joint("write-size-two-drives")
    run, of_run = joint.runs[0], joint.result_sets[0]
    targets = [
        {**one, "facts_before": {**one["facts_before"], "text": f"sim:{place}", "simulated": {"title": "A model"}}}
        for place, one in enumerate(run.record.targets)
    ]
    finding = Finding("virtual-drive", "warning", "sim:0 is simulated (A model): its numbers are of a model", "", {})
    lines = finding_lines([finding], run.all_trial_count)
    models = replace(run, facts={**run.facts, "targets": targets}, finding_lines=lines)
    drives = tuple(replace(one, kind=SIMULATED) for one in of_run.drives)
    simulated = replace(joint, runs=(models,), result_sets=(replace(of_run, drives=drives),))
    names = ", ".join(drive.label for drive in drives)
    assert warnings_of(simulated) == [f"Simulated: {names}; no real drive was measured."]
    assert source_words(simulated).startswith("simulated by drivelab")
    half = replace(models, facts={**run.facts, "targets": [targets[0], run.record.targets[1]]})
    assert source_words(replace(simulated, runs=(half,))).startswith("measured and simulated by drivelab")
    assert source_words(joint).startswith("measured by drivelab")


def test_names_of_others_are_text_and_nothing_else() -> None:
    hostile = "a<b>&\"'\x1b[31m\u202e\ufffe\ud800 ]]> <script>alert(1)</script>\n\t"
    rows = Rows(hostile, (Row(hostile, hostile, hostile, 1.0),))
    card = Card("", hostile, hostile, hostile, rows=rows, warnings=(hostile, hostile))
    root = ElementTree.fromstring(card_svg(card).encode())
    assert f"{_SVG}script" not in {one.tag for one in root.iter()}
    assert "\x1b" not in "".join(root.itertext())


def test_text_is_cut_and_broken_where_there_is_no_more_room() -> None:
    assert cut("short", 1000, 20) == "short"
    assert cut("much too long", 60, 20).endswith("…")
    whole = cut("the rate that was measured: much too long", 200, 20)
    assert whole.endswith("…")
    assert "the rate that was measured: much too long ".startswith(f"{whole[:-1]} ")
    lines = wrapped("one two " + "x" * 100, 200, 20, 4)
    assert lines[0] == "one two"
    assert len(lines) == 4
    assert all(width_px(line, 20) <= 200 for line in lines)
    assert one_line(" a \n b\ufffe ") == "a b\ufffd"


def test_a_card_without_anything_is_a_picture_too() -> None:
    assert "nothing" in words_of(card_svg(card_of(Joint("nothing", "nothing"))))


def test_a_png_has_the_size_that_is_shared(tmp_path: Path) -> None:
    data = write_card(golden_joint("check-directory"), tmp_path / "card.PNG").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (WIDTH_PX, HEIGHT_PX)


def test_a_png_without_what_makes_it_is_an_error_and_an_svg_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    joint = golden_joint("check-directory")
    write_card(joint, tmp_path / "card.svg")
    with pytest.raises(DrivelabError, match="O803"):
        write_card(joint, tmp_path / "card.png")
    assert [path.name for path in tmp_path.iterdir()] == ["card.svg"]
