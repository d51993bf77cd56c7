"""What the levels of factors do, in few sentences: what matters, what makes no difference, what could not be told."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from drivelab.model.level_words import factor_words, is_quantity, level_text, levels_phrase
from drivelab.model.metric import FLUSHES, WRITES, metric_of
from drivelab.model.names import either_in_words
from drivelab.model.run_answer import CommandChange, LevelEffect, RunAnswer
from drivelab.model.setting import AS_FOUND
from drivelab.report.numerals import number_text, value_writer
from drivelab.report.parts_of_text import FIRST_WORDS_MAX, capitalised, name_in, word_count
from drivelab.report.sentences.effect_words import (
    change_size,
    change_words,
    combinations_beside,
    is_of_a_size,
    main_operation,
    ratio_change,
    repeats_in_words,
    than_words,
)

# of a kind of verdict in one sentence; the table has all
NAMED_MAX = 3
_PAIRS_MAX = 2
# what a level does is told as a share below this, and how many repeats it would take to see as much
_TIMES_FROM, _SHARE = 2.0, 1.2
# two numbers stand beside a ratio that a reader who divides them gets as well
_SAME_RATIO = 1.05
# the ratios of single combinations are told where one is so many times another
_ALIKE = 1.2
# a change in both of two repeats is so many times what they differ by before it is told as seen, for each that was
# tried: of nothing but chance one in twenty runs would tell one
_BEYOND_SCATTER = 5.0
# a journal's commit now and then makes 2.02 of 2
_WHOLE_WITHIN = 0.05
_COMMANDS_MIN = 0.5
_NOUNS = {WRITES: "write", FLUSHES: "flush"}


def effects_in_short(
    effects: Sequence[LevelEffect], answer: RunAnswer, *, is_other: bool = False, has_numbers: bool = True
) -> Iterator[str]:
    """The verdicts on levels of factors, the largest change first.

    Parameters
    ----------
    effects : sequence of LevelEffect
        Of any number of workloads and targets.
    is_other : bool
        Whether what factors do together was told before.
    has_numbers : bool
        Whether the two numbers stand beside a change; without, another sentence has them.

    Yields
    ------
    str
        The largest change that matters with its numbers, or what was seen in both of two repeats and what was
        counted; other changes and what has no effect; what could not be told and what that would take, with what was
        not judged. At most four.
    """
    told = [effect for effect in _of_numbers_the_last(effects) if not effect.is_unchanged or effect.refused_for]
    unchanged = max((one for one in effects if one.is_unchanged and one not in told), key=change_size, default=None)
    words = _Words(answer, told, has_numbers, unchanged)
    # what survives a power cut comes first
    matters = sorted(filter(is_of_a_size, told), key=lambda one: (not words.is_durable(one), -change_size(one)))
    seen = sorted((one for one in told if _is_seen(one, len(told))), key=change_size, reverse=True)
    counted = tuple(words.counted(told))
    if matters and counted and not words.is_durable(matters[0]):
        yield from _together(counted[0], *words.change(matters[0]))
    elif matters:
        yield from words.change(matters[0])
    else:
        yield from _joined(map(words.seen, seen[:1]))
        yield from counted
    none = [one for one in told if one.verdict == "no effect"]
    small = [one for one in told if one.verdict == "differs" and one not in matters]
    yield from _in_few_words(words, lambda few: [*few.others(matters[1:], small, none), *few.pairs(answer.pairs)])
    unknown = [one for one in told if one not in seen[:1]]
    yield from _in_few_words(words, lambda few: few.unknown(unknown, is_other=is_other))


def _is_seen(effect: LevelEffect, tried: int) -> bool:
    """Whether both of two repeats show a change, and the same but for a small part of it."""
    if effect.verdict != "not settled" or len(effect.block_ratios) != 2:
        return False
    low, high = sorted(map(math.log, effect.block_ratios))
    nearest = low if low > 0 else -high
    return nearest > max(math.log1p(effect.bound), _BEYOND_SCATTER * tried * (high - low))


def _joined(parts: Iterable[str]) -> Iterator[str]:
    found = "; ".join(parts)
    if found:
        yield f"{capitalised(found)}."


def _together(first: str, *others: str) -> tuple[str, ...]:
    """Two sentences as one, where they have room."""
    together = f"{first.removesuffix('.')}; {'; '.join(others)}"
    return (together,) if len(together.split()) <= FIRST_WORDS_MAX else (first, *others)


def _in_few_words(words: _Words, parts_of: Callable[[_Words], Iterable[str]]) -> Iterator[str]:
    """A sentence that names as many as it has room for, of its last parts none where they have no room."""
    parts: list[str] = []
    for most in range(NAMED_MAX, 0, -1):
        parts = list(parts_of(replace(words, most=most)))
        if word_count(parts) <= FIRST_WORDS_MAX:
            break
    while len(parts) > 1 and word_count(parts) > FIRST_WORDS_MAX:
        parts.pop()
    yield from _joined(parts)


def _of_numbers_the_last(effects: Sequence[LevelEffect]) -> list[LevelEffect]:
    """All effects; of factors whose levels are numbers the last alone, since what lies between is in the figure."""
    groups: dict[tuple[str, str, str], list[LevelEffect]] = {}
    for effect in effects:
        groups.setdefault((effect.target, effect.workload, effect.factor), []).append(effect)
    found = []
    for members in groups.values():
        levels = [members[0].baseline, *(one.level for one in members)]
        found += members[-1:] if all(map(is_quantity, levels)) else members
    return found


@dataclass(frozen=True)
class _Words:
    """Names levels, and where they were measured only where another place has another verdict."""

    answer: RunAnswer
    told: Sequence[LevelEffect]
    has_numbers: bool
    unchanged: LevelEffect | None = None
    most: int = NAMED_MAX

    @cached_property
    def _labels(self) -> dict[str, str]:
        """What each workload is called, with the operation of a mix that is judged; by its name where it has one."""
        labels = {one.workload: f"{one.label}{main_operation(self.answer, one)}" for one in self.answer.combinations}
        names = {workload: name_in(label) for workload, label in labels.items()}
        return names if len(set(names.values())) == len(names) > 1 else labels

    @cached_property
    def _targets(self) -> set[str]:
        return {one.target for one in self.answer.combinations}

    @cached_property
    def _places(self) -> Counter[str]:
        """In how many places each level was told of."""
        return Counter(map(_subject, self.told))

    def change(self, effect: LevelEffect) -> Iterator[str]:
        """What the largest change is, with the two numbers where it is about one pair of them, and its commands."""
        numbers = self._numbers(effect)
        # a span that stands by itself is no range of what was measured
        span = "" if numbers or effect.ratio.low is None else " (95\u00a0%)"
        told = f"{self._where(effect, is_label_told=True)}: {_told_change(effect)}{span}{numbers}"
        together = f"{told}{_commands(effect, ', with ')}."
        if len(together.split()) <= FIRST_WORDS_MAX:
            yield capitalised(together)
        else:
            yield f"{capitalised(told)}."
            yield from _joined([f"{_subject(effect)} takes{words}"] if (words := _commands(effect, " ")) else [])

    def seen(self, effect: LevelEffect) -> str:
        """A change that two repeats agree on: they carry no interval, but it is no scatter of theirs."""
        verb = _verb(effect, "was", "were")
        change = change_words(effect)
        repeats = repeats_in_words([effect]) if effect.split_blocks else "both repeats"
        told = f"{_subject(effect)} {verb} {change} {than_words(change)} {_baseline(effect)} in {repeats}"
        where = self._where(effect, is_label_told=self.has_numbers)
        return f"{where}{': ' if where else ''}{told}{self._numbers(effect)}; a third like them would settle it"

    def counted(self, effects: Sequence[LevelEffect]) -> Iterator[str]:
        """Which levels send the drive other commands: certain, also where no time could be told."""
        found: dict[str, dict[str, LevelEffect]] = {}
        for effect in effects:
            if effect.verdict != "not judged" and self.is_durable(effect) and (words := _commands(effect, " ")):
                found.setdefault(_subject(effect), {}).setdefault(f"{words} than {_baseline(effect)}", effect)
        told = [
            (f"{subject} takes{words}", self._where(one))
            for subject, of_subject in found.items()
            for words, one in of_subject.items()
        ]
        if len(told) > _PAIRS_MAX:
            # a list of them answers nothing: those of the first workload alone
            place = self._where(min(effects, key=self._place_in_file))
            told = [one for one in told if one[1] == place]
        if 0 < len(told) <= _PAIRS_MAX:
            places = list(dict.fromkeys(where for _, where in told))
            alone = f" ({places[0]})" if len(places) == 1 and places[0] else ""
            parts = [text if len(places) == 1 else f"{text} ({where})" for text, where in told]
            yield f"Counted{alone}: {'; '.join(parts)}."

    def others(
        self, changes: Sequence[LevelEffect], small: Sequence[LevelEffect], none: Sequence[LevelEffect]
    ) -> Iterator[str]:
        """The changes behind the largest, those that are sure and too small to matter, and what changes nothing."""
        if changes:
            told = [f"{self._place_before(one)}{_told_change(one)}{self._spread(one)}" for one in changes]
            yield f"also {_some_clauses(list(dict.fromkeys(told)), self.most)}"
        if small:
            told = [f"{self._place_before(one)}{_told_change(one)}" for one in small]
            yield f"a small difference: {_some_clauses(list(dict.fromkeys(told)), self.most)}"
        if none:
            yield f"no effect of {100 * none[0].bound:.0f}\u00a0% or more: {self.named(none)}"

    def pairs(self, pairs: Sequence[LevelEffect]) -> Iterator[str]:
        """Which levels beside the first differ among each other, the largest difference first."""
        apart = sorted(filter(is_of_a_size, pairs), key=change_size, reverse=True)
        told = []
        for one in apart:
            where = self._where(one)
            place = f" ({where})" if where else ""
            told.append(f"{_told_change(one)}{self._numbers(one)}{place}")
        if told:
            yield _some_clauses(told, min(self.most, _PAIRS_MAX))

    def unknown(self, told: Sequence[LevelEffect], *, is_other: bool) -> Iterator[str]:
        """What could not be told from chance, and what was not judged for another reason."""
        open_ones = [one for one in told if one.verdict == "not settled"]
        if open_ones:
            yield self.not_told(open_ones, is_other=is_other)
        refused = [one for one in told if one.refused_for]
        if refused:
            yield f"not taken, so not judged: {self.named(refused)}"
        unjudged = [one for one in told if one.verdict == "not judged" and not one.refused_for]
        if unjudged:
            yield f"not judged, as trials do not describe the drive: {self.named(unjudged)}"

    def _place_before(self, effect: LevelEffect) -> str:
        where = self._where(effect)
        return f"{where}: " if where else ""

    def named(self, effects: Sequence[LevelEffect]) -> str:
        """Some levels by name, each once, with where that holds or in how many of its cases."""
        names = []
        beside = {_baseline(one) for one in self.told}
        # of a single level a reader asks beside which
        against = f" against {beside.pop()}" if len(self._places) == len(beside) == 1 else ""
        here = Counter(map(_subject, effects))
        for one in effects:
            subject = _subject(one)
            count, places = here[subject], self._places[subject]
            of_all = f"in {count} of {places} {'cases' if len(self._targets) > 1 else 'workloads'}"
            where = "" if count == places else of_all if count > 1 else self._where(one)
            names.append(f"{subject}{against}{f' ({where})' if where else ''}")
        return _some(list(dict.fromkeys(names)), ", ", self.most)

    def not_told(self, effects: Sequence[LevelEffect], *, is_other: bool) -> str:
        """What cannot be told from chance, and what would show it; how it looked is in the table."""
        repeats = repeats_in_words(effects)
        it_takes = _what_it_takes(effects, max(len(effect.block_ratios) for effect in effects))
        if len(effects) < len(self.told):
            return f"not settled by {repeats}: {self.named(effects)}; {it_takes}"
        factors = [factor_words(factor) for factor in dict.fromkeys(effect.factor for effect in effects)]
        of_what = _some(factors, ", ", self.most) if len(factors) > self.most else either_in_words(factors)
        what = f"no {'other ' if is_other else ''}effect of {of_what}"
        # of single combinations it is not said
        counts = sorted({effect.combination_count for effect in effects})
        average = f" on average over {counts[-1]} combinations" if counts[0] > 1 else ""
        if self.unchanged is not None and change_size(self.unchanged) >= _SHARE:
            # what so many repeats make of nothing says why the others are not believed
            ratios = self.unchanged.block_ratios
            times = f"{number_text(min(ratios), 2)} to {number_text(max(ratios), 2)} times"
            took = f"{_subject(self.unchanged)}, which changes nothing, came to {times} the baseline"
            return f"with {repeats} no effect is clear, since {took}; it takes a steadier machine"
        return f"with {repeats} {what} is clear{average}; {it_takes}"

    def _numbers(self, effect: LevelEffect) -> str:
        """The numbers of both levels where they are of one pair of combinations."""
        pairs = combinations_beside(effect, self.answer.combinations)
        write = value_writer(effect.metric)
        if len(pairs) != 1:
            return self._spread(effect)
        baseline, level = pairs[0]
        # the ratio is that within blocks, the numbers are medians over them: those of another ratio explain nothing
        ratio = effect.ratio.value or 0.0
        is_other = ratio * baseline * level > 0 and abs(math.log(level / baseline / ratio)) > math.log(_SAME_RATIO)
        return f", {write(level)} instead of {write(baseline)}" if self.has_numbers and not is_other else ""

    def _spread(self, effect: LevelEffect) -> str:
        """Between which ratios the combinations lie that a change is the average of, where they are not alike."""
        ratios = [
            level / baseline for baseline, level in combinations_beside(effect, self.answer.combinations) if baseline
        ]
        if not ratios or max(ratios) < _ALIKE * min(ratios):
            return ""
        low, high = effect.ratio.low, effect.ratio.high
        if low is not None and high is not None and low <= min(ratios) and max(ratios) <= high:
            # the interval that is told holds them
            return ""
        times = sorted(max(ratio, 1 / ratio) for ratio in ratios)
        ends = f"{times[0]:.1f} to {times[-1]:.1f} times"
        if min(ratios) < 1 < max(ratios):
            ends = f"{number_text(min(ratios))} to {number_text(max(ratios))} times that of {_baseline(effect)}"
        # what is averaged is a ratio in each block; a reader finds the medians in the table
        return f" (medians: {ends} in {len(ratios)} combinations of the other factors)"

    def _place_in_file(self, effect: LevelEffect) -> int:
        """Where the experiment's file has its workload."""
        return list(self._labels).index(effect.workload) if effect.workload in self._labels else len(self._labels)

    def is_durable(self, effect: LevelEffect) -> bool:
        """Whether it is about writes that survive a power cut."""
        return any(one.is_durable for one in self.answer.combinations if one.workload == effect.workload)

    def _where(self, effect: LevelEffect, *, is_label_told: bool = False) -> str:
        """The workload where there are several or it is asked for, and the target where there are several."""
        has_label = len(self._labels) > 1 or is_label_told
        label = self._labels.get(effect.workload, effect.workload) if has_label else ""
        return " ".join(filter(None, (label, f"on {effect.target}" if len(self._targets) > 1 else "")))


