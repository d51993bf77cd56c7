"""The steps of a plan as a table, and what is varied in some of them in a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from drivelab.model.errors import DrivelabError
from drivelab.model.level_words import level_text
from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.setting import AS_FOUND
from drivelab.model.units import format_bytes, format_wait_ns, parse_bytes

if TYPE_CHECKING:
    from rich.console import Console

Columns = dict[str, Callable[[PlannedStep], str]]
_NUMBERS = ("step", "block", "repeat", "writes", "about")
_GAP = 2
_LEVELS_MAX = 6


def varied(steps: Sequence[PlannedStep]) -> str:
    """The levels of each factor that has several, and how often each combination is measured."""
    levels: dict[str, dict[str, None]] = {}
    for step in steps:
        for name, level in step.levels.items():
            levels.setdefault(name, {})[level] = None
    told = [
        f"{name.replace('_', ' ')} {_few([level_text(name, level) for level in sorted(found, key=_size)])}"
        for name, found in levels.items()
        if len(found) > 1
    ]
    repeats = max(step.repeat for step in steps)
    return "; ".join([*told, f"{repeats} repeats" if repeats > 1 else "once"])


def _size(level: str) -> float:
    """What numbers and sizes are ordered by; words stay as they come."""
    try:
        return parse_bytes(level)
    except DrivelabError:
        return 0.0


def _few(levels: Sequence[str]) -> str:
    """All levels of a factor, or the ends of many."""
    return ", ".join(levels) if len(levels) <= _LEVELS_MAX else f"{levels[0]} ... {levels[-1]} ({len(levels)} levels)"


def print_steps(plan: Plan, console: Console) -> None:
    """Print the steps of a plan as a table.

    Factors have a column each where they all fit; otherwise one column names
    those that are not left as they were found.
    """
    from rich.table import Table

    columns = _columns(plan, {name: _level(name) for name in _factors(plan)})
    if _width(columns, plan.steps) > console.width:
        columns = _columns(plan, {"levels": _levels})
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in columns:
        is_number = head in _NUMBERS
        table.add_column(head, justify="right" if is_number else "left", no_wrap=is_number)
    for step in plan.steps:
        table.add_row(*(cell(step) for cell in columns.values()))
    console.print()
    console.print(table)


def _factors(plan: Plan) -> list[str]:
    return list(dict.fromkeys(name for step in plan.steps for name in step.levels))


def _columns(plan: Plan, factors: Columns) -> Columns:
    several = len(plan.targets) > 1
    return {
        "step": lambda step: str(step.number),
        "block": lambda step: str(step.block),
        **({"target": lambda step: step.target} if several else {}),
        "workload": lambda step: f"{step.workload} (reference)" if step.is_reference else step.workload,
        **({"at once": lambda step: str(step.together or "")} if any(one.together for one in plan.steps) else {}),
        **factors,
        "repeat": lambda step: str(step.repeat),
        "writes": lambda step: format_bytes(step.bytes_written) if step.bytes_written else "-",
        "about": lambda step: format_wait_ns(step.expected_ns),
    }


def _level(name: str) -> Callable[[PlannedStep], str]:
    return lambda step: step.levels.get(name, "")


def _levels(step: PlannedStep) -> str:
    changed = [f"{name} {level}" for name, level in step.levels.items() if level != AS_FOUND]
    return ", ".join(changed) or "all as found"


def _width(columns: Columns, steps: tuple[PlannedStep, ...]) -> int:
    widths = [max([len(head), *(len(cell(step)) for step in steps)]) for head, cell in columns.items()]
    return sum(widths) + _GAP * (len(widths) - 1)
