"""Reading block traces beside blkparse and btt: the same recording, from the start of a program to its end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from cases import Row, alternate
from peers import Cost
from program_cost import program_cost

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from large_block_trace import write_many

IO_COUNT = 1_000_000
_NAME = "sda"


def block_traces(rounds: int) -> list[Row]:
    """Wall time and peak memory of `drivelab btt` and of blkparse with btt after it.

    Parameters
    ----------
    rounds : int
        Pairs.
    """
    # in memory, so that no disk is measured
    with TemporaryDirectory(dir="/dev/shm", prefix="drivelab-bench-") as directory:
        place = Path(directory)
        write_many(place, _NAME, IO_COUNT)
        rows = []
        for case, options in (("all that drivelab tells", ["--json"]), ("btt's table", ["--compat", "1.2"])):
            ours, theirs = alternate(rounds, lambda options=options: _ours(place, options), lambda: _theirs(place))
            walls = tuple(tuple(cost.mean_ns / 1e9 for cost in costs) for costs in (ours, theirs))
            peaks = tuple(tuple(cost.peak_memory_mib for cost in costs) for costs in (ours, theirs))
            name = f"{IO_COUNT:,} I/Os, {case}"
            rows.append(Row(name, f"wall time (s), {rounds} pairs", *walls, "at most 0.33"))
            rows.append(Row(name, f"peak memory (MiB), {rounds} pairs", *peaks, "ours does not grow"))
        return rows


def _ours(place: Path, options: list[str]) -> Cost:
    words = [str(Path(sys.executable).with_name("drivelab")), "btt", str(place / _NAME), *options]
    return _checked(program_cost(words, into=place / "ours"), place / "ours")


def _theirs(place: Path) -> Cost:
    merged = place / "merged"
    merge = program_cost(["blkparse", "-q", "-O", "-D", str(place), "-i", _NAME, "-d", str(merged)])
    table = _checked(program_cost(["btt", "-i", str(merged)], into=place / "theirs", directory=place), place / "theirs")
    merged.unlink()
    peak = max(merge.peak_memory_mib, table.peak_memory_mib)
    return Cost(
        iops=0, mean_ns=merge.mean_ns + table.mean_ns, user_ns_per_io=0, system_ns_per_io=0, peak_memory_mib=peak
    )


def _checked(cost: Cost, output: Path) -> Cost:
    """The cost of a program that has told of every I/O."""
    text = output.read_text(encoding="utf-8")
    told = json.loads(text)["all"]["Q2C"]["n"] if text.startswith("{") else _rows(text)["Q2C"]
    if told != IO_COUNT:
        raise SystemExit(f"{told} of {IO_COUNT} I/Os were told of: {output}")
    return cost


def _rows(text: str) -> dict[str, int]:
    """N of each row that btt prints."""
    words = [line.split() for line in text.splitlines()]
    return {line[0]: int(line[4]) for line in words if len(line) == 5 and line[4].isdigit()}


def version() -> str:
    """Which blkparse and btt these are."""
    answer = subprocess.run(["blkparse", "-V"], capture_output=True, text=True)
    return (answer.stdout or answer.stderr).strip()
