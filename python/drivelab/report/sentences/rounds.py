"""What an experiment in rounds came to, in sentences: in which round it was steady, and its numbers in that state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from drivelab.model.estimate import Estimate
from drivelab.model.level_words import levels_phrase
from drivelab.model.metric import metric_of
from drivelab.model.rounds import ChosenPoint, PhaseRounds, TrackedSeries
from drivelab.model.run_answer import RunAnswer
from drivelab.model.setting import SETTING_NAMES
from drivelab.report.numerals import latency_text, number_text, percent_text, value_writer
from drivelab.report.parts_of_text import FIRST_WORDS_MAX, capitalised
from drivelab.report.sentences.contest import times_apart
from drivelab.report.sentences.effect_words import ratio_change

SCALED_DOWN = "No result of the test (--quick)"
# ", and 2 more"
_WORDS_OF_REST = 3
_TARGETS_MIN, _TARGETS_MAX = 2, 3


def rounds_sentences(answer: RunAnswer) -> tuple[str, ...]:
    """The answer of a run of phases, the last one that was judged first; empty where none was.

    Of several targets the first sentence has them beside each other.
    """
    judged = [one for one in reversed(answer.rounds) if one.tracked]
    lead = f"{SCALED_DOWN}: " if any(one.is_scaled_down for one in judged) else ""
    several = len({one.target for one in answer.rounds}) > 1
    room = FIRST_WORDS_MAX - len(lead.split())
    beside = [_beside(judged)] if judged and several else []
    found = [*filter(None, beside), *(text for one in judged for text in _sentences(one, room, several=several))]
    if found and lead:
        first = found[0]
        # the name of a target keeps its letters
        found[0] = f"{lead}{first if beside and beside[0] else f'{first[0].lower()}{first[1:]}'}"
    return (*found, *_points(answer.points, several=several))


def _beside(judged: Sequence[PhaseRounds]) -> str:
    """What is tracked first in the last phase, of each target, the best first; empty where fewer than two have it."""
    first = judged[0].tracked[0]
    known = [
        (one, series.window)
        for one in judged
        for series in one.tracked
        if one.phase == judged[0].phase
        and series.window is not None
        # settings, which not all of them have, are left out
        and (_combination(series), series.metric) == (_combination(first), first.metric)
    ]
    if len(known) < _TARGETS_MIN:
        return ""
    is_low = metric_of(first.metric).better == "low"
    known.sort(key=lambda item: item[1].average if is_low else -item[1].average)
    (best, mine), (other, its), *rest = known
    what = _combination(first)
    values = [tracked_text(first.metric, window.average) for _, window in known]
    is_apart = times_apart(mine.average, its.average) > 1 + max(mine.range_share, its.range_share)
    if not rest and best.is_steady and other.is_steady and is_apart:
        ratio = Estimate(mine.average / its.average, None, None, "1", 1, 1.0, "")
        change = ratio_change(ratio, is_more_slower=is_low)
        return f"{best.target} is {change} than {other.target}, {values[0]} against {values[1]} ({what}), both steady."
    # IOPS need no name
    what = what if first.metric == "iops" else f"{metric_of(first.metric).words} of {what}"
    told = (
        f"{one.target} {value}{'' if one.is_steady else ', not steady'}"
        for (one, _), value in zip(known[:_TARGETS_MAX], values, strict=False)
    )
    return f"{'; '.join(told)} ({what})."


def _combination(series: TrackedSeries) -> str:
    """``random, read fraction 0.0, block size 4 KiB``."""
    return ", ".join(filter(None, (series.workload, varied_phrase(series.levels))))


def _sentences(one: PhaseRounds, room: int, *, several: bool) -> Iterator[str]:
    """What a phase came to in so many words, and why it is not steady where it is not."""
    where = f" on {one.target}" if several else ""
    place = f"({one.phase}{where})"
    known = [_number(series) for series in one.tracked if series.window is not None]
    if one.is_steady:
        yield _within(f"Steady state reached in round {one.rounds} {place}", known, room)
        return
    count = f"{one.rounds} round{'s' if one.rounds != 1 else ''}"
    at_most = f" of at most {one.rounds_at_most}" if not one.ended_by else ""
    yield _within(f"Not steady in {count}{at_most} {place}{'; the last' if known else ''}", known, room)
    why = [_why_not(series, where) for series in one.tracked if series.window and not series.window.is_steady]
    if why:
        more = f"; and {len(why) - 1} more" if len(why) > 1 else ""
        yield f"{capitalised(why[0])}{more}."


def _within(lead: str, numbers: Sequence[str], room: int) -> str:
    """The lead with as many numbers as there is room for, one at least, and how many more there are."""
    if not numbers:
        return f"{lead}."
    shown = 1
    while shown < len(numbers) and _words(lead, *numbers[: shown + 1]) + _WORDS_OF_REST <= room:
        shown += 1
    more = f"; and {len(numbers) - shown} more" if shown < len(numbers) else ""
    return f"{lead}: {'; '.join(numbers[:shown])}{more}."


def _words(*texts: str) -> int:
    return sum(len(text.split()) for text in texts)


def _number(series: TrackedSeries) -> str:
    """``1 240 IOPS of random I/O, read fraction 0.0, block size 4 KiB``."""
    assert series.window is not None
    return f"{_told_text(series.metric, series.window.average)} ({_combination(series)})"


def varied_phrase(levels: Mapping[str, str]) -> str:
    """The levels of a combination without the settings that all have."""
    return levels_phrase({name: level for name, level in levels.items() if name not in SETTING_NAMES})


def tracked_text(metric: str, value: float) -> str:
    """A tracked number with its unit."""
    return f"{number_text(value)} IOPS" if metric == "iops" else value_writer(metric)(value)


def _told_text(metric: str, value: float) -> str:
    """The same in a sentence, where no head says what it is."""
    words = "" if metric == "iops" else f"{metric_of(metric).words} "
    return f"{words}{tracked_text(metric, value)}"


def _why_not(series: TrackedSeries, where: str) -> str:
    """``IOPS of random, block size 64 KiB: range of the five rounds 35.9 % of their mean, slope 26.4 %``."""
    assert series.window is not None
    spread, slope = percent_text(series.window.range_share), percent_text(series.window.slope_share)
    metric = "IOPS" if series.metric == "iops" else metric_of(series.metric).words
    return f"{metric} of {_combination(series)}{where}: range of the five rounds {spread} of their mean, slope {slope}"


def _points(points: Sequence[ChosenPoint], *, several: bool) -> Iterator[str]:
    if points:
        told = [
            f"{one.which.capitalize()}{f' on {one.target}' if several else ''} is {varied_phrase(one.levels)}: "
            f"{number_text(one.iops)} IOPS, mean latency {latency_text(one.latency_ns_mean)}"
            for one in points
        ]
        yield f"{'; '.join(told)}."
