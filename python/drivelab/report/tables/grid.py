"""From result sets and a view to a table: the views are data, ours in ``views.toml``, others in experiments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import islice
from typing import Any

from drivelab.model.level_words import level_text
from drivelab.model.metric import COMMANDS, metric_of
from drivelab.model.result_set import Observation, PageForm, ResultSet
from drivelab.model.view import DRIVE, METRIC_NAMES, SMALL_WRITE_LATENCY, WORKLOAD, BuiltInView, View
from drivelab.report.combination_labels import NOT_APPLICABLE
from drivelab.report.numerals import column_unit
from drivelab.report.tables.drive_rows import DriveRow, drive_rows
from drivelab.report.tables.number import Number, number_of, printed_number, printed_scale
from drivelab.report.tables.number_table import NumberColumn, NumberRow, number_table
from drivelab.report.tables.page_form import PageRow, bare_head, page_form, page_table
from drivelab.report.tables.small_writes import BLOCK_SIZE, SmallWrite, small_writes
from drivelab.report.tables.table import Table

# more tables of a kind nobody compares
TABLES_MAX = 6
# a level of each of several factors
_Levels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """An observation with its row, and where it stands: the level of each factor, its drive, its workload."""

    row: DriveRow
    places: Mapping[str, str]
    one: Observation
    write: SmallWrite | None = None

    def at(self, names: Iterable[str]) -> _Levels:
        """The levels of some factors; empty where it has none."""
        return tuple(self.places.get(name, "") for name in names)

    def notes(self) -> tuple[str, ...]:
        """What has to be known of all numbers of its row."""
        return self.write.row_notes(self.row) if self.write else ()


@cache
def built_in_views() -> Mapping[str, BuiltInView]:
    """Our own views by their keys."""
    # imported here: few reports need it
    import tomllib

    text = (resources.files("drivelab.report.tables") / "views.toml").read_text(encoding="utf-8")
    views = [BuiltInView.model_validate(one) for one in tomllib.loads(text)["views"]]
    return {view.key: view for view in views}


def own_tables(views: Iterable[Mapping[str, object]], sets: Sequence[ResultSet]) -> tuple[Table, ...]:
    """The tables that experiments hold, as their runs have them stored, each once."""
    made = []
    for one in views:
        # a newer drivelab may know more keys and more metrics; the types were held when the run was opened
        known: dict[str, Any] = {key: value for key, value in one.items() if key in View.model_fields}
        metrics = [metric for metric in known.pop("metrics") if metric in METRIC_NAMES]
        made += [View.model_construct(metrics=metrics, **known)] if metrics else []
    different = [view for place, view in enumerate(made) if view not in made[:place]]
    return tuple(replace(table, is_asked=True) for view in different for table in grids(view, sets))


def grids(view: View, sets: Sequence[ResultSet]) -> tuple[Table, ...]:
    """The tables of a view: one, or where it splits them one for each part; none where no numbers carry it.

    Parameters
    ----------
    sets : sequence of ResultSet
        Runs and published pages. A page alone is printed in its own form.
    """
    ours = view if isinstance(view, BuiltInView) else BuiltInView.model_construct(**dict(view))
    found = [one for one in _seen(ours, sets) if _is_kept(ours, one)]
    if not found:
        return ()
    parts = (each for each in _parts(ours, found) if _has_levels(ours, each[1]))
    form = page_form(sets[0], ours.key) if _is_page(sets) else None
    if form is not None:
        return tuple(_page_grid(ours, part, sets[0], form) for _, part in islice(parts, 1))
    others = () if ours.has_others_apart else _others(ours, found)
    rows = (*ours.rows, *others) or (DRIVE,)
    return tuple(_grid(ours, rows, apart, part, sets) for apart, part in islice(parts, TABLES_MAX))


def _is_page(sets: Sequence[ResultSet]) -> bool:
    return len(sets) == 1 and sets[0].is_reference


def _seen(view: BuiltInView, sets: Sequence[ResultSet]) -> Iterator[_Seen]:
    """Every observation of the view's metrics, those of small writes as their workloads tell them."""
    is_of_writes = SMALL_WRITE_LATENCY in view.metrics
    writes = small_writes(sets) if is_of_writes else ()
    for row in drive_rows(sets):
        facts = {DRIVE: row.name, "firmware": row.drive.firmware, "machine": row.machine}
        for write in writes:
            for levels, one in write.of(row).items():
                yield _Seen(row, {**dict(levels), **facts, WORKLOAD: write.title}, one, write)
        wanted = [] if is_of_writes else [one for one in row.observations if _has_metric(view, one)]
        for one in wanted:
            yield _Seen(row, {**one.levels, **facts, WORKLOAD: _workload(one, wanted)}, one)


