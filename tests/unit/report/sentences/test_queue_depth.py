"""How many I/Os at a time are best, in a sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.report.sentences.run import plain_text, run_sentences

LATENCY = "total_latency_ns_p50"
DEPTHS = (1, 2, 4, 8, 16, 32)


def at(depth: int, rate: float, target: str = "sdb", outstanding: float | None = None) -> CombinationResult:
    latency, mean = 1e9 * depth / rate, 1e9 * (outstanding or depth) / rate
    return CombinationResult(
        target=target,
        workload="random-read",
        label="4 KiB random reads",
        levels={"queue_depth": str(depth)},
        achieved={},
        metrics={
            "iops": RepeatedMetric(rate, rate, rate, "1/s", 3),
            LATENCY: RepeatedMetric(latency, latency, latency, "ns", 3),
            "total_latency_ns_mean": RepeatedMetric(mean, mean, mean, "ns", 3),
        },
        judged_metric="iops",
        trials=("a", "b", "c"),
    )


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        # a queue that is full from 8 on
        (
            [1e4 * min(depth, 8) for depth in DEPTHS],
            (
                "8 at a time are the best trade, 80 000 IOPS, 8.0 times those of 1; the median latency is then "
                "100 us instead of 100 us; 32 bring no more, at 4.0 times the median latency."
            ),
        ),
        (
            [1e4 * depth for depth in DEPTHS],
            (
                "32 or more at a time are best: 320 000 IOPS, still growing, 32 times those of 1; the median "
                "latency is then 100 us instead of 100 us."
            ),
        ),
        # a disk with one head and no queue of its own
        (
            [100.0 + depth / 10 for depth in DEPTHS],
            "1 at a time is the best trade, 100 IOPS; 32 bring 3 % more, at 31 times the median latency.",
        ),
    ],
)
def test_the_depth_that_is_enough_is_told_with_what_each_pays(rates: list[float], words: str) -> None:
    answer = RunAnswer(tuple(at(depth, rate) for depth, rate in zip(DEPTHS, rates, strict=True)))
    # the first sentence may be two, for its length
    told = [plain_text(text).removesuffix(".") for text in run_sentences(answer)]
    assert f"{'; '.join(told)}." == words


def test_depths_that_were_never_outstanding_are_not_judged() -> None:
    rows = [at(depth, 1e4 * depth) for depth in DEPTHS[:4]]
    rows += [at(depth, 5e4, outstanding=depth / 2) for depth in DEPTHS[4:]]
    told = plain_text(" ".join(run_sentences(RunAnswer(tuple(rows)))))
    assert "8 or more at a time are best: 80 000 IOPS, still growing, 8.0 times those of 1" in told
    assert told.endswith("16 and 32 were asked for but never outstanding at once, so they are not judged.")
    alone = RunAnswer((at(1, 1e4), *(at(depth, 1e4, outstanding=1) for depth in DEPTHS[1:])))
    told = plain_text(" ".join(run_sentences(alone)))
    assert told.startswith("10 000 IOPS with 1 at a time; 2, 4, 8, 16 and 32 were asked for but never outstanding")


def test_what_deeper_queues_bring_is_a_bound_where_the_repeats_overlap() -> None:
    ends = {1: (73.0, 72.5, 73.7), 32: (73.7, 72.5, 76.4)}
    rows = [
        replace(one, metrics=one.metrics | {"iops": RepeatedMetric(*ends.get(depth, (73.0, 72.5, 73.7)), "1/s", 3)})
        for depth in DEPTHS
        for one in [at(depth, 73.0)]
    ]
    told = plain_text(run_sentences(RunAnswer(tuple(rows)))[0])
    assert (
        told == "1 at a time is the best trade, 73.0 IOPS; 32 bring at most 5 % more, if any, "
        "at 32 times the median latency."
    )


def test_the_best_depth_of_each_target_is_told_behind_which_is_fastest() -> None:
    rates = {"sda": (1e4, 2e4, 4e4), "sdb": (100.0, 101.0, 101.0), "sdc": (1500.0, 2900.0, 3000.0)}
    rows = [at(2**place, rate, name) for name, of in rates.items() for place, rate in enumerate(of)]
    beside, *_, best = run_sentences(RunAnswer(tuple(rows)))
    assert beside.startswith("sda is 6.7 to 13 times as fast as sdc")
    assert (
        plain_text(best) == "Best trade of rate and median latency: 4 or more at a time on sda, 40 000 IOPS at 100 us; "
        "1 at a time on sdb, 100 IOPS at 10.0 ms "
        "(4 bring 1 % more); 2 at a time on sdc, 2 900 IOPS at 690 us."
    )


def test_what_was_asked_is_answered_and_how_sure_the_lead_is_however_long_that_takes() -> None:
    rates = {"a drive": 1e4, "another one": 8e3, "the third of them": 100.0}
    rows = [at(depth, rate * depth, target) for target, rate in rates.items() for depth in DEPTHS]
    told = list(map(plain_text, run_sentences(RunAnswer(tuple(rows)))))
    assert told[0].startswith("a drive is 25 % faster than another one and 100 times as fast as the third of them")
    assert told[0].endswith("beyond the scatter in all 6 combinations.")
    assert told[1].startswith("Best trade of rate and median latency: 32 or more at a time on a drive")


def test_of_several_workloads_each_has_its_best_depths() -> None:
    rows = [at(depth, 1e4 * depth, target) for target in ("sdb", "sdc") for depth in DEPTHS]
    rows += [replace(one, workload="other", label="Other reads") for one in rows]
    beside, first, second = run_sentences(RunAnswer(tuple(rows)))
    assert plain_text(first).startswith(
        "4 KiB random reads, best trade of rate and median latency: 32 or more at a time on sdb, 320 000 IOPS at 1"
    )
    assert second.startswith("Other reads, best trade of rate and median latency: 32 or more at a time on sdb")
    assert beside.startswith("sdb and sdc cannot be told apart")


def test_with_another_factor_the_curve_is_at_its_first_level() -> None:
    rows = []
    for size, rate in (("4KiB", 1e4), ("64KiB", 5e3)):
        rows += [replace(one, levels=one.levels | {"block_size": size}) for one in (at(d, rate * d) for d in DEPTHS)]
    told = plain_text(run_sentences(RunAnswer(tuple(rows)))[0])
    assert told.startswith("4 KiB random reads (block size 4 KiB): 32 or more at a time are best: 320 000 IOPS")


def test_two_depths_are_no_curve() -> None:
    (sentence,) = run_sentences(RunAnswer((at(1, 1e4), at(2, 2e4))))
    assert "at a time" not in sentence


def test_what_a_higher_depth_may_bring_is_not_told_where_it_was_seen_to_bring_less() -> None:
    rows = []
    for depth, rate in ((1, 73.7), (2, 73.2), (4, 72.9), (64, 72.7)):
        one = at(depth, rate)
        scattered = replace(one.metrics["iops"], lowest=0.97 * rate, highest=1.03 * rate)
        rows.append(replace(one, metrics={**one.metrics, "iops": scattered}))
    assert "64 bring no more" in plain_text(" ".join(run_sentences(RunAnswer(tuple(rows)))))


def scattered(rows: dict[int, tuple[float, float, float]], target: str = "sdb") -> list[CombinationResult]:
    return [
        replace(one, metrics=one.metrics | {"iops": RepeatedMetric(*numbers, "1/s", 3)})
        for depth, numbers in rows.items()
        for one in [at(depth, numbers[0], target)]
    ]


def test_no_depth_is_the_best_where_the_repeats_scatter_over_several() -> None:
    """Of a busy machine: 4 was told as the best of a drive that made 2.6 times as many with 64."""
    measured = {
        1: (9580.0, 777.0, 12700.0),
        2: (17300.0, 5020.0, 19600.0),
        4: (35100.0, 3540.0, 37600.0),
        8: (41400.0, 6610.0, 51200.0),
        16: (51900.0, 34400.0, 72400.0),
        32: (85200.0, 27800.0, 89600.0),
        64: (91600.0, 75600.0, 102000.0),
    }
    told = plain_text(" ".join(run_sentences(RunAnswer(tuple(scattered(measured))))))
    assert told.startswith(
        "The repeats scatter: the best trade of rate and latency lies somewhere from 1 to 64 or more at a time"
    )
    assert told.endswith("The most is 91 600 IOPS at a median of 699 us with 64.")
    calm = {depth: (value, 0.99 * value, 1.01 * value) for depth, (value, *_) in measured.items()}
    two = RunAnswer((*scattered(measured), *scattered(calm, "sdc")))
    (best,) = (text for text in map(plain_text, run_sentences(two)) if text.startswith("Best trade"))
    assert best == (
        "Best trade of rate and median latency: not told on sdb, where 1 to 64 or more at a time may be it; "
        "4 at a time on sdc, 35 100 IOPS at 114 us (64 bring 161 % more)."
    )
    both = RunAnswer((*scattered(measured), *scattered(measured, "sdc")))
    (best,) = (text for text in map(plain_text, run_sentences(both)) if text.startswith("Best trade"))
    assert best == (
        "Best trade of rate and median latency: not told, the repeats scatter too far; the most: "
        "91 600 IOPS with 64 on sdb, 91 600 IOPS with 64 on sdc."
    )


def test_the_depth_that_brings_the_most_is_told_also_where_it_is_not_the_highest() -> None:
    rates = {1: 15500.0, 8: 61200.0, 16: 73600.0, 32: 95700.0, 64: 92200.0}
    rows = [at(depth, rate) for depth, rate in rates.items()]
    told = plain_text(" ".join(run_sentences(RunAnswer(tuple(rows)))))
    assert "32 bring 56 % more" in told


def test_more_that_no_repeat_reaches_is_told_with_how_much_and_not_as_perhaps_none() -> None:
    """The slowest of 8 at a time is 28 % above the fastest of 4; three repeats settle no more than that."""
    measured = {1: (12400.0, 11400.0, 12700.0), 4: (30000.0, 28000.0, 30400.0), 8: (39200.0, 39000.0, 46300.0)}
    told = plain_text(" ".join(run_sentences(RunAnswer(tuple(scattered(measured))))))
    assert "8 bring about 31 % more, not settled by so few repeats" in told
    assert "if any" not in told
