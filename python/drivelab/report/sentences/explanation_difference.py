"""Which part of the latency differs, in sentences: 8.1 ms less, because the flush is gone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from drivelab.model.level_words import level_text
from drivelab.model.names import names_in_words
from drivelab.model.run_answer import LevelEffect
from drivelab.model.trace import DEVICE_WORK, LAYERS, PART_TITLES, ExplanationDifference, PartDifference
from drivelab.model.units import format_bytes
from drivelab.report.numerals import latency_text
from drivelab.report.parts_of_text import FIRST_WORDS_MAX, capitalised
from drivelab.report.sentences.effect_words import change_words, than_words
from drivelab.report.sentences.explanation import count_of_words, operation_words

PARTS_TOLD = 3
# a part that makes less of the difference is not told of
_TOLD_FROM = 0.05
# parts that make so much of a difference are why it is there
_REASON_ENOUGH = 0.8
# what is left of a part is nothing beside what it was
_GONE_SHARE = 0.01
_NAMES = {
    "fs_in": "the way to the first command",
    "layers": "the layers above the drive",
    "queue": "the queue",
    "device": "the drive's own time",
    "flush": "the flush",
    "between": "the time between commands",
    "return": "the way back",
}
_WORK = {
    "device_writes": "writes",
    "device_reads": "reads",
    "flushes": "flushes",
    "fua_writes": "bios with FUA",
    "journal_writes": "writes by the journal",
    "bytes_written": "bytes written",
}
_COMMANDS = ("device_writes", "flushes")


def difference_sentences(difference: ExplanationDifference) -> tuple[str, ...]:
    """By how much an operation's time differs, and which parts make it."""
    told = [_as_sure(difference, text) for text in _whole(difference)]
    found = [next((one for one in told if len(one.split()) <= FIRST_WORDS_MAX), told[-1])]
    counted = work_change_words(difference, _COMMANDS)
    others = [name for name in _WORK if name not in _COMMANDS]
    is_told = bool(counted) and counted in f"{found[0][:1].lower()}{found[0][1:]}"
    if words := work_change_words(difference, others if is_told else _WORK):
        found.append(f"{'Also per' if is_told else 'Per'} operation: {words}.")
    if difference.units == "operations":
        is_sure = any(one.is_beyond_noise for one in difference.parts)
        lacks = (
            "what another repeat would change is hardly in these intervals" if is_sure else "little is beyond chance"
        )
        found.append(f"Fewer than three traced repeats a side: {lacks}; trace three or more.")
    if difference.units == "calls":
        found.append("The intervals are made of single calls: what changes from one time to another is not in them.")
    return tuple(found)


def level_sentence(effect: LevelEffect, difference: ExplanationDifference) -> str:
    """Why a level matters: ``write-cache off is 6 times as fast because the flush is gone (-7.20 ms of -8.10 ms)``."""
    name = f"{effect.factor} {level_text(effect.factor, effect.level)}"
    total = difference.total
    change = change_words(effect)
    change = f"{change} {than_words(change)} {level_text(effect.factor, effect.baseline)}"
    reasons = _reasons(difference)
    is_slower_too = (total.difference_ns.value or 0.0) > 0
    if not reasons or not total.is_beyond_noise or is_slower_too != bool(effect.is_slower):
        return f"Why {name} is {change} the traces do not show: {_no_reason(difference)}."
    values = [one.difference_ns.value or 0.0 for one in reasons]
    whole = f"of {signed_text(total.difference_ns.value or 0.0)} per operation"
    if len(reasons) == 1:
        return f"{name} is {change} because {_part_words(reasons[0])} ({signed_text(values[0])} {whole})."
    told = [f"{_part_words(one)} ({signed_text(value)})" for one, value in zip(reasons, values, strict=True)]
    return f"{name} is {change} because {names_in_words(told)}, together {signed_text(sum(values))} {whole}."


def work_change_words(difference: ExplanationDifference, of: Collection[str] = _WORK) -> str:
    """Which device work of an operation differs: ``flushes 1 -> 0, writes 3 -> 1``; empty when none does."""
    told = []
    for name in DEVICE_WORK:
        if name in difference.work and name in of:
            write = (lambda value: format_bytes(round(value))) if name.startswith("bytes") else count_of_words
            before, after = (write(value) for value in difference.work[name])
            told.append(f"{_WORK[name]} {before} -> {after}")
    return ", ".join(told)


def signed_text(nanoseconds: float) -> str:
    """A difference with its sign: ``-7.20 ms``, ``+153 us``."""
    return f"{'-' if nanoseconds < 0 else '+'}{latency_text(abs(nanoseconds))}"


def part_name(part: str) -> str:
    """A part, or the whole latency, in a table."""
    titles: dict[str, str] = {str(name): title for name, title in PART_TITLES.items()}
    return titles.get(part, "latency")


def interval_text(one: PartDifference) -> str:
    """The corrected interval of a difference: ``-7.31 ms to -7.09 ms``; empty without one."""
    low, high = one.difference_ns.low, one.difference_ns.high
    return "" if low is None or high is None else f"{signed_text(low)} to {signed_text(high)}"


def _as_sure(difference: ExplanationDifference, text: str) -> str:
    """A sentence that is no more sure than both sides are."""
    if not difference.unsettled:
        return text
    whom = difference.unsettled[0] if len(difference.unsettled) == 1 else "either of them"
    as_traced = "" if text.startswith("Traced") else "as traced, "
    return f"No answer yet for {whom}: {as_traced}{text[:1].lower()}{text[1:]}"


