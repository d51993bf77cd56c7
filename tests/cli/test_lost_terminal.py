"""A terminal that is closed, and descriptors that were closed from the beginning, end no command."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SHORT_CHECK = """
import sys
from dataclasses import replace
from drivelab.__main__ import main
from drivelab.cli import check
whole = check.plan_check

def short(*given, **named):
    plan = whole(*given, **named)
    def cut(step):
        limits = {"runtime": "150ms", "bytes": 2**20, "count": 0, "ramp": "0s", "enough_after": "0s"}
        return replace(step, pattern=step.pattern.changed(**limits))
    return replace(plan, plan=replace(plan.plan, steps=tuple(map(cut, plan.plan.steps))))

check.plan_check = short
sys.exit(main())
"""
EXPERIMENT = """
format = 1
name = "appends"
question = "Does it end?"
repeats = { full = 2, quick = 1 }

[[workloads]]
name = "log"
block_size = "4KiB"
file_state = "append"
durability = "fdatasync"
count = 20
interval = "5ms"
"""
# what a parent closes before it starts us
CLOSED = """
import os, sys
for number in map(int, sys.argv[1].split(",")):
    os.close(number)
os.execv(sys.argv[2], sys.argv[2:])
"""


class Place:
    """Where commands are started, and what they leave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.data = folder / "data"
        self.data.mkdir()
        (folder / "appends.toml").write_text(EXPERIMENT)
        (folder / "short.py").write_text(SHORT_CHECK)
        path = os.pathsep.join(one for one in sys.path if one)
        kept = {"DRIVELAB_RUNS": str(self.runs), "XDG_STATE_HOME": str(folder / "state"), "PYTHONPATH": path}
        self.environment = {**os.environ, **kept}

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(self.folder / "short.py"), *arguments]

    def start(self, command: list[str], **where: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, **where)

    def newest_run(self) -> Path:
        (found,) = self.runs.iterdir()
        return found

    def status(self) -> Any:
        return json.loads((self.newest_run() / "run.json").read_text())["status"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def lose_terminal(place: Place, command: list[str], *, out: Path | None = None) -> int:
    """Start a command on a terminal, close that as soon as the command says something, and wait for its end."""
    master, slave = pty.openpty()
    results = os.open(out, os.O_WRONLY | os.O_CREAT) if out else os.dup(slave)
    process = place.start(command, stdin=slave, stdout=results, stderr=slave)
    os.close(results)
    os.close(slave)
    os.read(master, 1)
    os.close(master)
    return process.wait()


LONG = {
    "run": ["run", "appends.toml", "data"],
    "check": ["check", "data", "--quick"],
    "explain": ["explain", "data", "--quick", "--operation", "write", "--size", "1MiB"],
}
JSON_IO = ["io", "data/file", "--operation", "write", "--size", "1MiB", "--runtime", "500ms", "--json"]


@pytest.mark.parametrize("name", ["run", "check", pytest.param("explain", marks=pytest.mark.needs_root)])
def test_a_closed_terminal_ends_no_measurement(place: Place, name: str) -> None:
    lose_terminal(place, place.command(*LONG[name]))
    assert place.status() == "complete"
    assert (place.newest_run() / "report.html").stat().st_size > 10_000
    assert list(place.data.iterdir()) == []


def test_a_closed_terminal_leaves_the_results_in_a_file_whole(place: Place) -> None:
    out = place.folder / "out.json"
    status = lose_terminal(place, place.command(*JSON_IO), out=out)
    assert status in (0, 4)
    assert json.loads(out.read_text())["operations"]["write"]["count"] > 0


@pytest.mark.parametrize("closed", ["0", "1", "2", "0,1,2"])
def test_closed_descriptors_end_no_run(place: Place, closed: str) -> None:
    begun = [sys.executable, "-c", CLOSED, closed, *place.command(*LONG["run"], "--quick")]
    assert place.start(begun, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait() in (0, 4)
    assert place.status() == "complete"


def test_no_descriptors_at_all_end_no_check(place: Place) -> None:
    begun = [sys.executable, "-c", CLOSED, "0,1,2", *place.command(*LONG["check"])]
    place.start(begun).wait()
    assert place.status() == "complete"
    assert (place.newest_run() / "report.html").stat().st_size > 10_000


def test_closed_descriptors_leave_the_results_in_a_file_whole(place: Place) -> None:
    out = place.folder / "out.json"
    begun = [sys.executable, "-c", CLOSED, "0,2", *place.command(*JSON_IO)]
    with out.open("wb") as file:
        assert place.start(begun, stdout=file).wait() in (0, 4)
    assert json.loads(out.read_text())["operations"]["write"]["count"] > 0


@pytest.mark.parametrize("name", ["report", "compare"])
@pytest.mark.parametrize("closed", ["0,2", "0,1,2"])
def test_closed_descriptors_keep_no_report_from_being_written(place: Place, name: str, closed: str) -> None:
    runs = Path(__file__).parents[1] / "golden" / "runs"
    out = place.folder / "page.html"
    chosen = [runs / run for run in ("ssd-latency-scratch", "write-size-two-drives")[: 2 if name == "compare" else 1]]
    asked = place.command(name, *map(str, chosen), "--format", "html", "--out", str(out))
    begun = [sys.executable, "-c", CLOSED, closed, *asked]
    assert place.start(begun, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait() in (0, 4)
    assert out.stat().st_size > 10_000


def test_a_file_of_data_is_never_what_everybody_prints_to(place: Place) -> None:
    opened = "import os\nfrom drivelab.streams import open_closed_descriptors\nopen_closed_descriptors()\n"
    opened += f"open({str(place.folder / 'first')!r}, 'w').write(str(os.open('.', os.O_RDONLY)))"
    place.start([sys.executable, "-c", CLOSED, "0,1,2", sys.executable, "-c", opened]).wait()
    assert int((place.folder / "first").read_text()) > 2
