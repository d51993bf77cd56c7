"""The answer of a run on one screen: what it came to, one table for each workload, and what limits the numbers.

Everything else is in the page, and in the long text of ``drivelab report RUN --text --details``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from drivelab.model.judged_metric import LATENCY, P99, RATE, THROUGHPUT
from drivelab.model.metric import FLUSHES, WRITES, metric_of
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.report.combination_labels import NOT_APPLICABLE, combination_labels, combinations_by_table
from drivelab.report.finding_lines import FindingLine
from drivelab.report.numerals import latency_text, number_text, span_beside, typeset, value_writer
from drivelab.report.terminal import wrapped
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.run_matrix import matrix_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

WARNINGS_MAX = 3
# lines of all tables together, heads and gaps included
_TABLE_LINES_MAX = 20
_TABLE_LINES_MIN = 4
# of a table besides its rows: the gap above it, its title, and its heads
_OTHER_LINES = 3
_NAME_WIDTH_MIN = 16
# smaller random I/Os are counted and not weighed
_WEIGHED_FROM_BYTES = 1 << 16
_STYLES = {"invalid": "bold red", "warning": "bold yellow"}
_NOUNS = (("writes", WRITES), ("flushes", FLUSHES))
# codes of findings: the reference moved, and trials were shorter than a second
DRIFT, SHORT = "reference-drift", "short-measurement"
Justify = Literal["left", "right"]


def render_run_screen(
    answer: RunAnswer,
    title: str,
    sentences: Sequence[str],
    warnings: Sequence[FindingLine],
    *,
    is_one_at_a_time: bool = False,
    of_tasks: bool = False,
    plain: bool = False,
) -> RenderableType:
    """The answer of a run, to be printed by a console of 80 columns in at most 26 lines.

    Parameters
    ----------
    answer : RunAnswer
        What the run came to.
    title : str
        What was run where, and how far it came.
    sentences : sequence of str
        The answer in words, at most three.
    warnings : sequence of FindingLine
        All findings, the gravest first.
    is_one_at_a_time : bool
        Whether each combination differs from the first in one level.
    of_tasks : bool
        Whether its workloads are tasks as a whole, of which the time is what counts.
    plain : bool
        Only characters of ASCII; pass ``not console.encoding.startswith("utf")``.
    """
    from rich.console import Group
    from rich.text import Text

    def clean(text: str) -> str:
        return terminal_text(text, plain)

    parts: list[RenderableType] = [Text(wrapped.one_line(title, wrapped.WIDTH, plain), style="bold"), Text()]
    for sentence in sentences:
        parts += [Text(f"  {line}") for line in wrapped.wrapped(typeset(sentence), wrapped.WIDTH - 2, plain)]
    groups = combinations_by_table(answer.rows)
    room = _TABLE_LINES_MAX - 2 * len(sentences)
    matrix = matrix_of(groups, room, clean, of_tasks=of_tasks)
    if matrix is not None:
        table, more = matrix
        parts += [Text(), table]
        parts += [Text(f"  and {more} more: --details", style="dim")] if more else []
        groups = []
    fits = sum(len(set(map(_key, group))) + _OTHER_LINES for group in groups) <= room
    for place, group in enumerate(groups):
        if room < _TABLE_LINES_MIN:
            parts += [Text(), Text(f"  tables of {len(groups) - place} more workloads: --details", style="dim")]
            break
        lines = room if fits else max(_TABLE_LINES_MIN, room // (len(groups) - place))
        table, more = _table(group, lines - _OTHER_LINES, clean, is_one_at_a_time=is_one_at_a_time)
        parts += [Text(), Text(f"  {clean(group[0].label)}", style="bold"), table]
        parts += [Text(f"  and {more} more: --details", style="dim")] if more else []
        room -= table.row_count + _OTHER_LINES
    told = list(warning_lines(with_drifts(answer, warnings), plain))
    parts += [Text(), *told] if told else []
    return Group(*parts)


def _key(one: CombinationResult) -> tuple[tuple[str, str], ...]:
    """What two combinations have in common that stand in one row."""
    return (("operation", one.operation), *one.levels.items())


def _table(
    group: Sequence[CombinationResult],
    rows_max: int,
    clean: Callable[[str], str],
    *,
    is_one_at_a_time: bool,
) -> tuple[Table, int]:
    """A table of one workload, and how many rows it leaves out; several targets have a column each."""
    from rich.table import Table
    from rich.text import Text

    targets: dict[str, dict[tuple[tuple[str, str], ...], CombinationResult]] = {}
    for one in group:
        targets.setdefault(one.target, {})[_key(one)] = one
    firsts = {_key(one): one for one in reversed(group)}
    rows = list(dict.fromkeys(map(_key, group)))
    labels = combination_labels([firsts[key] for key in rows], is_one_at_a_time=is_one_at_a_time, is_narrow=True)
    metric = _metric(group)
    columns = _columns(metric, list(targets), group)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(clean(f"  {', '.join(labels.names).replace('_', ' ')}"), min_width=_NAME_WIDTH_MIN)
    for head, justify in columns:
        table.add_column(clean(head), justify=justify, no_wrap=True)
    shown = _spread(len(rows), rows_max)
    for place in shown:
        key, names = rows[place], labels.rows[place]
        # what a combination does not have says nothing
        name = " ".join(cell for cell in names if cell != NOT_APPLICABLE) or _kind(metric)
        cells = [text for members in targets.values() for text in _number(members.get(key), metric)]
        more = _others(firsts[key], metric) if len(targets) == 1 else ()
        told = (*cells, *more, _commands(firsts[key]))[: len(columns)]
        # what was read back instead is told by the sentences
        asked, not_taken, _ = name.partition(" -> ")
        named = f"{asked},\n    not taken" if not_taken else name
        table.add_row(f"  {clean(named)}", *(Text(clean(cell)) for cell in told))
    return table, len(rows) - len(shown)


def _spread(count: int, most: int) -> list[int]:
    """Places of the rows that are shown: all, or some from the first to the last, with a line for how many are not."""
    if count <= most:
        return list(range(count))
    room = max(2, most - 1)
    return [round(at * (count - 1) / (room - 1)) for at in range(room)]


def _metric(group: Sequence[CombinationResult]) -> str:
    """What a table shows: small random I/Os are counted, everything else is what it is judged by."""
    judged = group[0].judged_metric
    sizes = [one.block_size_bytes or _WEIGHED_FROM_BYTES for one in group]
    is_small = judged == THROUGHPUT and max(sizes) < _WEIGHED_FROM_BYTES
    return RATE if is_small and all(RATE in one.metrics for one in group) else judged


def _kind(metric: str) -> str:
    one = metric_of(metric)
    return {"latency": "typical latency", "rate": "per second"}.get(one.quantity, one.words)


def _columns(metric: str, targets: Sequence[str], group: Sequence[CombinationResult]) -> list[tuple[str, Justify]]:
    """Head and alignment of each column of numbers."""
    found: list[tuple[str, Justify]] = []
    repeats = max(one.trial_count for one in group)
    span = f"{repeats} repeats" if repeats > 1 else "95 %"
    for target in targets:
        head = target if len(targets) > 1 else {LATENCY: "median", RATE: "per s"}.get(metric, _kind(metric))
        found += [(head, "right"), (span, "left")]
    if len(targets) == 1:
        found.append(("p99 latency" if metric != RATE else "each takes", "right"))
    return [*found, ("the drive does", "left")] if any(map(_commands, group)) else found


def _number(one: CombinationResult | None, metric: str) -> tuple[str, str]:
    """The number, and its range without the unit where it is the same."""
    found = one.metrics.get(metric) if one is not None else None
    if found is None:
        low = one.bounds.get(metric, (None, None))[0] if one is not None else None
        return ("" if low is None else f"≥ {_write(metric, low)}"), ""
    value = _write(metric, found.median)
    low, high = found.ends
    if low is None or high is None:
        return value, "?" if found.is_seen else ""
    return value, span_beside(value, _write(metric, low), _write(metric, high))


def _others(one: CombinationResult, metric: str) -> tuple[str]:
    """The slowest 1 % of what is judged, or how long one of them takes where they are counted."""
    name = LATENCY if metric == RATE else P99
    found = one.metrics.get(name)
    if found is not None:
        return (latency_text(found.median),)
    low = one.bounds.get(name, (None, None))[0]
    return ("" if low is None else f"≥ {latency_text(low)}",)


def _write(metric: str, value: float) -> str:
    return number_text(value) if metric == RATE else value_writer(metric)(value)


def _commands(one: CombinationResult) -> str:
    """``3 writes, 2 flushes``, of what is durable."""
    if not one.is_durable:
        return ""
    told = []
    for noun, metric in _NOUNS:
        found = one.metrics.get(metric)
        if found is None:
            continue
        count = f"{found.median:.1f}".removesuffix(".0")
        told.append(f"{count} {noun if count != '1' else noun[: -2 if noun == 'flushes' else -1]}")
    return ", ".join(told)


def table_lines_of(
    group: Sequence[CombinationResult], rows_max: int, plain: bool, *, is_one_at_a_time: bool
) -> tuple[RenderableType, int]:
    """The table of one workload as the screen has it, its title above it, and how many rows it leaves out."""
    from rich.console import Group
    from rich.text import Text

    table, more = _table(group, rows_max, lambda text: terminal_text(text, plain), is_one_at_a_time=is_one_at_a_time)
    return Group(Text(f"  {terminal_text(group[0].label, plain)}", style="bold"), table), more


def with_drifts(answer: RunAnswer, findings: Sequence[FindingLine]) -> list[FindingLine]:
    """The findings, before them by how much the reference drifted where that is more than chance, in short."""
    drifts = [FindingLine("warning", one.text, code=DRIFT) for one in answer.drifts if one.is_large]
    return [*drifts, *(one for one in findings if not drifts or one.code != DRIFT)]


def warning_lines(findings: Sequence[FindingLine], plain: bool, most: int = WARNINGS_MAX) -> Iterator[RenderableType]:
    """The gravest findings, a line each; of notes only that trials were short."""
    from rich.text import Text

    found = [one for one in findings if one.severity in _STYLES or one.code == SHORT]
    for one in found[:most]:
        # in how many trials; which of them was the first has no room
        where = f"{one.where.partition(',')[0].removesuffix(']')}]" if one.where else ""
        room = wrapped.WIDTH - 2 - len(where)
        said = wrapped.one_line(one.text, room, plain)
        yield Text.assemble(("!", _STYLES.get(one.severity, "")), " ", said, where)
    if len(found) > most:
        yield Text(f"  and {len(found) - most} more: --details", style="dim")
