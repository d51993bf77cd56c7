"""What several drives come to, in sentences that claim no more than the intervals carry."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_up_results import levels, observed, result_set

from drivelab.analyse.judged_metric import TrialKind, judged_metric
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.lasting_rate import METHOD
from drivelab.model.result_set import SIMULATED, Observation, ResultSet
from drivelab.report.sentences.contests import contests
from drivelab.report.sentences.drive_names import DriveOfRun
from drivelab.report.sentences.several_drives import joint_sentences, lead_words


def test_the_fastest_beyond_noise_is_named_with_numbers() -> None:
    sets = (
        result_set("a", observed("A", 100, 95, 105)),
        result_set("b", observed("B", 250, 240, 260)),
        result_set("c", observed("C", 900, 890, 910)),
    )
    (sentence,) = joint_sentences(sets)
    assert sentence == (
        "A is 2.5 times as fast as B and 9.0 times as fast as C at 512 B durable write, 100\u00a0µs against "
        "250\u00a0µs and 900\u00a0µs; the intervals of single repeats lie apart."
    )


@pytest.mark.parametrize(("low", "is_beyond"), [(104.9, False), (105.0, False), (105.1, True)])
def test_intervals_that_touch_settle_nothing(low: float, is_beyond: bool) -> None:
    sets = (result_set("a", observed("A", 100, 95, 105)), result_set("b", observed("B", 110, low, 120)))
    (contest,) = contests(sets)
    # slow and exact: is there a pair of values within the two intervals that turns the order around?
    assert contest.is_beyond_noise is is_beyond is (not low <= 105)
    (sentence,) = joint_sentences(sets)
    assert sentence.startswith(
        "A is 10 % faster than B at" if is_beyond else "A and B cannot be told apart by one repeat"
    )


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
    assert sentence.startswith("B is 25 % faster than A at 512 B durable write, 250 MB/s against 200 MB/s")


def test_a_number_without_an_interval_wins_nothing_beyond_noise() -> None:
    (sentence,) = joint_sentences((result_set("a", observed("A", 100, 95, 105)), result_set("b", observed("B", 10))))
    assert sentence.startswith("B looked 10 times as fast as A at")
    assert sentence.endswith("; with one repeat each that may be chance.")
    lasts = observed("B", 10)
    lasts = replace(lasts, estimate=replace(lasts.estimate, method=METHOD))
    (sentence,) = joint_sentences((result_set("a", observed("A", 100, 95, 105)), result_set("b", lasts)))
    assert sentence.endswith("; what lasts behind a burst or a cache has no interval.")
    repeated = (
        result_set("a", observed("A", 100, 95, 105, trial_count=3)),
        result_set("b", observed("B", 10, trial_count=3)),
    )
    assert "noise cannot be ruled out" in joint_sentences(repeated)[0]


def test_a_run_is_placed_among_published_numbers() -> None:
    page = result_set("reference:page", observed("P", 10), observed("Q", 200), is_reference=True)
    run = result_set("a", observed("A", 100, 95, 105))
    (sentence,) = joint_sentences((run, page))
    assert sentence.replace("\u00a0", " ") == (
        "A with 100 µs (95 %: 95.0 to 105 µs) is behind P (10.0 µs) and ahead of Q (200 µs), as published; "
        "by median latency of 512 B durable write."
    )
    placed, other, best = joint_sentences((run, result_set("b", observed("B", 300, 290, 310)), page))
    assert best.startswith("A is 3.0 times as fast as B at 512 B durable write")
    assert placed == sentence
    assert "310\u00a0µs) is behind Q (200\u00a0µs), as published; by" in other


def test_a_published_number_within_the_interval_is_neither_behind_nor_ahead() -> None:
    page = result_set("reference:page", observed("P", 97), observed("Q", 106), is_reference=True)
    (sentence,) = joint_sentences((result_set("a", observed("A", 100, 95, 105)), page))
    assert "is about level with P (97.0\u00a0µs) and ahead of Q (106\u00a0µs)" in sentence


def test_a_published_number_beside_the_range_of_three_repeats_is_not_told_apart_from_it() -> None:
    # three repeats of 1.01 to 1.48 ms, each with an interval that reaches below 500 us
    page = result_set("reference:page", observed("P", 830), observed("Q", 2700), is_reference=True)
    (sentence,) = joint_sentences((result_set("a", observed("A", 1270, 1010, 1480, trial_count=3)), page))
    assert "is not told apart from P (830\u00a0µs) and ahead of Q (2.70\u00a0ms), as published" in sentence


def test_a_page_that_knows_no_shift_is_beside_what_is_not_shifted() -> None:
    page = result_set("reference:page", observed("P", 10, levels=levels()), is_reference=True)
    run = result_set("a", *(observed("A", 100 + n, levels=levels(shift=str(512 * n))) for n in range(2)))
    (sentence,) = joint_sentences((run, page))
    assert sentence.startswith("A with 100\u00a0µs is behind P (10.0\u00a0µs), as published; by median latency of")


def test_a_page_with_and_without_discard_is_beside_a_run_that_knows_no_mount_option() -> None:
    published = [observed("P", 10 * n, levels=levels(mount=name)) for n, name in enumerate(("nodiscard", "discard"), 1)]
    run = result_set("a", observed("A", 100, levels=levels()))
    (sentence,) = joint_sentences((run, result_set("reference:page", *published, is_reference=True)))
    assert sentence.startswith("A with 100\u00a0µs is behind P (10.0\u00a0µs), as published; by median latency of")


def test_of_many_combinations_it_is_told_how_often_who_is_first() -> None:
    def drive(name: str, *values: float) -> tuple[object, ...]:
        filesystems = ("raw", "ext4", "xfs")
        return tuple(
            observed(name, value, value - 5, value + 5, levels=levels(filesystem=filesystem))
            for value, filesystem in zip(values, filesystems, strict=True)
        )

    first = result_set("a", *drive("A", 50, 300, 203))  # type: ignore[arg-type]
    second = result_set("b", *drive("B", 100, 250, 200))  # type: ignore[arg-type]
    (sentence,) = joint_sentences((first, second))
    assert sentence == (
        "A is 2.0 times as fast as B at 512 B durable write; the intervals of single repeats lie apart in "
        "1 of 3 combinations, B in 1."
    )


def test_how_many_combinations_could_not_be_compared_stands_with_those_that_could() -> None:
    def drive(name: str, value: float, *kinds: str) -> list[Observation]:
        ends = {"raw": (value - 5, value + 5), "ext4": (None, None)}
        return [observed(name, value, *ends[kind], levels=levels(filesystem=kind)) for kind in kinds]

    sets = [result_set(name, *drive(name, value, "raw", "ext4")) for name, value in (("A", 50), ("B", 100))]
    (sentence,) = joint_sentences(tuple(sets))
    assert sentence.endswith("the intervals of single repeats lie apart in 1 of 2 combinations (1 lacks one).")


@pytest.mark.parametrize(("repeats", "is_beyond"), [(2, False), (3, False), (10, True)])
def test_ranges_of_few_repeats_that_do_not_overlap_settle_nothing(repeats: int, is_beyond: bool) -> None:
    sets = (
        result_set("a", observed("A", 100, 97, 103, trial_count=repeats)),
        result_set("b", observed("B", 107, 104, 110, trial_count=repeats)),
    )
    (contest,) = contests(sets)
    assert contest.is_beyond_noise is is_beyond
    (sentence,) = joint_sentences(sets)
    unsettled = f"A and B cannot be told apart by {repeats} repeats at"
    assert sentence.startswith("A is 7 % faster than B at" if is_beyond else unsettled)
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
    assert sentence.startswith("A is 2.5 times as fast as B at")
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
    assert joint_sentences((result_set("a", known[0]), other))[0].startswith("A is 3.0 times as fast as B at")


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
    assert " at workload 6, " in found[0]
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
    assert sentence.startswith("B is 50 % faster than A" if is_by_bytes else "A is 50 % faster than B")
    assert ("300 MB/s against 200 MB/s" in sentence) is is_by_bytes
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
    assert sentence.startswith("A looked 2.5 times as fast as B at")
    assert sentence.endswith("; one run each, so another run may differ.")
    # what overlaps can't be told apart in any case
    near = (sets[0], result_set("b", observed("B", 104, 99, 109, run="friday")))
    assert joint_sentences(near)[0].startswith("A and B cannot be told apart by one repeat each at")


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
    assert "400\u202f000 a second against 3\u202f000 a second" in sentence
    assert "MB/s" not in sentence


def test_drives_that_are_apart_by_a_few_per_cent_are_alike() -> None:
    sets = (result_set("a", observed("A", 100, 99.9, 100.1)), result_set("b", observed("B", 101, 100.9, 101.1)))
    (contest,) = contests(sets)
    assert contest.is_beyond_noise
    assert contest.is_alike
    assert joint_sentences(sets)[0].startswith("A and B are alike at 512 B durable write, 100")
    (apart,) = contests((sets[0], result_set("b", observed("B", 104, 103.9, 104.1))))
    assert not apart.is_alike


def test_a_model_is_not_held_against_a_drive_that_was_measured() -> None:
    measured = result_set("a", observed("A", 100, 95, 105, run="monday"))
    model = result_set("b", observed("sim:B", 250, 240, 260, run=SIMULATED))
    assert joint_sentences((measured, model)) == ()
    other = result_set("c", observed("sim:C", 500, 490, 510, run=SIMULATED))
    (sentence,) = joint_sentences((measured, model, other))
    assert sentence.startswith("sim:B is 2.0 times as fast as sim:C")


def test_what_survives_a_power_cut_comes_first() -> None:
    def drive(name: str, factor: float) -> ResultSet:
        plain = observed(
            name, 10 * factor, 9 * factor, 11 * factor, workload="plain", title="creates", is_durable=False
        )
        durable = observed(name, 100 * factor, 90 * factor, 110 * factor, workload="durable", title="durable creates")
        return result_set(name, plain, durable)

    first, second = joint_sentences((drive("A", 1.0), drive("B", 3.0)))
    assert " at durable creates, " in first
    assert " at creates, " in second


def test_of_combinations_that_contradict_each_other_none_is_told_as_a_lead() -> None:
    def run(key: str, *values: float) -> ResultSet:
        rows = (
            observed(key, value, 0.9 * value, 1.1 * value, levels=levels(job_count=str(2**number)))
            for number, value in enumerate(values)
        )
        return result_set(key, *(replace(one, run=key) for one in rows))

    (sentence, *_) = joint_sentences((run("A", 100, 300, 104), run("B", 200, 150, 100)))
    assert sentence.startswith("Which is faster at ")
    assert "cannot be told: B looked faster in 2 of 3 combinations, A in 1; one run each" in sentence
    (sentence, *_) = joint_sentences((run("A", 100, 101, 102), run("B", 200, 250, 100)))
    assert sentence.startswith("A looked 2.0 to 2.5 times as fast as B")


def test_runs_of_one_drive_have_no_leader_in_a_few_words() -> None:
    sets = [
        result_set(key, replace(observed(f"A ({key})", value, 0.9 * value, 1.1 * value), run=key))
        for key, value in (("a", 100), ("b", 200))
    ]
    drives = {
        (one.drive, one.machine): DriveOfRun(("", "A"), "A", each.key, place)
        for place, each in enumerate(sets)
        for one in each.observations
    }
    assert lead_words(sets, drives) == ""
    assert lead_words(sets, {}).startswith("A (a) looked 2.0 times as fast as A (b)")


def test_of_many_workloads_it_is_said_behind_the_first_who_leads_in_how_many() -> None:
    def run(key: str, *values: float) -> ResultSet:
        rows = [
            replace(
                observed(key, value, 0.9 * value, 1.1 * value), workload=f"w{place}", title=f"work {place}", run=key
            )
            for place, value in enumerate(values)
        ]
        return result_set(key, *rows)

    many = joint_sentences((run("A", 100, 100, 100, 100, 300), run("B", 200, 200, 200, 200, 100)))
    assert many[0].startswith("A looked 2.0 times as fast as B at work 0")
    assert many[1] == "A looked faster in 4 of 5 workloads, B in 1 (work 4)."
    # nobody is ahead of a drive that was not measured
    missing = joint_sentences((*(run(key, *[200] * 5, 100) for key in "BC"), run("A", *[100] * 5)))
    assert missing[1] == "A looked fastest in all 5 workloads that all have."
    few = joint_sentences((run("A", 100, 100, 300), run("B", 200, 200, 100)))
    assert few[0].startswith("A looked 2.0 times as fast as B at work 0")
