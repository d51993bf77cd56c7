"""Findings in words."""

from __future__ import annotations

import pytest

from drivelab.model.finding import trials_of


@pytest.mark.parametrize(
    ("count", "total", "words"),
    [
        (1, 1, "1 of 1 trial does not"),
        (1, 28, "1 of 28 trials does not"),
        (3, 6, "3 of 6 trials do not"),
    ],
)
def test_one_trial_is_told_in_the_singular(count: int, total: int, words: str) -> None:
    assert trials_of(count, total, "do not") == words
    assert trials_of(count, total) == words.rpartition(" do")[0]
