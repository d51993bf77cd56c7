"""The numbers that a run is about, in its first sentence."""

from __future__ import annotations

from dataclasses import replace

from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import CombinationResult, LevelEffect, RepeatedMetric, RunAnswer
from drivelab.report.sentences.run import plain_text, run_sentences
from drivelab.report.sentences.values import value_sentences

LATENCY, THROUGHPUT = "total_latency_ns_p50", "throughput_bytes_per_s"


def row(
    value: float, label: str = "appends", metric: str = LATENCY, *, is_durable: bool = True, **levels: str
) -> CombinationResult:
    unit = "B/s" if metric == THROUGHPUT else "ns"
    found = {metric: RepeatedMetric(value, value, value, unit, 3)}  # type: ignore[arg-type]
    return CombinationResult("sdb", label, label, levels, {}, found, metric, ("a", "b", "c"), is_durable=is_durable)


def told(*rows: CombinationResult) -> list[str]:
    return [plain_text(text) for text in value_sentences(RunAnswer(rows))]


def test_each_level_of_the_first_factor_with_the_others_at_their_first() -> None:
    rows = [
        row(value * (1 if mount == "nodiscard" else 9), filesystem=name, mount=mount)
        for name, value in (("raw", 257e3), ("ext4", 696e3), ("xfs", 358e3))
        for mount in ("nodiscard", "discard")
    ]
    assert told(*rows) == ["Appends (nodiscard): 257 us raw, 696 us ext4, 358 us xfs."]
    assert (
        plain_text(run_sentences(RunAnswer(tuple(rows)))[0])
        == "Appends (nodiscard): 257 us raw, 696 us ext4, 358 us xfs."
    )


def test_of_many_numbers_the_first_and_the_last_and_of_many_names_how_many_more() -> None:
    rates = {"20%": 4.8e8, "40%": 4e8, "60%": 3.4e8, "80%": 2e8, "100%": 1.7e8}
    assert told(*(row(rate, metric=THROUGHPUT, fill_level=level) for level, rate in rates.items())) == [
        "Appends: 2.8 times as slow at fill level 100 % as at 20 %, 170 MB/s against 480 MB/s."
    ]
    names = ("none", "bfq", "kyber", "mq-deadline", "adios")
    assert told(*(row(2e5, scheduler=name) for name in names)) == [
        "Appends: 200 us with scheduler none, 200 us bfq, 200 us kyber, 200 us mq-deadline and 1 more."
    ]


def test_rates_at_depths_stand_with_how_long_99_percent_of_the_ios_take_at_most() -> None:
    p99 = RepeatedMetric(10.1e6, 9e6, 11e6, "ns", 3)
    one, four = (row(rate, metric=THROUGHPUT, queue_depth=depth) for rate, depth in ((1.57e9, "1"), (1.49e9, "4")))
    with_p99 = [replace(each, metrics={**each.metrics, "total_latency_ns_p99": p99}) for each in (one, four)]
    other = row(1.09e9, "buffered", THROUGHPUT)
    assert told(with_p99[0], replace(with_p99[1], metrics=four.metrics), other) == [
        "Appends: 1.57 GB/s at queue depth 1 (p99 10.1 ms), 1.49 GB/s at 4; buffered: 1.09 GB/s."
    ]


def test_a_curve_of_which_nothing_tells_how_far_it_scatters_says_by_how_many_repeats() -> None:
    rows = [row(4.63e8, metric=THROUGHPUT, fill_level=f"{level}%") for level in (20, 40, 60, 80, 100)]
    alone = RepeatedMetric(4.63e8, 4.63e8, 4.63e8, "B/s", 1)
    rows = [replace(one, metrics={THROUGHPUT: alone}, trials=("a",)) for one in rows]
    assert told(*rows) == [
        "Appends: looked as fast at fill level 100 % as at 20 %, 463 MB/s against 463 MB/s; one repeat of each."
    ]


