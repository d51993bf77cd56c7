"""Which numbers are one: those of workloads that a comparison of two runs takes for the same."""

from __future__ import annotations

from drivelab.analyse.like_numbers import like_numbers
from drivelab.model.drive_values import NumberKey, asked_apart


def key(metric: str = "iops", **asked: str) -> NumberKey:
    told = tuple(sorted((name.replace("_", " "), value) for name, value in asked.items()))
    return NumberKey("io", "io", "io", "read", (), metric, told)


def drives_together(*keys: NumberKey) -> list[list[str]]:
    values = {one: {f"drive{place}": {f"run{place}": [1.0]}} for place, one in enumerate(keys)}
    return [list(number.values) for number in like_numbers(values, keys[:1])]


def test_what_one_workload_does_not_tell_is_not_held_against_it() -> None:
    full = key(block_size="4 KiB", queue_depth="8")
    assert drives_together(key(block_size="4 KiB"), full) == [["drive1", "drive0"]]
    assert drives_together(key(block_size="8 KiB"), full) == [["drive1"], ["drive0"]]


def test_what_may_be_either_of_two_workloads_is_neither() -> None:
    found = drives_together(key(block_size="4 KiB"), key(block_size="8 KiB"), key())
    assert found == [["drive0"], ["drive1"], ["drive2"]]


def test_words_are_only_what_tells_numbers_of_one_name_apart() -> None:
    small, large = (key(access="random", block_size=size) for size in ("4 KiB", "1 MiB"))
    assert asked_apart([small]) == {small: ""}
    assert asked_apart([small, large]) == {small: "block size 4 KiB", large: "block size 1 MiB"}
    told_by_another = key("throughput_bytes_per_s", access="random", block_size="1 MiB")
    assert asked_apart([small, told_by_another])[told_by_another] == "block size 1 MiB"
