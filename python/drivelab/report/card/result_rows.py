"""The bars of a card of what workloads came to: of each drive at each level, a curve, or the best and the worst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY, RATE, is_counted
from drivelab.model.metric import metric_of
from drivelab.model.result_set import ResultSet
from drivelab.model.setting import AS_FOUND
from drivelab.report.card.rows import ROWS_MAX, Row, Rows
from drivelab.report.combination_labels import BASELINE
from drivelab.report.figures.bar_groups import what_it_is_about
from drivelab.report.figures.measured import (
    BLOCK_SIZE,
    WORKLOAD,
    Measured,
    level_of,
    levels_words,
    measured,
    point_of,
    varying,
)
from drivelab.report.figures.quantity import owners
from drivelab.report.figures.suite_bars import first_phase
from drivelab.report.numerals import span_beside, value_writer

_Item = TypeVar("_Item")
_ENDS = 3


def rows_of_sets(sets: Sequence[ResultSet], figure: str = "") -> Rows | None:
    """What most drives and levels were judged by; of many a curve, or the best and the worst. None without numbers.

    Parameters
    ----------
    figure : str
        Key of the figure that an experiment names first: where it has phases, the card shows the first of them.
    """
    # what is no number of the drive is none to show
    items = [one for one in measured(sets) if not one.observation.invalid_trials]
    members, held = first_phase(figure, items) or _most_judged(items), ""
    if not members:
        return None
    rows = _rows(members)
    if len(rows) > ROWS_MAX:
        members = _published_alike(members)
        rows = _rows(members)
    if len(rows) > ROWS_MAX and not _curve(members):
        members, held = _alike(members)
        rows = _rows(members)
    words = " or ".join(dict.fromkeys(metric_of(one.observation.metric).words for one in members))
    titles = list(dict.fromkeys(one.observation.title or one.observation.workload for one in members))
    title = (f"{titles[0]}: {words}" if len(titles) == 1 else words[:1].upper() + words[1:]) + held
    ends = _ends_of_curves(members) if len(rows) > ROWS_MAX else ()
    if ends:
        return Rows(f"{title}; the first and the last level", tuple(_rows(ends)))
    if len(rows) > ROWS_MAX and (curve := _curve(members)):
        return _rows_of_curve(curve, members, words)
    if len(rows) > ROWS_MAX and (beside := _beside(members)):
        return Rows(f"{title}{beside[1]}", beside[0])
    chosen, which = _chosen(rows, is_better_when_low=members[0].observation.is_better_when_low)
    return Rows(f"{title}{which}", chosen)


def _most_judged(items: Sequence[Measured]) -> Sequence[Measured]:
    """What most drives were judged by, of one kind; nothing without numbers."""
    groups: dict[tuple[str, str], list[Measured]] = {}
    for one in _judged(items):
        observation = one.observation
        # a page calls a write what a run calls a durable one
        operation = "durable" if observation.is_durable else observation.operation
        groups.setdefault((observation.quantity, operation), []).append(one)
    # what was measured here comes before what is only published, and what most drives have before what one has
    most = max(groups.values(), key=lambda group: (_places(group, own=True), _places(group, own=False)), default=())
    return _by_means(_counted(most, items), items)


def _judged(items: Sequence[Measured]) -> Sequence[Measured]:
    """What workloads are judged by: those of runs say it themselves."""
    about = what_it_is_about(items)
    own = [one for one in items if one.observation.is_judged]
    # of a page that has neither latencies nor bytes a second whatever numbers it has
    return own + [one for one in about if one.is_reference] or about or items


def _counted(members: Sequence[Measured], items: Sequence[Measured]) -> Sequence[Measured]:
    """Small I/Os that nobody waits for by their number a second; all others as they are."""
    if not all(is_counted(one.observation.metric, one.numbers.get(BLOCK_SIZE)) for one in members):
        return members
    places = [_place(one) for one in members]
    rates = [one for one in items if one.observation.metric == RATE and _place(one) in places]
    return rates if len(rates) == len(members) else members


def _published_alike(members: Sequence[Measured]) -> Sequence[Measured]:
    """What was measured, and of what is published that with the same settings; all where that is none."""
    own = [dict(one.observation.levels) for one in members if not one.is_reference]

    def is_alike(one: Measured) -> bool:
        levels = one.observation.levels
        return any(all(levels.get(name, level) == level for name, level in each.items()) for each in own)

    kept = [one for one in members if not one.is_reference or is_alike(one)]
    return kept if own and any(one.is_reference for one in kept) else members


def _by_means(members: Sequence[Measured], items: Sequence[Measured]) -> Sequence[Measured]:
    """All by their means where some are: pages print means, and a median of a run is no number beside them."""
    if {one.observation.metric for one in members} != {LATENCY, MEAN_LATENCY}:
        return members
    means = {str(_place(one)): one for one in items if one.observation.metric == MEAN_LATENCY}
    found = [means.get(str(_place(one))) for one in members]
    return [one for one in found if one is not None] if all(found) else members


def _place(one: Measured) -> tuple[object, ...]:
    """What was measured where, whatever the number is."""
    return (one.source, one.drive, one.observation.workload, one.observation.operation, dict(one.observation.levels))


def _places(members: Sequence[Measured], *, own: bool) -> int:
    return len({(one.source, one.drive) for one in members if one.is_reference is not own})


def _alike(members: Sequence[Measured]) -> tuple[Sequence[Measured], str]:
    """Those of one workload that differ in one factor where it is a number, and the levels of the others in words.

    All where that leaves a single row of each drive.
    """
    workload, _ = Counter(level_of(one, WORKLOAD) for one in members).most_common(1)[0]
    _, others, own = _along_a_number([one for one in members if level_of(one, WORKLOAD) == workload])
    is_single = len(_rows(own)) <= len({(one.source, one.drive, one.machine) for one in own})
    if is_single or any(one.is_reference for one in members):
        return members, ""
    words = levels_words(own[0], others)
    return own, f", {words}" if words else ""


def _varied(members: Sequence[Measured]) -> list[str]:
    """What varies among them; of one run not what each target has only one of, as its own file system."""
    varied = varying(members)
    if len({one.source for one in members}) > 1:
        return varied
    levels: dict[tuple[str, str], set[str]] = {}
    for one in members:
        for factor in varied:
            levels.setdefault((one.drive, factor), set()).add(level_of(one, factor))
    return [factor for factor in varied if any(len(of) > 1 for (_, name), of in levels.items() if name == factor)]


def _along_a_number(members: Sequence[Measured]) -> tuple[str | None, list[str], Sequence[Measured]]:
    """The factor that is a number in all of them, the others, and those with the first's levels of these; else all."""
    varied = _varied(members)
    axis = next((factor for factor in varied if all(factor in one.numbers for one in members)), None)
    others = [factor for factor in varied if factor != axis] if axis is not None else []
    own = [one for one in members if all(level_of(one, each) == level_of(members[0], each) for each in others)]
    return axis, others, own


