"""What several drives come to, in sentences that claim no more than the intervals carry."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_up_results import levels, observed, result_set

from drivelab.analyse.judged_metric import TrialKind, judged_metric
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.result_set import Observation, ResultSet
from drivelab.report.sentences.several_drives import contests, joint_sentences


def test_the_fastest_beyond_noise_is_named_with_numbers_and_intervals() -> None:
    sets = (
        result_set("a", observed("A", 100, 95, 105)),
        result_set("b", observed("B", 250, 240, 260)),
        result_set("c", observed("C", 900, 890, 910)),
    )
    (sentence,) = joint_sentences(sets)
    assert sentence == (
        "512 B durable write, median latency: A is fastest with 100\u00a0µs (95 %: 95.0 to "
        "105\u00a0µs), 2.5 times as fast as "
        "B with 250\u00a0µs (95 %: 240 to 260\u00a0µs); "
        "last is C with 900\u00a0µs (95 %: 890 to 910\u00a0µs)."
    )


@pytest.mark.parametrize(("low", "is_beyond"), [(104.9, False), (105.0, False), (105.1, True)])
def test_intervals_that_touch_settle_nothing(low: float, is_beyond: bool) -> None:
    sets = (result_set("a", observed("A", 100, 95, 105)), result_set("b", observed("B", 110, low, 120)))
    (contest,) = contests(sets)
    # slow and exact: is there a pair of values within the two intervals that turns the order around?
    assert contest.is_beyond_noise is is_beyond is (not low <= 105)
    (sentence,) = joint_sentences(sets)
    assert ("A is fastest" in sentence) is is_beyond
    assert ("A and B cannot be told apart, their intervals overlap" in sentence) is not is_beyond


def test_of_throughput_more_is_better() -> None:
    def moved(drive: str, *megabytes: float) -> object:
        value, low, high = (1e6 * number for number in megabytes)
        estimate = Estimate(value, low, high, "B/s", 10, 3.0, "")
        return observed(drive, 1, metric="throughput_bytes_per_s", estimate=estimate)

    sets = (
        result_set("a", moved("A", 200, 190, 210)),  # type: ignore[arg-type]
        result_set("b", moved("B", 250, 245, 255)),  # type: ignore[arg-type]
    )
    (sentence,) = joint_sentences(sets)
    assert "B is fastest with 250 MB/s (95 %: 245 to 255 MB/s), 25 % faster than A" in sentence


def test_a_number_without_an_interval_wins_nothing_beyond_noise() -> None:
    (sentence,) = joint_sentences((result_set("a", observed("A", 100, 95, 105)), result_set("b", observed("B", 10))))
    assert "B looks fastest with 10.0\u00a0µs, 10 times as fast as A" in sentence
    assert "noise cannot be ruled out" in sentence


def test_a_run_is_placed_among_published_numbers() -> None:
    page = result_set("reference:page", observed("P", 10), observed("Q", 200), is_reference=True)
    run = result_set("a", observed("A", 100, 95, 105))
    (sentence,) = joint_sentences((run, page))
    assert sentence.replace("\u00a0", " ") == (
        "512 B durable write, median latency: A 100 µs (95 %: 95.0 to 105 µs), behind P (10.0 µs) and ahead of Q "
        "(200 µs), as published."
    )
    placed, other, best = joint_sentences((run, result_set("b", observed("B", 300, 290, 310)), page))
    assert best.startswith("512 B durable write, median latency: A is fastest with")
    assert placed == sentence
    assert other.endswith("310\u00a0µs), behind Q (200\u00a0µs), as published.")


def test_a_published_number_within_the_interval_is_neither_behind_nor_ahead() -> None:
    page = result_set("reference:page", observed("P", 97), observed("Q", 106), is_reference=True)
    (sentence,) = joint_sentences((result_set("a", observed("A", 100, 95, 105)), page))
    assert "about level with P (97.0\u00a0µs) and ahead of Q (106\u00a0µs)" in sentence


def test_a_page_that_knows_no_shift_is_beside_what_is_not_shifted() -> None:
    page = result_set("reference:page", observed("P", 10, levels=levels()), is_reference=True)
    run = result_set("a", *(observed("A", 100 + n, levels=levels(shift=str(512 * n))) for n in range(2)))
    (sentence,) = joint_sentences((run, page))
    assert "A 100\u00a0µs, behind P (10.0\u00a0µs)" in sentence


def test_of_many_combinations_it_is_told_how_often_who_is_first() -> None:
    def drive(name: str, *values: float) -> tuple[object, ...]:
        filesystems = ("raw", "ext4", "xfs")
        return tuple(
            observed(name, value, value - 5, value + 5, levels=levels(filesystem=filesystem))
            for value, filesystem in zip(values, filesystems, strict=True)
        )

    first = result_set("a", *drive("A", 50, 300, 203))  # type: ignore[arg-type]
    second = result_set("b", *drive("B", 100, 250, 200))  # type: ignore[arg-type]
    best, sentence = joint_sentences((first, second))
    assert sentence == (
        "512 B durable write, 3 combinations of settings on 2 drives: "
        "B is first in 2, A is first in 1; 2 of these are beyond the scatter of repeats."
    )
    assert best == (
        "512 B durable write at filesystem raw, median latency: A is fastest with "
        "50.0\u00a0µs (95 %: 45.0 to "
        "55.0\u00a0µs), 2.0 times as fast as B with 100\u00a0µs (95 %: 95.0 to 105\u00a0µs)."
    )


@pytest.mark.parametrize(("repeats", "is_beyond"), [(2, False), (3, False), (10, True)])
def test_ranges_of_few_repeats_that_do_not_overlap_settle_nothing(repeats: int, is_beyond: bool) -> None:
    sets = (
        result_set("a", observed("A", 100, 97, 103, trial_count=repeats)),
        result_set("b", observed("B", 107, 104, 110, trial_count=repeats)),
    )
    (contest,) = contests(sets)
    assert contest.is_beyond_noise is is_beyond
    (sentence,) = joint_sentences(sets)
    assert f"({repeats} repeats: 97.0 to 103\u00a0µs)" in sentence
    unsettled = "A and B cannot be told apart, so few repeats may lie like that by chance"
    assert ("A is fastest with" if is_beyond else unsettled) in sentence
    # a difference that is large enough for two
    far = (sets[0], result_set("b", observed("B", 200, 195, 205, trial_count=repeats)))
    assert next(contests(far)).is_beyond_noise is True


def test_trials_that_do_not_describe_the_drive_win_nothing() -> None:
    bad = observed("X", 1, 0.9, 1.1, invalid_trials=1)
    sets = (
        result_set("a", observed("A", 100, 95, 105)),
        result_set("b", observed("B", 250, 240, 260)),
        result_set("x", bad),
    )
    (sentence,) = joint_sentences(sets)
    assert "A is fastest" in sentence
    assert "; left out, because trials do not describe the drive: X" in sentence


def test_what_was_not_measured_alike_is_not_compared() -> None:
    first = result_set("a", observed("A", 100, 95, 105))
    assert joint_sentences((first,)) == ()
    assert joint_sentences((first, result_set("b", observed("B", 90, 85, 95, block_size_bytes=4096)))) == ()
    assert joint_sentences((first, result_set("b", observed("B", 90, 85, 95, queue_depth=32)))) == ()
    assert joint_sentences((first, result_set("b", observed("B", 90, 85, 95, workload="other")))) == ()
    on = observed("A", 100, 95, 105, levels=levels(write_cache="on"))
    off = observed("B", 100, 95, 105, levels=levels(write_cache="off"))
    assert joint_sentences((result_set("a", on), result_set("b", off))) == ()


def test_a_factor_that_one_side_does_not_know_is_left_out_only_where_it_has_one_level() -> None:
    known = [observed("A", 100, 95, 105, levels=levels(filesystem="raw", scheduler=one)) for one in ("none", "bfq")]
    other = result_set("b", observed("B", 300, 290, 310, levels=levels(filesystem="raw")))
    assert joint_sentences((result_set("a", *known), other)) == ()
    assert joint_sentences((result_set("a", known[0]), other))[0].startswith(
        "512 B durable write, median latency: A is fastest"
    )


def test_beside_a_run_pages_are_not_ranked_among_themselves() -> None:
    page = result_set("reference:page", observed("P", 10), observed("Q", 20), is_reference=True)
    assert joint_sentences((page,)) == ()
    run = result_set("a", observed("A", 100, 95, 105, workload="other"))
    assert joint_sentences((run, page)) == ()


def test_most_drives_first_and_the_rest_counted() -> None:
    def one(drive: str, number: int) -> object:
        return observed(drive, 10 * number, workload=f"w{number}", title=f"workload {number}")

    first = result_set("a", *(one("A", number) for number in range(1, 8)))  # type: ignore[arg-type]
    second = result_set("b", *(one("B", number) for number in range(1, 8)))  # type: ignore[arg-type]
    third = result_set("c", one("C", 6))  # type: ignore[arg-type]
    found = joint_sentences((first, second, third))
    assert found[0].startswith("Workload 6, median latency: ")
    assert found[-1] == "3 more workloads that several drives have in common: see the tables."


def test_a_long_name_does_not_drown_the_sentence() -> None:
    long = replace(observed("A", 100, 95, 105), drive="A" * 4096)
    (sentence,) = joint_sentences((result_set("a", long), result_set("b", observed("B\nC", 250, 240, 260))))
    assert len(sentence) < 300
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("depth", "block_size", "is_durable", "is_by_bytes"),
    [(1, 4096, False, False), (16, 4096, False, True), (16, 4096, True, False), (1, 1 << 20, False, True)],
)
def test_drives_are_judged_by_the_number_that_the_workload_is_about(
    depth: int, block_size: int, is_durable: bool, is_by_bytes: bool
) -> None:
    """The rule of a run and of a comparison: two reports of one workload must not name different winners."""

    def drive(name: str, latency: float, rate: float) -> ResultSet:
        kind = {"queue_depth": depth, "block_size_bytes": block_size, "is_durable": is_durable}
        moved = Estimate(rate, 0.99 * rate, 1.01 * rate, "B/s", 10, 3.0, "")
        return result_set(
            name,
            observed(name, latency, 0.99 * latency, 1.01 * latency, **kind),
            observed(name, 1, metric="throughput_bytes_per_s", estimate=moved, **kind),
        )

    # the median is lower on A, and B moves more
    (sentence,) = joint_sentences((drive("A", 100, 2e8), drive("B", 150, 3e8)))
    assert ("B is fastest with 300 MB/s" in sentence) is is_by_bytes
    assert ("A is fastest with 100" in sentence) is not is_by_bytes
    (contest,) = contests((drive("A", 100, 2e8), drive("B", 150, 3e8)))
    kind = TrialKind(block_size, depth, is_durable)
    assert contest.metric == judged_metric([kind])


def test_repeats_of_two_runs_say_nothing_of_runs() -> None:
    """As a comparison of the same two says it."""
    sets = tuple(
        result_set(key, *(observed(key.upper(), value, value - 5, value + 5, run=run) for value, run in measured))
        for key, measured in (("a", [(100, "monday")]), ("b", [(250, "friday")]))
    )
    (contest,) = contests(sets)
    assert contest.is_beyond_noise is None
    (sentence,) = joint_sentences(sets)
    assert "A looks fastest" in sentence
    assert sentence.endswith("; one run each, so how far another run would differ is unknown.")
    # what overlaps can't be told apart in any case
    near = (sets[0], result_set("b", observed("B", 104, 99, 109, run="friday")))
    assert "A and B cannot be told apart, their intervals overlap" in joint_sentences(near)[0]


def test_small_reads_that_nobody_waits_for_are_counted() -> None:
    def rated(drive: str, metric: str, value: float, unit: Unit) -> Observation:
        estimate = Estimate(value, 0.99 * value, 1.01 * value, unit, 10, 10.0, "")
        is_judged = metric == "throughput_bytes_per_s"
        changes = {"is_durable": False, "queue_depth": 32, "block_size_bytes": 4096, "is_judged": is_judged}
        return replace(observed(drive, 1), metric=metric, estimate=estimate, **changes)

    sets = tuple(
        result_set(name, rated(drive, "throughput_bytes_per_s", rate * 4096, "B/s"), rated(drive, "iops", rate, "1/s"))
        for name, drive, rate in (("a", "A", 400_000), ("b", "B", 3_000))
    )
    (sentence,) = joint_sentences(sets)
    assert "I/Os per second: A is fastest with 400" in sentence
    assert "MB/s" not in sentence


def test_drives_that_are_apart_by_a_few_per_cent_are_alike() -> None:
    sets = (result_set("a", observed("A", 100, 99.9, 100.1)), result_set("b", observed("B", 101, 100.9, 101.1)))
    (contest,) = contests(sets)
    assert contest.is_beyond_noise
    assert contest.is_alike
    assert "A and B are alike, 100" in joint_sentences(sets)[0]
    (apart,) = contests((sets[0], result_set("b", observed("B", 104, 103.9, 104.1))))
    assert not apart.is_alike
