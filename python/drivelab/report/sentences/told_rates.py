"""What small I/Os that nobody waits for are told by in sentences: their rate, as tables and comparisons have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from drivelab.model.judged_metric import RATE, is_counted
from drivelab.model.run_answer import LevelEffect, RunAnswer


def with_rates(answer: RunAnswer) -> RunAnswer:
    """The answer with rates in place of the throughput of small I/Os.

    Of I/Os of one size both have the same ratios. A workload whose size was varied keeps its throughput, and so does
    one that goes through a file as a whole.
    """
    sizes: dict[str, set[int]] = {}
    for one in answer.combinations:
        is_told = is_counted(one.judged_metric, one.block_size_bytes) and RATE in one.metrics and not one.is_phase
        sizes.setdefault(one.workload, set()).add((one.block_size_bytes or 0) if is_told else 0)
    counted = {workload: of.pop() for workload, of in sizes.items() if len(of) == 1}
    counted = {workload: size for workload, size in counted.items() if size}
    if not counted:
        return answer
    return replace(
        answer,
        combinations=tuple(
            replace(one, judged_metric=RATE) if one.workload in counted else one for one in answer.combinations
        ),
        effects=tuple(_of_rate(one, counted) for one in answer.effects),
        contrasts=tuple(_of_rate(one, counted) for one in answer.contrasts),
        pairs=tuple(_of_rate(one, counted) for one in answer.pairs),
    )


def _of_rate(effect: LevelEffect, sizes_bytes: Mapping[str, int]) -> LevelEffect:
    size = sizes_bytes.get(effect.workload)
    if size is None or not is_counted(effect.metric, size):
        return effect
    return replace(effect, metric=RATE, block_baselines=tuple(one / size for one in effect.block_baselines))