def _ends_of_curves(members: Sequence[Measured]) -> Sequence[Measured]:
    """Of each of several drives the first and the last place of a single curve; nothing of what is no curve."""
    varied = _varied(members)
    curves: dict[tuple[str, str, str], list[Measured]] = {}
    for one in members:
        curves.setdefault((one.source, one.drive, one.machine), []).append(one)
    is_curve = len(varied) == 1 and all(varied[0] in one.numbers for one in members)
    if not is_curve or not 1 < len(curves) <= ROWS_MAX // 2:
        return ()
    ordered = [sorted(found, key=lambda one: one.numbers[varied[0]]) for found in curves.values()]
    return [one for found in ordered for one in (found[0], found[-1])]


def _curve(members: Sequence[Measured]) -> tuple[str, Sequence[Measured]] | None:
    """Of a single drive the factor that is a number and its places in order, all else as in the first combination."""
    axis, _, own = _along_a_number(members)
    if axis is None or len({(one.source, one.drive, one.machine) for one in members}) > 1:
        return None
    return (axis, sorted(own, key=lambda one: one.numbers[axis])) if len(own) > _ENDS else None


def _rows_of_curve(curve: tuple[str, Sequence[Measured]], members: Sequence[Measured], words: str) -> Rows:
    axis, places = curve
    others = [factor for factor in varying(members) if factor not in (axis, WORKLOAD)]
    of = ", ".join(filter(None, (level_of(places[0], WORKLOAD), levels_words(places[0], others))))
    shown = _spread(places, min(ROWS_MAX, len(places)))
    which = f"; {len(shown)} of {len(places)} levels" if len(shown) < len(places) else ""
    return Rows(f"{of}: {words}{which}", tuple(_rows(shown, (axis,))))


