"""Measures drivelab itself beside its peers, and writes docs/performance.md.

`make bench` runs it; `--rounds` and `--seconds` shorten it, and `--only` leaves
the other parts of the page as they are. Peers come from the system's packages (fio, blktrace),
are compiled here (a bare loop in C), or are installed into target/ (fio-plot).
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from pathlib import Path

# before numpy is imported, as the program itself does
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from block_traces import IO_COUNT, block_traces, version
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
from depths import RUN_S as DEPTHS_RUN_S
from depths import depths
from file_operations import FILES_KI, bonnie_version, file_operations
from fio_agreement import LATENCY_MS, OF_DRIVE, OF_FILES, RUNTIME_MS, Agreement, agreement, table_of
from page import engine_page, machine, processor, table
from peers import fio_version
from program_forecasts import RUN_S, Forecasted, forecasts
from program_forecasts import table as forecast_table
from replays import RATE_PER_S, replays
from reports import FIO_PLOT, PEER_SECONDS_MAX, Reports, reports
from target import read_target, slow_directory, write_directory
from tracing import TracingCost, can_trace, tracing

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
# how much shorter, and how many more, the runs are that are traced
TRACING_SHORTER = 10
# programs are held against their forecasts on a drive whose flush takes so long, too
SLOW_FLUSH_MS = 3
AGREEMENT = "## The same job files by drivelab and by fio\n"
DEPTHS = "## Queue depths, jobs and file systems\n"
FILES = "## Operations on files\n"
FORECASTS = "## Programs beside their forecasts\n"
# heads each machine's table of programs
MACHINE = "### On a machine with "
REPORTS, BLOCK_TRACES, TRACING = "## Reports\n", "## Block traces\n", "## Tracing\n"
REPLAYS = "## A recorded load issued again\n"
# in the order of the page; the first has no heading of its own
PARTS = {
    "engine": "",
    "depths": DEPTHS,
    "job-files": AGREEMENT,
    "files": FILES,
    "reports": REPORTS,
    "btt": BLOCK_TRACES,
    "tracing": TRACING,
    "replays": REPLAYS,
    "programs": FORECASTS,
}


def main() -> int:
    """Run every case and write the page."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="alternating pairs of each case (default 7)")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one timed run (default 4)")
    parser.add_argument("--page", type=Path, default=PAGE, help="page to write (default docs/performance.md)")
    parser.add_argument("--only", choices=tuple(PARTS), help="measure one part, and keep the others")
    parser.add_argument(
        "--directory",
        type=Path,
        default=Path("/var/tmp"),
        help="where real programs keep their data (/var/tmp)",
    )
    options = parser.parse_args()
    for tool, package in (("fio", "fio"), ("cc", "gcc"), ("btt", "blktrace")):
        if options.only != "programs" and shutil.which(tool) is None:
            print(f"{tool} is missing: install it with: sudo apt-get install {package}", file=sys.stderr)
            return 2
    known = known_parts(options.page.read_text(encoding="utf-8") if options.page.exists() else "")
    for name in [options.only] if options.only else PARTS:
        if name == "job-files" and platform.machine() != "x86_64":
            print("job files are not compared: the guest runs the programs of an x86-64", file=sys.stderr)
            continue
        if name == "files" and (os.geteuid() != 0 or shutil.which("bonnie++") is None):
            print("files are not compared: that needs root and bonnie++ (apt install bonnie++)", file=sys.stderr)
            continue
        if name == "depths" and os.geteuid() != 0:
            print("queue depths are not compared: loop devices need root", file=sys.stderr)
            continue
        if name == "replays" and os.geteuid() != 0:
            print("replays are not compared: their real-time priority needs root", file=sys.stderr)
            continue
        if name == "tracing" and not can_trace():
            print("the cost of tracing is not measured: that needs root", file=sys.stderr)
            continue
        known[name] = measured_part(name, options, known.get(name, ""))
    texts = [known[name].strip() for name in PARTS if name in known]
    options.page.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    print(f"wrote {options.page}")
    return 0


def known_parts(text: str) -> dict[str, str]:
    """The parts of a page that was written before, each with its heading."""
    found = {}
    for name, heading in reversed(PARTS.items()):
        text, line, rest = text.partition(heading) if heading else ("", "", text)
        if rest:
            found[name] = line + rest
    return found


def measured_part(name: str, options: argparse.Namespace, known: str) -> str:
    """One part of the page, measured now; of what was known only other machines' tables of programs are kept."""
    if name == "engine":
        return engine_part(options)
    if name == "depths":
        return depths_part(depths(options.rounds), options)
    if name == "job-files":
        return agreement_part(agreement())
    if name == "files":
        return files_part(file_operations(options.rounds), options)
    if name == "programs":
        return forecasts_part(options, known)
    if name == "replays":
        return replays_part(replays(options.rounds, options.seconds), options)
    if name == "btt":
        return block_traces_part(block_traces(options.rounds))
    if name == "tracing":
        with read_target() as (path, target):
            # short runs, many of them: on a busy machine neighbours in time are alike
            rounds, seconds = TRACING_SHORTER * options.rounds, options.seconds / TRACING_SHORTER
            return tracing_part(tracing(path, rounds, seconds), target, f"{rounds} pairs of {seconds:g} s")
    with read_target() as (path, target):
        return reports_part(reports(path, options.rounds), target)


