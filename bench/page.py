"""Writes what was measured: rows as a table, with the machine and the peers, and how to read it."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
from pathlib import Path

from cases import Row
from peers import fio_version


def machine(peer: str = "") -> list[str]:
    """What it was measured on, and beside which version of the peer."""
    return [
        f"Machine: {processor()}, {_processors()} processors, Linux {platform.release()}, Python",
        f"{platform.python_version()}; {os.getloadavg()[2]:.0f} programs wanted a processor on average in the last",
        f"quarter of an hour.{f' Peer: {peer}.' if peer else ''}",
    ]


def table(rows: list[Row]) -> list[str]:
    """Rows of the page as a table."""
    lines = ["| case | quantity | drivelab | peer | ratio | target |", "|---|---|---:|---:|---:|---|"]
    for row in rows:
        numbers = f"{row.ours:,.4g} | {row.theirs:,.4g} | {row.ratio_text}"
        lines.append(f"| {row.case} | {row.quantity} | {numbers} | {row.target} |")
    return lines


def engine_page(rows: list[Row], targets: tuple[str, str], options: argparse.Namespace) -> str:
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
        f"Machine: {processor()}, {_processors()} processors, Linux {platform.release()}, Python",
        f"{platform.python_version()}. Peers: {fio_version()}; {_compiler()}. Reads went to {targets[0]},",
        f"synchronous writes to {targets[1]}.",
        "",
        *table(rows),
        "",
        *NOTES,
    ]
    return "\n".join(lines) + "\n\n"


NOTES = (
    "## How to read it",
    "",
    "- *User CPU per I/O* is the processor time of the thread that issues the I/O, from `getrusage`; fio's from",
    "  its own `usr_cpu`. The kernel samples it with its timer tick, so a single run is good to 10 or 20 %.",
    "- Both record the total latency of every I/O; fio keeps means and the quantiles of one kind, drivelab the",
    "  histograms of all. fio times each submission, drivelab those of every 64th call, which sends and waits at",
    "  once. Both use one thread, registered buffers and a registered file with io_uring, and no random map.",
    "- fio submits I/Os one by one unless it is told to batch them; drivelab sends all free slots with one call.",
    "  So there are two comparisons: fio as it comes, and fio with `--iodepth_batch_submit=32",
    "  --iodepth_batch_complete_max=32`.",
    "- *Keeping every I/O* is for the whole process with the writer of the Parquet file, recording minus not",
    "  recording. On the null backend nearly all time is user time, so that row is the sharper one; it counts the",
    "  closing of the file, too. fio's is its latency log with offsets, which it holds in memory until the end.",
    "- The bare loop reads no clock and counts nothing; a ratio of 1 means that measuring cost nothing.",
)


def processor() -> str:
    """Its name, as the kernel has it."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _compiler() -> str:
    done = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]
