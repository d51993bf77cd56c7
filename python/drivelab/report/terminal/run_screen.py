"""The answer of a run on one screen: what it came to, one table for each workload, and what limits the numbers.

Everything else is in the page, and in the long text of ``drivelab report RUN --text --details``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.report.combination_labels import table_title, tables_of_answer
from drivelab.report.finding_lines import FindingLine
from drivelab.report.numerals import typeset
from drivelab.report.parts_of_text import parts_within
from drivelab.report.tables.bursts import burst_tables
from drivelab.report.tables.table_terminal import TerminalTable
from drivelab.report.terminal import wrapped
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.run_matrix import matrix_of
from drivelab.report.terminal.workload_table import why_without_interval, workload_table

if TYPE_CHECKING:
    from rich.console import RenderableType

WARNINGS_MAX = 3
# lines of all tables together, heads and gaps included
_TABLE_LINES_MAX = 20
_TABLE_LINES_MIN = 4
# warnings give way before tables have less
_TABLE_LINES_KEPT = 12
# of 30 where the console tells of failures and where the run lies
_LINES_MAX = 26
# of a table besides its rows: the gap above it, its title, and its heads
_OTHER_LINES = 3
_STYLES = {"invalid": "bold red", "warning": "bold yellow"}
_WORD_LENGTH = 16
# codes of findings: the reference moved, trials were shorter than a second, levels were left out
DRIFT, SHORT, NOT_MEASURED = "reference-drift", "short-measurement", "not-measured"


def render_run_screen(
    answer: RunAnswer,
    title: str,
    sentences: Sequence[str],
    warnings: Sequence[FindingLine],
    *,
    missing: str = "",
    is_one_at_a_time: bool = False,
    of_tasks: bool = False,
    plain: bool = False,
) -> RenderableType:
    """The answer of a run, to be printed by a console of 80 columns in at most 26 lines.

    Parameters
    ----------
    sentences : sequence of str
        The answer in words, at most three.
    warnings : sequence of FindingLine
        All findings, the gravest first.
    missing : str
        How far a run came that is not complete; told before the answer.
    is_one_at_a_time : bool
        Whether each combination differs from the first in one level.
    of_tasks : bool
        Whether its workloads are tasks as a whole, of which the time is what counts.
    """
    # tables give way first, then warnings, then what is left of the tables
    limits = [(room, WARNINGS_MAX) for room in range(_TABLE_LINES_MAX - 2 * len(sentences), _TABLE_LINES_KEPT, -1)]
    limits += [(_TABLE_LINES_KEPT, most) for most in range(WARNINGS_MAX, 0, -1)]
    limits += [(room, 1) for room in range(_TABLE_LINES_KEPT - 1, _TABLE_LINES_MIN - 1, -1)]
    every = with_drifts(answer, warnings)
    for room, most in limits:
        screen = _screen(
            answer,
            title,
            sentences,
            every,
            room,
            most,
            missing=missing,
            is_one_at_a_time=is_one_at_a_time,
            of_tasks=of_tasks,
            plain=plain,
        )
        if wrapped.line_count(screen) <= _LINES_MAX:
            break
    return screen


def _screen(
    answer: RunAnswer,
    title: str,
    sentences: Sequence[str],
    warnings: Sequence[FindingLine],
    room: int,
    warnings_max: int,
    *,
    missing: str,
    is_one_at_a_time: bool,
    of_tasks: bool,
    plain: bool,
) -> RenderableType:
    """The same with so many lines for tables, and so many warnings."""
    from rich.console import Group
    from rich.text import Text

    def clean(text: str) -> str:
        return terminal_text(text, plain)

    parts: list[RenderableType] = [Text(wrapped.one_line(title, wrapped.WIDTH, plain), style="bold"), Text()]
    if missing:
        incomplete = wrapped.wrapped(f"! not complete: {missing}", wrapped.WIDTH, plain)
        parts += [*(Text(line, style="bold red") for line in incomplete), Text()]
    for sentence in sentences:
        parts += [Text(f"  {line}") for line in wrapped.wrapped(typeset(sentence), wrapped.WIDTH - 2, plain)]
    all_rows = answer.rows
    # a mean over a burst, what follows and rests is none of the rates
    for bursts in burst_tables(answer.buckets):
        parts += [Text(), TerminalTable(bursts, plain=plain)]
    groups = tables_of_answer(answer)
    matrix = matrix_of(groups, room, clean, of_tasks=of_tasks)
    if matrix is not None:
        table, more = matrix
        parts += [Text(), table]
        parts += [Text(f"  and {more} more: --details", style="dim")] if more else []
        groups = []
    for place, group in enumerate(groups):
        if room < _TABLE_LINES_MIN:
            parts += [Text(), Text(f"  {_other_tables(len(groups) - place)}: --details", style="dim")]
            break
        table, more = workload_table(
            group,
            room - _OTHER_LINES,
            clean,
            is_one_at_a_time=is_one_at_a_time,
            first=answer.tracked_levels(group[0].workload),
        )
        below = _below(group)
        parts += [Text(), Text(f"  {clean(table_title(group, all_rows))}", style="bold"), table, *below]
        if more:
            others = len(groups) - place - 1
            told_of = f"and {more} more{f', and {_other_tables(others)}' if others else ''}"
            parts.append(Text(f"  {told_of}: --details", style="dim"))
            break
        room -= table.row_count + len(below) + _OTHER_LINES
    told = list(warning_lines(warnings, plain, warnings_max))
    parts += [Text(), *told] if told else []
    return Group(*parts)


def _other_tables(count: int) -> str:
    return "the table of another workload" if count == 1 else f"tables of {count} more workloads"


def table_lines_of(
    group: Sequence[CombinationResult], answer: RunAnswer, rows_max: int, plain: bool, *, is_one_at_a_time: bool
) -> tuple[RenderableType, int]:
    """The table of one workload as the screen has it, its title above it, and how many rows it leaves out."""
    from rich.console import Group
    from rich.text import Text

    def clean(text: str) -> str:
        return terminal_text(text, plain)

    first = answer.tracked_levels(group[0].workload)
    table, more = workload_table(group, rows_max, clean, is_one_at_a_time=is_one_at_a_time, first=first)
    title = table_title(group, answer.rows)
    return Group(Text(f"  {terminal_text(title, plain)}", style="bold"), table, *_below(group)), more


def _below(group: Sequence[CombinationResult]) -> list[RenderableType]:
    """What explains empty places in a table."""
    from rich.text import Text

    why = why_without_interval(group)
    return [Text(f"  {why}", style="dim")] if why else []


def with_drifts(answer: RunAnswer, findings: Sequence[FindingLine]) -> list[FindingLine]:
    """The findings, before them by how much the reference moved, where that is large or may well be, in short."""
    moved = [one for one in answer.drifts if one.is_large or one.is_wide]
    drifts = [FindingLine("warning", one.text, code=DRIFT) for one in moved]
    return [*drifts, *(one for one in findings if not drifts or one.code != DRIFT)]


def warning_lines(
    findings: Sequence[FindingLine],
    plain: bool,
    most: int = WARNINGS_MAX,
    notes: Collection[str] = (SHORT, NOT_MEASURED),
) -> Iterator[RenderableType]:
    """The gravest findings, a line or two each; of notes those of these codes."""
    from rich.text import Text

    found = [one for one in findings if one.severity in _STYLES or one.code in notes]
    # what somebody asked for and will look for in vain is told however much there is to warn of
    told = [*found[:most], *(one for one in found[most:] if one.code == NOT_MEASURED)]
    for one in told:
        # in how many trials; which of them was the first has no room
        where = f"{one.where.partition(',')[0].removesuffix(']')}]" if one.where else ""
        # what voids a number is called so: everything else only limits it
        is_note = one.code == NOT_MEASURED and one.severity == "note"
        mark = "invalid:" if one.severity == "invalid" else "i" if is_note else "!"
        style = _STYLES.get(one.severity, "")
        for line in _in_two_lines(one.text, where, wrapped.WIDTH - len(mark) - 1, plain):
            yield Text.assemble((mark, style), " ", line)
            mark, style = " " * len(mark), ""
    if len(found) > len(told):
        yield Text(f"  and {len(found) - len(told)} more: --details", style="dim")


def _in_two_lines(text: str, where: str, room: int, plain: bool) -> list[str]:
    """The parts of a finding that fit a line, or where not even the first does, those that fit two."""
    said = terminal_text(parts_within(text, room - len(where)), plain)
    if len(said) + len(where) <= room:
        return [f"{said}{where}"]
    # a line may lose the room of a long word at its end
    parts = parts_within(text, 2 * room - len(where) - _WORD_LENGTH).rstrip()
    lines = wrapped.wrapped(f"{parts}{where}", room, plain)
    if len(lines) <= 2:
        return lines
    return [f"{wrapped.one_line(text, room - len(where), plain)}{where}"]