def _some(names: Sequence[str], between: str, most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{between.join(names[:most])}{more}"


def _some_clauses(clauses: Sequence[str], most: int) -> str:
    more = [f"{len(clauses) - most} more in the table"] if len(clauses) > most else []
    return "; ".join([*clauses[:most], *more])


def _subject(effect: LevelEffect) -> str:
    return levels_phrase({effect.factor: effect.level})


def _verb(effect: LevelEffect, of_one: str, of_many: str) -> str:
    """What a level is told with: ``500 I/Os are``, ``ext4 is``."""
    return of_many if effect.factor == "count" else of_one


def _baseline(effect: LevelEffect) -> str:
    words = level_text(effect.factor, effect.baseline)
    return f"{effect.factor.replace('_', ' ')} as found" if effect.baseline == AS_FOUND else words


def _told_change(effect: LevelEffect) -> str:
    change = ratio_change(effect.ratio, is_more_slower=metric_of(effect.metric).better == "low", is_span_alone=True)
    return f"{_subject(effect)} {_verb(effect, 'is', 'are')} {change} {than_words(change)} {_baseline(effect)}"


def _commands(effect: LevelEffect, lead: str) -> str:
    """Which commands are more or fewer, where they were counted exactly: `` takes 2 writes more per operation``."""
    told = [
        _command(change, _NOUNS[change.metric])
        for change in effect.commands
        if change.is_changed and change.metric in _NOUNS and _is_exact(change) and _is_told(change)
    ]
    return f"{lead}{' and '.join(told)} per operation" if told else ""


def _is_exact(change: CommandChange) -> bool:
    return change.baseline[0] == change.baseline[1] and change.level[0] == change.level[1]


def _is_told(change: CommandChange) -> bool:
    """Whether it is half a command or more: less is a journal's now and then, or others' on a shared drive."""
    return abs(fmean(change.level) - fmean(change.baseline)) >= _COMMANDS_MIN


def _command(change: CommandChange, name: str) -> str:
    """``2 more writes``, ``1 fewer flush``."""
    more = fmean(change.level) - fmean(change.baseline)
    whole = round(abs(more))
    count = str(whole) if abs(abs(more) - whole) < _WHOLE_WITHIN else f"{abs(more):.1f}"
    plural = name if count == "1" else f"{name}es" if name == "flush" else f"{name}s"
    return f"{count} {'more' if more > 0 else 'fewer'} {plural}"


def _what_it_takes(effects: Sequence[LevelEffect], blocks: int) -> str:
    """How many repeats would show what the scatter hides: a fifth where twice as much would have shown already."""
    ends = [end for one in effects for end in (one.ratio.low, one.ratio.high) if end]
    if not ends or any(one.ratio.low is None for one in effects):
        return "more repeats would tell"
    least = _TIMES_FROM if max(max(end, 1 / end) for end in ends) > _TIMES_FROM else _SHARE
    is_double = least == _TIMES_FROM
    needed = [one.blocks_to_show_factor_2 if is_double else one.blocks_to_show_20_percent for one in effects]
    size = f"a factor of {least:g}" if is_double else f"{100 * (least - 1):.0f}\u00a0%"
    if not all(needed):
        return f"to show {size} takes a steadier machine"
    if max(needed) <= blocks:
        return f"a change of {size} would most likely have shown"
    return f"about {max(needed)} repeats would show {size}"
