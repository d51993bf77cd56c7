"""How long an I/O of each size takes: up to which size the bytes cost nothing, what most cost, and which size pays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from drivelab.model.apart import are_apart, scatter_of
from drivelab.model.judged_metric import LATENCY
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.model.units import format_bytes
from drivelab.report.numerals import latency_text, span_between
from drivelab.report.parts_of_text import capitalised
from drivelab.report.sentences.contests import BLOCK_SIZE
from drivelab.report.sentences.one_curve import curves_over, label_of
from drivelab.report.sentences.values import WORDS_MAX

# what is not slower than this is as fast
_AS_FAST = 1.1
# a size that takes so much less than the first is told of, and one that takes so much more where nothing tells scatter
_FALLS = 1.25
# sizes that take more than so many times the smaller ones are told by themselves
_JUMPS = 2.0
# writes that carry this share of the most that any of them do are efficient
_EFFICIENT = 0.5
_TAKE_LONGER, _MAY = " take longer", " may take longer"


def size_sentences(answer: RunAnswer) -> Iterator[str]:
    """The latency over the sizes of the first two workloads that have a curve of them; of several targets of the first.

    Parameters
    ----------
    answer : RunAnswer
        What other factors do is told of them; the curve is at their first levels.
    """
    curves = curves_over(answer, BLOCK_SIZE, _size)
    several = len({one.target for one in answer.combinations}) > 1
    workloads = list(dict.fromkeys(name for name, _ in curves))
    for number, workload in enumerate(workloads[:2]):
        own = {target: members for (name, target), members in curves.items() if name == workload}
        what = label_of(answer, BLOCK_SIZE, next(iter(own.values()))[0])
        if several:
            found = {name: _as_settled(answer, members, _curve(members)) for name, members in own.items()}
            yield from _of_targets(what, found)
            return
        (members,) = own.values()
        whole, fewer = (
            _as_settled(answer, members, _curve(members, has_middle=has_middle)) for has_middle in (True, False)
        )
        short, least = (f"{one.is_slower}{one.above}: {what}, {one.numbers}" for one in (whole, fewer))
        long = f"{short}{_efficient(members)}" if number == 0 else short
        yield f"{next((one for one in (long, short) if len(one.split()) <= WORDS_MAX), least)}."


def _of_targets(what: str, found: Mapping[str, _Curve]) -> Iterator[str]:
    """The curves of all targets in a sentence, or in one each where that is too long.

    Whether larger ones take longer comes first where that is the same on all targets, else with each.
    """
    is_slower = {one.is_slower for one in found.values()}
    lead = f"{next(iter(is_slower))}: {what}, " if len(is_slower) == 1 else f"{capitalised(what)}: "
    told = [
        f"{name} {one.numbers}{'' if len(is_slower) == 1 else f' ({one.is_slower[:1].lower()}{one.is_slower[1:]})'}"
        for name, one in found.items()
    ]
    together = f"{lead}{'; '.join(told)}."
    if len(together.split()) <= WORDS_MAX:
        yield together
    else:
        yield f"{lead}{told[0]}."
        yield from (f"{one}." for one in told[1:])


@dataclass(frozen=True, slots=True)
class _Curve:
    """Whether larger ones are slower, from which size on, and the latencies."""

    is_slower: str
    numbers: str
    above: str = ""


def _as_settled(answer: RunAnswer, members: Sequence[CombinationResult], curve: _Curve) -> _Curve:
    """The curve, no more sure than the effect of its last size is, by the blocks in which sizes were paired."""
    first, last = members[0], members[-1]
    is_open = any(
        one.p_value is not None and one.verdict == "not settled" and one.level == last.levels.get(BLOCK_SIZE)
        for one in answer.effects or answer.contrasts
        if (one.target, one.workload, one.factor) == (first.target, first.workload, BLOCK_SIZE)
    )
    is_told = curve.is_slower.startswith(("Larger", "The largest")) and curve.is_slower.endswith(_TAKE_LONGER)
    return replace(curve, is_slower=curve.is_slower.replace(_TAKE_LONGER, _MAY)) if is_open and is_told else curve


def _curve(members: Sequence[CombinationResult], *, has_middle: bool = True) -> _Curve:
    """Whether larger ones are slower, and the latencies.

    ``781 us up to 4 KiB, 4.9 ms at 1 MiB``, with what lies between where it jumps and there is room; or a size that
    takes less.
    """
    latencies = _latencies(members)
    sizes = [format_bytes(one.block_size_bytes or 0) for one in members]
    last, least = len(members) - 1, min(range(len(members)), key=latencies.__getitem__)
    is_slower = _Slower(members)
    ios, not_told = _ios(members), _not_told(members)
    if is_slower(members[0], members[least], _FALLS):
        ends = sorted({0, least, last})
        return _Curve(f"Larger {ios} do not always take longer", _at(ends, members))
    flat = _flat_until(members, is_slower)
    span = f"{_level(latencies[: flat + 1])} {'up to' if flat else 'at'} {sizes[flat]}"
    if flat == last and max(latencies) <= _FALLS * latencies[0]:
        return _Curve(f"Larger {ios} take no longer", span)
    slowest = max(members[: flat + 1], key=_latency)
    if flat == last or members[last].metrics[LATENCY].lowest <= slowest.metrics[LATENCY].highest:
        first_ns, last_ns = (members[place].metrics[LATENCY] for place in (0, last))
        if last_ns.lowest > first_ns.highest and is_slower(members[last], members[0], _JUMPS):
            # whatever a size between them did
            told = f"{_at((0, last), members)}, between them repeats scatter too far"
            return _Curve(f"The largest {ios} take longer", told)
        return _Curve(not_told, f"{_level(latencies)} up to {sizes[last]}")
    is_jump = has_middle and flat + 2 < last and latencies[flat + 1] > _JUMPS * max(latencies[: flat + 1])
    between = f", {_level(latencies[flat + 1 : last])} up to {sizes[last - 1]}" if is_jump else ""
    step = _seen_step(members[: flat + 1])
    if step:
        # more than chance only behind it, and seen by all repeats where it is
        below = f"{_level(latencies[:step])} {'up to' if step > 1 else 'at'} {sizes[step - 1]}"
        if not has_middle:
            return _Curve(f"Larger {ios} take longer", f"{below}, {_level(latencies[step:])} above")
        numbers = (
            f"{_level(latencies[step:last])} up to {sizes[last - 1]}, {latency_text(latencies[last])} at {sizes[last]}"
        )
        return _Curve(f"Larger {ios} take longer", f"{below}, {numbers}")
    numbers = f"{span}{between}, {latency_text(latencies[last])} at {sizes[last]}"
    return _Curve(f"Larger {ios} take longer", numbers, f" above {sizes[flat]}")


def _at(places: Sequence[int], members: Sequence[CombinationResult]) -> str:
    """``181 us at 1 B, 5.00 ms at 1 MiB``."""
    found = (members[place] for place in places)
    return ", ".join(f"{latency_text(_latency(one))} at {format_bytes(one.block_size_bytes or 0)}" for one in found)


def _seen_step(flat: Sequence[CombinationResult]) -> int:
    """The place of a size that takes twice as long as the first, in every repeat longer than the one before; or 0."""
    for step in range(1, len(flat)):
        one, before = flat[step].metrics[LATENCY], flat[step - 1].metrics[LATENCY]
        if one.median > _JUMPS * _latency(flat[0]) and one.lowest > before.highest:
            return step
    return 0


def _ios(members: Sequence[CombinationResult]) -> str:
    return "writes" if members[0].is_durable else "I/Os"


def _not_told(members: Sequence[CombinationResult]) -> str:
    return f"Not told whether larger {_ios(members)} take longer, the repeats scatter too far"


def _level(latencies: Sequence[float]) -> str:
    """What is said of some sizes, which holds for each of them."""
    low, high = min(latencies), max(latencies)
    is_span = high > _AS_FAST * low
    return span_between(latency_text(low), latency_text(high)) if is_span else latency_text(latencies[0])


def _flat_until(members: Sequence[CombinationResult], is_slower: _Slower) -> int:
    """The place of the last size that is not slower than the first, or than one before it; all behind it are."""
    latencies, last = _latencies(members), len(members) - 1
    place = last
    while place and is_slower(members[place], members[0], _AS_FAST):
        place -= 1
    while place < last and latencies[place + 1] <= max(latencies[: place + 1]):
        place += 1
    return place


class _Slower:
    """Whether a size takes so many times as long as another, and more than chance would make of it.

    Parameters
    ----------
    members : sequence of CombinationResult
        All sizes, which tell together how far repeats scatter.
    """

    def __init__(self, members: Sequence[CombinationResult]) -> None:
        numbers = [one.metrics[LATENCY] for one in members]
        self._scatter = scatter_of([(one.estimate, one.repeat_count) for one in numbers])

    def __call__(self, one: CombinationResult, other: CombinationResult, times: float) -> bool:
        mine, its = (each.metrics[LATENCY] for each in (one, other))
        counts = (mine.repeat_count, its.repeat_count)
        is_apart = are_apart(mine.estimate, its.estimate, counts, scatter=self._scatter)
        return is_apart is not False and mine.median > (times if is_apart else _FALLS) * its.median


def _efficient(members: Sequence[CombinationResult]) -> str:
    """From which size on writes carry half of what the best size carries; empty where only the largest does."""
    rates = [(one.block_size_bytes or 0) / latency for one, latency in zip(members, _latencies(members), strict=True)]
    enough = next(place for place, rate in enumerate(rates) if rate >= _EFFICIENT * max(rates))
    is_told = _flat_until(members, _Slower(members)) < len(members) - 1 and min(rates[enough:]) >= _EFFICIENT * max(
        rates
    )
    if not is_told or enough == len(members) - 1:
        return ""
    size = format_bytes(members[enough].block_size_bytes or 0)
    return f"; {size} or more reach half the best throughput"


def _latencies(members: Sequence[CombinationResult]) -> list[float]:
    return list(map(_latency, members))


def _latency(one: CombinationResult) -> float:
    return one.metrics[LATENCY].median


def _size(one: CombinationResult) -> int | None:
    is_latency = one.judged_metric == LATENCY and LATENCY in one.metrics
    return one.block_size_bytes if is_latency else None
