"""Which level is the fastest over all workloads, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import EffectVerdict, LevelEffect
from drivelab.report.sentences.overall import overall_sentences
from drivelab.report.sentences.run import plain_text

Ratio = tuple[float, float, float]


def pair(baseline: str, level: str, ratio: Ratio, verdict: EffectVerdict = "matters") -> LevelEffect:
    estimate = Estimate(*ratio, "1", 3, 3.0, "made up")
    return LevelEffect(
        "sdb", "", "filesystem", level, baseline, "operations_per_s", estimate, (), verdict, 0.05, 0.01, 0.01, 12
    )


def told(pairs: Mapping[tuple[str, str], tuple[Ratio, EffectVerdict]]) -> str:
    effects = [pair(*names, *found) for names, found in pairs.items()]
    return plain_text(" ".join(overall_sentences(effects, "filesystem")))


SAME: tuple[Ratio, EffectVerdict] = ((1.02, 0.92, 1.13), "not settled")


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        (
            {
                ("ext4", "xfs"): ((0.8, 0.75, 0.86), "matters"),
                ("ext4", "btrfs"): ((0.5, 0.4, 0.6), "matters"),
                ("xfs", "btrfs"): ((0.62, 0.5, 0.8), "matters"),
            },
            "On average over all 12 workloads ext4 is 16 to 33 % faster than xfs, the next.",
        ),
        (
            {
                ("ext4", "xfs"): SAME,
                ("ext4", "btrfs"): ((0.4, 0.35, 0.45), "matters"),
                ("xfs", "btrfs"): ((0.4, 0.35, 0.45), "matters"),
            },
            "On average over all 12 workloads xfs is 2.2 to 2.9 times as fast as btrfs, and not apart from ext4.",
        ),
        (
            {("ext4", "xfs"): SAME, ("ext4", "btrfs"): ((0.97, 0.85, 1.1), "not settled"), ("xfs", "btrfs"): SAME},
            (
                "On average over all 12 workloads no filesystem is clearly faster "
                "(ext4 and btrfs differ by at most 18 %)."
            ),
        ),
        (
            {("ext4", "xfs"): ((1.2, 0.5, 2.9), "not settled")},
            (
                "On average over all 12 workloads no filesystem is "
                "clearly faster (ext4 and xfs differ by at most a factor of 2.9)."
            ),
        ),
        # a difference that is sure, and too small to matter to anybody
        (
            {("ext4", "xfs"): ((1.01, 1.005, 1.015), "differs")},
            ("On average over all 12 workloads no filesystem is clearly faster (ext4 and xfs differ by at most 1 %)."),
        ),
        ({("ext4", "xfs"): ((0.5, 0.4, 0.6), "not judged")}, ""),
        ({}, ""),
    ],
)
def test_the_fastest_is_named_with_the_next_that_is_apart(
    pairs: Mapping[tuple[str, str], tuple[Ratio, EffectVerdict]], sentence: str
) -> None:
    assert told(pairs) == sentence
    assert len(sentence.split()) <= 30


def test_without_an_interval_nothing_is_told() -> None:
    effect = pair("ext4", "xfs", (2.0, 1.9, 2.1))
    bare = Estimate(2.0, None, None, "1", 2, 2.0, "made up")
    found = LevelEffect(
        "sdb", "", "filesystem", "xfs", "ext4", effect.metric, bare, (2.0, 2.0), "not settled", 0.05, None, None, 12
    )
    assert list(overall_sentences([found], "filesystem")) == []
    assert list(overall_sentences([effect], "mount")) == []
