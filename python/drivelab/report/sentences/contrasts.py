"""What the levels of each factor do, in sentences: how much they add to the first level, and whether that is noise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, geometric_mean

from drivelab.model.level_words import level_text
from drivelab.model.run_answer import (
    REACHED_WHOLE,
    CombinationResult,
    CommandChange,
    LevelEffect,
    RunAnswer,
    percent_change,
)
from drivelab.report.numerals import latency_text, number_text, value_writer

# of one factor; the table has all
LEVELS_NAMED = 6
LOOKED_FASTER_FROM = 1.05
# nearer to 1 than this a ratio needs three decimals, or it looks like none at all
_NEAR_ONE = 0.01
# what lies beyond this, or its inverse, says nothing more
_END_MAX = 1000.0
_NUMBER = re.compile(r"\d+(\.\d+)?\s*%?")
_THROUGHPUT = "throughput_bytes_per_s"
_COMMANDS = {"device_writes_per_operation": "write", "device_flushes_per_operation": "flush"}


def contrast_sentences(answer: RunAnswer, target: str, workload: str) -> Iterator[str]:
    """What each factor does to one workload on one target; nothing where its trials do not describe the drive."""
    members = [one for one in answer.combinations if (one.target, one.workload) == (target, workload)]
    factors: dict[str, list[LevelEffect]] = {}
    for effect in answer.contrasts:
        if (effect.target, effect.workload) == (target, workload):
            factors.setdefault(effect.factor, []).append(effect)
    for factor, effects in factors.items():
        if any(effect.invalid_trials for effect in effects):
            continue
        levels = [effects[0].baseline, *(effect.level for effect in effects)]
        if all(_NUMBER.fullmatch(level) for level in levels):
            # what lies between is in the figure
            yield f"{factor} {_change(effects[-1], members)}"
            continue
        told = [_beside(effect, members) for effect in effects[:LEVELS_NAMED]]
        more = f"; and {len(effects) - len(told)} more" if len(effects) > len(told) else ""
        beside = f"beside {level_text(factor, effects[0].baseline)}{_of_several(effects, members)}"
        yield f"{factor} {beside}: {'; '.join(told)}{more}"


def _of_several(effects: Sequence[LevelEffect], members: Sequence[CombinationResult]) -> str:
    """Over how many combinations the ratios are means; empty where it is one."""
    counts = sorted({len(_matched(effect, members)) for effect in effects})
    span = str(counts[-1]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f", geometric mean over {span} combinations" if counts[-1] > 1 else ""


def _change(effect: LevelEffect, members: Sequence[CombinationResult]) -> str:
    """From the first level to the last: ``20% -> 100%: 2.93 GB/s -> 2.59 GB/s (x0.884 within blocks; ...)``."""
    levels = f"{level_text(effect.factor, effect.baseline)} -> {level_text(effect.factor, effect.level)}"
    pairs = _matched(effect, members)
    ratio = effect.ratio.value or 1.0
    if not pairs:
        return f"{levels}: {percent_change(ratio)} ({_certainty(effect)})"
    write = value_writer(effect.metric)
    before, after = (geometric_mean(side) for side in zip(*pairs, strict=True))
    return f"{levels}: {write(before)} -> {write(after)}{_of_many(pairs)} ({_ratio(effect)}; {_certainty(effect)})"


def _beside(effect: LevelEffect, members: Sequence[CombinationResult]) -> str:
    name = level_text(effect.factor, effect.level)
    words = f"({_ratio(effect)}; {_certainty(effect)}){_commands(effect)}"
    pairs = _matched(effect, members)
    if effect.verdict == "no effect" or _is_noise(effect) or not pairs:
        return f"{name} {words}"
    if len(pairs) > 1:
        return f"{name} {words}"
    ((before, after),) = pairs
    if "latency_ns" not in effect.metric:
        write = value_writer(effect.metric)
        return f"{name}: {write(before)} -> {write(after)} {words}"
    return f"{name} {'adds' if after >= before else 'saves'} {latency_text(abs(after - before))} {words}"


def _of_many(pairs: Sequence[tuple[float, float]]) -> str:
    """What two numbers are where they stand for several combinations."""
    return f", geometric means of {len(pairs)} combinations" if len(pairs) > 1 else ""


def _is_noise(effect: LevelEffect) -> bool:
    """Whether equality lies in the interval; with too few blocks nothing is known of noise."""
    low, high = effect.ratio.low, effect.ratio.high
    return low is not None and high is not None and low <= 1 <= high


def _ratio(effect: LevelEffect) -> str:
    """The ratio with so many digits that it is not mistaken for none: ``x1.003``, ``x1.12 within blocks``."""
    value = effect.ratio.value or 1.0
    # the interval is that of this ratio, and not of the two medians beside it
    within = " within blocks" if len(effect.block_ratios) > 1 else ""
    return f"x{_ratio_text(value)}{within}"


def _ratio_text(value: float) -> str:
    if value > _END_MAX or value < 1 / _END_MAX:
        return f"{'over' if value > 1 else 'below'} {_END_MAX if value > 1 else 1 / _END_MAX:g}"
    return f"{value:.3f}" if abs(value - 1) < _NEAR_ONE else number_text(value)


def _certainty(effect: LevelEffect) -> str:
    """How sure it is, in the words of the table of effects, with the interval."""
    low, high = effect.ratio.low, effect.ratio.high
    if low is None or high is None:
        count = len(effect.block_ratios)
        return f"{'1 block' if count == 1 else f'{count} blocks'}, no interval"
    interval = f"95 % interval of the ratio {_ratio_text(low)} to {_ratio_text(high)}"
    bound = f"{100 * effect.bound:.0f} %"
    words = {
        "no effect": f"no effect of {bound} or more, ",
        "differs": f"perhaps by less than {bound}, ",
        "not settled": "not settled, ",
    }
    return f"{words.get(effect.verdict, '')}{interval}"


def _commands(effect: LevelEffect) -> str:
    told = [
        _command(change, _COMMANDS[change.metric])
        for change in effect.commands
        if change.is_changed and change.metric in _COMMANDS and _is_exact(change)
    ]
    return f" and {' and '.join(told)} per operation" if told else ""


def _is_exact(change: CommandChange) -> bool:
    return change.baseline[0] == change.baseline[1] and change.level[0] == change.level[1]


def _command(change: CommandChange, name: str) -> str:
    """``2 writes more``, ``2 flushes less``."""
    more = fmean(change.level) - fmean(change.baseline)
    count = f"{abs(more):.2f}".rstrip("0").rstrip(".")
    plural = name if count == "1" else f"{name}es" if name == "flush" else f"{name}s"
    return f"{count} {plural} {'more' if more > 0 else 'less'}"


def _matched(effect: LevelEffect, members: Sequence[CombinationResult]) -> list[tuple[float, float]]:
    """The judged number at the baseline and at the level, of every two combinations that are alike otherwise."""
    first: dict[str, str] = {}
    for one in members:
        for name, level in one.levels.items():
            first.setdefault(name, level)

    def others(one: CombinationResult) -> tuple[str, ...]:
        # a factor that a combination does not have counts as its first level
        return tuple(one.levels.get(name, level) for name, level in first.items() if name != effect.factor)

    at_baseline, at_level = (
        {
            others(one): one.metrics[effect.metric].median
            for one in members
            if one.levels.get(effect.factor) == level and effect.metric in one.metrics
        }
        for level in (effect.baseline, effect.level)
    )
    return [(at_baseline[key], value) for key, value in at_level.items() if key in at_baseline]


def memory_sentences(combinations: Sequence[CombinationResult]) -> Iterator[str]:
    """How much faster writes looked that memory took, beside those of the same bytes that were durable."""
    groups: dict[tuple[str, str], list[CombinationResult]] = {}
    for one in combinations:
        if not one.is_durable and _reached(one) < REACHED_WHOLE:
            groups.setdefault((one.target, one.workload), []).append(one)
    for (target, _), members in groups.items():
        told = []
        name = ""
        for one in members:
            durable = _durable_beside(one, combinations, name)
            if durable is None:
                continue
            name = durable.label
            size = one.metrics[_THROUGHPUT].median / durable.metrics[_THROUGHPUT].median
            # what mostly reached the drive looks like what it is
            if size < LOOKED_FASTER_FROM:
                continue
            told.append(
                f"{number_text(size, 2)} times as fast as {name}{_levels(one, members)}, when "
                f"{100 * _reached(one):.0f} % of it had reached the drive"
            )
        if told:
            where = f" on {target}" if len({one.target for one in combinations}) > 1 else ""
            yield f"{members[0].label}{where} looked {'; '.join(told[:LEVELS_NAMED])}"


def _reached(one: CombinationResult) -> float:
    reached = one.metrics.get("reached_device_share")
    return reached.median if reached is not None and _THROUGHPUT in one.metrics else 1.0


def _durable_beside(
    one: CombinationResult, combinations: Sequence[CombinationResult], label: str
) -> CombinationResult | None:
    for other in combinations:
        is_alike = (other.target, other.levels, other.block_size_bytes) == (
            one.target,
            one.levels,
            one.block_size_bytes,
        )
        is_known = not other.invalid_trials and _THROUGHPUT in other.metrics and label in ("", other.label)
        if other.is_durable and is_alike and is_known:
            return other
    return None


def _levels(one: CombinationResult, members: Sequence[CombinationResult]) -> str:
    varying: Mapping[str, str] = {
        name: level for name, level in one.levels.items() if len({other.levels.get(name) for other in members}) > 1
    }
    words = ", ".join(f"{name} {level_text(name, level)}" for name, level in varying.items())
    return f" at {words}" if words else ""
