"""Several runs in sentences: which drive is fastest, by how much, and whether that is more than noise."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from drivelab.model.apart import ABOUT_THE_SAME
from drivelab.model.level_words import level_text
from drivelab.model.metric import metric_of
from drivelab.model.names import counted
from drivelab.model.result_set import Observation, ResultSet
from drivelab.model.stored_experiment import EXPLAINED
from drivelab.model.units import format_bytes, format_rate_bytes_per_s
from drivelab.report.judged_order import JUDGED, judged_order
from drivelab.report.numerals import latency_text, number_text
from drivelab.report.parts_of_text import capitalised
from drivelab.report.sentences.contest import Contest, Levels, Subject, observations_apart, ratio_of
from drivelab.report.sentences.same_drive import ONE_RUN_EACH, DriveOfRun, compare_sentence, one_drive_sentence

WORKLOADS_NAMED = 4
_NAMED_MAX = 3
# smaller changes are told in per cent
TIMES_FROM = 2
_NO_SCATTER = "numbers without an interval: noise cannot be ruled out"
_FEW_RUNS = f"; {ONE_RUN_EACH}."
_OVERLAP = ", their intervals overlap"
NAME_LETTERS_MAX = 64
_UNIT = re.compile(r"\s\D+$")
QUEUE_DEPTH, BLOCK_SIZE = "queue_depth", "block_size"
# the level of a factor at which it does nothing: what does not know the factor is beside that
_LEFT_ALONE = {"shift": "0"}
_METAL = ("SSD", "hard disk")
_WRITERS: Mapping[str, Callable[[float], str]] = {
    "throughput": format_rate_bytes_per_s,
    "rate": lambda value: f"{number_text(value)} a second",
}


def joint_sentences(sets: Sequence[ResultSet], drives: Mapping[Subject, DriveOfRun] | None = None) -> tuple[str, ...]:
    """What several drives come to, the workload that most of them have in common first; before it, beside pages.

    Parameters
    ----------
    sets : sequence of ResultSet
        Names of drives mean one thing each in all of them.
    drives : mapping of Subject to DriveOfRun, optional
        The drive behind each of these names, and its run; left out, each is a drive of its own.

    Returns
    -------
    tuple of str
        Empty where no drive of a run was measured with the workload and settings of another, or of a published page.
    """
    has_machines = _has_machines(sets)
    drives = drives or {}
    groups = _by_title(sets, drives)
    found: list[str] = []
    for title, members in groups[:WORKLOADS_NAMED]:
        told = _told(title, members, has_machines, drives)
        # said of the first workload, it is known of the others
        found += (one.removesuffix(_FEW_RUNS) + "." * one.endswith(_FEW_RUNS) for one in told) if found else told
    more = len(groups) - WORKLOADS_NAMED
    if more > 0:
        found.append(f"{counted(more, 'more workload')} that several drives have in common: see the tables.")
    found += filter(None, [compare_sentence((one for _, members in groups for one in members), drives)])
    # whoever puts a run beside published numbers asks where it stands among them
    return (*_beside_pages(sets), *found)


def lead_words(sets: Sequence[ResultSet], drives: Mapping[Subject, DriveOfRun]) -> str:
    """Which drive has the better number in the first workload that is told, and how far; empty where none has."""
    for title, members in _by_title(sets, drives)[:1]:
        best = min(members, key=goodness)
        if best.of_other_drives and not best.is_alike and best.is_beyond_noise is not False:
            ends = (best.ranked[0], best.of_other_drives[0])
            (name, one), (next_name, other) = ((_name(who, _has_machines(sets)), number) for who, number in ends)
            return f"{name} {'is' if best.is_beyond_noise else 'looks'} {change_text(one, other)} {next_name} ({title})"
    return ""


def _has_machines(sets: Sequence[ResultSet]) -> bool:
    return len({one.machine for each in sets for one in each.observations if one.machine}) > 1


def _by_title(sets: Sequence[ResultSet], drives: Mapping[Subject, DriveOfRun]) -> list[tuple[str, list[Contest]]]:
    """The contests of runs by their workload, the one that most drives have in common first."""
    by_title: dict[str, list[Contest]] = {}
    identities = {subject: one.identity for subject, one in drives.items()}
    for contest in contests([each for each in sets if not each.is_reference], identities):
        by_title.setdefault(contest.title, []).append(contest)
    return sorted(by_title.items(), key=lambda item: -max(len(one.ranked) for one in item[1]))


def _beside_pages(sets: Sequence[ResultSet]) -> Iterator[str]:
    """Between which published numbers each drive of a run lies, of each workload with its best settings."""
    published = {_subject(one) for each in sets if each.is_reference for one in each.observations}
    # what is no drive of metal is called what it is beside those that are
    unlike = {
        drive.name: f" ({drive.kind})"
        for each in sets
        if not each.is_reference
        for drive in each.drives
        if drive.kind and drive.kind not in _METAL
    }
    found: dict[tuple[str, Subject], str] = {}
    for contest in sorted(contests(sets) if published else (), key=goodness):
        drives = Counter(subject[0] for subject, _ in contest.ranked)
        for place, (subject, one) in enumerate(contest.ranked):
            sides = (("behind", contest.ranked[:place][::-1]), ("ahead of", contest.ranked[place:]))
            words = [told for word, side in sides if (told := _nearest(word, one, side, published, drives))]
            if subject not in published and words:
                levels = ", ".join(f"{name} {level_text(name, level)}" for name, level in contest.levels)
                what = f"{contest.title}{f' ({levels})' if levels else ''}, {metric_of(contest.metric).words}"
                name = f"{_name(subject, drives[subject[0]] > 1)}{unlike.get(subject[0], '')}"
                found.setdefault(
                    (contest.title, subject), f"{what}: {name} {_number(one)}, {' and '.join(words)}, as published."
                )
    yield from list(found.values())[:WORKLOADS_NAMED]


def _nearest(
    word: str,
    mine: Observation,
    ranked: Sequence[tuple[Subject, Observation]],
    published: Collection[Subject],
    drives: Mapping[str, int],
) -> str:
    """The first of some that was published, with its number, and which side it is on; empty where none was."""
    low, high = _ends(mine) or (math.inf, -math.inf)
    for who, one in ranked:
        if who in published:
            is_within = low <= (one.estimate.value or 0.0) <= high
            level = "about level with" if ratio_of(mine, one) < ABOUT_THE_SAME else "not told apart from"
            return f"{level if is_within else word} {_name(who, drives[who[0]] > 1)} ({_number(one)})"
    return ""


def contests(
    sets: Sequence[ResultSet], identities: Mapping[Subject, tuple[str, ...]] | None = None
) -> Iterator[Contest]:
    """Every workload and combination of settings that at least two drives, or runs of one, have in common."""
    workloads: dict[tuple[object, ...], list[Observation]] = {}
    every = [one for each in sets for one in each.observations]
    # where the size or the depth is a factor it is one of the settings
    sized, deep = (
        {one.workload for one in every} - {one.workload for one in every if factor not in one.levels}
        for factor in (BLOCK_SIZE, QUEUE_DEPTH)
    )
    for one in (one for one in every if one.metric in JUDGED):
        size = None if one.workload in sized else one.block_size_bytes
        # a page tells a durable write as one with an option, as dd has it
        operation = one.operation.removeprefix("durable_") if one.is_durable else one.operation
        depth = None if one.workload in deep else one.queue_depth
        # one name stands for whatever was explained
        what = one.title if one.workload == EXPLAINED else one.workload
        kind = (what, operation, size, depth, one.is_durable)
        workloads.setdefault(kind, []).append(one)
    titles = Counter(members[0].title for members in workloads.values())
    for members in workloads.values():
        metric = _judged(members)
        if metric:
            title = members[0].title if titles[members[0].title] == 1 else _longer_title(members[0])
            title = shortened(capitalised(title))
            found = _contests(title, metric, [one for one in members if one.metric == metric])
            yield from (replace(one, identities=identities or {}) for one in found)


def _longer_title(one: Observation) -> str:
    parts = [one.title or one.workload]
    if one.block_size_bytes is not None:
        parts.append(format_bytes(one.block_size_bytes))
    if one.queue_depth is not None:
        parts.append(f"{one.queue_depth} outstanding")
    return ", ".join(parts)


def _judged(members: Sequence[Observation]) -> str:
    """The metric that most of the drives have; empty where no two have one in common."""
    order = judged_order(members)
    counts = {metric: len({_subject(one) for one in members if one.metric == metric}) for metric in order}
    most = max(counts.values())
    return next(metric for metric in order if counts[metric] == most) if most > 1 else ""


def _contests(title: str, metric: str, members: Sequence[Observation]) -> Iterator[Contest]:
    """The combinations of the factors that all drives have; one that stands for several of a drive is none."""
    for name, level in _LEFT_ALONE.items():
        if any(name not in one.levels for one in members):
            members = [one for one in members if one.levels.get(name, level) == level]
    names: dict[Subject, set[str]] = {}
    for one in members:
        names.setdefault(_subject(one), set()).update(one.levels)
    common = set.intersection(*names.values())
    combinations: dict[Levels, dict[Subject, list[Observation]]] = {}
    for one in members:
        levels = tuple((name, level) for name, level in one.levels.items() if name in common)
        key = tuple(sorted(levels))
        combinations.setdefault(key, {}).setdefault(_subject(one), []).append(one)
    for levels, drives in combinations.items():
        single = {subject: found[0] for subject, found in drives.items() if len(found) == 1}
        sound = [(s, one) for s, one in single.items() if one.estimate.value is not None and not one.invalid_trials]
        if len(sound) > 1:
            sign = 1 if sound[0][1].is_better_when_low else -1
            ranked = sorted(sound, key=lambda item: sign * (item[1].estimate.value or 0.0))
            left_out = tuple(subject for subject, one in single.items() if one.invalid_trials)
            yield Contest(title, metric, levels, tuple(ranked), left_out)


def shortened(name: str) -> str:
    """A name on one line, and not longer than a sentence bears."""
    line = " ".join(name.split())
    return line if len(line) <= NAME_LETTERS_MAX else f"{line[: NAME_LETTERS_MAX - 1]}…"


def _subject(one: Observation) -> Subject:
    return one.drive, one.machine


def _ends(one: Observation) -> tuple[float, float] | None:
    low, high = one.estimate.low, one.estimate.high
    return None if low is None or high is None else (low, high)


def _told(
    title: str, members: Sequence[Contest], has_machines: bool, drives: Mapping[Subject, DriveOfRun]
) -> Iterator[str]:
    """The best with its number and how far the next one is; then who is first with the other settings."""
    best = min(members, key=goodness)
    left_out = _left_out(members, has_machines)
    if len(members) == 1:
        yield f"{title}, {metric_of(best.metric).words}: {_one(best, has_machines, drives)}{left_out}."
        return
    is_one_drive = not any(contest.of_other_drives for contest in members)
    # another run may have its best elsewhere
    if is_one_drive and best.are_runs_apart is False:
        yield f"{title}: the same drive, {_drive(best.ranked[0][0], drives)}; {_runs_apart(members)}{left_out}."
        return
    levels = ", ".join(f"{name.replace('_', ' ')} {shortened(level_text(name, level))}" for name, level in best.levels)
    yield f"{title} at {levels}, {metric_of(best.metric).words}: {_one(best, has_machines, drives)}."
    if is_one_drive:
        yield f"{title}: {_runs_apart(members)}{left_out}."
        return
    ranked = {subject for contest in members for subject, _ in contest.ranked}
    subjects = {(_drive(subject, drives), "") if subject in drives else subject for subject in ranked}
    yield (
        f"{title}, {len(members)} combinations of settings on {len(subjects)} drives: "
        f"{_firsts(members, has_machines, drives)}{left_out}."
    )


def _unjudged(contest: Contest) -> str:
    """Why a contest whose numbers lie apart has no winner."""
    has_ends = all(_ends(one) is not None for _, one in contest.ranked)
    return _NO_SCATTER if contest.is_of_one_run or not has_ends else ONE_RUN_EACH


def _runs_apart(members: Sequence[Contest]) -> str:
    """In how many combinations the runs of one drive overlap: in the others nothing tells whether they differ."""
    count = sum(contest.are_runs_apart is False for contest in members)
    of = "all" if count == len(members) else f"{count or 'none'} of"
    return f"the ranges of its runs overlap in {of} {len(members)} combinations of settings; {ONE_RUN_EACH}"


def _firsts(members: Sequence[Contest], has_machines: bool, drives: Mapping[Subject, DriveOfRun]) -> str:
    """Who is first how often, and how much of that is more than noise."""

    def first(contest: Contest) -> str:
        subject = contest.ranked[0][0]
        has_runs = len(contest.of_best_drive) > 1
        return _drive(subject, drives) if has_runs else _name(subject, has_machines)

    firsts = Counter(map(first, members))
    beyond = Counter(first(contest) for contest in members if contest.is_beyond_noise)
    named = [f"{name} is first in {count}" for name, count in firsts.most_common(_NAMED_MAX)]
    if len(firsts) == 1 and beyond == firsts:
        return f"{next(iter(firsts))} is first in all of them, beyond the scatter of repeats"
    if beyond == firsts:
        return f"{', '.join(named)}, all beyond the scatter of repeats"
    without = sum(contest.is_beyond_noise is None for contest in members)
    if without == len(members):
        return f"{', '.join(named)}; {_unjudged(members[0])}"
    why = f"; {without} can't be judged ({_unjudged(_first_unjudged(members))})" if without else ""
    return f"{', '.join(named)}; {beyond.total() or 'none'} of these are beyond the scatter of repeats{why}"


def _first_unjudged(members: Sequence[Contest]) -> Contest:
    return next(contest for contest in members if contest.is_beyond_noise is None)


def goodness(contest: Contest) -> float:
    """What contests of one workload are ordered by: the best number of all has the least."""
    best = contest.ranked[0][1]
    value = best.estimate.value or 0.0
    return value if best.is_better_when_low else -value


def _one(contest: Contest, has_machines: bool, drives: Mapping[Subject, DriveOfRun]) -> str:
    own, others = contest.of_best_drive, contest.of_other_drives
    of_runs = one_drive_sentence(contest, drives, _number) if len(own) > 1 else ""
    if not others:
        return of_runs
    between = _between_drives(contest, has_machines, drives)
    if of_runs.endswith(ONE_RUN_EACH):
        between = between.removesuffix(f"; {ONE_RUN_EACH}")
    return "; ".join(filter(None, (between, of_runs)))


def _between_drives(contest: Contest, has_machines: bool, drives: Mapping[Subject, DriveOfRun]) -> str:
    (subject, best), *again = contest.of_best_drive
    others = contest.of_other_drives
    (next_subject, other), *rest = others
    name, next_name = _name(subject, has_machines), _name(next_subject, has_machines)
    # the next drive in another run is no other
    is_told = bool(rest) and _drive(others[-1][0], drives) != _drive(next_subject, drives)
    last = f"; last is {_name(others[-1][0], has_machines)} with {_number(others[-1][1])}" if is_told else ""
    if contest.is_alike and contest.is_beyond_noise is not False:
        return f"{name} and {next_name} are alike, {_number(best)} and {_number(other)}{last}"
    change = change_text(best, other)
    if contest.is_beyond_noise:
        return f"{name} is fastest with {_number(best)}, {change} {next_name} with {_number(other)}{last}"
    if contest.is_beyond_noise is None:
        return (
            f"{name} looks fastest with {_number(best)}, {change} {next_name} with {_number(other)}{last}; "
            f"{_unjudged(contest)}"
        )
    if again:
        return (
            f"{name} and {next_name} cannot be told apart by all runs: {_number(best)} against {_number(other)}{last}"
        )
    rivals = [
        each for each in others if any(observations_apart(mine, each[1]) is False for _, mine in contest.of_best_drive)
    ]
    level = [name, *(_name(each, has_machines) for each, _ in rivals)]
    shown = " and ".join(level[:_NAMED_MAX]) if len(level) < _NAMED_MAX else ", ".join(level[:_NAMED_MAX])
    more = f" and {len(level) - _NAMED_MAX} more" if len(level) > _NAMED_MAX else ""
    return f"{shown}{more} cannot be told apart{_why(contest)}: {_number(best)} against {_number(other)}{last}"


def _why(contest: Contest) -> str:
    """Why they cannot: what was seen overlaps, or did not overlap and could by chance."""
    pairs = [(own, other) for _, own in contest.of_best_drive for _, other in contest.of_other_drives]
    overlapping = [pair for pair in pairs if _overlap(*pair)]
    if overlapping:
        return ", their ranges overlap" if max(one.trial_count for one in overlapping[0]) > 1 else _OVERLAP
    return ", so few repeats may lie like that by chance"


def _overlap(best: Observation, other: Observation) -> bool:
    one, two = _ends(best), _ends(other)
    return one is None or two is None or (one[0] <= two[1] and two[0] <= one[1])


def change_text(best: Observation, other: Observation) -> str:
    """How much faster the better of two numbers is: ``8.4 times as fast as``, ``12 % faster than``."""
    ratio = ratio_of(best, other)
    if ratio >= TIMES_FROM:
        return f"{number_text(ratio, 2)} times as fast as"
    return f"{100 * (ratio - 1):.0f} % faster than"


def _name(subject: Subject, has_machines: bool) -> str:
    drive, machine = (shortened(name) for name in subject)
    return f"{drive} on {machine}" if has_machines and machine and machine not in drive else drive


def _drive(subject: Subject, drives: Mapping[Subject, DriveOfRun]) -> str:
    """The drive itself, whichever run; as the report calls it where two drives go by one name."""
    one = drives.get(subject)
    if one is None or any(each.name == one.name and each.identity != one.identity for each in drives.values()):
        return shortened(subject[0])
    return shortened(one.name)


def _left_out(members: Sequence[Contest], has_machines: bool) -> str:
    names = dict.fromkeys(_name(subject, has_machines) for one in members for subject in one.left_out)
    if not names:
        return ""
    return f"; left out, because trials do not describe the drive: {', '.join(list(names)[:_NAMED_MAX])}"


def _number(one: Observation) -> str:
    """The number with its interval: ``48.0 µs (5 repeats: 46.1 to 51.2 µs)``."""
    write = _WRITERS.get(one.quantity, latency_text)
    value = number_alone(one)
    ends = _ends(one)
    if ends is None or ends[0] == ends[1]:
        return value
    of = f"{one.trial_count} repeats:" if one.trial_count > 1 else "95 %:"
    low, high = map(write, ends)
    unit = _UNIT.search(high)
    return f"{value} ({of} {low.removesuffix(unit[0]) if unit else low} to {high})"


def number_alone(one: Observation) -> str:
    """The number without its interval."""
    return _WRITERS.get(one.quantity, latency_text)(one.estimate.value or 0.0)
