"""What an experiment in rounds came to, in sentences: in which round it was steady, and its numbers in that state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from drivelab.model.level_words import levels_phrase
from drivelab.model.metric import metric_of
from drivelab.model.rounds import ChosenPoint, PhaseRounds, TrackedSeries
from drivelab.model.run_answer import RunAnswer
from drivelab.model.setting import SETTING_NAMES
from drivelab.report.numerals import latency_text, number_text, percent_text, value_writer

SCALED_DOWN = "Scaled down by --quick, so this is no result of the test"


def rounds_sentences(answer: RunAnswer) -> tuple[str, ...]:
    """The answer of a run of phases, the last one that was judged first; empty where none was."""
    judged = [one for one in answer.rounds if one.tracked]
    several = len({one.target for one in answer.rounds}) > 1
    found = [_sentence(one, several=several) for one in reversed(judged)]
    if any(one.is_scaled_down for one in judged):
        found[0] = f"{SCALED_DOWN}: {found[0][0].lower()}{found[0][1:]}"
    return (*found, *_points(answer.points, several=several))


def _sentence(one: PhaseRounds, *, several: bool) -> str:
    where = f" on {one.target}" if several else ""
    told = "; ".join(_number(series) for series in one.tracked if series.window is not None)
    if one.is_steady:
        return f"Steady state reached in round {one.rounds} ({one.phase}{where}): {told}."
    why = "; ".join(_why_not(series) for series in one.tracked if series.window and not series.window.is_steady)
    reason = f" ({why})" if why else ""
    at_most = f" of at most {one.rounds_at_most}" if not one.ended_by else ""
    if one.ended_by == "capacities":
        at_most = ", when as much was written as was to be"
    numbers = f"; the last rounds: {told}" if told else ""
    count = f"{one.rounds} round{'s' if one.rounds != 1 else ''}"
    return f"No steady state in {count}{at_most} ({one.phase}{where}){reason}{numbers}."


def _number(series: TrackedSeries) -> str:
    """``1 240 IOPS of random I/O, read fraction 0.0, block size 4 KiB``."""
    assert series.window is not None
    words = varied_phrase(series.levels)
    value = _told_text(series.metric, series.window.average)
    return f"{value} ({', '.join(filter(None, (series.workload, words)))})"


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


def _why_not(series: TrackedSeries) -> str:
    assert series.window is not None
    spread, slope = percent_text(series.window.range_share), percent_text(series.window.slope_share)
    words = ", ".join(filter(None, (series.workload, varied_phrase(series.levels))))
    return f"{metric_of(series.metric).words} of {words} lies {spread} apart and its line moves {slope}"


def _points(points: Sequence[ChosenPoint], *, several: bool) -> Iterator[str]:
    if points:
        told = [
            f"{one.which.capitalize()}{f' on {one.target}' if several else ''} is {varied_phrase(one.levels)}: "
            f"{number_text(one.iops)} IOPS, mean latency {latency_text(one.latency_ns_mean)}"
            for one in points
        ]
        yield f"{'; '.join(told)}."