def engine_part(options: argparse.Namespace) -> str:
    """Measure all but the reports, and tell of it."""
    rows: list[Row] = [engine_alone(options.rounds, options.seconds), recording_alone(options.rounds)]
    with read_target() as (path, target):
        rows += against_fio(path, options.rounds, options.seconds)
        rows += recording(path, options.rounds, options.seconds)
    with write_directory() as (directory, write_target):
        rows += against_bare_loop(directory, 5 * options.rounds, round(1000 * options.seconds))
    rows += [start_up(options.rounds), check_memory()]
    return engine_page(rows, (target, write_target), options)


def depths_part(rows: list[Row], options: argparse.Namespace) -> str:
    """Rates by queue depth, jobs and target."""
    lines = [
        DEPTHS,
        'Written by `make bench`, or alone by `make bench ARGS="--only depths"`, as root. 4 KiB random reads with',
        "O_DIRECT and io_uring, registered buffers and files, of a file on tmpfs, of a loop device over memory and of",
        "a file on an ext4 on one; two jobs read the same target. fio runs as it comes, without batches.",
        f"Numbers are medians of {options.rounds} pairs of {DEPTHS_RUN_S:g} s; the ratio is that of the pairs, ours",
        "over theirs, with the smallest and the largest.",
        "",
        *machine(fio_version()),
        "",
        *table(rows),
        "",
        "The kernel hands every read of tmpfs to a thread of its own (io-wq), so the rate there is that of two threads",
        "that wake each other, and the one place where fio is ahead with several I/Os in flight: it sends one with a",
        "call, and meanwhile some have ended; drivelab sends all in one call and sleeps in it. Sending first and",
        "waiting by a second call was no quicker in quiet pairs (0.83 to 1.06), and costs a call everywhere else.",
    ]
    return "\n".join(lines) + "\n"


def agreement_part(rows: list[Agreement]) -> str:
    """Job files run by both."""
    lines = [
        AGREEMENT,
        'Written by `make bench`, or alone by `make bench ARGS="--only job-files"`. Each of',
        f"{len(OF_DRIVE) + len(OF_FILES)} job files was run by `drivelab fio`, by {fio_version()}, and by it once",
        f"more, for {RUNTIME_MS / 1000:g} s each, in a guest whose clock counts instructions, a nanosecond each: what",
        "a program finds there does not depend on what else this machine does. Drives are null_blk's, in",
        f"memory, and take {LATENCY_MS} ms; files lie on ext4. The mean latency is fio's `lat`: from the submission of",
        "an I/O to its completion, without the sync call after it. Where chance decides what is issued (shares,",
        "sizes, Poisson arrivals) fio is not beside itself either.",
        "",
        *table_of(rows),
        "",
        "On a real drive both programs meet the noise of the machine: of 27 rows on a loop device over a file, medians",
        "of 7 alternating rounds of 1 s, fio was within 5 % of itself in 15. Where nothing but the processor limits,",
        "drivelab is faster: in that guest by 13 % at 32 outstanding reads of a drive of 0.1 ms.",
    ]
    return "\n".join(lines) + "\n"


def files_part(rows: list[Row], options: argparse.Namespace) -> str:
    """Operations on files beside Bonnie++."""
    lines = [
        FILES,
        'Written by `make bench`, or alone by `make bench ARGS="--only files"`, as root. drivelab and',
        f"`bonnie++ -s 0 -n {FILES_KI}` created, looked up and deleted {1024 * FILES_KI:,} empty files in one",
        "directory of an ext4 on a loop device over memory, in turn. Names are alike, and each phase that changes",
        "something ends with a sync of the file system, which its time includes. Of a phase that took it less than",
        "half a second Bonnie++ tells nothing. Processor time is that of the thread that makes the calls, the kernel's",
        "part included.",
        f"Numbers are medians of {options.rounds} pairs; the ratio is that of the pairs, ours over theirs, with the",
        "smallest and the largest.",
        "",
        *machine(bonnie_version()),
        "",
        *table(rows),
    ]
    return "\n".join(lines) + "\n"


def reports_part(found: Reports, target: str) -> str:
    """Reports beside fio-plot."""
    lines = [
        REPORTS,
        'Written by `make bench`, or alone by `make bench ARGS="--only reports"`. A trial of 4 KiB random reads at',
        f"queue depth 32 on {target} was stored with every I/O, and written once more",
        "as fio's latency log. Then `drivelab report` made its page of it, and `fio-plot -g -t lat` its chart of the",
        "log, in turn. The page has all figures, tables and their CSVs; the chart is one picture. Both are timed from",
        "the start of the program to its end.",
        "Numbers are medians; the ratio is that of the pairs, ours over theirs, with the smallest and the largest.",
        f"A chart that is not there after {PEER_SECONDS_MAX} s counts as failed, as does one that takes more than half",
        "of the machine's memory.",
        "",
        *machine(", ".join(FIO_PLOT)),
        "",
        *table(found.rows),
        "",
        *(f"- {text}" for text in found.failures),
    ]
    return "\n".join(lines).rstrip() + "\n"


