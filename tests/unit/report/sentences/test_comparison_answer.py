"""The answer of a comparison of so few runs that nothing is judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.model.comparison import ComparedRun, Comparison, MetricComparison, SideDifference
from drivelab.model.estimate import Estimate
from drivelab.report.sentences.comparison_answer import answers, answers_with_limits
from drivelab.report.terminal.comparison import comparison_text


def seen(ratio: float) -> MetricComparison:
    """A latency of one run on each side."""
    return MetricComparison(
        workload="log",
        label="appends",
        target_base="sdb",
        target_new="sdb",
        levels={},
        metric="total_latency_ns_p50",
        unit="ns",
        is_judged=True,
        base=None,
        new=None,
        ratio=Estimate(ratio, None, None, "1", 2, 2.0, ""),
        verdict="seen only",
        why=("one run each",),
    )


LOOKS = "Whether tuesday is faster than monday can't be told from one run each: "


@pytest.mark.parametrize(
    ("ratios", "told"),
    [
        ((0.3, 1.45, 1.2), f"{LOOKS}of 3 numbers 1 looked faster (3.3 times) and 2 slower (up to 1.45 times)."),
        ((0.8, 0.9, 1.03, 1.004), f"{LOOKS}of 4 numbers 2 looked faster (up to 25 %), 1 slower (3 %) and 1 alike."),
        ((180.0, 1.2, 4.0), "tuesday looked 1.2 to 180 times as slow as monday in all 3 numbers; one run each, so"),
        ((1.03, 1.7, 1.001), "tuesday looked 3 to 70 % slower than monday in 2 of 3 numbers; one run each, so"),
    ],
)
def test_of_numbers_of_one_run_none_is_the_answer_and_they_are_counted_as_the_table_does(
    ratios: tuple[float, ...], told: str
) -> None:
    sides = (ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),)
    answer = answers(Comparison(*sides, margin=0.05, rows=tuple(map(seen, ratios))))[0]
    assert answer.startswith(told)
    assert answer.endswith("another run may differ.") is (told.startswith("tuesday"))


def test_another_run_of_a_model_is_known_to_be_the_same() -> None:
    base, new = (ComparedRun(name, "", is_simulated=True) for name in ("monday", "tuesday"))
    answer = answers(Comparison((base,), (new,), margin=0.05, rows=(seen(1.2), seen(2.0), seen(4.0))))[0]
    assert answer == "tuesday looked 1.2 to 4.0 times as slow as monday in all 3 numbers."
    mixed = answers(Comparison((base,), (new,), margin=0.05, rows=(seen(0.5), seen(2.0))))[0]
    assert mixed.startswith("Whether tuesday is faster than monday can't be told: of 2 numbers")


def test_a_target_without_anything_to_compare_with_is_named_below_the_answer() -> None:
    one = Comparison((ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),), 0.05, rows=(seen(2.0),))
    two = replace(one, left_out_new=("Beta",))
    told = "Beta of NEW is left out: BASE has nothing to compare with."
    assert told not in answers_with_limits(one)
    assert answers_with_limits(two)[1] == told
    assert told in comparison_text(two, is_whole=False).splitlines()[1:3]
    assert two.to_json()["left_out_new"] == ["Beta"]


def test_drives_that_stand_beside_each_other_are_named_before_any_number() -> None:
    pair = replace(seen(2.0), target_base="Alpha", target_new="Beta")
    one = Comparison((ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),), 0.05, rows=(pair, seen(1.0)))
    two = replace(one, rows=(*one.rows, replace(pair, target_base="Gamma", target_new="Delta")))
    assert answers_with_limits(two)[1] == "Beta of NEW is compared with Alpha of BASE, Delta with Gamma."
    told = "Beta of NEW is compared with Alpha of BASE."
    assert answers_with_limits(one)[1] == told
    assert told in comparison_text(one, is_whole=False).splitlines()[1:3]
    # named by the answer itself
    alone = replace(one, rows=(pair,))
    assert answers(alone)[0].startswith("Beta looked 2.0 times")
    assert answers_with_limits(alone) == answers(alone)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ((), "BASE (on Alpha) and NEW (on Alpha and Beta) have no combination of workload and levels in common."),
        (
            (replace(seen(2.0), verdict="not comparable", why=()),),
            "the only number means different things in BASE (on Alpha) and NEW (on Alpha and Beta).",
        ),
    ],
)
def test_where_nothing_could_be_compared_the_drives_are_named(rows: tuple[MetricComparison, ...], told: str) -> None:
    drives = (SideDifference("drive", ("Alpha",), ("Alpha", "Beta")),)
    sides = (ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),)
    found = Comparison(*sides, margin=0.05, rows=rows, differences=drives)
    assert answers(found) == (f"Nothing could be compared: {told}",)
    assert "(on" not in answers(replace(found, differences=()))[0]
    long = (SideDifference("drive", ("a " * 9,), ("b " * 9,)),)
    assert len(answers(replace(found, differences=long))[0].split()) <= 30


def test_how_far_apart_reads_the_same_for_times_and_for_rates() -> None:
    rate = replace(seen(0.0445), metric="throughput_bytes_per_s", unit="B/s")
    rows = (seen(1.75), rate, replace(seen(1.75), metric="total_latency_ns_p99", is_judged=False))
    sides = (ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),)
    text = comparison_text(Comparison(*sides, margin=0.05, rows=rows), is_whole=False)
    assert [line.split("-")[-1].strip() for line in text.splitlines() if line.startswith("appends")] == [
        "1.75x slower",
        "22.5x slower",
    ]


def test_the_largest_change_of_times_and_rates_is_the_largest_on_one_scale() -> None:
    """A latency 1.51 times as long is 51 % slower, a rate of 0.574 only 43 %, and yet it is the slower one."""
    rate = replace(seen(0.574), metric="throughput_bytes_per_s", unit="B/s")
    sides = (ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),)
    told = [
        answers(Comparison(*sides, margin=0.05, rows=rows))[0]
        for rows in ((seen(1.51), rate), (seen(1.51), rate, seen(0.9)))
    ]
    assert told[0].startswith("tuesday looked 1.51 to 1.74 times as slow as monday in both numbers")
    assert told[1].endswith("of 3 numbers 1 looked faster (1.11 times) and 2 slower (up to 1.74 times).")


def test_what_is_equivalent_is_not_said_to_be_unchanged() -> None:
    rows = (replace(seen(0.8), verdict="faster"), replace(seen(0.965), verdict="equivalent"))
    sides = (ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),)
    told = [
        answers(Comparison(*sides, margin=0.05, rows=(rows[0], replace(rows[1], verdict=verdict))))[0]
        for verdict in ("equivalent", "no difference shown")
    ]
    assert told[0].endswith("; the other number is equivalent within 5 %.")
    assert told[1].endswith("; the only one of 2 numbers where a change was shown.")


def test_advice_that_has_room_is_never_cut_in_a_sentence() -> None:
    notes = ("Below 3 runs a side nothing is judged. " * 3, "What there is to say. " * 30)
    sides = (ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),)
    rows = tuple(replace(seen(1.5), label=f"workload {n}") for n in range(20))
    lines = comparison_text(Comparison(*sides, margin=0.05, rows=rows, notes=notes), is_whole=False).splitlines()
    assert lines[-5].endswith("nothing is judged.")
    assert lines[-4] == "  ... 1 more: --details"


def _pair(ratio: float, pattern: str) -> MetricComparison:
    return replace(seen(ratio), target_base="disk", target_new="gp2", pattern=pattern)


def test_kinds_of_io_that_look_faster_and_slower_are_named_where_they_are_apart() -> None:
    rows = (_pair(0.1, "random I/O"), _pair(0.2, "durable writes"), _pair(1.36, "sequential I/O"))
    sides = (ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),)
    found = Comparison(*sides, margin=0.05, rows=rows)
    told = (
        "gp2 looked 5.0 to 10 times as fast as disk at random I/O and durable writes, and 36 % slower at sequential I/O"
    )
    assert answers(found)[0] == f"From one run each, {told}."
    # what may not last is said with it
    on_credit = replace(found, perhaps_bursts={"gp2": 3000.0})
    assert answers(on_credit)[0] == f"{told}; its 3 000/s may be a burst."
    assert len(answers(on_credit)[0].split()) <= 30
    # random I/O both faster and slower
    both = replace(found, rows=(*rows, _pair(1.5, "random I/O")))
    assert answers(both)[0].startswith("Whether gp2 is faster than disk can't be told from one run each: of 4 numbers")


def test_a_rate_that_may_be_a_burst_is_no_advantage_without_a_word_of_it() -> None:
    sides = (ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),)
    found = Comparison(*sides, margin=0.05, rows=(_pair(0.1, "random I/O"),), perhaps_bursts={"disk": 3000.0})
    assert answers(found)[0].endswith("disk for appends; disk's 3 000/s may be a burst.")
    judged = replace(found, rows=tuple(replace(_pair(ratio, ""), verdict="faster") for ratio in (0.1, 0.2)))
    assert answers(judged)[0] == (
        "gp2 was 5.0 to 10 times as fast as disk in both numbers; disk's 3 000/s may be a burst."
    )
    # of both drives it is no difference between them
    both = replace(judged, perhaps_bursts={"disk": 3000.0, "gp2": 3000.0})
    assert "burst" not in answers(both)[0]


def test_latencies_and_rates_that_look_slower_are_told_in_times_in_the_table_too() -> None:
    """A latency that grows by 39 % and a rate that falls by 28 % are one change."""
    rate = replace(seen(1 / 1.39), workload="rate", label="reads", metric="iops", unit="1/s")
    sides = (ComparedRun("monday", ""),), (ComparedRun("tuesday", ""),)
    text = comparison_text(Comparison(*sides, margin=0.05, rows=(seen(1.39), rate)), is_whole=False)
    assert text.count("1.39x slower") == 2
    alone = comparison_text(Comparison(*sides, margin=0.05, rows=(seen(1.39),)), is_whole=False)
    assert "39 % slower" in alone
