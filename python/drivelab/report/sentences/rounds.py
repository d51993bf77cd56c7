"""What an experiment in rounds came to, in sentences: in which round it was steady, and its numbers in that state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from drivelab.model.judged_metric import RATE
from drivelab.model.level_words import READ_FRACTION, level_text, levels_phrase
from drivelab.model.metric import metric_of
from drivelab.model.names import names_in_words
from drivelab.model.phase import POINT_LATENCY_BELOW_NS
from drivelab.model.rounds import FALLS, RANGE_MAX, SLOPE_MAX, ChosenPoint, PhaseRounds, TrackedSeries
from drivelab.model.run_answer import RunAnswer
from drivelab.model.setting import SETTING_NAMES
from drivelab.report.numerals import latency_text, number_text, percent_text, value_writer
from drivelab.report.parts_of_text import FIRST_WORDS_MAX, capitalised, word_count
from drivelab.report.sentences.contest import DIFFERS_FROM, times_apart
from drivelab.report.sentences.effect_words import change_between, than_words
from drivelab.report.sentences.pauses import PERHAPS_BURST, pause_sentences

SCALED_DOWN = "A rehearsal (--quick)"
# ", and 2 more"
_WORDS_OF_REST = 3
_TARGETS_MIN = 2
_UNNAMED = "rounds"
RANGE_BOUND, SLOPE_BOUND = (f"at most {100 * bound:.0f}\u00a0%" for bound in (RANGE_MAX, SLOPE_MAX))
# what a point of the specification is, by its name there
_WHICH = {
    "max": f"Most (within 1 %) with a mean latency below {latency_text(POINT_LATENCY_BELOW_NS)} (Max)",
    "mid": "Midway between most and fewest (Mid)",
}
_SIZE, _WRITE_CACHE = "block_size", "write-cache"


def rounds_sentences(answer: RunAnswer) -> tuple[str, ...]:
    """The answer of a run of phases, the last one that was judged first; empty where none was.

    Of several targets each sentence on what is tracked has them beside each other.
    """
    judged = [one for one in reversed(answer.rounds) if one.tracked]
    lead = f"{SCALED_DOWN}: " if any(one.is_scaled_down for one in judged) else ""
    several = len({one.target for one in answer.rounds}) > 1
    room = FIRST_WORDS_MAX - len(lead.split())
    found: list[str] = []
    # whether pauses help is asked where there are any
    pauses = list(pause_sentences(answer)) if judged else []
    for phase in dict.fromkeys(one.phase for one in judged):
        members = [one for one in answer.rounds if one in judged and one.phase == phase]
        has_lead = bool(lead) and not found and not pauses
        beside = _beside(members, room, has_lead=has_lead)
        for one in members:
            # the name of a target keeps its letters
            after = _afterwards(answer, one)
            told = beside or [_verdict(one, room, after, several=several, has_lead=has_lead)]
            found += [*(text for text in told if text not in found), *_why_not(one, several=several)]
            has_lead = False
    found = [*pauses, *found]
    if found and lead:
        found[0] = f"{lead}{found[0][:1].lower()}{found[0][1:]}" if pauses else f"{lead}{found[0]}"
    points = list(_points(answer, several=several))
    if points and lead:
        found[0] = found[0].removeprefix(lead)
        found = [capitalised(found[0]), *found[1:]]
        points[0] = f"{lead}{points[0][:1].lower()}{points[0][1:]}"
    # which points are best is asked where there are any
    return (*points[:1], *found, *points[1:])


def _beside(members: Sequence[PhaseRounds], room: int, *, has_lead: bool) -> list[str]:
    """What is tracked first in a phase, of each target, the best first; empty where fewer than two have it.

    Write caches that differ are told with it, or where it has no room, or there are more drives than two, behind it.
    """
    first = members[0].tracked[0]
    known = [
        (one, series, series.window)
        for one in members
        for series in one.tracked
        if series.window is not None
        # settings, which not all of them have, are left out
        and (series_words(series), series.metric) == (series_words(first), first.metric)
    ]
    if len(known) < _TARGETS_MIN:
        return []
    is_low = metric_of(first.metric).better == "low"
    known.sort(key=lambda item: item[2].average if is_low else -_lasting(item[1]))
    (best, one, mine), (other, two, its), *rest = known
    what = series_words(first)
    values = [f"{tracked_text(first.metric, window.average)}{_caveat(series)}" for _, series, window in known]
    is_apart = times_apart(_lasting(one), _lasting(two)) > 1 + max(mine.range_share, its.range_share)
    is_sure = mine.is_steady and its.is_steady and not _caveat(one) and not _caveat(two)
    told = [
        f"{one.target} {value}{'' if window.is_steady else ', not steady'}"
        for (one, _, window), value in zip(known, values, strict=True)
    ]
    caches = _write_caches([(one.target, series) for one, series, _ in known])
    if is_sure and is_apart:
        change = change_between(mine.average, its.average, is_more_slower=is_low)
        ahead = f"{best.target} is {change} {than_words(change)} {other.target}, {values[0]} against {values[1]}"
        ahead = _fitting([ahead, *told[2:]], room - word_count([what, "all steady"]))
        word = "level" if best.is_scaled_down else "steady"
        # of several numbers that are tracked another may not be
        there = "" if all(each.is_steady for each, *_ in known) else " there"
        is_steady = all(window.is_steady for *_, window in known)
        steady = f", {'all' if rest else 'both'} {word}{there}" if is_steady else ""
        ahead = f"{ahead} ({what}){steady}"
        together = f"{ahead}, write cache {' against '.join(caches)}."
        if not rest and len(caches) > 1 and word_count([together]) <= room:
            return [together]
        return [f"{ahead}.", *_apart(caches)]
    # IOPS need no name
    what = what if first.metric == "iops" else f"{metric_of(first.metric).words} of {what}"
    lead = f"{'b' if has_lead else 'B'}est is " if is_apart and not _caveat(one) and mine.is_steady else ""
    return [f"{lead}{_fitting(told, room - word_count([lead, what]))} ({what}).", *_apart(caches)]


def _write_caches(known: Sequence[tuple[str, TrackedSeries]]) -> dict[str, list[str]]:
    """The targets of each write cache."""
    found: dict[str, list[str]] = {}
    for target, series in known:
        if _WRITE_CACHE in series.levels:
            found.setdefault(series.levels[_WRITE_CACHE].replace("-", " "), []).append(target)
    return found


def _apart(caches: Mapping[str, Sequence[str]]) -> list[str]:
    """``The write cache was off on sda, and as found on sdb and sdc``, where it differed."""
    told = [f"{level} on {names_in_words(targets)}" for level, targets in caches.items()]
    return [f"The write cache was {', and '.join(told)}."] if len(told) > 1 else []


def _lasting(series: TrackedSeries) -> float:
    """What a number comes to in the end: a window that is steady may be that of a cache."""
    assert series.window is not None
    return series.window.average if series.lasting_per_s is None else series.lasting_per_s


def _caveat(series: TrackedSeries) -> str:
    """What limits a number that was steady in the window."""
    if series.lasting_per_s is not None:
        return f", {number_text(series.lasting_per_s, 2)} in the long run"
    return PERHAPS_BURST if series.is_perhaps_burst else ""


def series_words(series: TrackedSeries) -> str:
    """What is tracked: ``random 4 KiB writes``, by its levels or else by its title."""
    if _SIZE in series.levels or not series.title:
        return combination_words(series.workload, series.levels)
    return ", ".join(filter(None, (series.title, combination_words("", series.levels))))


def combination_words(workload: str, levels: Mapping[str, str]) -> str:
    """``random 4 KiB writes, queue depth 4``; of a mix ``random 4 KiB, R/W 65/35``."""
    own = {name: levels[name] for name in (_SIZE, READ_FRACTION) if name in levels}
    mix = level_text(READ_FRACTION, own[READ_FRACTION]) if READ_FRACTION in own else ""
    size = level_text(_SIZE, own[_SIZE]) if _SIZE in own else ""
    is_mix = "/" in mix
    first = " ".join(filter(None, (workload, size, "" if is_mix else mix)))
    others = varied_phrase({name: level for name, level in levels.items() if name not in own})
    return ", ".join(filter(None, (first, mix if is_mix else "", others)))


def _verdict(one: PhaseRounds, room: int, after: float | None, *, several: bool, has_lead: bool) -> str:
    """Whether a phase is steady on a target, and its numbers, in so many words."""
    # what was not steady comes before what was
    tracked = sorted((one for one in one.tracked if one.window is not None), key=_is_steady)
    known = [_number(series) for series in tracked]
    if known and not one.is_steady and any(map(_is_steady, tracked)):
        first = next(place for place, series in enumerate(tracked) if _is_steady(series))
        known[first] = f"steady: {known[first]}"
    where = _where(one, several=several)
    # what its numbers are tells phases apart, and one that is called rounds is told of by their number
    place = where if known or one.phase == _UNNAMED else f" ({one.phase}{where})"
    if after is not None:
        told = f"Not level yet{place}"
        known = [f"{known[0]}, {number_text(after)} afterwards", *known[1:]]
    elif one.is_steady:
        # a rehearsal writes too little to know that it stays so
        told = f"{'Level by' if one.is_scaled_down else 'Steady state reached in'} round {one.rounds}{place}"
    else:
        count = f"{one.rounds} round{'s' if one.rounds != 1 else ''}"
        at_most = f" of at most {one.rounds_at_most}" if not one.ended_by else ""
        told = f"Not steady in {count}{at_most}{place}{'; the last five' if known else ''}"
    told = f"{told[0].lower()}{told[1:]}" if has_lead else told
    return f"{told}: {_fitting(known, room - word_count([told]))}." if known else f"{told}."


def _is_steady(series: TrackedSeries) -> bool:
    return series.window is not None and series.window.is_steady


def _afterwards(answer: RunAnswer, phase: PhaseRounds) -> float | None:
    """What the I/O that is tracked first came to behind all rounds, where that is far less: it was not level then."""
    series = phase.tracked[0]
    later = answer.afterwards.get(series.workload)
    after = next((one for one in answer.rows if (one.target, one.workload) == (phase.target, later)), None)
    known = after.metrics.get(RATE) if after is not None else None
    if series.window is None or series.metric != RATE or series.lasting_per_s is not None or known is None:
        return None
    return known.value if known.value * FALLS < series.window.average else None


def _where(one: PhaseRounds, *, several: bool) -> str:
    return f" on {one.target}" if several else ""


def _why_not(one: PhaseRounds, *, several: bool) -> Iterator[str]:
    """``IOPS of random 64 KiB were not steady: range 35.9 % (at most 20 %), best line 26.4 % (at most 10 %)``."""
    restless = [series for series in one.tracked if series.window is not None and not series.window.is_steady]
    for series in restless[:1]:
        assert series.window is not None
        spread, line = percent_text(series.window.range_share), percent_text(series.window.slope_share)
        is_iops = series.metric == "iops"
        metric = "IOPS" if is_iops else capitalised(metric_of(series.metric).words)
        more = f"; and {len(restless) - 1} more" if len(restless) > 1 else ""
        yield (
            f"{metric} of {series_words(series)}{_where(one, several=several)} {'were' if is_iops else 'was'} not "
            f"steady: range {spread} ({RANGE_BOUND}), slope of the best line {line} ({SLOPE_BOUND}){more}."
        )


def _fitting(texts: Sequence[str], room: int) -> str:
    """As many texts as there is room for in words, one at least, and how many more there are."""
    shown = 1
    while shown < len(texts) and word_count(texts[: shown + 1]) + _WORDS_OF_REST <= room:
        shown += 1
    more = f"; and {len(texts) - shown} more" if shown < len(texts) else ""
    return f"{'; '.join(texts[:shown])}{more}"


def _number(series: TrackedSeries) -> str:
    """``1 240 IOPS (random 4 KiB writes)``; of a cache first what lasts."""
    assert series.window is not None
    told = _told_text(series.metric, series.window.average)
    if series.lasting_per_s is not None:
        told = f"{number_text(series.lasting_per_s, 2)} IOPS last, {told} came from a cache"
    elif series.is_perhaps_burst:
        told = f"{told}{PERHAPS_BURST}"
    return f"{told} ({series_words(series)}){_fall(series)}"


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


def _fall(series: TrackedSeries) -> str:
    """``, fallen from 578 000 in the first round``, where IOPS fell that far before they were judged."""
    if not series.has_fallen or series.first is None:
        return ""
    return f", fallen from {number_text(series.first)} in the first round"


def _points(answer: RunAnswer, *, several: bool) -> Iterator[str]:
    """What is chosen, ``Most with a mean latency below 5 ms: 320 000 IOPS at 398 us (job count 4, queue depth 32)``."""
    for which, words in _WHICH.items():
        told = [
            f"{f'{one.target} ' if several else ''}{_number_of_point(answer, one)} ({varied_phrase(one.levels)})"
            for one in answer.points
            if one.which == which
        ]
        if told:
            yield f"{words}: {'; '.join(told)}."


def _number_of_point(answer: RunAnswer, point: ChosenPoint) -> str:
    """The mean over the window, as tables have it; what it was chosen by where there is none."""
    iops, latency_ns = point.iops, point.latency_ns_mean
    own = [phase for phase in answer.rounds if phase.target == point.target]
    for one in (average for phase in own for average in phase.averages):
        is_it = (one.workload, one.levels) == (point.workload, point.levels)
        if is_it and one.iops is not None and one.latency_ns_mean is not None:
            iops, latency_ns = one.iops, one.latency_ns_mean
    bursts = (
        series.window.average for one in own for series in one.tracked if series.is_perhaps_burst and series.window
    )
    caveat = PERHAPS_BURST if any(times_apart(iops, rate) < DIFFERS_FROM for rate in bursts) else ""
    return f"{number_text(iops)} IOPS at {latency_text(latency_ns)}{caveat}"
