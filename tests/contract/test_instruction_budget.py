"""What an I/O may cost the program: instructions in user space, those of the kernel not counted."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drivelab import _engine
from single_steps import WAIT_TO_BE_TRACED, instructions_of_window

RUNNING = f"{WAIT_TO_BE_TRACED}; print(_engine.run(sys.argv[1], _engine.StopFlag()).summary)"
FEW, MORE = 64, 192
TRIES = 12
# instructions for each I/O; what a change saves is taken from here, too
BUDGETS = {
    "nothing": ("null", {"queue_depth": 32}, 310),
    "read, one at a time": ("sync", {}, 570),
    "write, one at a time": ("sync", {"operation": "write"}, 650),
    "read, depth 1": ("uring", {}, 640),
    "read, depth 4": ("uring", {"queue_depth": 4}, 440),
    "read, depth 32": ("uring", {"queue_depth": 32}, 265),
}


@pytest.fixture
def instructions(start_child, workload_text, data_file: Path) -> Callable[..., int]:
    """Instructions of a job that issues so many I/Os."""

    def count(backend: str, changes: dict[str, Any], ios: int) -> int:
        limits = {"interval_ns": 10**10, "limits": {"count": ios}}
        child = start_child(RUNNING, workload_text(backend, data_file, **limits, **changes))
        found = instructions_of_window(child)
        output, complaint = child.communicate()
        assert output, complaint
        operations = json.loads(output)["operations"]
        assert sum(each["count"] for each in operations.values()) == ios
        return found

    return count


@pytest.mark.parametrize("name", BUDGETS)
def test_an_io_costs_no_more_instructions_than_its_budget(name: str, instructions: Callable[..., int]) -> None:
    if platform.machine() != "x86_64" or json.loads(_engine.probe())["clock"]["source"] != "tsc":
        pytest.skip("the budgets are those of x86-64 with the time stamp counter as clock")
    backend, changes, budget = BUDGETS[name]
    costs: list[float] = []
    # how many I/Os complete in one pass is the kernel's: where they come one by one, each costs a pass
    while len(costs) < TRIES and not (costs and budget * 0.8 < costs[-1] <= budget):
        costs.append((instructions(backend, changes, MORE) - instructions(backend, changes, FEW)) / (MORE - FEW))
    assert budget * 0.8 < costs[-1] <= budget, f"{name}: {costs} instructions an I/O"