def test_of_many_workloads_the_first_level_what_is_durable_first() -> None:
    rows = [
        row(value, label, is_durable=label != "Kafka: 16 KiB, synced at the end", filesystem=name)
        for label, value in (
            ("Kafka: 16 KiB, synced at the end", 5e3),
            ("etcd: 2300 B", 5.3e5),
            ("PostgreSQL: 8 KiB", 1.46e5),
        )
        for name in ("ext4", "xfs")
    ]
    assert told(*rows) == [
        "Median latency with ext4 and xfs: etcd 530 us; PostgreSQL 146 us; not durable: Kafka 5.00 us."
    ]
    rows = [
        replace(one, metrics=row(1e5, filesystem="xfs").metrics) if one.levels["filesystem"] == "xfs" else one
        for one in rows
    ]
    assert told(*rows[2:], *rows[:2]) == [
        (
            "Median latency with ext4 and xfs: etcd 530 and 100 us; PostgreSQL 146 and 100 us; "
            "not durable: Kafka 5.00 and 100 us."
        )
    ]
    # another factor is at its first level
    jobs = [replace(one, levels={**one.levels, "job_count": count}) for count in ("1", "4") for one in rows]
    assert told(*jobs)[0].startswith("Median latency with ext4 and xfs (job count 1): etcd 530 and 100 us;")


def test_of_two_levels_in_many_workloads_it_is_said_first_which_is_faster_and_in_how_many() -> None:
    values = {"etcd: 2300 B": (263e3, 318e3), "Kafka: 16 KiB": (5e3, 4e3), "Redis: 64 B": (98e3, 97e3)}
    rows = [
        row(value, label, filesystem=name)
        for label, pair in values.items()
        for name, value in zip(("ext4", "xfs"), pair, strict=True)
    ]
    unsettled = [
        LevelEffect(
            "sdb",
            label,
            "filesystem",
            "xfs",
            "ext4",
            LATENCY,
            *_ratio(after / before),
            "not settled",
            0.05,
            0.2,
            0.4,
            1,
        )
        for label, (before, after) in values.items()
    ]

    def said(*effects: LevelEffect) -> str:
        (sentence,) = value_sentences(RunAnswer(tuple(rows), effects=effects))
        return plain_text(sentence)

    numbers = "etcd 263 and 318 us; Kafka 5.00 and 4.00 us."
    assert said(*unsettled) == f"ext4 and xfs are not told apart in any of 3 workloads: median latency {numbers}"
    settled = [replace(one, verdict="matters") if one.workload.startswith("Kafka") else one for one in unsettled]
    told = f"xfs is faster than ext4 in 1 of 3 workloads (Kafka): median latency with ext4 and xfs: {numbers}"
    assert said(*settled) == told
    # a copy into memory decides nothing about logs
    rows = [replace(one, is_durable=not one.label.startswith("Kafka")) for one in rows]
    assert said(*settled).startswith("ext4 and xfs are not told apart in either durable workload: median latency etcd")
    rows = [replace(one, is_durable=True) for one in rows]
    both = [replace(one, verdict="matters") for one in unsettled[:2]]
    assert said(*both, *unsettled[2:]).startswith("ext4 is faster than xfs in 1 of 3 workloads, slower in 1: median")
    # a number alone names nothing
    jobs = {"ext4": "1", "xfs": "4"}
    effects = [replace(one, factor="job_count", level="4", baseline="1") for one in unsettled]
    rows = [replace(one, levels={"job_count": jobs[one.levels["filesystem"]]}) for one in rows]
    rows[1] = replace(rows[1], metrics=row(1e6).metrics)
    assert said(*effects).startswith("Job count 1 and 4 are not told apart in any of 3 workloads: median latency etcd")


def _ratio(value: float) -> tuple[Estimate, tuple[float, ...]]:
    return Estimate(value, value, value, "1", 3, 3.0, ""), (value,) * 3


def test_what_one_sync_at_the_end_makes_durable_is_told_as_that_and_is_not_called_lost() -> None:
    rows = [
        row(rate, label, THROUGHPUT, is_durable=label == "each synced", count=count)
        for label, rate in (("no sync", 4e9), ("synced at the end", 1.49e9), ("each synced", 2.9e8))
        for count in ("100", "500")
    ]
    rows = [
        replace(one, metrics=one.metrics | {"end_sync_ns": RepeatedMetric(1e6, 1e6, 1e6, "ns", 3)})
        if one.label == "synced at the end"
        else one
        for one in rows
    ]
    assert told(*rows) == [
        "Each synced 290 MB/s; durable only at the end: synced at the end 1.49 GB/s; not durable: no sync 4 GB/s."
    ]


