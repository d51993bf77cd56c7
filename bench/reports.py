"""Reports beside fio-plot: the same recorded I/Os as a page of ours, and as a chart of fio's latency log."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from cases import Row, alternate, random_read
from peers import Cost
from program_cost import Failed, program_cost

from drivelab.analyse.summary import summarise
from drivelab.inventory.target import resolve_target
from drivelab.model.workload import Limits
from drivelab.report.numerals import count_text
from drivelab.run.measure import measure
from drivelab.store.layout import IOS, ios_name
from drivelab.store.record_batches import StoredRecords
from drivelab.store.write import RunWriter

# of the same day, so that the numbers can be had again
FIO_PLOT = ("fio-plot==1.1.21", "matplotlib==3.11.2", "numpy==2.4.6")
FOLDER = Path(__file__).resolve().parent.parent / "target" / "fio-plot"
QUEUE_DEPTH = 32
# so many I/Os, and at most so many pairs: the peer takes minutes for the last
SIZES = ((100_000, 7), (1_000_000, 3), (10_000_000, 1))
PEER_SECONDS_MAX = 900
_TRIAL = "randread"
_LOG = f"randread-iodepth-{QUEUE_DEPTH}-numjobs-1_lat.1.log"
_LOG_COLUMNS = ("issue_ns", "total_latency_ns", "offset_bytes", "size_bytes")


@dataclass(frozen=True)
class Reports:
    """What the case came to: lines of the page, and how the peer failed where it did."""

    rows: list[Row]
    failures: list[str]


class PeerFailed(Exception):
    """fio-plot made no chart."""


def reports(target: str, rounds: int) -> Reports:
    """Wall time and peak memory of `drivelab report` and of fio-plot for the same I/Os.

    Parameters
    ----------
    target : str
        What is read from to have I/Os that happened.
    rounds : int
        Pairs at most.
    """
    program = _installed_fio_plot()
    found = Reports([], [])
    for io_count, most in SIZES:
        with TemporaryDirectory(dir=".", prefix="drivelab-bench-") as directory:
            run, log = Path(directory) / "run", Path(directory) / "log"
            _record(target, run, io_count)
            _write_fio_log(run, log)
            _compare(found, program, run, log, io_count, min(rounds, most))
    return found


def _compare(found: Reports, program: Path, run: Path, log: Path, io_count: int, rounds: int) -> None:
    case = f"{io_count:,} recorded I/Os"
    ours_words = [str(Path(sys.executable).with_name("drivelab")), "report", str(run), "--out", str(log / "ours.html")]
    theirs_words = [str(program), "-i", str(log), "-T", "lat", "-g", "-r", "randread", "-t", "lat"]
    theirs_words += ["-d", str(QUEUE_DEPTH), "-n", "1", "-o", str(log / "theirs.png")]

    def ours_whole() -> Cost:
        cost = program_cost(ours_words)
        if f"{count_text(io_count)} I/Os" not in (log / "ours.html").read_text(encoding="utf-8"):
            raise Failed(f"the page does not tell of all {case}")
        return cost

    def theirs() -> Cost:
        try:
            cost = program_cost(theirs_words, PEER_SECONDS_MAX, bytes_max=_half_of_memory())
        except Failed as failed:
            raise PeerFailed(*failed.args) from failed
        if not (log / "theirs.png").exists():
            raise PeerFailed("it ended without a chart")
        return cost

    try:
        ours, others = alternate(rounds, ours_whole, theirs, warm_up=rounds > 1)
    except PeerFailed as failed:
        cost = ours_whole()
        told = f"ours took {cost.mean_ns / 1e9:.3g} s and {cost.peak_memory_mib:.0f} MiB"
        found.failures.append(f"{case}: fio-plot failed: {failed}; {told}")
        return
    pairs = "one pair" if rounds == 1 else f"{rounds} pairs"
    walls = tuple(tuple(cost.mean_ns / 1e9 for cost in costs) for costs in (ours, others))
    peaks = tuple(tuple(cost.peak_memory_mib for cost in costs) for costs in (ours, others))
    found.rows.append(Row(case, f"wall time (s), {pairs}", *walls, "below 1"))
    found.rows.append(Row(case, f"peak memory (MiB), {pairs}", *peaks, "ours below 400"))


def _record(target: str, directory: Path, io_count: int) -> None:
    """A stored run with one trial of random reads, each of them kept."""
    workload = random_read(target, "uring", QUEUE_DEPTH, 0, record=True)
    workload = workload.model_copy(update={"limits": Limits(count=io_count)})
    directory.mkdir()
    writer = RunWriter(directory)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    writer.write_run_json({"experiment": {"name": "recorded-reads"}, "started_utc": now})
    with writer.record_sink(_TRIAL) as sink:
        measured = measure(_TRIAL, workload, resolve_target(target), on_records=sink, idle_watch_s=0)
    writer.add_trial(measured, summarise(measured))
    writer.finish(finished_utc=now)


def _write_fio_log(run: Path, directory: Path) -> None:
    """The same I/Os as `fio --write_lat_log --log_offset=1` has them: ms, ns, direction, bytes, offset."""
    directory.mkdir()
    records = StoredRecords(run / IOS / ios_name(_TRIAL))
    columns = [pa.field(name, pa.int64()) for name in ("ms", "latency_ns", "direction", "size_bytes", "offset_bytes")]
    options = pa_csv.WriteOptions(include_header=False)
    with pa_csv.CSVWriter(directory / _LOG, pa.schema(columns), write_options=options) as file:
        for rows in _log_rows(records):
            file.write_batch(pa.RecordBatch.from_arrays(rows, schema=pa.schema(columns)))


def _log_rows(records: StoredRecords) -> Iterator[list[pa.Array]]:
    first_ns = None
    for batch in records.batches(_LOG_COLUMNS):
        issued, latency, offset, size = (batch[name].cast(pa.int64()) for name in _LOG_COLUMNS)
        first_ns = pc.min(issued) if first_ns is None else first_ns
        ended_ms = pc.divide(pc.subtract(pc.add(issued, latency), first_ns), 1_000_000)
        direction = pa.array([0]).take(pc.multiply(size, 0))
        yield [ended_ms, latency, direction, size, offset]


def _half_of_memory() -> int:
    """A limit for the peer, so that it fails by itself and takes nothing with it."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _installed_fio_plot() -> Path:
    """The peer in a virtual environment of its own; drivelab does not depend on it."""
    program = FOLDER / "bin" / "fio-plot"
    if not program.exists():
        venv.create(FOLDER, with_pip=True, clear=True)
        subprocess.run([FOLDER / "bin" / "python", "-m", "pip", "install", "--quiet", *FIO_PLOT], check=True)
    return program
