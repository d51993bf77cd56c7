"""Which drive is ahead at one workload, by how much, and whether that is more than noise, in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import comb

from drivelab.model.lasting_rate import is_what_lasts
from drivelab.model.names import in_number, names_in_words, of_all
from drivelab.model.result_set import Observation
from drivelab.report.numerals import number_text
from drivelab.report.parts_of_text import in_any_of, name_in
from drivelab.report.sentences.contest import (
    DIFFERS_FROM,
    ONE_RUN_EACH,
    Contest,
    Workload,
    durable_first,
    observations_apart,
    ratio_of,
)
from drivelab.report.sentences.contests import goodness
from drivelab.report.sentences.drive_names import DriveNames
from drivelab.report.sentences.observed_number import number_alone

# smaller changes are told in per cent
TIMES_FROM = 2
_ALIKE_PERCENT = round(100 * (DIFFERS_FROM - 1))
_TOLD_RIVALS = 2
_NAMES_MAX = 3
_TOLD_TOGETHER_FROM = 2
# chance alone hardly puts one of two first in so many combinations
_ALWAYS_FROM = 5
# so seldom together that it is no chance
_BY_CHANCE = 0.05
# of drives of which none is ahead
NOT_APART = "cannot be told apart"
_LASTS = "what lasts behind a burst or a cache has no interval"
_NO_SCATTER = "numbers without an interval: noise cannot be ruled out"


def ahead_sentences(groups: Sequence[Workload], names: DriveNames) -> Iterator[str]:
    """A sentence for each workload; those of which nothing can be told share one behind the others.

    Parameters
    ----------
    groups : sequence of Workload
        Each with its combinations of settings, of several drives.
    """
    groups = durable_first(groups)
    undecided = [one for one in groups if _is_undecided(one[1])]
    if len(undecided) < _TOLD_TOGETHER_FROM:
        undecided = []
    for title, members in groups:
        if not (undecided and _is_undecided(members)):
            yield from _behind(title, members, names)
            yield _ahead_sentence(title, members, names)
    if undecided:
        yield _undecided(undecided, len(groups), names)


def _is_undecided(members: Sequence[Contest]) -> bool:
    """Whether it is known that nothing can be told, and every drive takes part."""
    return all(one.is_beyond_noise is False and not one.left_out for one in members)


def _undecided(groups: Sequence[Workload], count: int, names: DriveNames) -> str:
    """``A and B cannot be told apart by 2 repeats in any of 5 workloads``; of some of them their names."""
    every = list(chain.from_iterable(members for _, members in groups))
    drives = sorted({name for one in every for name in names.by_drive(one.ranked)})
    pair = " and ".join(drives) if len(drives) == 2 else "The drives"
    where = in_any_of(count, "workload") if len(groups) == count else f"at {_listed([title for title, _ in groups])}"
    chances = [one for one in map(_chance_of_ranges, every) if one is not None]
    beside = [one for one in every if _are_ranges_apart(one)]
    looked = f"{len(beside)} of {len(every)} numbers"
    if beside and _chance_of_so_many(len(beside), chances) < _BY_CHANCE:
        # together they are more than chance, and which of them are is not known
        several = f"{looked} lie apart, more than chance makes of so many"
        return f"{pair}: {several}, but no one is settled {_by_repeats(every)}."
    chance = f"; {looked} {'lies' if len(beside) == 1 else 'lie'} apart, as chance has it"
    return f"{pair} {NOT_APART} {_by_repeats(every)} {where}{chance if beside else ''}."


def _are_ranges_apart(contest: Contest) -> bool:
    """Whether no repeat of the first is as any repeat of the others."""
    (_, first), *others = contest.ranked
    ends = [(one.estimate.low, one.estimate.high) for one in (first, *(one for _, one in others))]
    if any(None in pair for pair in ends):
        return False
    (low, high), *rest = [(float(low or 0.0), float(high or 0.0)) for low, high in ends]
    return all(high < other for other, _ in rest) if first.is_better_when_low else all(low > other for _, other in rest)


def _chance_of_ranges(contest: Contest) -> float | None:
    """How often ranges of repeats of two like drives lie apart; None of more drives, and of single repeats."""
    counts = [one.trial_count for _, one in contest.ranked]
    return 2 / comb(sum(counts), counts[0]) if len(counts) == 2 and min(counts) > 1 else None


def _chance_of_so_many(count: int, chances: Sequence[float]) -> float:
    """How often so many of numbers that lie apart with these chances do, as if each were by itself."""
    if not chances:
        return 1.0
    (p, n) = max(chances), len(chances)
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(count, n + 1))


def _listed(titles: Sequence[str]) -> str:
    if len(titles) > _NAMES_MAX:
        return f"{name_in(titles[0])} and {len(titles) - 1} other workloads"
    return names_in_words(list(map(name_in, titles)))


def _ahead_sentence(title: str, members: Sequence[Contest], names: DriveNames) -> str:
    """Who is ahead at one workload, on how many of its combinations, and how sure that is."""
    return f"{_told(title, members, names)}{_left_out(members, names)}."


def ahead_words(title: str, members: Sequence[Contest], names: DriveNames) -> str:
    """``A is 2.5 times as fast as B at synced writes``; empty where nobody is ahead, or where that is not told."""
    # several runs of one drive have no leader
    ours = [one for one in _of_leader(_ahead(members), names) if one.of_other_drives]
    return _lead(title, ours, names) if ours else ""


def firsts_sentence(groups: Sequence[Workload], names: DriveNames) -> str:
    """``A looked faster in 9 of 13 workloads, B in 4 (sequential write ...)``: who leads where there are many.

    Nothing is judged by it: of a workload the drive counts that has the best number in most of its combinations. Where
    a drive was not measured none can be ahead of it.
    """
    drives = [len({name for one in members for name in names.by_drive(one.ranked)}) for _, members in groups]
    shared = [group for group, count in zip(groups, drives, strict=True) if count == max(drives)]
    won: dict[str, list[str]] = {}
    for title, members in shared:
        firsts = Counter(names.best(one) for one in members if not one.is_alike)
        if firsts:
            won.setdefault(firsts.most_common(1)[0][0], []).append(title)
    ranked = sorted(won.items(), key=lambda one: -len(one[1]))
    if not ranked:
        return ""
    (first, own), *others = ranked
    best = _best([one for _, members in groups for one in members], names)
    which = " that all have" if len(shared) < len(groups) else ""
    told = [f"{first} looked {best} in {of_all(len(own), len(shared))} workloads{which}"]
    told += [f"{name} in {len(titles)} ({_listed(titles)})" for name, titles in others[:_TOLD_RIVALS]]
    return f"{', '.join(told)}."


def _best(members: Sequence[Contest], names: DriveNames) -> str:
    """``faster`` of two drives, ``fastest`` of more."""
    return "faster" if len({name for one in members for name in names.by_drive(one.ranked)}) == 2 else "fastest"


def _ahead(members: Sequence[Contest]) -> list[Contest]:
    """Where the first is ahead beyond noise; where that is nowhere so, in which it looks it and nothing tells."""
    apart = [one for one in members if not one.is_alike and one.is_beyond_noise is not False]
    return [one for one in apart if one.is_beyond_noise] or apart


def _of_leader(ahead: Sequence[Contest], names: DriveNames) -> list[Contest]:
    """Those in which the drive is first that is first most often."""
    firsts = Counter(map(names.best, ahead))
    return [one for one in ahead if names.best(one) == firsts.most_common(1)[0][0]]


def _lead(title: str, ours: Sequence[Contest], names: DriveNames) -> str:
    verb = "is" if ours[0].is_beyond_noise else "looked"
    return f"{names.best(ours[0])} {verb} {_ahead_of(ours, names)} at {name_in(title)}"


def _told(title: str, members: Sequence[Contest], names: DriveNames) -> str:
    count, ahead = len(members), _ahead(members)
    best = min(members, key=goodness)
    if ahead:
        ours = _of_leader(ahead, names)
        looked = Counter(names.best(one) for one in members if not one.is_alike).most_common()
        if not ours[0].is_beyond_noise and len(looked) > 1:
            # one of several combinations that contradict each other is no lead
            each = names_in_words([f"{name} in {times}" for name, times in looked[1:]])
            (first, most), *_ = looked
            by = f"{first} looked {_best(members, names)} in {most} of {count} combinations, {each}"
            return f"Which is faster at {name_in(title)} cannot be told: {by}; {_how_sure(ours[0])}"
        lead, why = _lead(title, ours, names), _how_sure(ours[0])
        if count == 1:
            return f"{lead}, {_numbers(best, names)}; {why}"
        firsts = Counter(map(names.best, ahead))
        against = [f"{name} in {times}" for name, times in firsts.items() if name != names.best(ours[0])]
        where = f"in {of_all(len(ours), count)} combinations{f', {names_in_words(against)}' if against else ''}"
        return f"{lead}; {why} {where}{_unjudged(members)}" if ours[0].is_beyond_noise else f"{lead} {where}; {why}"
    if all(one.is_alike and one.is_beyond_noise is not False for one in members):
        pair = dict(list(names.by_drive(best.ranked).items())[:2])
        where = f"at {name_in(title)}"
        where += f", {_numbers_of(pair)}" if count == 1 else f" in {of_all(count, count)} combinations"
        return f"{names_in_words([*pair])} are alike {where}; they differ by less than {_ALIKE_PERCENT}\u00a0%"
    drives = {name for one in members for name in names.by_drive(one.ranked)}
    unlike = [one for one in members if not one.is_alike]
    if len(drives) == 2 and len(unlike) >= _ALWAYS_FROM and len(set(map(names.best, unlike))) == 1:
        # no one of them is settled, and that the same drive looks better in each is worth a word
        where = f"in {of_all(len(unlike), count)} combinations, not settled {_by_repeats(members)}"
        return f"{names.best(unlike[0])} looked {_ahead_of(unlike, names)} at {name_in(title)} {where}"
    # the numbers of one combination of several would be those of another order than the next one's
    level = _level(best, names)
    is_of_all = count > 1 and len(drives) > _TOLD_RIVALS
    where = f", {_numbers_of(level)}" if count == 1 else f" {in_any_of(count, 'combination')}"
    who = "The drives" if is_of_all else _some_of([*level])
    return f"{who} {NOT_APART} {_by_repeats(members)} at {name_in(title)}{where}"


def _behind(title: str, members: Sequence[Contest], names: DriveNames) -> Iterator[str]:
    """``C is slowest at random reads, 21 % below the median of the others, 141 MB/s against 180 MB/s``.

    It is said of one combination of which none is ahead, where the last is behind all others by more than chance.
    """
    if len(members) > 1 or not members[0].is_last_behind or _ahead(members):
        return
    *others, (subject, last) = members[0].ranked
    middle = others[len(others) // 2][1]
    ratio, is_low = ratio_of(last, middle), last.is_better_when_low
    if ratio >= TIMES_FROM:
        far = f"{number_text(ratio, 2)} times {'' if is_low else 'below '}the median of the others"
    else:
        share = ratio - 1 if is_low else 1 - 1 / ratio
        far = f"{100 * share:.0f} % {'above' if is_low else 'below'} the median of the others"
    values = f"{number_alone(last)} against {number_alone(middle)}"
    yield f"{names.of(subject)} is slowest at {name_in(title)}, {far}, {values}."


def _unjudged(members: Sequence[Contest]) -> str:
    """In how many combinations nothing tells whether drives are apart, since a number has no ends."""
    unknown = [one for one in members if one.is_beyond_noise is None]
    is_repeated = any(one.trial_count > 1 for contest in unknown for _, one in contest.ranked)
    lack = in_number(len(unknown), "lack")
    return f" ({len(unknown)} {lack} {'a range' if is_repeated else 'one'})" if unknown else ""


def _numbers(contest: Contest, names: DriveNames) -> str:
    """``100 us against 250 us and 900 us``, of the first and whom it is told beside."""
    return _numbers_of({names.best(contest): [one for _, one in contest.of_best_drive]} | _rivals(contest, names))


def _numbers_of(drives: Mapping[str, Sequence[Observation]]) -> str:
    """``100 us against 250 us and 900 us``; what a drive gave in several runs are several numbers.

    Of more than are named the ends: ``100 to 130 us``.
    """
    own, *others = ([number_alone(one) for one in of] for of in drives.values())
    if len(drives) > _NAMES_MAX:
        return " to ".join(dict.fromkeys([own[0], others[-1][-1]]))
    return f"{names_in_words(own)} against {names_in_words([one for of in others for one in of])}"


def _rivals(contest: Contest, names: DriveNames) -> dict[str, list[Observation]]:
    """Whom the first is told beside: the others, of many the second and the last."""
    others = list(names.by_drive(contest.of_other_drives).items())
    return dict(others if len(others) <= _TOLD_RIVALS else [others[0], others[-1]])


def _ahead_of(ours: Sequence[Contest], names: DriveNames) -> str:
    """``1.6 to 13 times as fast as Beta and 20 to 30 % faster than Gamma``, over several combinations and runs."""
    shown = min(ours, key=goodness)
    others = [names.by_drive(one.of_other_drives) for one in ours]
    told = []
    for rival in _rivals(shown, names):
        ratios = [
            ratio_of(mine, its)
            for one, of in zip(ours, others, strict=True)
            for its in of.get(rival, ())
            for _, mine in one.of_best_drive
        ]
        told.append(f"{_change(min(ratios), max(ratios))} {rival}")
    return names_in_words(told)


def _change(least: float, most: float) -> str:
    """How much faster: ``1.6 to 13 times as fast as``, ``12 % faster than``."""
    is_times = most >= TIMES_FROM
    ends = [number_text(one, 2) if is_times else f"{100 * (one - 1):.0f}" for one in (least, most)]
    return f"{' to '.join(dict.fromkeys(ends))} {'times as fast as' if is_times else '% faster than'}"


def _level(best: Contest, names: DriveNames) -> dict[str, list[Observation]]:
    """The drives of which none is ahead in a combination: the first and those that are level with it."""
    level = [
        each
        for each in best.of_other_drives
        if any(observations_apart(mine, each[1]) is False for _, mine in best.of_best_drive)
    ]
    others = names.by_drive(level or best.of_other_drives[:1])
    return {names.best(best): [one for _, one in best.of_best_drive]} | others


def _some_of(names: Sequence[str]) -> str:
    """The first of many, and how many more there are."""
    more = [f"{len(names) - _NAMES_MAX} more"] if len(names) > _NAMES_MAX else []
    return names_in_words([*names[:_NAMES_MAX], *more])


def _by_repeats(members: Sequence[Contest]) -> str:
    """By what they cannot be told apart: so many repeats, or several runs of one drive."""
    if any(len(one.of_best_drive) > 1 for one in members):
        return "by these runs"
    repeats = max(one.trial_count for contest in members for _, one in contest.ranked)
    return f"by {repeats} repeats" if repeats > 1 else "by one repeat each"


def _how_sure(contest: Contest) -> str:
    """What the first is apart from the others by, or why nothing tells whether it is."""
    is_repeated = all(one.trial_count > 1 for _, one in contest.ranked)
    if contest.is_beyond_noise:
        # single repeats have no scatter but that of their own I/Os
        return "beyond the scatter" if is_repeated else "the intervals of single repeats lie apart"
    if not contest.is_of_one_run and all(
        None not in (one.estimate.low, one.estimate.high) for _, one in contest.ranked
    ):
        return ONE_RUN_EACH
    if any(is_what_lasts(one.estimate) for _, one in contest.ranked):
        return _LASTS
    return _NO_SCATTER if is_repeated else "with one repeat each that may be chance"


def _left_out(members: Sequence[Contest], names: DriveNames) -> str:
    """Which drives take no part, and why; empty where all do."""
    found = list(dict.fromkeys(names.of(subject) for one in members for subject in one.left_out))
    if not found:
        return ""
    return f"; left out, because trials do not describe the drive: {', '.join(found[:_NAMES_MAX])}"