def block_traces_part(rows: list[Row]) -> str:
    """Block traces beside blkparse and btt."""
    lines = [
        BLOCK_TRACES,
        'Written by `make bench`, or alone by `make bench ARGS="--only btt"`. A made-up recording of',
        f"{IO_COUNT:,} reads with six records each, in the files of two CPUs in memory, was read by `drivelab btt`",
        "and by `blkparse -q -O -d` with `btt` after it, in turn; each is timed from the start of the program to its",
        "end, and has to tell of every I/O. Numbers are medians; the ratio is that of the pairs, ours over theirs,",
        "with the smallest and the largest. The peer's memory is that of the hungrier of its two programs.",
        "",
        *machine(version()),
        "",
        *table(rows),
    ]
    return "\n".join(lines) + "\n"


def tracing_part(found: TracingCost, target: str, pairs: str) -> str:
    """The cost of taking a trace."""
    lines = [
        TRACING,
        'Written by `make bench`, or alone by `make bench ARGS="--only tracing"`, as root. The same reads were issued',
        f"to {target} with a trace of it and without one, in turn; the column *drivelab* is",
        "with the trace, *peer* without. Making the events costs the thread that issues the I/O processor time, and",
        "the thread that empties the kernel's buffers needs some, too. Where nothing is idle (other programs, or a",
        "loop device's own threads at queue depth 32), the rate falls by as much as the processor time grows. Numbers",
        f"are medians of {pairs}; the ratio is that of the pairs, with the smallest and the largest.",
        "",
        *machine(),
        "",
        *table(found.rows),
        "",
        *(f"- {text}" for text in found.notes),
    ]
    return "\n".join(lines) + "\n"


def replays_part(rows: list[Row], options: argparse.Namespace) -> str:
    """The same iolog issued again by both."""
    lines = [
        REPLAYS,
        'Written by `make bench`, or alone by `make bench ARGS="--only replays"`, as root. An iolog of reads at random',
        f"moments, {RATE_PER_S:,} a second, was issued again by `drivelab replay` and by `fio --read_iolog`, in turn,",
        "to a file in memory, which keeps up with it. A library that both are loaded with notes when each read began;",
        "that is compared with the recording, and the read that was least late counts as in time. Both run with",
        "real-time priority, so that other programs have the processors only when neither wants them.",
        f"Numbers are medians of {options.rounds} pairs of {options.seconds:g} s; the ratio is that of the pairs, ours",
        "over theirs, with the smallest and the largest.",
        "",
        *machine(fio_version()),
        "",
        *table(rows),
    ]
    return "\n".join(lines) + "\n"


def forecasts_part(options: argparse.Namespace, known: str) -> str:
    """Real programs beside what a check tells of them, on this machine and on others that were tried before."""
    _, *tables = known.split(MACHINE)
    others = [text for text in tables if not text.startswith(f"{processor()}\n")]
    lines = [
        FORECASTS,
        'Written by `make bench`, or alone by `make bench ARGS="--only programs"`. Each program of',
        "[needs](needs.md#how-often-a-program-would-commit) kept its data in one directory; its clients committed, and",
        f"drivelab issued its log writes there and made a forecast of them, in turn: {options.rounds} pairs of",
        f"{RUN_S} s, each first every other time. Numbers are medians; the ratio is that of the medians, forecast over",
        "real, with the smallest and the largest of a pair. Allowed are 15 %, or 10 % where a sync takes 1 ms or more.",
        "A program's own time is a multiple of the round trip that is measured beside it; tables without that column",
        "are of earlier versions, which took it from one computer, the first EPYC: elsewhere only their range holds.",
        "",
        *(f"{MACHINE}{text.rstrip()}\n" for text in others),
        f"{MACHINE}{processor()}\n",
        *machine(),
        "",
        *_forecast_lines(list(forecasts(options.rounds, options.directory))),
        *_slow_lines(options.rounds),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _forecast_lines(found: list[Forecasted | str]) -> list[str]:
    left_out = [f"- {text}" for text in found if isinstance(text, str)]
    return [*forecast_table([one for one in found if isinstance(one, Forecasted)]), "", *left_out]


def _slow_lines(rounds: int) -> list[str]:
    """The same on a drive with slow flushes."""
    lead = f"The same on ext4 on a drive that the tests make, whose flush takes {SLOW_FLUSH_MS} ms"
    if os.geteuid() != 0 or shutil.which("qemu-storage-daemon") is None:
        return ["", f"{lead}: not measured, since that needs root and qemu-storage-daemon.", ""]
    with slow_directory(SLOW_FLUSH_MS) as directory:
        return ["", f"{lead}:", "", *_forecast_lines(list(forecasts(rounds, directory)))]


if __name__ == "__main__":
    sys.exit(main())