def _has_metric(view: BuiltInView, one: Observation) -> bool:
    return one.metric in view.metrics or not one.commands.keys().isdisjoint(view.metrics)


def _workload(one: Observation, others: Sequence[Observation]) -> str:
    """What a workload is called: by its title, and by more where that is the title of several."""
    title = one.title or one.workload
    alike = {(each.workload, each.operation) for each in others if (each.title or each.workload) == title}
    if len(alike) == 1:
        return title
    names = {name for name, _ in alike}
    return f"{title}, {one.workload if len(names) == len(alike) else one.operation}"


def _is_kept(view: BuiltInView, seen: _Seen) -> bool:
    if view.workloads and seen.one.workload not in view.workloads:
        return False
    return all(seen.places.get(name) in [*map(_level_name, levels)] for name, levels in view.keep.items())


def _level_name(level: object) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def _others(view: BuiltInView, found: Sequence[_Seen]) -> list[str]:
    """The factors of which there are several levels and that the view names nowhere, likewise drives and workloads."""
    values: dict[str, set[str]] = {}
    for seen in found:
        for name, level in seen.places.items():
            values.setdefault(name, set()).add(level)
    # a firmware and a machine are told by the name of the drive
    named = {"firmware", "machine", *view.rows, *view.columns, *view.split, *view.mean_over}
    if SMALL_WRITE_LATENCY in view.metrics:
        # its workload tells the size of a write
        named.add(BLOCK_SIZE)
    return [name for name, levels in values.items() if len(levels) > 1 and name not in named]


def _parts(view: BuiltInView, found: Sequence[_Seen]) -> Iterator[tuple[Sequence[str], list[_Seen]]]:
    """The observations of each table, and what tells it apart; what a page published stands in all of its workload."""
    for group in _grouped(found, [name for name in view.split if name in (DRIVE, WORKLOAD)]).values():
        apart = (*view.split, *(_others(view, group) if view.has_others_apart else ()))
        published = [seen for seen in group if seen.row.is_reference]
        runs = _grouped((seen for seen in group if not seen.row.is_reference), apart)
        for own in runs.values():
            yield apart, [*own, *published]
        if not runs:
            yield from ((apart, part) for part in _grouped(published, apart).values())


def _has_levels(view: BuiltInView, part: Sequence[_Seen]) -> bool:
    """Whether some drive was measured with as many levels as the view needs."""
    levels: dict[tuple[str, str], set[str]] = {}
    for seen in part:
        for name in view.needs:
            levels.setdefault((name, seen.row.name), set()).add(seen.places.get(name, ""))
    return all(
        any(len(found) >= count for (of, _), found in levels.items() if of == name)
        for name, count in view.needs.items()
    )