def test_levels_that_nothing_tells_apart_are_told_as_one_span_and_others_by_the_first() -> None:
    def rows(highest: float) -> list[CombinationResult]:
        found = [
            row(value, label, THROUGHPUT, count=count)
            for label in ("plain", "synced", "direct")
            for count, value in (("100", 2.9e8), ("500", 5.16e8))
        ]
        wide = RepeatedMetric(5.16e8, 2.75e8, highest, "B/s", 3)
        return [replace(one, metrics={THROUGHPUT: wide}) if one.levels["count"] == "500" else one for one in found]

    # a span would hide that one level is several times the other, however few repeats there were
    far = [
        replace(one, metrics={THROUGHPUT: RepeatedMetric(2.32e9, 2.75e8, 4.3e9, "B/s", 2)})
        if one.levels["count"] == "500"
        else one
        for one in rows(1.0)
    ]
    assert told(*far)[0].startswith("100 I/Os and 500 I/Os: plain 290 MB/s and 2.32 GB/s; synced ")
    assert told(*rows(1.07e9)) == ["Plain 290 to 516 MB/s; synced 290 to 516 MB/s; direct 290 to 516 MB/s."]
    apart = [replace(one, metrics=row(one.metrics[THROUGHPUT].median, metric=THROUGHPUT).metrics) for one in rows(1.0)]
    assert told(*apart) == [
        "100 I/Os and 500 I/Os: plain 290 and 516 MB/s; synced 290 and 516 MB/s; direct 290 and 516 MB/s."
    ]


def test_of_many_workloads_at_several_levels_which_level_leads_in_how_many() -> None:
    rates = {"write": (3e8, 5e8, 4e8), "read": (3e8, 5e8, 4e8), "seeks": (1e8, 1e8, 2e8)}
    rows = [
        row(rate, label, THROUGHPUT, filesystem=name)
        for label, values in rates.items()
        for name, rate in zip(("ext3", "ext4", "xfs"), values, strict=True)
    ]
    assert told(*rows) == ["ext4 leads beyond the scatter in 2 of 3 workloads, xfs in 1."]
    rows += [row(lowest, "sync", filesystem=name) for name, lowest in (("ext3", 3e5), ("ext4", 2e5), ("xfs", 1e5))]
    assert told(*rows) == ["ext4 and xfs lead beyond the scatter in 2 of 4 workloads each."]


def test_a_sentence_of_many_workloads_is_cut_at_thirty_words() -> None:
    label = "create, fsync of file and directory, number {}"
    (sentence,) = told(*(row(1e5, label.format(n), filesystem=name) for n in range(9) for name in ("ext4", "xfs")))
    assert sentence.endswith("number 1 100 us; and 7 more.")
    assert len(sentence.split()) <= 30


def test_a_second_workload_is_told_in_the_same_sentence_while_that_stays_short() -> None:
    both = [row(1e5, label, filesystem=name) for label in ("small", "large") for name in ("raw", "ext4", "xfs")]
    assert told(*both) == ["Small: 100 us raw, 100 us ext4, 100 us xfs; large: 100 us raw, 100 us ext4, 100 us xfs."]
    label = "writes of 4 KiB each of which is synced before the next one begins"
    assert told(*both[:3], *(row(1e5, label, filesystem=name) for name in ("raw", "ext4", "xfs"))) == [
        "Small: 100 us raw, 100 us ext4, 100 us xfs.",
        f"{label.capitalize().replace('kib', 'KiB')}: 100 us raw, 100 us ext4, 100 us xfs.",
    ]


def test_nothing_is_told_of_two_numbers_nor_of_changes_one_at_a_time_nor_of_several_targets() -> None:
    assert told(row(1e5, cache="on"), row(2e5, cache="off")) == []
    assert (
        told(
            row(1e5, cache="on", scheduler="none"),
            row(2e5, cache="off", scheduler="none"),
            row(2e5, cache="on", scheduler="bfq"),
        )
        == []
    )
    rows = [row(1e5, filesystem=name) for name in ("raw", "ext4", "xfs")]
    other = [
        CombinationResult(
            "sdc",
            *(
                getattr(one, key)
                for key in ("workload", "label", "levels", "achieved", "metrics", "judged_metric", "trials")
            ),
        )
        for one in rows
    ]
    assert told(*rows, *other) == []
    assert told() == []


