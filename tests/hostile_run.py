"""A stored run whose every text that comes from outside is poisoned."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden" / "runs"
# escape sequences of 7 and 8 bits, a bell, a newline, a formula, a tag, an override of direction, half a character
POISON = "=\x1b[2J\x1b]0;title\x07\x9b31m\n<b>\u202e\x7f\r\ud800"
# words that decide how a run is read
MEANINGS = {
    "kind",
    "status",
    "severity",
    "code",
    "metric",
    "unit",
    "operation",
    "direction",
    "force",
    "outcome",
    "type",
}
MEANINGS |= {"started_utc", "finished_utc", "resumed_utc", "trial", "schema", "experiment", "key", "setting"}


def poisoned(value: Any, key: str = "") -> Any:
    """The same data, poison at the end of every text that no program takes for a word of its own."""
    if isinstance(value, dict):
        return {name: poisoned(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [poisoned(one, key) for one in value]
    return value + POISON if isinstance(value, str) and key not in MEANINGS else value


def make_hostile_run(name: str, folder: Path) -> Path:
    """A copy of a stored run, poisoned."""
    run = folder / f"hostile-{name}"
    shutil.copytree(GOLDEN / name, run)
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(poisoned(facts)))
    return run
