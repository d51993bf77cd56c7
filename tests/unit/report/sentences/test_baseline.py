"""The answer of a scan begins with what its baseline costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import CombinationResult, LevelEffect, RepeatedMetric, RunAnswer
from unit.report.sentences.made_combinations import LATENCY, combination, told

FOUND = {"filesystem": "ext4", "scheduler": "as-found"}


def measured(low: float, median: float, high: float, repeats: int = 3, **levels: str) -> CombinationResult:
    one = combination(median, levels=FOUND | levels, label="1 byte appended", trials=("a", "b", "c")[:repeats])
    return replace(one, metrics=one.metrics | {LATENCY: RepeatedMetric(median, low, high, "ns", repeats)})


def effect(factor: str, level: str, value: float, low: float, high: float, **changes: object) -> LevelEffect:
    ratio = Estimate(value, low, high, "1", 3, 3.0, "")
    made = LevelEffect(
        *("sdb", "small", factor, level, FOUND[factor], LATENCY, ratio, (value,) * 3, "not settled", 0.05),
        p_value=0.5,
        adjusted_p_value=0.9,
        combination_count=1,
        blocks_to_show_20_percent=90,
        blocks_to_show_factor_2=20,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


BASELINE = measured(571e3, 649e3, 932e3)
RAW = measured(204e3, 238e3, 272e3, 2, filesystem="raw")
XFS = measured(389e3, 520e3, 567e3, filesystem="xfs")
BFQ = measured(547e3, 654e3, 1.04e6, scheduler="bfq")
KYBER = measured(549e3, 960e3, 1.76e6, scheduler="kyber")
EFFECTS = (
    effect("filesystem", "raw", 0.34, 0.02, 5.0),
    effect("filesystem", "xfs", 0.74, 0.05, 9.0),
    effect("scheduler", "bfq", 1.02, 0.1, 10.0),
    effect("scheduler", "kyber", 1.4, 0.1, 10.0),
)


def test_what_was_faster_in_every_repeat_stands_behind_the_baseline() -> None:
    first, *others = told(RunAnswer((BASELINE, RAW, XFS, BFQ, KYBER), effects=EFFECTS))
    assert first == (
        "1 byte appended: 649 us with ext4; raw (238 us) and xfs (520 us) were faster in every repeat, which is not "
        "settled."
    )
    assert others == [
        "With 3 repeats no effect of filesystem or scheduler is clear; about 20 repeats would show a factor of 2."
    ]


@pytest.mark.parametrize(
    "raw",
    [
        # a repeat as slow as the baseline's fastest, too few repeats, and a difference that nobody asks for
        replace(RAW, metrics=RAW.metrics | {LATENCY: RepeatedMetric(238e3, 204e3, 571e3, "ns", 2)}),
        measured(238e3, 238e3, 238e3, 1, filesystem="raw"),
        replace(RAW, metrics=RAW.metrics | {LATENCY: RepeatedMetric(645e3, 560e3, 570e3, "ns", 2)}),
    ],
    ids=["overlaps", "one repeat", "hardly faster"],
)
def test_what_may_well_be_chance_is_not_told_apart(raw: CombinationResult) -> None:
    first, *_ = told(RunAnswer((BASELINE, raw, BFQ), effects=(EFFECTS[0], EFFECTS[2])))
    assert first == "1 byte appended: 649 us with ext4."


def test_a_level_that_changes_nothing_is_not_told_as_faster() -> None:
    none = measured(204e3, 238e3, 272e3, scheduler="none")
    same = effect("scheduler", "none", 0.4, 0.1, 2.0, is_unchanged=True)
    first, *_ = told(RunAnswer((BASELINE, none, XFS), effects=(same, EFFECTS[1])))
    assert "none" not in first


def test_what_matters_follows_the_baseline_in_the_same_sentence() -> None:
    sure = effect("filesystem", "raw", 0.25, 0.22, 0.29, verdict="matters")
    first, *_ = told(RunAnswer((BASELINE, RAW, BFQ), effects=(sure, EFFECTS[2])))
    assert first == "1 byte appended: 649 us with ext4; raw is 3.4 to 4.5 times as fast as ext4 (95 %)."


def test_a_baseline_that_is_told_beside_the_change_is_not_told_twice() -> None:
    sure = effect("filesystem", "raw", 0.367, 0.3, 0.4, verdict="matters")
    first, *_ = told(RunAnswer((BASELINE, RAW, BFQ), effects=(sure, EFFECTS[2])))
    assert first == "1 byte appended: raw is 2.5 to 3.3 times as fast as ext4, 238 us instead of 649 us."


def test_where_nothing_but_settings_varies_everything_is_as_found() -> None:
    rows = [measured(571e3, 649e3, 932e3), measured(547e3, 654e3, 1.04e6, scheduler="bfq")]
    rows = [replace(one, levels={"scheduler": one.levels["scheduler"], "apm": "as-found"}) for one in rows]
    rows.append(replace(rows[0], levels={"scheduler": "as-found", "apm": "off"}))
    effects = (EFFECTS[2], replace(EFFECTS[2], factor="apm", baseline="as-found", level="off"))
    assert told(RunAnswer(tuple(rows), effects=effects))[0] == "1 byte appended: 649 us with everything as found."