def test_what_scatters_into_another_leads_nowhere() -> None:
    labels = ("create", "stat", "delete")
    rows = [
        row(2e5 + 2e4 * place, label, filesystem=name)
        for label in labels
        for place, name in enumerate(("ext4", "xfs", "btrfs"))
    ]
    wide = [
        replace(one, metrics={LATENCY: replace(one.metrics[LATENCY], lowest=1e5, highest=9e5)})
        if one.label != "stat"
        else one
        for one in rows
    ]
    assert told(*rows) == ["ext4 leads beyond the scatter in 3 of 3 workloads."]
    assert told(*wide) == ["ext4 leads beyond the scatter in 1 of 3 workloads: stat."]
    near = [
        row(2e5 + 1e3 * place, label, filesystem=name)
        for label in labels
        for place, name in enumerate(("ext4", "xfs", "btrfs"))
    ]
    assert told(*near) == ["ext4 looked fastest in 3 of 3 workloads; none of that is sure among so many."]


def verdict(workload: str, baseline: str, level: str, value: float, words: str = "matters") -> LevelEffect:
    ratio = Estimate(value, 0.9 * value, 1.1 * value, "1", 3, 3.0, "")
    given = {"p_value": 0.001, "adjusted_p_value": 0.01, "combination_count": 1}
    return LevelEffect(
        *("sdb", workload, "filesystem", level, baseline, LATENCY, ratio, (value,) * 3, words, 0.05),  # type: ignore[arg-type]
        **given,  # type: ignore[arg-type]
    )


def test_where_pairs_of_levels_were_judged_their_verdicts_say_who_leads() -> None:
    labels = ("create", "stat", "delete")
    rows = tuple(
        row(2e5 * (1 + place), label, filesystem=name)
        for label in labels
        for place, name in enumerate(("ext4", "xfs", "btrfs"))
    )
    effects = [verdict("create", "ext4", name, 2.0 + place) for place, name in enumerate(("xfs", "btrfs"))]
    effects += [verdict("stat", "ext4", "xfs", 2.0, "not settled"), verdict("stat", "ext4", "btrfs", 3.0)]
    answer = RunAnswer(rows, contrasts=tuple(effects))
    # by their ranges it leads in all three
    assert told(*rows) == ["ext4 leads beyond the scatter in 3 of 3 workloads."]
    assert [plain_text(text) for text in value_sentences(answer)] == [
        "ext4 leads beyond the scatter in 1 of 3 workloads: create."
    ]


def test_levels_that_are_not_settled_are_named_behind_their_numbers() -> None:
    rows = tuple(row(value, filesystem=name) for name, value in (("raw", 1.49e6), ("ext4", 6.35e5), ("xfs", 2.18e5)))
    effects = (
        verdict("appends", "raw", "ext4", 0.43, "not settled"),
        verdict("appends", "raw", "xfs", 0.15),
    )
    (sentence,) = value_sentences(RunAnswer(rows, contrasts=effects))
    assert plain_text(sentence) == "Appends: 1.49 ms raw, 635 us ext4, 218 us xfs (not settled: ext4 against raw)."


def test_what_may_be_another_rate_altogether_is_not_told_as_the_same() -> None:
    def curve(last: float, low: float, high: float, repeats: int = 1) -> list[CombinationResult]:
        found = []
        for level, rate in (("20%", 1.33e9), ("40%", 8e8), ("60%", 1.3e9), ("80%", 1.3e9), ("100%", last)):
            ends = low * rate, high * rate
            number = RepeatedMetric(rate, *ends, "B/s", repeats, low=ends[0], high=ends[1])
            found.append(replace(row(rate, metric=THROUGHPUT, fill_level=level), metrics={THROUGHPUT: number}))
        return found

    assert told(*curve(1.36e9, 0.4, 1.6)) == [
        "Appends: 1.36 GB/s at fill level 100 % and 1.33 GB/s at fill level 20 %, not told apart by one repeat of each."
    ]
    assert told(*curve(1.36e9, 0.97, 1.03, 3))[0].startswith("Appends: as fast at fill level 100 % as at 20 %")
    # by one repeat it only looks so, however sure that is of itself
    assert told(*curve(1.36e9, 0.97, 1.03))[0].startswith("Appends: looked as fast at fill level 100 %")
