"""What keeps two sides from being compared, and what does not."""

from __future__ import annotations

import pytest

from drivelab.analyse.comparability import TrialConduct, reasons_against

FLUSHES, FUA = "device_flushes_per_operation", "fua_writes_per_operation"


def trial(flushes: float = 1.0, fua: float = 0.0, **changes: object) -> TrialConduct:
    """A durable write, as it was carried out."""
    given: dict[str, object] = {
        "asked": {"durability": "fdatasync", "queue depth": "1"},
        "backend": "sync",
        "is_direct": False,
        "queue_depth": 1.0,
        "commands": {FLUSHES: (flushes, flushes), FUA: (fua, fua)},
    }
    return TrialConduct(**(given | changes))  # type: ignore[arg-type]


def test_sides_that_were_carried_out_alike_are_compared() -> None:
    assert reasons_against([trial()] * 3, [trial()] * 5) == ()


@pytest.mark.parametrize("flushes", [0.5, 2.0, 3.0])
def test_more_or_fewer_flushes_are_no_reason(flushes: float) -> None:
    assert reasons_against([trial()], [trial(flushes)]) == ()


def test_flushes_that_nobody_asked_for_are_no_reason() -> None:
    """Another program's, while direct writes without a sync were measured."""
    sides = (
        [trial(flushes, asked={"durability": "none"}) for flushes in three]
        for three in ((0.0, 0.03, 0.4), (0.7, 0.5, 0.6))
    )
    assert reasons_against(*sides) == ()
    assert reasons_against([trial(0.0, asked={"durability": "fsync"})], [trial(0.6, asked={"durability": "fsync"})])


def test_a_write_that_is_flushed_on_one_side_only_is_a_reason() -> None:
    (why,) = reasons_against([trial(1.0)], [trial(0.0)])
    assert why.startswith("flushes per operation: 1 in BASE, 0 in NEW")


def test_force_unit_access_makes_a_write_durable_too() -> None:
    assert reasons_against([trial(1.0)], [trial(0.0, fua=1.0)]) == ()


def test_a_write_cache_that_is_compared_explains_missing_flushes() -> None:
    assert reasons_against([trial(2.0)], [trial(0.0)], {"write-cache"}) == ()


def test_a_write_cache_that_was_found_otherwise_is_told() -> None:
    (why,) = reasons_against(
        [trial(2.0, achieved={"write-cache": "on"})], [trial(0.0, achieved={"write-cache": "off"})]
    )
    assert "the write cache was on in BASE, off in NEW" in why


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"backend": "uring"}, "backend: sync in BASE, uring in NEW"),
        ({"is_direct": True}, "I/O: through the page cache in BASE, past the page cache in NEW"),
        ({"queue_depth": 3.0}, "queue depth achieved: 1 in BASE, 3 in NEW"),
        ({"asked": {"durability": "none", "queue depth": "1"}}, "durability: fdatasync in BASE, none in NEW"),
    ],
)
def test_another_workload_is_a_reason(changes: dict[str, object], why: str) -> None:
    assert reasons_against([trial()], [trial(**changes)]) == (why,)  # type: ignore[arg-type]


def test_what_is_compared_is_no_reason() -> None:
    assert reasons_against([trial()], [trial(backend="uring")], {"backend"}) == ()
    deeper = trial(queue_depth=8.0, asked={"durability": "fdatasync", "queue depth": "8"})
    assert reasons_against([trial()], [deeper], {"queue_depth"}) == ()


def test_a_depth_of_one_that_waits_a_little_is_no_reason() -> None:
    assert reasons_against([trial(queue_depth=0.7)], [trial(queue_depth=1.0)]) == ()


def test_trials_that_do_not_describe_the_drive_are_counted() -> None:
    (why,) = reasons_against([trial(), trial(invalid=("page-cache-answered",))], [trial()])
    assert why == "of BASE 1 of 2 trials does not describe the drive: page-cache-answered"


def test_a_setting_that_was_taken_on_one_side_only_is_a_reason() -> None:
    asked = {"levels": {"scheduler": "none"}}
    (why,) = reasons_against(
        [trial(**asked, achieved={"scheduler": "none"})], [trial(**asked, achieved={"scheduler": "bfq"})]
    )
    assert why == "scheduler none as read back: none in BASE, bfq in NEW"
    found = {"levels": {"scheduler": "as-found"}}
    assert not reasons_against(
        [trial(**found, achieved={"scheduler": "none"})], [trial(**found, achieved={"scheduler": "bfq"})]
    )


def test_what_one_side_does_not_tell_is_no_reason() -> None:
    imported = trial(asked={"queue depth": "1"}, backend="", is_direct=None, queue_depth=None, commands={})
    assert reasons_against([trial()], [imported]) == ()
    assert reasons_against([imported], [trial(asked={"queue depth": "8"})]) == ("queue depth: 1 in BASE, 8 in NEW",)