def _whole(difference: ExplanationDifference) -> Iterator[str]:
    """What it comes to in a sentence, then with less and less of what the table says, too."""
    total = difference.total
    base, new = latency_text(total.base_ns), latency_text(total.new_ns)
    text = f"Traced, an operation takes {base} on average ({difference.base}) and {new} ({difference.new})"
    interval = interval_text(total)
    if not interval:
        yield f"{text}; too few operations were traced to rule out chance."
        return
    if difference.units == "calls":
        yield from _of_calls(difference)
        return
    parts = [f"{_part_words(one)} ({signed_text(one.difference_ns.value or 0.0)})" for one in _telling(difference)]
    told = [names_in_words(parts[:count]) for count in range(len(parts), 0, -1)]
    if total.is_beyond_noise:
        yield from (f"{text}: {words}." for words in told)
        yield f"{text}; no single part differs by more than chance." if not told else f"{text}."
        return
    sides = f"{difference.new} beside {difference.base}: "
    open_is = f"the mean, {base} and {new}, may differ by chance"
    if told:
        # what is known leads
        # the name of a drive keeps its case
        for words in told:
            yield from () if difference.unsettled else (f"{sides}{words}; {open_is}.",)
            yield f"{capitalised(words)}; {open_is}."
        return
    if counted := work_change_words(difference, _COMMANDS):
        # what was counted is sure, whatever the times do
        yield from () if difference.unsettled else (f"{sides}{counted} per operation; {open_is}.",)
        yield f"{capitalised(counted)} per operation; {open_is}."
        return
    yield f"{text}; the difference ({interval}) may be chance, in every part."
    yield f"{text}; the difference may be chance."


def _of_calls(difference: ExplanationDifference) -> Iterator[str]:
    """By how much calls became slower and in which part, as sure as single calls make it, then with fewer parts."""

    def told(one: PartDifference) -> str:
        chance = "" if one.is_beyond_noise else ", may be chance"
        return f"{signed_text(one.difference_ns.value or 0.0)} ({interval_text(one)}{chance})"

    total = difference.total
    means = f"{latency_text(total.new_ns)} on average ({difference.new})"
    text = f"A {operation_words(difference)} takes {means}, {told(total)} beside {difference.base}"
    parts = [f"{_part_words(one)}, {told(one)}" for one in _largest(difference)]
    yield from (f"{text}: {names_in_words(parts[:count])}." for count in range(len(parts), 0, -1))
    if not parts:
        yield f"{text}."


def _largest(difference: ExplanationDifference) -> list[PartDifference]:
    """Parts that differ most, whether by chance or not, until they make most of the difference."""
    whole = difference.total.difference_ns.value or 0.0
    found: list[PartDifference] = []
    for one in sorted(difference.parts[1:], key=lambda one: -abs(one.difference_ns.value or 0.0))[:PARTS_TOLD]:
        made = sum(each.difference_ns.value or 0.0 for each in found)
        if one.difference_ns.value and abs(whole - made) > (1 - _REASON_ENOUGH) * abs(whole):
            found.append(one)
    return found


def _telling(difference: ExplanationDifference) -> list[PartDifference]:
    """Parts that differ by more than chance, and by enough to tell; the largest first."""
    beyond = [one for one in difference.parts[1:] if one.is_beyond_noise]
    beyond.sort(key=lambda one: -abs(one.difference_ns.value or 0.0))
    largest = abs(beyond[0].difference_ns.value or 0.0) if beyond else 0.0
    return [one for one in beyond if abs(one.difference_ns.value or 0.0) >= _TOLD_FROM * largest][:PARTS_TOLD]


def _reasons(difference: ExplanationDifference) -> list[PartDifference]:
    """Parts that differ as the whole does, until they make most of it."""
    whole = difference.total.difference_ns.value or 0.0
    found: list[PartDifference] = []
    for one in _telling(difference):
        is_enough = abs(sum(each.difference_ns.value or 0.0 for each in found)) >= _REASON_ENOUGH * abs(whole)
        if not is_enough and (one.difference_ns.value or 0.0) * whole > 0:
            found.append(one)
    return found


def _no_reason(difference: ExplanationDifference) -> str:
    total = difference.total
    if not interval_text(total):
        return "too few operations were traced"
    if not total.is_beyond_noise:
        return "traced, the latencies do not differ by more than chance"
    return f"traced, an operation takes {signed_text(total.difference_ns.value or 0.0)}"


def _part_words(one: PartDifference) -> str:
    """What became of a part: ``the flush is gone``, ``the queue is new``, ``the drive's own time is shorter``."""
    name = f"{_NAMES[one.part]} {'are' if one.part == LAYERS else 'is'}"
    if one.new_ns <= _GONE_SHARE * one.base_ns:
        return f"{name} gone"
    if one.base_ns <= _GONE_SHARE * one.new_ns:
        return f"{name} new"
    return f"{name} {'shorter' if one.new_ns < one.base_ns else 'longer'}"


def explained_levels(pairs: Sequence[tuple[LevelEffect, ExplanationDifference]]) -> Iterator[str]:
    """A sentence for each level that matters and was traced; of several workloads or targets each is named."""
    has_several = len({(effect.target, effect.workload) for effect, _ in pairs}) > 1
    for effect, difference in pairs:
        where = f" (for {effect.workload} on {effect.target})" if has_several else ""
        yield f"{level_sentence(effect, difference).removesuffix('.')}{where}."
