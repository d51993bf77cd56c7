"""What an I/O of each size costs, in a sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import CombinationResult, LevelEffect, RepeatedMetric, RunAnswer
from drivelab.model.units import format_bytes
from drivelab.report.sentences.run import plain_text, run_sentences
from drivelab.report.sentences.sizes import size_sentences

LATENCY = "total_latency_ns_p50"


def at(size: int, latency_us: float, target: str = "sdb", *, invalid: int = 0, **levels: str) -> CombinationResult:
    latency_ns = 1e3 * latency_us
    return CombinationResult(
        target=target,
        workload="reserved",
        label="write + fdatasync",
        levels={"block_size": format_bytes(size).replace(" ", "")}
        | {k.replace("_", "-"): v for k, v in levels.items()},
        achieved={},
        metrics={LATENCY: RepeatedMetric(latency_ns, latency_ns, latency_ns, "ns", 3)},
        judged_metric=LATENCY,
        trials=("a", "b", "c"),
        block_size_bytes=size,
        is_durable=True,
        invalid_trials=invalid,
    )


def told(*rows: CombinationResult) -> list[str]:
    return [plain_text(text) for text in size_sentences(RunAnswer(rows))]


def test_up_to_which_size_the_bytes_cost_nothing_and_what_the_largest_costs() -> None:
    rows = [at(1, 780), at(512, 790), at(4096, 800), at(65536, 1100), at(1 << 20, 4900)]
    assert told(*rows) == [
        "Larger writes take longer above 4 KiB: write + fdatasync, 780 us up to 4 KiB, 4.90 ms at 1 MiB."
    ]
    assert run_sentences(RunAnswer(tuple(rows)))[0].startswith(
        "Larger writes take longer above 4 KiB: write + fdatasync, 780"
    )


def test_a_line_that_is_flat_or_that_rises_at_once() -> None:
    assert told(at(1, 780), at(4096, 800), at(65536, 790), at(1 << 20, 700)) == [
        "Larger writes take no longer: write + fdatasync, 700 to 800 us up to 1 MiB."
    ]
    assert told(at(512, 100), at(4096, 200), at(65536, 300), at(1 << 20, 700)) == [
        "Larger writes take longer above 512 B: write + fdatasync, 100 us at 512 B, 700 us at 1 MiB."
    ]


def test_each_target_at_the_first_level_of_every_other_factor() -> None:
    sizes = ((1, 1.0), (4096, 1.0), (65536, 2.0), (1 << 20, 8.0))
    rows = [
        at(size, base * times * (1 if cache == "on" else 0.2), target, shift=shift, cache=cache)
        for target, base in (("fast", 100), ("slow", 900))
        for size, times in sizes
        for shift in ("0", "512")
        for cache in ("on", "off")
    ]
    of_first, of_second = told(*rows)
    assert of_first == (
        "Larger writes take longer: write + fdatasync (shift 0 B, cache on), fast 100 us up to 4 KiB, 800 us at 1 MiB."
    )
    assert of_second == "slow 900 us up to 4 KiB, 7.20 ms at 1 MiB."


def test_of_several_targets_each_curve_is_named_and_at_the_levels_that_the_target_has() -> None:
    sizes = (512, 4096, 1 << 20)
    rows = [at(size, 100, "sdb", cache="on") for size in sizes] + [
        at(size, 300, "sdc", cache="as-found") for size in sizes
    ]
    assert told(*rows) == [
        "Larger writes take no longer: write + fdatasync, sdb 100 us up to 1 MiB; sdc 300 us up to 1 MiB."
    ]
    assert told(*rows[:3], rows[3]) == ["Larger writes take no longer: write + fdatasync, sdb 100 us up to 1 MiB."]


def test_few_sizes_and_sizes_that_are_not_varied_are_no_curve() -> None:
    assert told(at(1, 780), at(4096, 800)) == []
    assert told(*(at(size, 780, invalid=1) for size in (1, 512, 4096, 1 << 20))) == []
    assert told(*(at(4096, 780, cache=cache) for cache in ("on", "off", "as-found", "x"))) == []


def test_a_larger_size_that_takes_less_is_told() -> None:
    rows = [at(1, 411), at(512, 152), at(1024, 172), at(1 << 20, 660)]
    assert told(*rows) == [
        "Larger writes do not always take longer: write + fdatasync, 411 us at 1 B, 152 us at 512 B, 660 us at 1 MiB."
    ]
    assert told(*rows[:3], at(1 << 20, 100)) == [
        "Larger writes do not always take longer: write + fdatasync, 411 us at 1 B, 100 us at 1 MiB."
    ]


def scattered(one: CombinationResult, low_us: float, high_us: float) -> CombinationResult:
    found = replace(one.metrics[LATENCY], lowest=1e3 * low_us, highest=1e3 * high_us)
    return replace(one, metrics={LATENCY: found})


def test_sizes_that_scatter_into_each_other_are_not_told_apart() -> None:
    sizes = ((1, 181, 172, 4000), (512, 4190, 145, 4440), (4096, 465, 448, 4670), (1 << 20, 2260, 2250, 9890))
    rows = [scattered(at(size, median), low, high) for size, median, low, high in sizes]
    assert told(*rows) == [
        (
            "Not told whether larger writes take longer, the repeats scatter too far: write + fdatasync, 181 us "
            "to 4.19 ms up to 1 MiB."
        )
    ]
    others = [replace(one, target="sdc") for one in rows]
    assert told(*rows, *others)[0] == (
        "Not told whether larger writes take longer, the repeats scatter too far: write + fdatasync, "
        "sdb 181 us to 4.19 ms up to 1 MiB."
    )
    # where drives differ in that each has its own
    grows = [replace(at(size, latency), target="sdd") for size, latency in ((1, 100), (4096, 100), (1 << 20, 800))]
    assert told(*rows, *grows)[1] == "sdd 100 us up to 4 KiB, 800 us at 1 MiB (larger writes take longer)."
    # nor is a last size that scatters into a slow one among the smaller ones; but that it is slower than the first
    rows[0], rows[-1] = scattered(at(1, 181), 172, 190), scattered(at(1 << 20, 5_000), 4_400, 5_400)
    assert told(*rows)[0] == (
        "The largest writes take longer: write + fdatasync, 181 us at 1 B, 5.00 ms at 1 MiB, "
        "between them repeats scatter too far."
    )
    # the one that is beyond it is told
    rows[0], rows[-1] = scattered(at(1, 181), 172, 190), scattered(at(1 << 20, 12_000), 11_000, 13_000)
    assert told(*rows)[0].startswith(
        "Larger writes take longer above 4 KiB: write + fdatasync, 181 us to 4.19 ms up to 4 KiB, 12.0"
    )


def test_three_repeats_of_each_of_seven_sizes_tell_that_the_largest_is_slower() -> None:
    """Of a run on a busy machine: by three repeats beside three it was no slower."""
    ranges = ((1, 554, 433, 867), (512, 521, 470, 700), (1024, 590, 480, 760), (4096, 778, 389, 1170))
    sizes = (*ranges, (65536, 700, 560, 900), (262144, 900, 800, 1100), (1 << 20, 1600, 1460, 1810))
    rows = [scattered(at(size, median), low, high) for size, median, low, high in sizes]
    assert told(*rows) == [
        "Larger writes take longer above 256 KiB: write + fdatasync, 521 to 900 us up to 256 KiB, 1.60 ms at 1 MiB."
    ]


def test_what_a_plateau_is_said_to_take_holds_for_every_size_on_it() -> None:
    rows = [at(1, 400), scattered(at(512, 510), 380, 520), scattered(at(65536, 572), 390, 589), at(1 << 20, 1040)]
    assert told(*rows) == [
        "Larger writes take longer above 64 KiB: write + fdatasync, 400 to 572 us up to 64 KiB, 1.04 ms at 1 MiB."
    ]


def test_nothing_is_slower_than_a_size_on_the_plateau_that_takes_longer() -> None:
    ranges = ((1, 243, 225, 262), (512, 259, 217, 294), (4096, 375, 320, 399), (16384, 311, 299, 372))
    sizes = (*ranges, (65536, 344, 326, 348), (1 << 20, 1270, 1150, 1500))
    rows = [scattered(at(size, median), low, high) for size, median, low, high in sizes]
    assert told(*rows) == [
        "Larger writes take longer above 64 KiB: write + fdatasync, 243 to 375 us up to 64 KiB, 1.27 ms at 1 MiB."
    ]


def test_a_jump_is_told_with_what_lies_behind_it() -> None:
    sizes = (at(512, 294), at(1024, 321), at(4096, 1100), at(16384, 1060), at(65536, 739), at(1 << 20, 1670))
    assert told(*sizes) == [
        (
            "Larger writes take longer above 1 KiB: write + fdatasync, 294 us up to 1 KiB, 739 us to 1.10 ms up "
            "to 64 KiB, 1.67 ms at 1 MiB."
        )
    ]


def test_what_lies_between_is_left_to_the_table_where_a_workload_has_a_long_name() -> None:
    sizes = (at(512, 294), at(1024, 321), at(4096, 1100), at(16384, 1060), at(65536, 739), at(1 << 20, 1670))
    label = "write + fdatasync in reserved space, one block after another"
    (sentence,) = told(*[replace(one, label=label) for one in sizes])
    assert sentence == f"Larger writes take longer above 1 KiB: {label}, 294 us up to 1 KiB, 1.67 ms at 1 MiB."
    assert len(sentence.split()) <= 30


def test_which_size_pays_and_what_the_other_kind_of_write_costs() -> None:
    sizes = ((1, 800), (4096, 800), (65536, 1000), (131072, 1200), (262144, 1600), (524288, 2700), (1 << 20, 4900))
    rows = [at(size, latency) for size, latency in sizes]
    grown = [replace(at(size, 2 * latency), workload="growing", label="append") for size, latency in sizes]
    assert told(*rows, *grown) == [
        (
            "Larger writes take longer above 4 KiB: write + fdatasync, 800 us up to 4 KiB, 4.90 ms at 1 MiB; "
            "128 KiB or more reach half the best throughput."
        ),
        "Larger writes take longer above 4 KiB: append, 1.60 ms up to 4 KiB, 9.80 ms at 1 MiB.",
    ]


def test_a_step_that_every_repeat_shows_is_told_where_it_is() -> None:
    """Of a quiet host's file: the step at 4 KiB, three writes instead of one, lay within 'up to 4 KiB'."""
    ranges = ((1, 203, 188, 204), (512, 230, 100, 253), (1024, 133, 102, 212), (4096, 444, 242, 507))
    sizes = (*ranges, (16384, 532, 450, 806), (65536, 584, 374, 832), (1 << 20, 1180, 1180, 1210))
    rows = [scattered(at(size, median), low, high) for size, median, low, high in sizes]
    (sentence,) = told(*(replace(one, label="log") for one in rows))
    assert sentence == (
        "Larger writes take longer: log, 133 to 230 us up to 1 KiB, 444 to 584 us up to 64 KiB, 1.18 ms at 1 MiB."
    )
    label = "write + fdatasync in reserved space (shift 0 B)"
    (sentence,) = told(*(replace(one, label=label) for one in rows))
    assert sentence == f"Larger writes take longer: {label}, 133 to 230 us up to 1 KiB, 444 us to 1.18 ms above."
    assert len(sentence.split()) <= 30


@pytest.mark.parametrize(("verdict", "verb"), [("matters", "take"), ("not settled", "may take")])
def test_a_curve_is_no_more_sure_than_the_effect_of_its_last_size(verdict: str, verb: str) -> None:
    rows = (at(1, 250), at(4096, 480), at(65536, 400), at(1 << 20, 7970))
    ratio = Estimate(9.2, 0.01, 6870.0, "1", 3, 3.0, "")
    of = ("sdb", "reserved", "block_size", "1MiB", "1B", LATENCY, ratio, (9.2, 9.2, 9.2), verdict, 0.05)
    effect = LevelEffect(*of, p_value=0.1, adjusted_p_value=0.9, combination_count=1)  # type: ignore[arg-type]
    first, *_ = size_sentences(RunAnswer(rows, contrasts=(effect,)))
    assert plain_text(first).startswith(f"Larger writes {verb} longer above ")
