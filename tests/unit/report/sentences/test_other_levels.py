"""Numbers at both levels of a factor that too few repeats cannot judge, and the commands that were counted."""

from __future__ import annotations

from dataclasses import replace

from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import CombinationResult, CommandChange, LevelEffect, RunAnswer
from unit.report.sentences.made_combinations import LATENCY, THROUGHPUT, combination, told

FLUSHES = CommandChange("device_flushes_per_operation", (2.0, 2.0), (0.0, 0.0), is_changed=True)
WRITES = CommandChange("device_writes_per_operation", (1.0, 1.0), (3.0, 3.0), is_changed=True)

LARGE = (replace(FLUSHES, baseline=(3.0, 3.0), level=(1.0, 1.0)), replace(FLUSHES, baseline=(4.0, 4.0)))


def row(value: float, filesystem: str, cache: str, workload: str = "small") -> CombinationResult:
    metric = LATENCY if workload == "small" else THROUGHPUT
    levels = {"filesystem": filesystem, "write-cache": cache}
    return combination(value, metric, workload=workload, label=f"{workload} appends", levels=levels)


def effect(factor: str, baseline: str, level: str, *commands: CommandChange, workload: str = "small") -> LevelEffect:
    return LevelEffect(
        *("sdb", workload, factor, level, baseline, LATENCY, Estimate(0.8, None, None, "1", 2, 2.0, "")),
        *((0.9, 0.7), "not settled", 0.05),
        p_value=None,
        adjusted_p_value=None,
        combination_count=1,
        commands=commands,
    )


ROWS = (
    row(10.7e6, "raw", "on"),
    row(3.99e6, "raw", "off"),
    row(18.6e6, "ext4", "on"),
    row(14.3e6, "ext4", "off"),
    row(258e6, "raw", "on", "large"),
    row(63.9e6, "raw", "off", "large"),
    row(223e6, "ext4", "on", "large"),
    row(46.7e6, "ext4", "off", "large"),
)
EFFECTS = (
    effect("filesystem", "raw", "ext4", LARGE[0], workload="large"),
    effect("write-cache", "on", "off", LARGE[1], workload="large"),
    effect("filesystem", "raw", "ext4", WRITES),
    effect("write-cache", "on", "off", FLUSHES),
)


def test_both_levels_of_what_two_repeats_do_not_settle_stand_in_the_answer() -> None:
    small, large, counted = told(RunAnswer(ROWS, contrasts=EFFECTS))
    assert small == (
        "Small appends (write-cache on): 10.7 ms raw, 18.6 ms ext4; with write-cache off: 3.99 ms raw, 14.3 ms ext4 "
        "(not settled)."
    )
    assert large.startswith(
        "Large appends (write-cache on): 258 MB/s raw, 223 MB/s ext4; with write-cache off: 63.9 MB/s"
    )
    # of four pairs of levels those of the workload that comes first in the file
    assert counted == (
        "Counted (small appends): ext4 takes 2 more writes per operation than raw; write-cache off takes 2 fewer "
        "flushes per operation than on."
    )


def test_levels_that_were_judged_or_not_measured_everywhere_are_left_to_their_verdict() -> None:
    judged = tuple(replace(one, p_value=0.4, verdict="not settled") for one in EFFECTS)
    assert not any("with write-cache off" in text for text in told(RunAnswer(ROWS, contrasts=judged)))
    lacking = tuple(one for one in ROWS if one.levels != {"filesystem": "raw", "write-cache": "off"})
    assert not any("with write-cache off" in text for text in told(RunAnswer(lacking, contrasts=EFFECTS)))
