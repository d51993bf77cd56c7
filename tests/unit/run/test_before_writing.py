"""Whoever has a workload issued looks at the drive before: a place that forgets it is found here."""

from __future__ import annotations

import ast
from pathlib import Path

import drivelab

RUN = Path(drivelab.__file__).parent / "run"
# run_together takes threads' workloads, and measure_together looks before it calls it
_LOOKED_AT_BY = {"together.py": "measure_together.py", "engine.py": "engine.py"}


def called_in(path: Path) -> set[str]:
    """Names of the functions that a file calls."""
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return {call.id for call in calls if isinstance(call, ast.Name)}


def test_every_workload_is_preceded_by_a_look() -> None:
    files = {path.name: path for path in Path(drivelab.__file__).parent.rglob("*.py")}
    issuing = {name for name, path in files.items() if {"run_workload", "run_together"} & called_in(path)}
    assert {"bucket_watch.py", "counting_pass.py", "traced_pass.py", "preconditioning.py", "together.py"} <= issuing
    looking = {name for name in issuing if "look_before" in called_in(files[_LOOKED_AT_BY.get(name, name)])}
    # a simulated drive is handed to the engine itself: nothing real is written
    assert issuing - looking == {"simulated.py"}
    text = files["simulated.py"].read_text()
    assert text.count("run_workload") - 1 == text.count("drive=self.engine)") - 1 == 2
