"""Measures drivelab itself beside its peers, and writes docs/performance.md.

`make bench` runs it; `--rounds` and `--seconds` shorten it. Peers come from the
system's packages (fio) or are compiled here (a bare loop in C).
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

# before numpy is imported, as the program itself does
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from cases import (
    Row,
    against_bare_loop,
    against_fio,
    check_memory,
    engine_alone,
    recording,
    recording_alone,
    start_up,
)
from peers import fio_version
from target import read_target, write_directory

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"


def main() -> int:
    """Run every case and write the page."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="alternating pairs of each case (default 7)")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one timed run (default 4)")
    parser.add_argument("--page", type=Path, default=PAGE, help="page to write (default docs/performance.md)")
    options = parser.parse_args()
    for tool, package in (("fio", "fio"), ("cc", "gcc")):
        if shutil.which(tool) is None:
            print(f"{tool} is missing: install it with: sudo apt-get install {package}", file=sys.stderr)
            return 2
    rows: list[Row] = [engine_alone(options.rounds, options.seconds), recording_alone(options.rounds)]
    with read_target() as (path, target):
        rows += against_fio(path, options.rounds, options.seconds)
        rows += recording(path, options.rounds, options.seconds)
    with write_directory() as (directory, write_target):
        rows += against_bare_loop(directory, 5 * options.rounds, round(1000 * options.seconds))
    rows += [start_up(options.rounds), check_memory()]
    options.page.write_text(page(rows, (target, write_target), options), encoding="utf-8")
    print(f"wrote {options.page}")
    return 0


def page(rows: list[Row], targets: tuple[str, str], options: argparse.Namespace) -> str:
    """The page as Markdown."""
    lines = [
        "# What drivelab itself costs",
        "",
        "Written by `make bench`. Ours and theirs ran in turn on the same target with the same settings, each",
        f"beginning every other time. Each number is the median of {options.rounds} runs of {options.seconds:g} s",
        "(small writes: of five times as many, shorter ones). The ratio is the median of the ratios of the pairs,",
        "ours over theirs, with the smallest and the largest in brackets. Machines differ and are noisy: read the",
        "ratios, and how far they spread.",
        "",
        f"Machine: {_processor()}, {_processors()} processors, Linux {platform.release()}, Python",
        f"{platform.python_version()}. Peers: {fio_version()}; {_compiler()}. Reads went to {targets[0]},",
        f"synchronous writes to {targets[1]}.",
        "",
        "| case | quantity | drivelab | peer | ratio | target |",
        "|---|---|---:|---:|---:|---|",
    ]
    for row in rows:
        ratio = f"{row.ratio:.3g} ({row.lowest_ratio:.2g} to {row.highest_ratio:.2g})"
        numbers = f"{row.ours:,.4g} | {row.theirs:,.4g} | {ratio}"
        lines.append(f"| {row.case} | {row.quantity} | {numbers} | {row.target} |")
    lines += ["", *NOTES, ""]
    return "\n".join(lines)


NOTES = (
    "## How to read it",
    "",
    "- *User CPU per I/O* is the processor time of the thread that issues the I/O, from `getrusage`; fio's from",
    "  its own `usr_cpu`. The kernel samples it with its timer tick, so a single run is good to 10 or 20 %.",
    "- Both record submission, completion and total latency of every I/O; fio keeps means and the quantiles of",
    "  one of them, drivelab keeps the histograms of all three. Both use one thread, registered buffers and a",
    "  registered file with io_uring, and no random map.",
    "- fio submits I/Os one by one unless it is told to batch them; drivelab sends all free slots with one call.",
    "  So there are two comparisons: fio as it comes, and fio with `--iodepth_batch_submit=32",
    "  --iodepth_batch_complete_max=32`.",
    "- *Keeping every I/O* is for the whole process with the writer of the Parquet file, recording minus not",
    "  recording. On the null backend nearly all time is user time, so that row is the sharper one; it counts the",
    "  closing of the file, too. fio's is its latency log with offsets, which it holds in memory until the end.",
    "- The bare loop reads no clock and counts nothing; a ratio of 1 means that measuring cost nothing.",
)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _compiler() -> str:
    done = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
