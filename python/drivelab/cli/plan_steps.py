"""The steps of a plan as a table that fits the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from drivelab.model.plan import Plan, PlannedStep
from drivelab.model.setting import AS_FOUND
from drivelab.model.units import format_bytes, format_wait_ns

if TYPE_CHECKING:
    from rich.console import Console

Columns = dict[str, Callable[[PlannedStep], str]]
_NUMBERS = ("step", "block", "repeat", "writes", "about")
_GAP = 2


def print_steps(plan: Plan, console: Console, *, steps_max: int) -> None:
    """Print the first steps of a plan as a table.

    Factors have a column each where they all fit; otherwise one column names
    those that are not left as they were found.
    """
    from rich.table import Table

    shown = plan.steps[:steps_max]
    columns = _columns(plan, {name: _level(name) for name in _factors(plan)})
    if _width(columns, shown) > console.width:
        columns = _columns(plan, {"levels": _levels})
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in columns:
        is_number = head in _NUMBERS
        table.add_column(head, justify="right" if is_number else "left", no_wrap=is_number)
    for step in shown:
        table.add_row(*(cell(step) for cell in columns.values()))
    console.print()
    console.print(table)
    if len(plan.steps) > steps_max:
        console.print(f"and {len(plan.steps) - steps_max} more: drivelab plan ... --all", style="dim")


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