def _beside(members: Sequence[Measured]) -> tuple[tuple[Row, ...], str] | None:
    """Some of what all of a few drives have, the same of each below each other; None where it is one drive, or many."""
    varied = _varied(members)
    combinations: dict[tuple[str, ...], dict[tuple[str, str, str], list[Measured]]] = {}
    for one in members:
        levels = tuple(level_of(one, factor) for factor in varied)
        combinations.setdefault(levels, {}).setdefault((one.source, one.drive, one.machine), []).append(one)
    drives = {place for found in combinations.values() for place in found}
    common = [found for found in combinations.values() if len(found) == len(drives)]
    room = min(ROWS_MAX // len(drives), len(common))
    if len(drives) == 1 or room < 2:
        return None
    sign = 1 if members[0].observation.is_better_when_low else -1
    common.sort(key=lambda found: sign * sum(point_of(own).value for own in found.values()))
    shown = [one for found in _spread(common, room) for own in found.values() for one in own]
    which = f", {room} of {len(common)} combinations" if room < len(common) else ""
    return tuple(_rows(shown, varied)), which


def _spread(ordered: Sequence[_Item], room: int) -> list[_Item]:
    """So many, evenly from the first to the last."""
    return [ordered[place * (len(ordered) - 1) // (room - 1)] for place in range(room)]


def _chosen(rows: Sequence[Row], *, is_better_when_low: bool) -> tuple[tuple[Row, ...], str]:
    """As many rows as there is room for, and which of all they are; published ones spread from best to worst."""
    if len(rows) <= ROWS_MAX:
        return tuple(rows), ""
    ordered = sorted(rows, key=lambda row: row.value or 0.0, reverse=not is_better_when_low)
    own, published = ([row for row in ordered if row.is_published is kind] for kind in (False, True))
    if not own or len(own) > ROWS_MAX - 2:
        found = own or published
        ends = (*found[:_ENDS], *found[-_ENDS:])
        return (
            (tuple(found), "")
            if len(found) <= ROWS_MAX
            else (ends, f"; the best {_ENDS} and the worst {_ENDS} of {len(found)}")
        )
    room = min(ROWS_MAX - len(own), len(published))
    spread = _spread(published, room)
    which = f"; {room} of {len(published)} published, from the best to the worst"
    return tuple(row for row in ordered if row in own or row in spread), which


def _rows(members: Sequence[Measured], told: Sequence[str] = ()) -> list[Row]:
    """A row for each drive and its levels, of factors that are told or that vary; usual levels go without saying."""
    varied = told or varying(members)
    if WORKLOAD in varied and all(any(map(str.isdigit, level_of(one, WORKLOAD))) for one in members):
        # it has its size in its name
        varied = [factor for factor in varied if factor != BLOCK_SIZE]
    names = owners(members)
    groups: dict[tuple[str, ...], list[Measured]] = {}
    for one in members:
        levels = (level_of(one, factor) for factor in varied)
        groups.setdefault((one.source, one.drive, one.machine, *levels), []).append(one)
    several = len({(one.source, one.drive, one.machine) for one in members}) > 1
    usual = {} if told else _usual([found[0] for found in groups.values()], varied)
    return [_row(found, varied, names if several else {}, usual) for found in groups.values()]


def _usual(firsts: Sequence[Measured], varied: Sequence[str]) -> Mapping[str, str]:
    """The level of each factor that most rows have, where no row leaves it by more than one; else nothing."""
    levels = [{factor: level_of(one, factor) for factor in varied} for one in firsts]
    usual = {factor: Counter(row[factor] for row in levels).most_common(1)[0][0] for factor in varied}
    # what a level takes away is as it was found, like throttling under bfq
    changed = [[factor for factor in varied if row[factor] not in (usual[factor], AS_FOUND)] for row in levels]
    is_one_at_a_time = all(len(factors) <= 1 for factors in changed)
    return usual if is_one_at_a_time and len(varied) > 1 else {}


def _row(
    found: Sequence[Measured], varied: Sequence[str], names: dict[tuple[str, str], str], usual: Mapping[str, str]
) -> Row:
    first = found[0]
    point = point_of(found)
    write = value_writer(first.observation.metric)
    drive = (names.get((first.drive, first.machine)) or first.drive) if names else ""
    changed = [f for f in varied if not usual or level_of(first, f) not in (usual[f], AS_FOUND)]
    levels = levels_words(first, changed) or (BASELINE if usual else "")
    name = ": ".join(filter(None, (drive, levels))) or first.drive
    span = "published" if first.is_reference else ""
    if point.low is not None and point.high is not None and not span:
        span = span_beside(write(point.value), write(point.low), write(point.high))
    return Row(name, write(point.value), span, point.value, point.low, point.high, first.is_reference)