def _grid(
    view: BuiltInView, names: Sequence[str], apart: Sequence[str], part: Sequence[_Seen], sets: Sequence[ResultSet]
) -> Table:
    """One table."""
    kinds = {seen.write or (seen.places[WORKLOAD], seen.one.operation, seen.one.block_size_bytes) for seen in part}
    columns = _columns(view, part, is_of_one_kind=len(kinds) == 1)
    is_alone = len({seen.places[WORKLOAD] for seen in part}) == 1
    shown = []
    for members in _grouped(part, names).values():
        cells = _grouped(members, view.columns, view)
        numbers = (
            _as_page_prints(view, members[0], column.name, _number(cells.get(place, ()), metric))
            for place, metric, column in columns
        )
        # the title tells the only workload, unless nothing else names the rows
        told = [name for name in names if not is_alone or name != WORKLOAD or names[0] == WORKLOAD]
        texts = (_word(view, name, members[0]) if name in told else "" for name in names)
        notes = dict.fromkeys(note for seen in members for note in seen.notes())
        shown.append(NumberRow(tuple(texts), tuple(numbers), text_notes=tuple(notes)))
    as_printed = _is_page(sets)
    found = number_table(
        view.key,
        _title(view, apart, part),
        [view.heads.get(name, name.replace("_", " ")) for name in names],
        [column for _, _, column in columns],
        shown,
        view.page_caption if as_printed else _caption(view, part),
        as_printed=as_printed,
    )
    return replace(found, is_of_means=_has_means(view, part))


def _caption(view: BuiltInView, part: Sequence[_Seen]) -> str:
    return f"{view.caption.strip()} {view.mean_caption.strip() if _has_means(view, part) else ''}".strip()


def _has_means(view: BuiltInView, part: Sequence[_Seen]) -> bool:
    return any(len({seen.places.get(name, "") for seen in part}) > 1 for name in view.mean_over)


def _grouped(
    found: Iterable[_Seen], names: Sequence[str], as_words: BuiltInView | None = None
) -> dict[_Levels, list[_Seen]]:
    """Observations by their levels, or by how these are written."""
    groups: dict[_Levels, list[_Seen]] = {}
    for seen in found:
        key = tuple(_word(as_words, name, seen) for name in names) if as_words else seen.at(names)
        groups.setdefault(key, []).append(seen)
    return groups


def _columns(
    view: BuiltInView, part: Sequence[_Seen], *, is_of_one_kind: bool
) -> list[tuple[_Levels, str, NumberColumn]]:
    """The columns of numbers: where each stands, its metric, and its head."""
    words = {name: list(dict.fromkeys(view.words.get(name, {}).values())) for name in view.columns}
    places = list(_grouped(part, view.columns, view))

    def order(place: _Levels) -> list[tuple[int, str]]:
        known = [(words[name], word) for name, word in zip(view.columns, place, strict=True) if words[name]]
        return [(told.index(word), "") if word in told else (len(told), word) for told, word in known]

    found: list[tuple[_Levels, str, NumberColumn]] = []
    for place in sorted(places, key=order):
        told, head = dict(zip(view.columns, place, strict=True)), view.head
        for name, word in told.items():
            head = head.replace(f"{{{name}}}", word)
        levels = {name: "none" if word == NOT_APPLICABLE else word for name, word in told.items()}
        head = head.strip() or ", ".join(f"{name.replace('_', ' ')} {level}" for name, level in levels.items())
        for metric in view.metrics:
            of = metric_of(part[0].one.metric if metric == SMALL_WRITE_LATENCY else metric)
            is_lower_better = of.better == "low" if is_of_one_kind and of.better and metric not in COMMANDS else None
            name = head if len(view.metrics) == 1 and head else f"{head}, {_head(metric, part)}".lstrip(", ")
            found.append((place, metric, NumberColumn(name, of.unit, is_lower_better)))
    return found


def _head(metric: str, part: Sequence[_Seen]) -> str:
    """What a metric is called in a head."""
    if metric == SMALL_WRITE_LATENCY:
        latencies = {seen.write.latency for seen in part if seen.write}
        return latencies.pop() if len(latencies) == 1 else "latency"
    words = metric_of(metric).words
    return f"device {words} per operation" if metric in COMMANDS else words


