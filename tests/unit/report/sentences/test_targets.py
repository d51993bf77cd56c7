"""Several targets of one run: a sentence says which is best, by how much, and whether that is more than noise."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.model.judged_metric import DURATION
from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.report.sentences.run import plain_text, run_sentences
from drivelab.report.sentences.targets import target_sentences
from golden_reports import golden_joint

RUNS = Path(__file__).resolve().parents[3] / "golden" / "runs"
LATENCY, THROUGHPUT = "total_latency_ns_p50", "throughput_bytes_per_s"


def row(target: str, *repeats: float, metric: str = LATENCY, **changes: object) -> CombinationResult:
    unit = "B/s" if metric == THROUGHPUT else "ns"
    middle = sorted(repeats)[len(repeats) // 2]
    found = {metric: RepeatedMetric(middle, min(repeats), max(repeats), unit, len(repeats))}  # type: ignore[arg-type]
    given: dict[str, object] = {"workload": "small", "label": "synced writes"}
    given |= {"levels": {}, "achieved": {}, "metrics": found, "judged_metric": metric}
    given |= {"trials": tuple(map(str, repeats)), "block_size_bytes": 512, "is_durable": True}
    return CombinationResult(target, **(given | changes))  # type: ignore[arg-type]


def first(*rows: CombinationResult, of_tasks: bool = False) -> str:
    return plain_text(run_sentences(RunAnswer(rows), of_tasks=of_tasks)[0])


def test_the_better_of_two_targets_is_named_with_how_much_and_beyond_which_scatter() -> None:
    told = first(row("Alpha", 6.2e6, 6.3e6, 6.4e6), row("Beta", 1.0e6, 1.1e6, 1.2e6))
    assert told == ("Beta is 5.7 times as fast as Alpha at synced writes, 1.10 ms against 6.30 ms; beyond the scatter.")


def test_of_three_targets_the_first_is_told_beside_both_others() -> None:
    told = first(row("A", 1.0e6, 1.1e6, 1.2e6), row("B", 6.2e6, 6.3e6, 6.4e6), row("C", 2.1e7, 2.2e7, 2.3e7))
    assert told == (
        "A is 5.7 times as fast as B and 20 times as fast as C at synced writes, 1.10 ms against 6.30 ms and "
        "22.0 ms; beyond the scatter."
    )


def test_the_second_of_one_combination_is_not_told_with_the_ratios_of_another() -> None:
    values = {"1": (1.0e6, 2.0e6, 9.0e6), "2": (1.0e6, 8.0e6, 3.0e6)}
    rows = [
        row(target, 0.99 * value, value, 1.01 * value, levels={"queue_depth": depth})
        for depth, of in values.items()
        for target, value in zip("ABC", of, strict=True)
    ]
    assert "A is 2.0 to 8.0 times as fast as B and 3.0 to 9.0 times as fast as C" in first(*rows)


def test_of_many_targets_the_second_and_the_last_are_told() -> None:
    told = first(*(row(name, 0.99 * ns, ns, 1.01 * ns) for name, ns in zip("ABCD", (1e6, 2e6, 3e6, 4e6), strict=True)))
    assert told.startswith("A is 2.0 times as fast as B and 4.0 times as fast as D at synced writes, 1.00 ms against ")


def test_each_of_two_targets_tells_both_ends_of_its_curve() -> None:
    rates = {"20%": (4.8e8, 2e9), "60%": (3.4e8, 2e9), "100%": (1.7e8, 1.9e9)}
    rows = [
        row(target, value, metric=THROUGHPUT, levels={"fill_level": level}, block_size_bytes=8 << 20, is_durable=False)
        for level, values in rates.items()
        for target, value in zip(("alpha", "beta"), values, strict=True)
    ]
    told = [plain_text(sentence) for sentence in run_sentences(RunAnswer(tuple(rows)))]
    assert told[0].startswith("beta looked ")
    assert told[1] == (
        "alpha: 480 MB/s at fill level 20 %, 170 MB/s at 100 %; beta: 2 GB/s at fill level 20 %, 1.9 GB/s at 100 %."
    )


def test_of_each_of_two_targets_it_is_said_whether_its_curve_changes() -> None:
    rates = (("alpha", (4.8e8, 1.7e8)), ("beta", (2e9, 2e9)))
    rows = [
        row(target, *(0.99 * value, value, 1.01 * value), metric=THROUGHPUT, levels={"fill_level": level})
        for target, (full, rest) in rates
        for level, value in (("20%", full), ("40%", rest), ("60%", rest), ("80%", rest), ("100%", rest))
    ]
    told = [plain_text(sentence) for sentence in run_sentences(RunAnswer(tuple(rows)))]
    # the numbers stand in the table where both have no room
    assert told[1] == (
        "alpha: 2.8 times as slow at fill level 100 % as at 20 %; beta: as fast at fill level 100 % as at 20 %."
    )


def test_targets_that_scatter_into_each_other_are_not_told_apart() -> None:
    told = first(row("Alpha", 1.0e6, 1.2e6, 1.4e6), row("Beta", 1.1e6, 1.3e6, 1.5e6))
    assert told == "Alpha and Beta cannot be told apart by 3 repeats at synced writes, 1.20 ms against 1.30 ms."


def test_workloads_that_tell_nothing_share_one_sentence_behind_those_that_do() -> None:
    def both(name: str, factor: float) -> list[CombinationResult]:
        return [
            row(target, *(times * value for value in (1.0e6, 1.2e6, 1.4e6)), workload=name, label=name)
            for target, times in (("alpha", 1.0), ("beta", factor))
        ]

    alike = [*both("stat files", 1.1), *both("rename files", 1.1)]
    none = "alpha and beta cannot be told apart by 3 repeats in either workload."
    assert [plain_text(text) for text in target_sentences(RunAnswer(tuple(alike)))] == [none]
    told = [plain_text(text) for text in target_sentences(RunAnswer((*alike, *both("syncs", 9.0))))]
    assert told[0].startswith("alpha is 9.0 times as fast as beta at syncs")
    assert told[1:] == ["alpha and beta cannot be told apart by 3 repeats at stat files and rename files."]
    many = [one for name in "abcd" for one in both(name, 1.1)]
    told = [plain_text(text) for text in target_sentences(RunAnswer((*many, *both("syncs", 9.0))))]
    assert told[1:] == ["alpha and beta cannot be told apart by 3 repeats at a and 3 other workloads."]


def test_one_of_many_workloads_that_lies_apart_by_chance_is_no_answer() -> None:
    def both(name: str, factor: float) -> list[CombinationResult]:
        return [
            row(target, *(times * value for value in (1.0e6, 1.08e6, 1.16e6)), workload=name, label=name)
            for target, times in (("alpha", 1.0), ("beta", factor))
        ]

    alike = [one for number in range(24) for one in both(f"workload {number}", 1.05)]
    told = list(target_sentences(RunAnswer((*both("seeks", 1.35), *alike))))
    assert plain_text(" ".join(told)) == (
        "alpha and beta cannot be told apart by 3 repeats in any of 25 workloads; "
        "1 of 25 numbers lies apart, as chance has it."
    )
    # alone it is told, and among many where it is too far off for chance
    assert "35 % faster" in plain_text(next(iter(target_sentences(RunAnswer(tuple(both("seeks", 1.35)))))))
    far = next(iter(target_sentences(RunAnswer((*both("seeks", 3.0), *alike)))))
    assert plain_text(far).startswith("alpha is 3.0 times as fast as beta at seeks")


def test_a_phase_is_compared_by_its_rate_and_a_task_by_its_time() -> None:
    fast, slow = row("SSD", 4e8, metric=THROUGHPUT), row("disk", 1e8, metric=THROUGHPUT)
    told = first(slow, fast)
    assert told.startswith("SSD looked 4.0 times as fast as disk at synced writes, 400 MB/s against 100 MB/s; ")
    assert told.endswith("; with one repeat each that may be chance.")
    tasks = [row("SSD", 9e9, 1e10, 1.1e10, metric=DURATION), row("disk", 3.9e10, 4e10, 4.1e10, metric=DURATION)]
    assert first(*tasks, of_tasks=True).startswith("SSD is 4.0 times as fast as disk at synced writes, 10.0 s against")


def test_of_many_combinations_the_best_and_how_often_each_is_first() -> None:
    rows = [
        row(target, value, value * 1.01, value * 1.02, levels={"block_size": size})
        for size, value in (("512", 1e5), ("4KiB", 2e5))
        for target, value in (("A", value), ("B", value * 3))
    ]
    assert first(*rows) == ("A is 3.0 times as fast as B at synced writes; beyond the scatter in both combinations.")


def test_the_difference_is_told_from_the_least_to_the_most_of_all_combinations() -> None:
    values = {"on": {"A": 1e5, "B": 1.6e5}, "off": {"A": 1e5, "B": 1.3e6}, "as-found": {"A": 1e5, "B": 3e5}}
    rows = [
        row(target, value, value * 1.01, value * 1.02, levels={"write-cache": cache})
        for cache, of_cache in values.items()
        for target, value in of_cache.items()
    ]
    assert first(*rows).startswith("A is 1.6 to 13 times as fast as B at synced writes; ")
    near = [one for one in rows if one.levels["write-cache"] == "on"] + [
        row(target, value, value * 1.01, value * 1.02, levels={"write-cache": "off"})
        for target, value in (("A", 1e5), ("B", 1.2e5))
    ]
    assert first(*near).startswith("A is 20 to 60 % faster than B at synced writes; ")


def test_where_each_is_first_somewhere_both_are_counted() -> None:
    values = {"512": {"A": 1e5, "B": 3e5}, "1MiB": {"A": 9e5, "B": 3e5}, "4KiB": {"A": 2e5, "B": 6e5}}
    rows = [
        row(target, value, value * 1.01, value * 1.02, levels={"block_size": size})
        for size, of_size in values.items()
        for target, value in of_size.items()
    ]
    assert first(*rows).endswith("; beyond the scatter in 2 of 3 combinations, B in 1.")


def test_one_target_is_compared_with_nobody() -> None:
    assert "fastest" not in first(row("Alpha", 1e6, levels={"n": "1"}), row("Alpha", 2e6, levels={"n": "2"}))


@pytest.mark.parametrize(("size", "told"), [(4096, "18 700/s"), (1 << 20, "76.6 MB/s")])
def test_one_number_is_told_as_in_the_table(size: int, told: str) -> None:
    moved, counted = RepeatedMetric(76.6e6, 76.6e6, 76.6e6, "B/s", 1), RepeatedMetric(18_700, 18_700, 18_700, "1/s", 1)
    one = row("Alpha", 76.6e6, metric=THROUGHPUT, metrics={THROUGHPUT: moved, "iops": counted}, block_size_bytes=size)
    assert first(one) == f"synced writes: {told}."


@pytest.mark.parametrize("where", ["page", "terminal"])
def test_a_stored_run_of_two_drives_begins_with_them(where: str) -> None:
    joint = golden_joint("write-size-two-drives")
    sentences = joint.sentences if where == "page" else run_sentences(joint.runs[0].answer)
    of_drives, of_first, of_second = map(plain_text, sentences)
    what = "Larger writes take longer: write + fdatasync in reserved space (shift 0 B, write-cache on)"
    assert of_first == f"{what}, sdb 781 us up to 4 KiB, 4.87 ms at 1 MiB."
    assert of_second == "sdc 9.56 ms up to 32 KiB, 15.6 ms at 1 MiB."
    assert of_drives == (
        "sdb is 1.6 to 12 times as fast as sdc; "
        "the intervals of single repeats lie apart in 16 of 30 combinations (14 lack one)."
    )


def test_what_each_target_has_only_one_of_keeps_no_two_apart() -> None:
    levels = {"Alpha": {"filesystem": "as-found", "cache": "on"}, "Beta": {"filesystem": "ext4", "cache": "as-found"}}
    rows = [
        row(target, value, value * 1.01, value * 1.02, levels=levels[target] | {"block_size": size})
        for target, value in (("Alpha", 1e5), ("Beta", 3e5))
        for size in ("512", "4KiB")
    ]
    assert first(*rows).startswith("Alpha is 3.0 times as fast as Beta at synced writes; ")


def test_targets_that_are_apart_by_a_few_per_cent_are_alike() -> None:
    near = row("Alpha", 1.000e6, 1.001e6, 1.002e6), row("Beta", 1.011e6, 1.012e6, 1.013e6)
    assert first(*near) == (
        "Alpha and Beta are alike at synced writes, 1.00 ms against 1.01 ms; they differ by less than 3 %."
    )
    far = row("Alpha", 1.000e6, 1.001e6, 1.002e6), row("Beta", 1.051e6, 1.052e6, 1.053e6)
    assert first(*far).startswith("Alpha is 5 % faster than Beta at synced writes")
    # of one repeat each nothing is known, and a per cent is nothing to look at
    single = first(row("Alpha", 1.00e8, metric=THROUGHPUT), row("Beta", 1.01e8, metric=THROUGHPUT))
    assert single.startswith("Beta and Alpha are alike at synced writes, 101 MB/s against 100 MB/s")
    sized = [
        row(target, *(times * one for one in (1.000e6, 1.001e6, 1.002e6)), levels={"block_size": size})
        for size in ("512", "4KiB")
        for target, times in (("Alpha", 1.0), ("Beta", 1.012))
    ]
    assert first(*sized).startswith("Alpha and Beta are alike at synced writes in both combinations")


def test_a_drive_that_looks_better_everywhere_is_named_though_no_number_settles_it() -> None:
    """Of seven depths each with repeats that scatter, six with one drive first, and one alike."""
    ratios = {"1": 1.4, "2": 1.4, "4": 1.42, "8": 1.34, "16": 1.06, "32": 1.01, "64": 1.13}
    rows = [
        row(target, *(1e5 * times * each for each in (0.8, 1.0, 1.25)), levels={"queue_depth": depth})
        for depth, ratio in ratios.items()
        for target, times in (("A", 1.0), ("B", ratio))
    ]
    assert first(*rows) == (
        "A looked 6 to 42 % faster than B at synced writes in 6 of 7 combinations, not settled by 3 repeats."
    )
    turned = [replace(one, target="AB"[one.target == "A"]) if one.levels["queue_depth"] == "2" else one for one in rows]
    assert "cannot be told apart by 3 repeats" in first(*turned)


def test_targets_without_levels_in_common_are_told_with_the_numbers_of_each() -> None:
    rows = [
        row("dir", 173e3, 174e3, 266e3, label="etcd: 2300 B"),
        row("raw", 538e3, 315e3, 705e3, label="etcd: 2300 B", levels={"filesystem": "ext4"}),
        row("raw", 330e3, 256e3, 378e3, label="etcd: 2300 B", levels={"filesystem": "xfs"}),
    ]
    assert first(*rows) == "etcd: 174 us on dir, 330 us on raw (xfs), 538 us on raw (ext4)."


@pytest.mark.parametrize(
    ("apart", "told"), [(1, "lies apart, as chance has it"), (5, "more than chance makes of so many")]
)
def test_numbers_whose_ranges_lie_apart_are_counted_and_held_against_chance(apart: int, told: str) -> None:
    """Of six numbers of three workloads, in some the ranges of three repeats do not touch, with either drive ahead."""
    rows = []
    for number in range(6):
        ahead = 1.25 if number % 2 else 0.8
        for target, times in (("A", 1.0), ("B", ahead if number < apart else 1.0)):
            given = {
                "workload": f"w{number % 3}",
                "label": f"writes {number % 3}",
                "levels": {"count": str(number // 3)},
            }
            rows.append(row(target, *(1e5 * times * each for each in (0.9, 1.0, 1.1)), **given))
    sentence = first(*rows)
    assert f"{apart} of 6 numbers" in sentence
    assert told in sentence


def near_each_other(*values: float, metric: str = THROUGHPUT) -> list[CombinationResult]:
    """Targets d0, d1 ... whose three repeats lie by half a per cent apart."""
    return [
        row(f"d{place}", 0.995 * value, value, 1.005 * value, metric=metric, label="reads")
        for place, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("metric", "middle", "slow", "said"),
    [
        (THROUGHPUT, 180e6, 141e6, "22 % below the median of the others, 141 MB/s against 180 MB/s."),
        (THROUGHPUT, 180e6, 40e6, "4.5 times below the median of the others, 40 MB/s against 180 MB/s."),
        (LATENCY, 1e6, 1.3e6, "30 % above the median of the others, 1.30 ms against 1.00 ms."),
        (LATENCY, 1e6, 3.3e6, "3.3 times the median of the others, 3.30 ms against 1.00 ms."),
    ],
)
def test_one_that_is_behind_all_others_is_named_before_those_that_are_level(
    metric: str, middle: float, slow: float, said: str
) -> None:
    # of the first three none is ahead by more than the scatter
    values = [middle * (1 + 0.001 * (place % 3)) for place in range(10)]
    rows = near_each_other(*values[:7], slow, *values[7:], metric=metric)
    told = [plain_text(text) for text in run_sentences(RunAnswer(tuple(rows)))]
    assert told[0] == f"d7 is slowest at reads, {said}"
    assert re.match(r"d\d(, d\d, d\d)? and (d\d|\d more) (are alike|cannot be told apart)", told[1])
    assert "d7" not in told[1]


def test_the_numbers_of_those_that_are_level_are_their_own() -> None:
    rows = [
        row("a", 0.9e6, 1.0e6, 1.1e6),
        row("b", 0.92e6, 1.05e6, 1.12e6),
        row("c", 2.9e6, 3.0e6, 3.1e6),
        row("d", 4.9e6, 5.0e6, 5.1e6),
    ]
    told = [plain_text(text) for text in target_sentences(RunAnswer(tuple(rows)))]
    assert told == [
        "d is slowest at synced writes, 4.8 times the median of the others, 5.00 ms against 1.05 ms.",
        "a and b cannot be told apart by 3 repeats at synced writes, 1.00 ms against 1.05 ms.",
    ]


def test_of_many_that_are_level_the_ends_are_told() -> None:
    told = first(*near_each_other(*(180e6 + 0.2e6 * place for place in range(6))))
    assert "slowest" not in told
    wide = [
        row(f"d{place}", 0.9 * value, value, 1.1 * value) for place, value in enumerate((1e6, 1.04e6, 1.06e6, 1.08e6))
    ]
    told = first(*wide)
    assert told == "d0, d1, d2 and 1 more cannot be told apart by 3 repeats at synced writes, 1.00 ms to 1.08 ms."
