"""Troughs, falls and rises of surfaces: found where they were put, and not on flat ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from drivelab.analyse.surface_shape import LINES_MIN, Place, edge, surface_shapes, troughs
from drivelab.model.run_answer import CombinationResult, RepeatedMetric
from drivelab.model.surface import SurfaceShape

KIB = 1024
FILES = [64 * KIB << step for step in range(14)]
RECORDS = [4 * KIB << step for step in range(13)]
BEST = 400e6


def surface_of(
    rate: Callable[[int, int], float], *, seed: int, scatter: float = 0.1, repeats: int = 3
) -> list[CombinationResult]:
    """The results of repeats that scatter about the rate of each file size and record size, log-normally."""
    generator = np.random.default_rng(seed)
    found = []
    for file in FILES:
        for record in RECORDS:
            if record > file:
                continue
            values = np.sort(rate(file, record) * np.exp(scatter * generator.standard_normal(repeats)))
            metric = RepeatedMetric(float(np.median(values)), float(values[0]), float(values[-1]), "B/s", repeats)
            found.append(
                CombinationResult(
                    "disk",
                    "read",
                    "read",
                    {"filesystem": "ext3", "file_size": str(file), "block_size": str(record)},
                    {},
                    {"throughput_bytes_per_s": metric},
                    "throughput_bytes_per_s",
                    ("a", "b", "c"),
                )
            )
    return found


def flat(_file: int, _record: int) -> float:
    return BEST


def told(shapes: tuple[SurfaceShape, ...]) -> list[tuple[str, str, int]]:
    return [(one.kind, one.factor, one.size_bytes) for one in shapes]


@pytest.mark.parametrize("scatter", [0.1, 0.4])
def test_fewer_than_one_flat_surface_in_a_hundred_has_a_shape(scatter: float) -> None:
    with_shapes = sum(bool(surface_shapes(surface_of(flat, seed=seed, scatter=scatter))) for seed in range(200))
    # of 2000 none had; were it one in a hundred, none of 200 would with 13 %
    assert with_shapes <= 1


def test_a_trough_at_one_file_size_is_found_with_its_depth() -> None:
    def rate(file: int, _record: int) -> float:
        return BEST * (0.62 if file == 512 * KIB else 1.0)

    (shape,) = surface_shapes(surface_of(rate, seed=1))
    assert (shape.kind, shape.factor, shape.size_bytes) == ("trough", "file_size", 512 * KIB)
    assert shape.neighbours_bytes == (256 * KIB, 1024 * KIB)
    assert shape.loss == pytest.approx(0.38, abs=0.05)
    # the records that a file of 256 KiB has room for
    assert shape.line_count == 7
    assert 2 * shape.clear_count > shape.line_count


def test_a_trough_of_38_percent_is_nearly_always_found_and_one_of_5_percent_never() -> None:
    def with_depth(depth: float, seed: int) -> list[tuple[str, str, int]]:
        return told(surface_shapes(surface_of(lambda file, _: BEST * (1 - depth * (file == 512 * KIB)), seed=seed)))

    deep = [("trough", "file_size", 512 * KIB) in with_depth(0.38, seed) for seed in range(60)]
    shallow = [bool(with_depth(0.05, seed)) for seed in range(60)]
    assert sum(deep) >= 57
    assert sum(shallow) <= 1


def test_a_knee_names_the_last_record_before_the_fall() -> None:
    def rate(_file: int, record: int) -> float:
        return BEST if record <= 128 * KIB else BEST * 0.75 * (256 * KIB / record) ** 0.1

    (shape,) = surface_shapes(surface_of(rate, seed=2, scatter=0.03))
    assert (shape.kind, shape.factor, shape.size_bytes) == ("falls", "block_size", 128 * KIB)
    assert shape.neighbours_bytes == (256 * KIB, 16384 * KIB)
    assert shape.loss == pytest.approx(0.25, abs=0.03)
    assert shape.largest_loss == pytest.approx(1 - 0.75 * 64**-0.1, abs=0.04)


def test_a_rise_names_the_first_record_that_is_as_good_as_the_best() -> None:
    def rate(_file: int, record: int) -> float:
        return BEST * min(1.0, record / (64 * KIB))

    (shape,) = surface_shapes(surface_of(rate, seed=3, scatter=0.03))
    assert (shape.kind, shape.factor, shape.size_bytes) == ("rises", "block_size", 64 * KIB)
    assert shape.neighbours_bytes == (32 * KIB, 4 * KIB)
    assert shape.loss == pytest.approx(0.5, abs=0.03)
    assert shape.largest_loss == pytest.approx(15 / 16, abs=0.01)


def test_files_beyond_what_memory_holds_are_a_fall() -> None:
    def rate(file: int, _record: int) -> float:
        return BEST * (1.0 if file <= 64 << 20 else 0.3)

    (shape,) = surface_shapes(surface_of(rate, seed=4))
    assert (shape.kind, shape.factor, shape.size_bytes) == ("falls", "file_size", 64 << 20)


def test_a_slope_that_has_no_level_part_has_no_edge() -> None:
    assert not surface_shapes(surface_of(lambda _, record: BEST * (record / 4096) ** 0.3, seed=5, scatter=0.03))


def test_a_single_slow_place_is_no_shape() -> None:
    slow = {(512 * KIB, 64 * KIB), (512 * KIB, 4 * KIB)}
    assert not surface_shapes(surface_of(lambda *place: BEST * (0.2 if place in slow else 1.0), seed=6))


def test_places_that_do_not_describe_the_drive_and_too_few_repeats_are_not_looked_at() -> None:
    results = surface_of(lambda file, _: BEST * (0.5 if file == 512 * KIB else 1.0), seed=7)
    assert surface_shapes(results)
    wrong = [replace(one, invalid_trials=1) if one.levels["file_size"] == str(512 * KIB) else one for one in results]
    assert told(surface_shapes(wrong)) == []
    assert not surface_shapes(surface_of(lambda file, _: BEST * (0.5 if file == 512 * KIB else 1.0), seed=7, repeats=2))


def test_each_file_system_has_a_surface_of_its_own() -> None:
    trough = surface_of(lambda file, _: BEST * (0.5 if file == 512 * KIB else 1.0), seed=8)
    plain = [replace(one, levels={**one.levels, "filesystem": "xfs"}) for one in surface_of(flat, seed=9)]
    (shape,) = surface_shapes([*plain, *trough])
    assert shape.levels == {"filesystem": "ext3"}


def places(*values: float) -> dict[int, Place]:
    return {4096 << step: Place(value, 0.99 * value, 1.01 * value) for step, value in enumerate(values)}


def test_too_few_lines_tell_nothing() -> None:
    line = places(100, 100, 50, 100)
    assert list(troughs([line] * (LINES_MIN - 1))) == []
    (found,) = troughs([line] * LINES_MIN)
    assert (found.size_bytes, found.loss) == (16384, pytest.approx(0.5))
    assert edge([places(100, 100, 50)] * (LINES_MIN - 1)) is None
    assert edge([places(100, 100, 50)] * LINES_MIN) is not None