def _number(found: Sequence[_Seen], metric: str) -> Number | None:
    """What stands in a cell."""
    if metric not in COMMANDS:
        return number_of([seen.one for seen in found if metric in (SMALL_WRITE_LATENCY, seen.one.metric)])
    ends = [seen.one.commands[metric] for seen in found if metric in seen.one.commands]
    if not ends or len(ends) < len(found):
        return None
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return Number(low, None, None, "1") if low == high else Number(None, low, high, "1")


def _as_page_prints(view: BuiltInView, seen: _Seen, head: str, number: Number | None) -> Number | None:
    """The number that the page of a published row prints, with a note where its own numbers give another one."""
    told = [cell for one in seen.row.sets for cell in one.cells if (cell.table, cell.column) == (view.key, head)]
    cell = next((cell for cell in told if cell.row == seen.row.drive.name), None)
    return number if cell is None or number is None else printed_number(cell.printed, number)


def _word(view: BuiltInView, name: str, seen: _Seen) -> str:
    """What stands in a cell of texts."""
    if name not in seen.places and name not in view.words:
        return NOT_APPLICABLE
    level = seen.places.get(name, "")
    return view.words.get(name, {}).get(level, level_text(name, level) if name in seen.one.levels else level)


def _title(view: BuiltInView, apart: Sequence[str], part: Sequence[_Seen]) -> str:
    workloads = {seen.places[WORKLOAD] for seen in part}
    workload = workloads.pop() if len(workloads) == 1 else ""
    latency = _head(view.metrics[0], part)
    title = view.title.replace("{metric}", f"{latency[0].upper()}{latency[1:]}")
    told = title.replace("{workload}", workload).removesuffix(": ")
    if workload and WORKLOAD in apart and "{workload}" not in view.title:
        told = f"{told}: {workload}"
    others = [name for name in apart if name != WORKLOAD and part[0].places.get(name)]
    return ", ".join([told, *(f"{name} {_word(view, name, part[0])}" for name in others)])


def _page_grid(view: BuiltInView, part: Sequence[_Seen], page: ResultSet, form: PageForm) -> Table:
    """A table in the form of the page that published its numbers."""
    heads = {bare_head(view.heads.get(name, name)): name for name in view.rows} | dict(view.page_heads)
    columns = _columns(view, part, is_of_one_kind=True)
    rows = []
    for members in _grouped(part, view.rows).values():
        first, cells = members[0], _grouped(members, view.columns, view)
        texts = {head: _page_word(view, name, first) for head, name in heads.items() if name}
        numbers = {column.name.lower(): _number(cells.get(place, ()), metric) for place, metric, column in columns}
        latency = _number(members, view.metrics[0])
        numbers |= dict.fromkeys([head for head, name in heads.items() if not name], latency)
        known = {head: number for head, number in numbers.items() if number is not None}
        name = " / ".join(filter(None, (_page_word(view, name, first) for name in view.page_rows)))
        rows.append(PageRow(name, texts, known, first.row.drive.printed))
    return page_table(page, form, _title(view, view.split, part), rows, _page_caption(view, form, rows))


def _page_word(view: BuiltInView, name: str, seen: _Seen) -> str:
    words = {**view.words, **view.page_words}
    return seen.row.drive.name if name == DRIVE else _word(view.model_copy(update={"words": words}), name, seen)


def _page_caption(view: BuiltInView, form: PageForm, rows: Sequence[PageRow]) -> str:
    """How to read a page's own heads, and the unit of the numbers where no head tells it."""
    numbers = [number for row in rows for number in row.numbers.values() if number.value and number.printed]
    if any(re.search(r"[(\[]", head) for head in form.columns) or not numbers:
        return view.page_caption
    scales = {printed_scale(number.printed, number.value or 1.0) for number in numbers}
    units = {column_unit([scale], "ns").name for scale in scales}
    unit = f" Latencies in {units.pop()}; nothing is known of their scatter." if len(units) == 1 else ""
    return f"{view.page_caption}{unit}".strip()
