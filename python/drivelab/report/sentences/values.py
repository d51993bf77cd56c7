"""What a run is about, in a sentence: the numbers of few workloads, or of many at one level, or which level leads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from drivelab.model.apart import ABOUT_THE_SAME, are_apart
from drivelab.model.judged_metric import P99
from drivelab.model.level_words import is_quantity, level_text, levels_phrase
from drivelab.model.metric import metric_of
from drivelab.model.names import names_in_words
from drivelab.model.run_answer import CombinationResult, LevelEffect, RunAnswer
from drivelab.report.numerals import span_between, value_writer
from drivelab.report.parts_of_text import capitalised, in_any_of, name_in, shortened
from drivelab.report.sentences.contest import DIFFERS_FROM, firsts_apart, times_apart
from drivelab.report.sentences.effect_words import change_between, is_of_a_size, than_words
from drivelab.report.sentences.other_levels import at_other_levels
from drivelab.report.sentences.overall import overall_sentences
from drivelab.report.sentences.queue_depth import QUEUE_DEPTH

WORDS_MAX = 30
_LEVELS_MAX = 4
# of more workloads than these the first level is told
_WORKLOADS_WITH_LEVELS = 2
# of as many levels as these the numbers of one are no answer
_LEVELS_WITH_A_LEAD = 3
_FAR_APART = 2.0
# "and 4 more"
_WORDS_OF_REST = 3
# what stands before the first workload of each kind that is not the first of all
_DURABILITIES = ("", "durable only at the end: ", "not durable: ")


def value_sentences(answer: RunAnswer) -> Iterator[str]:
    """What was measured at the levels of the first factor that was varied, a sentence or one for each of two workloads.

    Where many workloads have several levels each, two: which level is the fastest over all, and in how many.

    Parameters
    ----------
    answer : RunAnswer
        Nothing is told of several targets, which are held against each other (`curves_beside`), nor of changes one at
        a time, which are told with their numbers; nor of a single pair of levels.
    """
    rows, differing, varied = _varied(answer)
    is_one_at_a_time = len(varied) > 1 and all(len(names) < 2 for names in differing)
    if len({one.target for one in rows}) != 1 or is_one_at_a_time or not varied:
        return
    factor = varied[0]
    groups: dict[str, list[CombinationResult]] = {}
    for one, names in zip(rows, differing, strict=True):
        if set(names) <= {factor}:
            groups.setdefault(one.workload, []).append(one)
    if len(groups) > _WORKLOADS_WITH_LEVELS:
        has_lead = all(len(members) >= _LEVELS_WITH_A_LEAD for members in groups.values())
        if has_lead:
            yield from overall_sentences(answer.overall, factor)
        yield (
            _lead(answer, list(groups.values()), factor)
            if has_lead
            else _of_workloads(answer, list(groups.values()), factor, varied[1:])
        )
    elif len(groups) == 1 and (change := _change_of_curve(next(iter(groups.values())), factor)):
        yield f"{capitalised(rows[0].label)}: {change}."
    # of two numbers the change tells, where there is anything to judge it by
    elif max(map(len, groups.values()), default=0) > 2 or len(groups) > 1 or all(one.trial_count == 1 for one in rows):
        told = [
            f"{_of_levels(members, factor, _beside(members, varied[1:]))}{_open_words(answer, members, factor)}"
            + "".join(
                f"; {_of_levels(of, factor, at)} (not settled)"
                for at, of in at_other_levels(answer, members, varied[1:])
            )
            for members in groups.values()
        ]
        both = "; ".join(told)
        yield from (f"{capitalised(one)}." for one in ([both] if len(both.split()) <= WORDS_MAX else told))


def _open_words(answer: RunAnswer, members: Sequence[CombinationResult], factor: str) -> str:
    """Which of the levels are not settled against the first: their numbers stand in an order all the same."""
    first = members[0]
    here = [
        one
        for one in answer.effects or answer.contrasts
        if (one.target, one.workload, one.factor) == (first.target, first.workload, factor)
    ]
    # of too few repeats nothing is settled, and another sentence says so
    unsettled = [
        level_text(factor, one.level) for one in here if one.verdict == "not settled" and one.p_value is not None
    ]
    numbers = list(map(_median, members))
    is_order = times_apart(max(numbers), min(numbers)) >= DIFFERS_FROM
    if is_quantity(first.levels.get(factor, "")) or not unsettled or not is_order:
        return ""
    against = level_text(factor, first.levels.get(factor, ""))
    return f" (not settled: {names_in_words(unsettled[:_LEVELS_MAX])} against {against})"


def _beside(members: Sequence[CombinationResult], others: Sequence[str]) -> str:
    """A workload with the levels that its numbers are at, of factors that were varied too: ``appends (nodiscard)``."""
    levels = {name: one.levels[name] for one in reversed(members) for name in others if name in one.levels}
    return f"{members[0].label}{f' ({levels_phrase(levels)})' if levels else ''}"


def curves_beside(answer: RunAnswer) -> Iterator[str]:
    """Of each of several targets the first and the last number of its only curve; at most a sentence."""
    rows, _, varied = _varied(answer)
    groups: dict[str, list[CombinationResult]] = {}
    for one in rows:
        groups.setdefault(one.target, []).append(one)
    is_curve = len(varied) == 1 and all(is_quantity(one.levels.get(varied[0], "")) for one in rows)
    if is_curve and len({one.workload for one in rows}) == 1 and min(map(len, groups.values())) >= _LEVELS_WITH_A_LEAD:
        ends = [_of_levels([of[0], of[-1]], varied[0], shortened(name)) for name, of in groups.items()]
        changes = [_change_of_curve(of, varied[0]) for of in groups.values()]
        named = [f"{shortened(name)}: {change}" for name, change in zip(groups, changes, strict=True) if change]
        # whether it changes is asked, and told of all or of none
        whole = named if len(named) == len(groups) else []
        ways = ["; ".join(way) for way in (whole, [one.partition(", ")[0] for one in whole], ends)]
        yield from [f"{text}." for text in ways if text and len(text.split()) <= WORDS_MAX][:1]


def _varied(answer: RunAnswer) -> tuple[list[CombinationResult], list[list[str]], list[str]]:
    """Combinations that describe the drive, by which factors each leaves the first levels, and the factors that do."""
    rows = [one for one in answer.combinations if one.judged_metric in one.metrics and not one.invalid_trials]
    firsts: dict[str, str] = {}
    for one in rows:
        firsts = dict(one.levels) | firsts
    differing = [_differing(one, firsts) for one in rows]
    return rows, differing, [name for name in firsts if any(name in names for names in differing)]


def _differing(one: CombinationResult, firsts: dict[str, str]) -> list[str]:
    return [name for name, level in one.levels.items() if level != firsts[name]]


def _of_levels(members: Sequence[CombinationResult], factor: str, name: str = "") -> str:
    """``512 B appends: 257 us raw, 696 us ext4``; of many numbers the first and the last."""
    has_many = len(members) > _LEVELS_MAX
    is_curve = all(is_quantity(one.levels.get(factor, "")) for one in members)
    shown = [members[0], members[-1]] if has_many and is_curve else members[:_LEVELS_MAX]
    told: list[str] = []
    for one in shown:
        level = one.levels.get(factor, "")
        phrase, words = levels_phrase({factor: level}) if level else "", level_text(factor, level)
        # the factor is named once, and not at all where its levels speak for themselves
        lead = "" if phrase in ("", words) else "at " if is_curve else "" if told else "with "
        told.append(f"{_value(one)} {lead}{words if told else phrase}{_evenness(one, factor)}".strip())
    more = f" and {len(members) - len(shown)} more" if len(shown) < len(members) and not is_curve else ""
    return f"{name or members[0].label}: {', '.join(told)}{more}"


def _evenness(one: CombinationResult, factor: str) -> str:
    """`` (p99 10.1 ms)``: how long an I/O may take behind a rate at a queue depth, where its median is not told."""
    p99 = one.metrics.get(P99)
    is_asked = factor == QUEUE_DEPTH and metric_of(one.judged_metric).quantity != "latency"
    return f" (p99 {value_writer(P99)(p99.median)})" if is_asked and p99 is not None else ""


def _change_of_curve(members: Sequence[CombinationResult], factor: str) -> str:
    """``65 % slower at fill level 100 % than at 20 %, 170 MB/s against 480 MB/s``.

    Empty where the levels are no numbers, are few, or where nothing tells whether the last differs from the first.
    """
    if len(members) <= _LEVELS_MAX or not all(is_quantity(one.levels.get(factor, "")) for one in members):
        return ""
    first, last = members[0], members[-1]
    metric = first.judged_metric
    mine, its = last.metrics[metric], first.metrics[metric]
    is_apart = are_apart(its.estimate, mine.estimate, (its.repeat_count, mine.repeat_count))
    count = min(mine.repeat_count, its.repeat_count)
    by = f"{count} repeats" if count > 1 else "one repeat"
    is_near = times_apart(mine.median, its.median) < DIFFERS_FROM
    ends = [end for one in (mine, its) for end in one.ends if end is not None]
    # what may be another rate altogether is not told as the same, and what was measured once is only told to look it
    is_narrow = is_near and (not ends or times_apart(min(ends), max(ends)) < ABOUT_THE_SAME)
    is_alike = is_narrow and count > 1 and is_apart is not None
    if is_apart is None and not is_near:
        return ""
    looks_alike = is_narrow and count == 1 and not is_apart
    if not is_alike and not is_apart and not looks_alike:
        told = [f"{_value(one)} at {levels_phrase({factor: one.levels[factor]})}" for one in (last, first)]
        return f"{names_in_words(told)}, not told apart by {by} of each"
    is_more_slower = metric_of(metric).better == "low"
    as_fast = "as fast" if is_alike else "looked as fast" if looks_alike else ""
    change = as_fast or change_between(mine.median, its.median, is_more_slower=is_more_slower)
    than = "as" if as_fast else than_words(change)
    at_first = level_text(factor, first.levels[factor])
    where = f"at {levels_phrase({factor: last.levels[factor]})} {than} at {at_first}"
    return f"{change} {where}, {_value(last)} against {_value(first)}{'; one repeat of each' * looks_alike}"


def _lead(answer: RunAnswer, groups: Sequence[Sequence[CombinationResult]], factor: str) -> str:
    """``ext4 leads beyond the scatter in 6 of 12 workloads, xfs in 4``; ``ext4 and xfs lead in 4 of 12 each``."""
    ranked = [_ranked(members) for members in groups]
    judged = _judged(answer, factor)
    # the verdicts of the table, where there are some
    has_verdicts = any(one.p_value is not None for one in judged)
    are_ahead = [_is_ahead(ranking, factor, judged) for ranking in ranked] if has_verdicts else _are_ahead(ranked)
    led: dict[str, list[str]] = {}
    for ranking, is_ahead in zip(ranked, are_ahead, strict=True):
        if is_ahead:
            led.setdefault(ranking[0].levels.get(factor, ""), []).append(ranking[0].label)
    leaders = Counter({level: len(labels) for level, labels in led.items()})
    if not leaders:
        looked = Counter(ranking[0].levels.get(factor, "") for ranking in ranked).most_common()
        (first, most), *others = looked
        told = [f"{levels_phrase({factor: first})} looked fastest in {most} of {len(groups)} workloads"]
        told += [f"{level_text(factor, level)} in {count}" for level, count in others]
        return f"{capitalised(', '.join(told))}; none of that is sure among so many."
    most = max(leaders.values())
    first, *rivals = (level for level, count in leaders.items() if count == most)
    ahead = " and ".join([levels_phrase({factor: first}), *(level_text(factor, level) for level in rivals)])
    verb, each = ("lead", " each") if rivals else ("leads", "")
    told = [f"{ahead} {verb} beyond the scatter in {most} of {len(groups)} workloads{each}"]
    told += [f"{level_text(factor, level)} in {count}" for level, count in leaders.most_common() if count < most]
    short = f"{capitalised(', '.join(told))}."
    if (most, rivals) != (1, []):
        return short
    named = f"{short.removesuffix('.')}: {led[first][0]}."
    return named if len(named.split()) <= WORDS_MAX else short


def _judged(answer: RunAnswer, factor: str) -> list[LevelEffect]:
    """What the table says of pairs of its levels."""
    return [one for one in (*(answer.effects or answer.contrasts), *answer.pairs) if one.factor == factor]


def _verdict_of_pairs(
    answer: RunAnswer, groups: Sequence[Sequence[CombinationResult]], factor: str, noun: str
) -> tuple[str, bool]:
    """``xfs is faster than ext4 in 1 of 4 workloads (Kafka)``, ``ext4 and xfs are not told apart in any of 9``.

    Empty where nobody looked whether the two levels differ. And whether both are named in the order of the levels.
    """
    judged = _judged(answer, factor)
    if not judged:
        return "", False
    levels = [one.levels.get(factor, "") for one in groups[0]]
    winners = [of[0] for of in map(_ranked, groups) if _is_ahead(of, factor, judged)]
    won = Counter(one.levels.get(factor, "") for one in winners).most_common()
    if not won:
        first, *others = levels
        names = [levels_phrase({factor: first}), *(_without_factor(factor, level) for level in others)]
        return f"{capitalised(names_in_words(names))} are not told apart {in_any_of(len(groups), noun)}", True
    (best, most), *slower = won
    leader = levels_phrase({factor: best})
    other = next(_without_factor(factor, level) for level in levels if level != best)
    count = f"all {most}" if most == len(groups) else f"{most} of {len(groups)}"
    where = f" ({name_in(winners[0].label)})" if len(winners) == 1 else ""
    behind = "".join(f", slower in {count}" for _, count in slower)
    return f"{capitalised(leader)} is faster than {other} in {count} {noun}s{where}{behind}", False


def _ranked(members: Sequence[CombinationResult]) -> list[CombinationResult]:
    """The best first."""
    metric = members[0].judged_metric
    return sorted(members, key=_median, reverse=metric_of(metric).better != "low")


def _is_ahead(ranking: Sequence[CombinationResult], factor: str, judged: Sequence[LevelEffect]) -> bool:
    """Whether the first level is surely better than each other one, by what was judged of the pairs."""
    first, *others = ranking
    sure = {
        frozenset((one.level, one.baseline)): one.baseline if one.is_slower else one.level
        for one in judged
        if (one.target, one.workload) == (first.target, first.workload) and is_of_a_size(one)
    }
    level = first.levels.get(factor, "")
    return all(sure.get(frozenset((level, other.levels.get(factor, "")))) == level for other in others)


def _are_ahead(ranked: Sequence[Sequence[CombinationResult]]) -> list[bool]:
    """In which of several rankings the first is ahead of all others by more than chance and a few per cent."""
    numbers = [[one.metrics[of[0].judged_metric] for one in of] for of in ranked]
    apart = firsts_apart([[(one.estimate, one.repeat_count) for one in of] for of in numbers])
    return [
        bool(is_apart) and times_apart(of[0].median, of[1].median) >= DIFFERS_FROM
        for is_apart, of in zip(apart, numbers, strict=True)
    ]


def _of_workloads(
    answer: RunAnswer, groups: Sequence[Sequence[CombinationResult]], factor: str, others: Sequence[str]
) -> str:
    """``Median latency with ext4 and xfs: etcd 531 and 320 us; not durable: Kafka 5 and 4 us``: what is durable first.

    Of two levels first in how many workloads which is faster. Where the levels are numbers and no workload differs
    between them beyond the scatter, the span of all is told; of more than two levels the first.
    """
    members = [of[0] for of in groups]
    level = members[0].levels.get(factor, "")
    is_one = is_quantity(level) and not any(_differ(of) for of in groups)
    pairs = {of[1].levels.get(factor, "") for of in groups if len(of) == 2}
    is_pair = not is_one and len(pairs) == 1 and all(len(of) == 2 for of in groups)
    told_of = {of[0].workload: of if is_one or is_pair else of[:1] for of in groups}
    metrics = {one.judged_metric for one in members}
    # which of the latencies it is the unit does not tell
    is_latency = len(metrics) == 1 and metric_of(min(metrics)).quantity == "latency"
    what = metric_of(min(metrics)).words if is_latency else ""
    where = levels_phrase({factor: level}) if level and not is_one else ""
    where += f" and {_without_factor(factor, min(pairs))}" if is_pair else ""
    # the others are at their first levels
    firsts = {name: members[0].levels[name] for name in others if name in members[0].levels}
    at_firsts = levels_phrase(firsts) if firsts and where else ""
    where += f" ({at_firsts})" if at_firsts else ""
    lead = f"{' with '.join(filter(None, (what, where)))}: ".removeprefix(": ")
    decisive = [of for of in groups if _durability(of[0]) == 0] or groups
    noun = "workload" if len(decisive) == len(groups) or _durability(decisive[0][0]) else "durable workload"
    verdict, are_named = _verdict_of_pairs(answer, decisive, factor, noun) if is_pair else ("", False)
    # the two levels are named once, in the order of the numbers
    lead = "".join(f"{one} " for one in (what, f"at {at_firsts}" if at_firsts else "") if one) if are_named else lead
    told = f"{verdict}: {lead}" if verdict else lead
    # what survives a power cut is what counts, and all that a verdict is about
    ordered = [of[0] for of in decisive] if verdict else sorted(members, key=_durability)
    for count, one in enumerate(ordered):
        is_first_of_kind = count and _durability(one) != _durability(ordered[count - 1])
        mark = _DURABILITIES[_durability(one)] if is_first_of_kind else ""
        numbers = _pair(*told_of[one.workload]) if is_pair else _span(told_of[one.workload])
        more = f"{'; ' if count else ''}{mark}{name_in(one.label)} {numbers}"
        if len(f"{told}{more}".split()) > WORDS_MAX - _WORDS_OF_REST:
            # the verdict is about all of them
            return f"{capitalised(told)}." if verdict else f"{capitalised(told)}; and {len(ordered) - count} more."
        told += more
    return f"{capitalised(told)}."


def _durability(one: CombinationResult) -> int:
    """The place of its kind in `_DURABILITIES`."""
    return 0 if one.is_durable else 1 if one.is_durable_at_end else 2


def _differ(members: Sequence[CombinationResult]) -> bool:
    """Whether some level is apart from the first by more than the scatter, or so far that a span would hide it."""
    first, *others = members
    metric = first.judged_metric
    return any(
        times_apart(_median(first), _median(one)) >= _FAR_APART
        or are_apart(first.metrics[metric].estimate, one.metrics[metric].estimate, (first.trial_count, one.trial_count))
        for one in others
    )


def _span(members: Sequence[CombinationResult]) -> str:
    """``290 to 516 MB/s``; of one value that alone."""
    low, high = (end(members, key=_median) for end in (min, max))
    if _value(low) == _value(high):
        return _value(low)
    return span_between(_value(low), _value(high))


def _pair(first: CombinationResult, second: CombinationResult) -> str:
    """``525 and 320 us``; of one value that alone."""
    told = _value(first), _value(second)
    return told[0] if len(set(told)) == 1 else span_between(*told, "and")


def _without_factor(factor: str, level: str) -> str:
    """A level behind another one: the name of its factor once, a unit with each."""
    phrase, words = levels_phrase({factor: level}), level_text(factor, level)
    return words if phrase.endswith(words) else phrase


def _median(one: CombinationResult) -> float:
    return one.metrics[one.judged_metric].median


def _value(one: CombinationResult) -> str:
    return value_writer(one.judged_metric)(_median(one))


def values_on_targets(answer: RunAnswer) -> Iterator[str]:
    """Of each of several targets that have no levels in common the numbers of a workload, the best first; a sentence.

    Of workloads with names as many as there is room for: what survives a power cut before all else.
    """
    rows = [one for one in answer.combinations if one.judged_metric in one.metrics and not one.invalid_trials]
    groups: dict[str, list[CombinationResult]] = {}
    for one in sorted(rows, key=lambda one: not one.is_durable):
        groups.setdefault(one.workload, []).append(one)
    told: list[str] = []
    for members in groups.values():
        if len({one.target for one in members}) > 1 and len(members) <= _LEVELS_MAX:
            is_low = metric_of(members[0].judged_metric).better == "low"
            ordered = sorted(members, key=_median, reverse=not is_low)
            named = [f"{_value(one)} on {shortened(one.target)}{_levels_in_brackets(one, members)}" for one in ordered]
            more = f"{name_in(members[0].label)}: {', '.join(named)}"
            if told and len(" ".join([*told, more]).split()) > WORDS_MAX:
                break
            told.append(more)
    if told:
        yield f"{capitalised('; '.join(told))}."


def _levels_in_brackets(one: CombinationResult, others: Sequence[CombinationResult]) -> str:
    """`` (ext4)``: the levels in which a combination differs from others of its target."""
    same = [other for other in others if other.target == one.target]
    levels = {name: level for name, level in one.levels.items() if len({o.levels.get(name) for o in same}) > 1}
    return f" ({levels_phrase(levels)})" if levels else ""
