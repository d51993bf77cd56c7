"""A comparison as text, Markdown, table, figure and page: order, lengths, and names from outside."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.model.comparison import (
    ComparedRun,
    ComparisonVerdict,
    MetricComparison,
    SideDifference,
    SideValues,
)
from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import CommandChange
from drivelab.report.comparison_joint import joint_of_comparison
from drivelab.report.figures.comparison_ratios import comparison_ratios
from drivelab.report.html import write_html_report
from drivelab.report.markdown.comparison import FOLDED_ROWS_MAX, ROWS_SHOWN_MAX, comparison_markdown
from drivelab.report.sentences.comparison import (
    detection_sentence,
    level_words,
    summary_sentence,
    usual_levels,
    value_words,
)
from drivelab.report.sentences.comparison_answer import answers, side_names
from drivelab.report.tables.comparison import comparison_table
from drivelab.report.terminal.comparison import LINES_MAX, comparison_text
from made_comparisons import comparison, row, with_ratio

_JUDGED, _NO_PROOF = "the number that was judged", "that is no proof that there is none"
HOSTILE = "</script><script>alert(1)</script> | `x` \x1b[31m\n# y"
GITHUB_COMMENT_MAX = 65_536

EVERY_KIND = comparison(
    row(1.5),
    row(1.0, "not comparable", why=("flushes per operation: 1 in BASE, 0 in NEW",), levels={"filesystem": "xfs"}),
    row(1.02, "no difference shown", "throughput_bytes_per_s"),
    row(0.8, "faster", "total_latency_ns_p99"),
    row(1.001, "equivalent", levels={"filesystem": "xfs"}),
    differences=(SideDifference("kernel", ("6.12",), ("6.18",)),),
    only_base=("log, btrfs",),
    notes=("One run each.",),
)


def test_the_summary_counts_every_verdict() -> None:
    text = summary_sentence(EVERY_KIND)
    assert text == (
        "5 judged numbers: 1 slower by more than 5 %, 1 not comparable, 1 without a difference shown, 1 faster by "
        "more than 5 %, 1 equivalent within 5 %. Worst: 4 KiB appended + fdatasync, ext4, median latency "
        "50 % slower (43 to 58). Best: 4 KiB appended + fdatasync, ext4, p99 latency 25 % faster (19 to 31)."
    )


@pytest.mark.parametrize(
    ("one", "sentence"),
    [
        (row(1.5), "6.18 was 50 % slower (43 to 58) than 6.12 for a log."),
        (row(1 / 2.7, "faster"), "6.18 was 2.7 times as fast (2.6 to 2.8) as 6.12 for a log."),
        (row(2.0, "faster", "throughput_bytes_per_s"), "6.18 was 2.0 times as fast (1.9 to 2.1) as 6.12 for a log."),
        (row(1.0, "equivalent"), "6.18 and 6.12 are equivalent within 5 % in the number that was judged."),
        (row(1.0, "no difference shown"), f"No difference between 6.18 and 6.12 was shown in {_JUDGED}; {_NO_PROOF}."),
    ],
)
def test_the_answer_says_what_became_faster_and_by_how_much(one: MetricComparison, sentence: str) -> None:
    differences = (SideDifference("kernel", ("6.12",), ("6.18",)),)
    told = answers(comparison(replace(one, label="a log"), differences=differences))[0]
    assert told.replace("kernel ", "") == sentence


def test_one_run_a_side_is_told_as_seen_and_that_another_may_differ() -> None:
    one = with_ratio(Estimate(1 / 2.7, None, None, "1", 2, 2.0, ""), "seen only", why=("one run each",))
    differences = (SideDifference("filesystem", ("ext4",), ("xfs",)), SideDifference("kernel", ("1",), ("2",)))
    assert answers(comparison(one, differences=differences))[0] == (
        "xfs looked 2.7 times as fast as ext4 for 4 KiB appended + fdatasync; one run each, so another run may differ."
    )


def test_the_answer_names_the_levels_that_tell_a_workload_from_the_others() -> None:
    levels = {"governor": "as-found", "filesystem": "ext4", "scheduler": "kyber"}
    other = levels | {"scheduler": "as-found", "filesystem": "xfs"}
    assert answers(comparison(row(2.0, levels=levels), row(1.0, "equivalent", levels=other)))[0].endswith(
        "for 4 KiB appended + fdatasync, ext4, scheduler kyber; the other number is equivalent within 5 %."
    )


@pytest.mark.parametrize(
    ("ratios", "told"),
    [
        ((0.5, 1 / 1.1, 1.0), "Beta was 1.1 to 2.0 times as fast as Alpha in 2 of 3 numbers."),
        ((1.2, 1.07), "Beta was 7 to 20 % slower than Alpha in both numbers."),
        ((1.2, 1.2, 0.5), "Beta was 20 % slower than Alpha in 2 of 3 numbers, and 2.0 times as fast in 1."),
    ],
)
def test_several_changes_are_told_as_a_range(ratios: tuple[float, ...], told: str) -> None:
    kind: dict[float, ComparisonVerdict] = {1.0: "equivalent"}
    rows = [
        row(one, kind.get(one, "slower" if one > 1 else "faster"), target_base="Alpha", target_new="Beta")
        for one in ratios
    ]
    assert answers(comparison(*rows))[0] == told


def test_rows_whose_levels_have_no_room_beside_their_names_keep_the_levels() -> None:
    sizes = [
        {"block_size": str(2**block), "file_size": str(2**place), "page-cache": cache, "filesystem": "ext4-ordered"}
        for block, place, cache in ((12, 16, "drop"), (14, 18, "drop"), (12, 20, "as-found"))
    ]
    rows = [replace(row(1.5, levels=levels), label="read every other record of a new file") for levels in sizes]
    lines = comparison_text(comparison(*rows), is_whole=False).splitlines()
    assert "read every other record of a new file: block size, file size, page-cache" in lines
    told = [line.split("  ")[1] for line in lines if line.startswith("  ")][:3]
    assert len(set(told)) == len(told) == 3
    assert not any("..." in line for line in lines)


def test_what_the_answer_says_of_all_numbers_is_not_said_again() -> None:
    assert len(answers(comparison(row(1.0, "equivalent"), row(1.01, "equivalent")))) == 1
    assert len(answers(comparison(row(1.0, "equivalent"), row(1.01, "no difference shown")))) == 2
    assert "Worst" not in " ".join(answers(comparison(row(1.5), row(1.0, "equivalent"))))


def test_sides_are_called_by_what_people_know_them_by() -> None:
    assert side_names(comparison(row(target_base="Alpha", target_new="Beta"))) == ("Alpha", "Beta")
    programs = (SideDifference("measured by", ("drivelab",), ("fio 3.33",)),)
    named = comparison(row(target_base="Alpha", target_new="vda"))
    assert side_names(replace(named, differences=programs)) == ("drivelab", "fio 3.33")
    short = comparison(row(), base=(ComparedRun("monday", ""),), new=(ComparedRun("tuesday", ""),))
    assert side_names(short) == ("monday", "tuesday")
    long = replace(short, new=(ComparedRun("20261122T094946Z-" + "x" * 30, ""),))
    assert side_names(long) == ("BASE", "NEW")
    lengths = (SideDifference("length of sync-write-512", ("800 ms",), ("4 s",)),)
    assert side_names(replace(short, differences=lengths)) == ("monday", "tuesday")
    answer = answers(comparison(row(levels={}, label="word " * 60)))[0]
    assert len(answer.split()) <= 30


def test_a_screen_has_thirty_lines_and_says_what_has_more() -> None:
    long_name = "of a long name " * 12
    many = tuple(SideDifference(f"fact {n}", ("a " * 60,), ("b",)) for n in range(30))
    rows = [row(1.5, label=f"workload {n} {long_name}") for n in range(60)]
    wide = replace(
        comparison(*rows, differences=many, notes=("It is so. " * 30,) * 9), base=(ComparedRun("b" * 30, ""),) * 9
    )
    lines = comparison_text(wide, is_whole=False).splitlines()
    assert len(lines) <= LINES_MAX
    assert all(len(line) <= 80 for line in lines)
    # sentences are whole or left for --details
    assert [re.sub(r"\d+ ", "", line) for line in lines if "--details" in line] == [
        *["  ... more lines: --details"] * 2,
        *["  ... more: --details"] * 2,
    ]
    assert len(comparison_text(wide).splitlines()) > 100


def test_what_was_only_seen_is_a_line_a_number_and_says_once_that_it_is_no_answer() -> None:
    def seen(ratio: float, size: str, **changes: object) -> MetricComparison:
        found = Estimate(ratio, None, None, "1", 2, 2.0, "")
        given: dict[str, object] = {"levels": {"block_size": size}, "detectable_ratio": None}
        return with_ratio(found, "seen only", why=("one run each",), **(given | changes))

    rows = [seen(1.5, "512"), seen(0.7, "4096"), seen(1.1, "512", metric="total_latency_ns_p99", is_judged=False)]
    notes = ("Below 3 runs a side nothing is judged.",)
    lines = comparison_text(comparison(*rows, notes=notes), is_whole=False).splitlines()
    assert [line.split()[:2] for line in lines if "fdatasync, " in line] == [["4", "KiB"]] * 2
    assert [line.split()[-2:] for line in lines if "fdatasync, " in line] == [["%", "slower"], ["%", "faster"]]
    assert not [line for line in lines if "p99" in line or "seen only" in line]
    assert [line for line in lines if "nothing is judged" in line] == list(notes)
    long = [replace(one, label="a durable write of a long name " * 2) for one in rows[:2]]
    lines = comparison_text(comparison(*long), is_whole=False).splitlines()
    # what tells them apart is never what is cut
    assert [line.split()[-1] for line in lines if line.startswith("  block size ")] == ["slower", "faster"]
    many = [seen(1.5, str(2**n), label=f"{n} {'of a long name ' * 9}") for n in range(40)]
    facts = tuple(SideDifference(f"fact {n}", ("a " * 60,), ("b",)) for n in range(30))
    lines = comparison_text(comparison(*many, notes=notes * 9, differences=facts), is_whole=False).splitlines()
    assert len(lines) <= LINES_MAX
    assert all(len(line) <= 80 for line in lines)


def test_slower_within_the_margin_is_no_regression() -> None:
    small = comparison(row(1.03), margin=0.05)
    assert small.regressions == ()
    assert "1 slower by less than 5 % (perhaps by more)" in summary_sentence(small)


def test_as_many_are_slower_by_more_than_the_margin_as_there_are_regressions() -> None:
    several = comparison(row(1.5), row(1.06), row(1.04))
    assert len(several.regressions) == 2
    assert "3 judged numbers: 2 slower by more than 5 % (1 of them perhaps by less), 1 slower by less than 5 %" in (
        summary_sentence(several)
    )


@pytest.mark.parametrize(("low", "words"), [(1.01, " (perhaps by less)"), (1.051, "")])
def test_that_a_change_may_lie_within_the_margin_is_said_where_its_interval_does(low: float, words: str) -> None:
    one = with_ratio(Estimate(1.3, low, 1.7, "1", 10, 10.0, "made"))
    # it fails a build either way: it is slower for sure, and most likely by more than the margin
    assert one.is_regression
    assert f"1 judged number: 1 slower by more than 5 %{words}." in summary_sentence(comparison(one))
    throughput = row(0.77, "slower", "throughput_bytes_per_s")
    throughput = replace(throughput, ratio=Estimate(1 / 1.3, 1 / 1.7, 1 / low, "1", 10, 10.0, "made"))
    assert f"1 judged number: 1 slower by more than 5 %{words}." in summary_sentence(comparison(throughput))


def test_thirty_times_slower_in_one_run_is_not_called_no_difference() -> None:
    one = with_ratio(Estimate(30.0, None, None, "1", 2, 2.0, ""), "seen only", why=("one run each",))
    assert summary_sentence(comparison(one)) == (
        "Nothing is judged (one run each): the ratios are what was seen, and no answer. Measure at least 5 runs a side."
    )
    assert "no answer" not in summary_sentence(comparison(one, row(1.5)))
    assert one.verdict_text == "seen only: one run each"
    assert "no difference" not in comparison_markdown(comparison(one)).partition("<details>")[0]


def test_what_is_told_beside_the_judged_number_is_not_counted() -> None:
    beside = row(9.0, "seen only", "total_latency_ns_p99", is_judged=False)
    assert summary_sentence(comparison(row(1.0, "equivalent"), beside)) == "1 judged number: 1 equivalent within 5 %."
    assert not beside.is_regression
    assert not beside.is_undecided
    assert "looks slower" in comparison_text(comparison(row(1.0, "equivalent"), beside))


def test_ends_that_say_nothing_are_not_told_with_thirty_digits() -> None:
    wide = with_ratio(Estimate(1.2, 3.6e-6, 2.69e6, "1", 4, 4.0, ""), "no difference shown", detectable_ratio=5e40)
    text = " ".join(comparison_text(comparison(wide)).split())
    assert "< 0.001 to > 1000" in text
    assert "a difference of no less than a factor of 10 in median latency" in text


def test_an_interval_without_one_that_is_no_difference_is_explained() -> None:
    one = with_ratio(Estimate(0.73, 0.6, 0.88, "1", 10, 10.0, ""), "no difference shown", adjusted_p_value=0.09)
    text = " ".join(comparison_text(comparison(one)).split())
    assert "1 interval leaves out 1, and no difference is shown: of 1 number one in twenty does so by chance." in text


@pytest.mark.parametrize(
    ("metric", "unit", "is_worse"),
    [
        ("cpu_ns_per_io", "ns", True),
        ("end_sync_ns", "ns", True),
        ("device_flushes_per_operation", "1", True),
        ("device_bytes_per_issued_byte", "1", True),
        ("iops", "1/s", False),
        ("steady_throughput_bytes_per_s", "B/s", False),
        ("bytes_until_cliff", "B", False),
    ],
)
def test_more_time_and_more_commands_are_worse(metric: str, unit: str, is_worse: bool) -> None:
    assert row(1.5, metric=metric, unit=unit).slowdown == pytest.approx(1.5 if is_worse else 1 / 1.5)


@pytest.mark.parametrize(("ratio", "is_regression"), [(0.8, True), (1.2, False)])
def test_a_throughput_regresses_downwards(ratio: float, is_regression: bool) -> None:
    one = row(ratio, "slower" if ratio < 1 else "faster", "throughput_bytes_per_s")
    assert one.is_regression is is_regression
    assert one.slowdown == pytest.approx(1 / ratio)


def test_the_page_does_not_count_what_is_compared_as_a_difference_that_limits_it() -> None:
    differences = (SideDifference("drive", ("Alpha",), ("Beta",)), SideDifference("kernel", ("1",), ("2",)))
    two = comparison(row(target_base="Alpha", target_new="Beta"), differences=differences)
    assert joint_of_comparison(two).notes == ("kernel: 1 in BASE, 2 in NEW",)


def test_combinations_of_a_target_that_is_left_out_are_not_named_one_by_one() -> None:
    only = ("a log, ext4, sdc", "reads, ext4")
    told = " ".join(comparison_text(comparison(row(), only_new=only, left_out_new=("sdc",))).split())
    assert "sdc of NEW is left out" in told
    assert "NEW has 1 combination that BASE lacks: reads, ext4." in told


def test_of_many_combinations_that_a_side_lacks_two_are_named() -> None:
    told = " ".join(comparison_text(comparison(row(), only_new=tuple("abcd"))).split())
    assert "NEW has 4 combinations that BASE lacks: a; b; and 2 more." in told


def test_nothing_in_common_is_said() -> None:
    apart = [row(verdict="not comparable", why=(why,)) for why in ("depth: 1 in BASE", "other")]
    for rows, told in (((), "no combination"), (apart[:1], "compared: depth: 1 in BASE."), (apart, "both numbers")):
        assert told in answers(comparison(*rows))[0]


def test_the_terminal_shows_everything_in_80_columns() -> None:
    text = comparison_text(EVERY_KIND)
    assert all(len(line) <= 80 for line in text.splitlines())
    for words in ("median latency", "300 us", "450 us", "1.43 to 1.58", "slower", "within 5 %", "kernel: 6.12 in BASE"):
        assert words in text
    assert "not comparable: flushes per operation: 1 in BASE, 0 in NEW" in text
    assert "BASE has 1 combination that NEW lacks: log, btrfs." in text


def test_a_plain_terminal_gets_ascii() -> None:
    assert comparison_text(EVERY_KIND, plain=True).isascii()


def test_commands_that_changed_are_told() -> None:
    change = CommandChange("device_flushes_per_operation", (2.0, 2.0), (1.0, 1.0), True)
    text = " ".join(comparison_text(comparison(row(commands=(change,)))).split())
    assert "flushes: 2 -> 1 (4 KiB appended + fdatasync)" in text


def test_what_would_have_been_found_is_a_percentage_or_a_factor() -> None:
    assert "a difference of 8 % in median latency would" in detection_sentence(comparison(row()))
    assert "a factor of 4.20 in median" in detection_sentence(comparison(row(detectable_ratio=4.2)))
    assert detection_sentence(comparison(row(detectable_ratio=None))) == ""


def test_markdown_shows_twenty_rows_and_folds_the_rest() -> None:
    rows = [row(levels={"number": str(number)}) for number in range(200)]
    text = comparison_markdown(comparison(*rows))
    shown, folded = text.split("<details>", 1)
    assert shown.count("**slower**") == ROWS_SHOWN_MAX
    assert folded.count("**slower**") == FOLDED_ROWS_MAX
    assert f"{200 - ROWS_SHOWN_MAX - FOLDED_ROWS_MAX} more rows are in the JSON" in folded
    assert len(text) < GITHUB_COMMENT_MAX


def test_names_from_outside_are_no_markup(tmp_path: Path) -> None:
    hostile = comparison(
        row(label=HOSTILE, levels={HOSTILE: "1"}, target_new=HOSTILE),
        row(verdict="not comparable", why=(HOSTILE,)),
        base=(ComparedRun(HOSTILE, "x"),),
        differences=(SideDifference("kernel", (HOSTILE,), ("6",)),),
        notes=(HOSTILE,),
    )
    markdown = comparison_markdown(hostile)
    assert "<script>" not in markdown.replace("\\<script", "")
    assert "\x1b" not in markdown
    assert "\n# y" not in markdown
    assert "\x1b" not in comparison_text(hostile)
    page = write_html_report(joint_of_comparison(hostile), tmp_path / "page.html").read_text()
    assert "<script>alert" not in page


def test_the_table_holds_every_row_and_its_reason() -> None:
    table = comparison_table(EVERY_KIND)
    assert len(table.rows) == 5
    assert table.rows[1][-1].notes == (1,)
    assert table.notes[0] == "flushes per operation: 1 in BASE, 0 in NEW"
    assert table.plain().rows[0][table.plain().columns.index("ratio")] == 1.5


def test_the_figure_draws_latencies_and_rates_apart_with_the_margin() -> None:
    beside = row(9.0, "seen only", "total_latency_ns_p99", is_judged=False)
    figure = comparison_ratios(replace(EVERY_KIND, rows=(beside, *EVERY_KIND.rows)))
    assert figure is not None
    assert [plot.name for plot in figure.plots] == [
        "latencies and costs: right of 1 is worse",
        "throughput and rates: left of 1 is worse",
    ]
    band = figure.plots[0].layout["shapes"][0]
    assert (band["x0"], band["x1"]) == (1 / 1.05, 1.05)
    (slower,) = [trace for trace in figure.plots[0].data if trace["name"] == "slower"]
    assert slower["x"] == [1.5]
    assert slower["error_x"]["array"][0] == pytest.approx(1.5 * 0.05)
    assert comparison_ratios(comparison()) is None
    named = comparison_ratios(comparison(row(target_base="Alpha", target_new="Beta")))
    assert named is not None
    assert named.title == "Beta over Alpha"


def test_what_costs_more_stands_on_the_same_side_as_what_takes_longer() -> None:
    figure = comparison_ratios(comparison(row(1.5, metric="cpu_ns_per_io", unit="ns"), row(1.5)))
    assert figure is not None
    assert [plot.name for plot in figure.plots] == ["latencies and costs: right of 1 is worse"]


def test_a_rate_has_its_unit() -> None:
    one = row(0.5, metric="iops", unit="1/s", base=SideValues(24_900, 24_900, 24_900, 1, 1), new=None)
    assert value_words(one) == ("24 900/s", "-")


def test_runs_that_are_the_same_but_for_the_last_digit_are_said_to_be() -> None:
    seen = [row(ratio, "seen only", workload=f"w{ratio}", why=("one run each",)) for ratio in (1.0004, 0.9995)]
    answer, *_ = answers(comparison(*seen))
    assert re.search(r"^None of 2 numbers differs by more than 0\.0\d+ % between monday and tuesday\.$", answer)


def test_where_one_setting_at_a_time_was_changed_a_row_is_called_by_it() -> None:
    usual = {"filesystem": "ext4", "scheduler": "as-found", "cpu-dma-latency": "as-found"}
    changes = ({}, {"filesystem": "raw"}, {"scheduler": "bfq"}, {"cpu-dma-latency": "0"})
    rows = [row(1.5, levels={**usual, **change}) for change in changes]
    assert [level_words(one, usual_levels(rows)) for one in rows] == [
        "baseline",
        "raw",
        "scheduler bfq",
        "cpu-dma-latency 0 us",
    ]
    # of a grid every level that is not the same everywhere
    grid = [row(1.5, levels={"filesystem": one, "scheduler": other}) for one in ("raw", "xfs") for other in ("a", "b")]
    assert level_words(grid[0], usual_levels(grid)) == "raw, scheduler a"
    # where one factor alone is varied its first level is one like the others
    depths = [replace(grid[0], levels={"queue_depth": str(depth), "filesystem": "raw"}) for depth in (1, 2, 4)]
    assert [level_words(one, usual_levels(depths)) for one in depths] == [f"queue depth {n}" for n in (1, 2, 4)]
