"""How many I/Os at a time are best, and what each of them pays, in a sentence for each workload and target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.apart import are_apart
from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, RATE
from drivelab.model.names import in_number, names_in_words
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.model.saturation import REACHED_SHARE_MIN, knee_place, perhaps_knees
from drivelab.report.numerals import latency_text, number_text
from drivelab.report.parts_of_text import capitalised
from drivelab.report.sentences.one_curve import curves_over, label_of

QUEUE_DEPTH = "queue_depth"
# of several drives what more outstanding bring is told from here on
_WORTH_A_WORD = 1.2
# what brings so much more than the highest depth is told in its place
_ABOVE_LAST = 1.02


def depth_sentences(answer: RunAnswer) -> Iterator[str]:
    """The depth behind which more only makes each wait; nothing where depths were not varied.

    Of several targets it is told of all in one sentence, of a single one beside the first depth.

    Parameters
    ----------
    answer : RunAnswer
        Where other factors were varied too the curves are at their first levels.
    """
    curves = curves_over(answer, QUEUE_DEPTH, _rated_depth)
    groups: dict[tuple[str, str], dict[str, Sequence[CombinationResult]]] = {}
    for (workload, target), members in curves.items():
        label = label_of(answer, QUEUE_DEPTH, members[0])
        groups.setdefault((workload, label), {})[target] = members
    is_varied = any(label != members[0].label for (_, label), of in groups.items() for members in of.values())
    several_targets = len({target for _, target in curves}) > 1
    for (_, label), of in groups.items():
        what = capitalised(label) if is_varied or len(groups) > 1 else ""
        if len(of) > 1 and all(_full(members) for members in of.values()):
            trade = "best trade of rate and median latency"
            lead = f"{what}, {trade}" if what else capitalised(trade)
            if all(_perhaps_best(_full(members)) for members in of.values()):
                most = ", ".join(f"{_most(_full(members))} on {target}" for target, members in of.items())
                yield f"{lead}: not told, the repeats scatter too far; the most: {most}."
            else:
                yield f"{lead}: {'; '.join(_in_short(*one) for one in of.items())}."
            continue
        for target, members in of.items():
            place = " ".join(filter(None, (what, f"on {target}" if several_targets else "")))
            yield f"{capitalised(place)}: {_best(members)}" if place else _best(members)


def _rated_depth(one: CombinationResult) -> int | None:
    is_rated = RATE in one.metrics and one.levels[QUEUE_DEPTH].isdecimal()
    return _depth(one) if is_rated else None


def _depth(one: CombinationResult) -> int:
    return int(one.levels[QUEUE_DEPTH])


def _full(members: Sequence[CombinationResult]) -> list[CombinationResult]:
    """The depths that were reached, where there are two of them or more."""
    full = [one for one in members if _is_reached(one)]
    return full if len(full) > 1 else []


def _in_short(target: str, members: Sequence[CombinationResult]) -> str:
    """``2 at a time on sim:gp2-100, 2 920 IOPS at 680 us``, and what the highest brings where that is worth a word."""
    full = _full(members)
    if perhaps := _perhaps_best(full):
        return f"not told on {target}, where {perhaps} may be it"
    knee = _knee(full)
    last = _most_beyond(full, knee)
    rates = [one.metrics[RATE].median for one in (last, knee)]
    is_worth = knee is full[0] or rates[0] > _WORTH_A_WORD * rates[1]
    more = f" ({_depth(last)} bring {_more(last, knee)})" if knee is not last and is_worth else ""
    latency = f" at {latency_text(knee.metrics[LATENCY].median)}" if LATENCY in knee.metrics else ""
    return f"{_depth(knee)}{' or more' if knee is full[-1] else ''} at a time on {target}, {_rate(knee)}{latency}{more}"


def _most(members: Sequence[CombinationResult]) -> str:
    """``77 400 IOPS with 64``: the depth that brings the most."""
    most = max(members, key=lambda one: one.metrics[RATE].median)
    return f"{_rate(most)} with {_depth(most)}"


def _perhaps_best(members: Sequence[CombinationResult]) -> str:
    """The depths that may be the best trade, where the repeats do not tell two neighbours from all others."""
    rates = [one.metrics[RATE] for one in members]
    places = perhaps_knees(list(map(_depth, members)), [one.lowest for one in rates], [one.highest for one in rates])
    if places is None:
        return ""
    first, last = members[places[0]], members[places[-1]]
    return f"{_depth(first)} to {_depth(last)}{' or more' if last is members[-1] else ''} at a time"


def _knee(members: Sequence[CombinationResult]) -> CombinationResult:
    place = knee_place([_depth(one) for one in members], [one.metrics[RATE].median for one in members])
    return members[-1] if place is None else members[place]


def _best(members: Sequence[CombinationResult]) -> str:
    full = [one for one in members if _is_reached(one)]
    short = [str(_depth(one)) for one in members if not _is_reached(one)]
    empty = f"{names_in_words(short)} were asked for but never outstanding at once, so they are not judged"
    if len(full) < 2 <= len(members):
        return f"{_rate(members[0])} with {_depth(members[0])} at a time; {empty}."
    return f"{_best_of(full)}{f'; {empty}' if short else ''}."


def _is_reached(one: CombinationResult) -> bool:
    """Whether as many were outstanding as asked for: rate times latency (Little's law)."""
    if MEAN_LATENCY not in one.metrics:
        return True
    outstanding = one.metrics[RATE].median * one.metrics[MEAN_LATENCY].median / 1e9
    return outstanding >= REACHED_SHARE_MIN * _depth(one) or _depth(one) == 1


def _best_of(members: Sequence[CombinationResult]) -> str:
    first, last, knee = members[0], members[-1], _knee(members)
    if perhaps := _perhaps_best(members):
        at_most = max(members, key=lambda one: one.metrics[RATE].median)
        waits = f" at a median of {latency_text(at_most.metrics[LATENCY].median)}" if LATENCY in at_most.metrics else ""
        return (
            f"The repeats scatter: the best trade of rate and latency lies somewhere from {perhaps}; the most is "
            f"{_rate(at_most)}{waits} with {_depth(at_most)}"
        )
    times = number_text(knee.metrics[RATE].median / first.metrics[RATE].median, 2)
    grown = "" if knee is first else f", {times} times those of {_depth(first)}{_waits(knee, first)}"
    if knee is last:
        return f"{_depth(knee)} or more at a time are best: {_rate(knee)}, still growing{grown}"
    beyond = _beyond(_most_beyond(members, knee), knee)
    return f"{_depth(knee)} at a time {in_number(_depth(knee), 'are')} the best trade, {_rate(knee)}{grown}; {beyond}"


def _most_beyond(members: Sequence[CombinationResult], knee: CombinationResult) -> CombinationResult:
    """The depth that brings the most beyond the knee: the last, if none before it brings more than that."""
    beyond = [one for one in members if _depth(one) > _depth(knee)] or [knee]
    most = max(beyond, key=lambda one: one.metrics[RATE].median)
    return most if most.metrics[RATE].median > _ABOVE_LAST * beyond[-1].metrics[RATE].median else beyond[-1]


def _beyond(last: CombinationResult, knee: CombinationResult) -> str:
    """What more of them bring, and what they cost."""
    told = f"{_depth(last)} bring {_more(last, knee)}"
    if not all(LATENCY in each.metrics for each in (last, knee)):
        return told
    times = number_text(last.metrics[LATENCY].median / knee.metrics[LATENCY].median, 2)
    return f"{told}, at {times} times the median latency"


def _more(last: CombinationResult, knee: CombinationResult) -> str:
    """How many more they bring: ``79 % more``; ``at most 5 % more, if any`` where that may be chance."""
    mine, its = (one.metrics[RATE] for one in (last, knee))
    is_chance = are_apart(mine.estimate, its.estimate, (mine.repeat_count, its.repeat_count)) is False
    (_, most), (least, _) = mine.ends, its.ends
    if is_chance and mine.lowest > its.highest:
        # no repeat of the one reaches any of the other: by how much is not settled, that it is more hardly is open
        percent = round(100 * (mine.median / its.median - 1))
        return f"about {percent}\u00a0% more, not settled by so few repeats"
    if is_chance and most and least:
        percent = round(100 * (most / least - 1))
        return f"at most {percent}\u00a0% more, if any" if percent > 0 and mine.median > its.median else "no more"
    percent = round(100 * (mine.median / its.median - 1))
    return f"{abs(percent)}\u00a0% {'more' if percent >= 0 else 'fewer'}"


def _rate(one: CombinationResult) -> str:
    return f"{number_text(one.metrics[RATE].median)} IOPS"


def _waits(one: CombinationResult, first: CombinationResult) -> str:
    """The median latency at a depth, and at the lowest: it is not the mean, which Little's law is about."""
    if not all(LATENCY in each.metrics for each in (one, first)):
        return ""
    mine, lowest = (latency_text(each.metrics[LATENCY].median) for each in (one, first))
    return f"; the median latency is then {mine} instead of {lowest}"
