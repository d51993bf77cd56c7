"""Where slow operations lose their time: the flush belongs to the drive's share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from drivelab.model.trace import Explanation
from drivelab.report.sentences.run import plain_text
from drivelab.report.sentences.slow_operations import mean_words, slowest_sentence
from made_up_explanations import explanation

REST_NS = 50_000.0


def slow(mean_ns: Mapping[str, float], slowest_ns: Mapping[str, float]) -> Explanation:
    """An explanation whose typical operation takes 300 us, of which each part has the same."""
    one = explanation("overwrite")
    parts = tuple(
        replace(
            part,
            mean=replace(part.mean, value=mean_ns.get(part.part, REST_NS)),
            typical_ns=REST_NS,
            slowest_ns=slowest_ns.get(part.part, REST_NS),
        )
        for part in one.parts
    )
    return replace(
        one,
        parts=parts,
        mean_ns=sum(part.mean.value or 0.0 for part in parts),
        typical_ns=sum(part.typical_ns for part in parts),
        slowest_ns=sum(part.slowest_ns for part in parts),
    )


def test_the_flush_is_told_as_a_part_of_what_the_drive_takes() -> None:
    one = slow(
        {"device": 1.31e6, "flush": 0.705e6, "between": 0.275e6, "return": 0.211e6},
        {"device": 79.6e6, "flush": 15.4e6, "between": 4.7e6, "return": 3.68e6},
    )
    assert plain_text(mean_words(one)) == (
        "The mean is 2.60 ms, 2.02 ms of it at the drive (705 us in the flush): most of the time goes to slower ones."
    )
    # 79.5 and 15.35 ms; the rest is less than a fifth
    assert plain_text(slowest_sentence(one)) == (
        "The slowest 1 % (10 operations) take 103 ms, 103 ms more: 94.9 ms at the drive (15.3 ms in the flush)."
    )


def test_a_flush_that_is_larger_than_any_other_part_alone_still_counts_with_the_commands() -> None:
    one = slow({"device": 0.6e6, "flush": 0.7e6, "return": 1.0e6}, {})
    assert plain_text(mean_words(one)).startswith(
        "The mean is 2.45 ms, 1.30 ms of it at the drive (700 us in the flush)"
    )


def test_where_only_the_flush_is_slower_the_drive_is_not_named_twice() -> None:
    one = slow({"device": 0.0, "flush": 1e6}, {"flush": 104e6})
    assert plain_text(mean_words(one)).startswith("The mean is 1.20 ms, 1.00 ms of it in the flush: ")
    assert plain_text(slowest_sentence(one)).endswith(" ms more: 104 ms in the flush.")


def test_a_drive_that_is_slower_without_a_flush_has_none_in_brackets() -> None:
    assert plain_text(slowest_sentence(slow({}, {"device": 104e6}))).endswith(" ms more: 104 ms at the drive.")
