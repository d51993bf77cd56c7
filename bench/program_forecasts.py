"""Real programs beside the forecast of `drivelab check`: alternating pairs in one directory."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from real_programs import PROGRAMS as REAL_PROGRAMS
from real_programs import RealProgram, Server

from drivelab.analyse.forecast import commit_rate, rate_bands
from drivelab.model.estimate import Estimate
from drivelab.model.program import MIB, LogWrite, Program, RateBand
from drivelab.model.programs import CLIENT_COUNTS, PROGRAMS
from drivelab.model.workload import TargetRange
from drivelab.plan.program_trials import log_pattern
from drivelab.run.engine import remove_tree, round_trip_ns, run_workload

# whole seconds, because pgbench counts in them
RUN_S = 2
_SEVERAL_RUNS = 3
_SLOW_SYNC_NS = 1e6
_NO_ROOM_LIMIT = 1 << 40
_NEW_BLOCKS = LogWrite("sync-write-4096", 4096, "append", file_bytes=512 * MIB)


@dataclass(frozen=True)
class Several:
    """What more clients reached, and the band that was forecast for them."""

    band: RateBand
    real: float

    @property
    def is_within(self) -> bool:
        """Whether it lies in the band."""
        return self.band.low <= self.real <= self.band.high


@dataclass(frozen=True)
class Forecasted:
    """One program: rates pair by pair, and what several clients came to."""

    program: Program
    version: str
    latencies_ns: tuple[float, ...]
    round_trip_ns: float
    forecasts: tuple[float, ...]
    reals: tuple[float, ...]
    several: tuple[Several, ...]

    @property
    def ratio(self) -> float:
        """Forecast over real rate, of the medians."""
        return statistics.median(self.forecasts) / statistics.median(self.reals)

    @property
    def range(self) -> tuple[float, float]:
        """Forecast for the slowest and the quickest computer that the program was tried on, of the latencies seen."""
        ns, low_ns, high_ns = statistics.median(self.latencies_ns), min(self.latencies_ns), max(self.latencies_ns)
        rate = commit_rate(self.program, replace(_estimate(ns), low=low_ns, high=high_ns))
        return rate.low or 0.0, rate.high or 0.0

    @property
    def is_in_range(self) -> bool:
        """Whether the real rate lies in it."""
        low, high = self.range
        return low <= statistics.median(self.reals) <= high

    @property
    def allowed(self) -> float:
        """How far the ratio may be from 1: less where a sync takes 1 ms or longer."""
        return 0.10 if statistics.median(self.latencies_ns) / self.program.write.sync_count >= _SLOW_SYNC_NS else 0.15

    @property
    def is_met(self) -> bool:
        """Whether the forecast is as good as it has to be, on a computer like that of the own times."""
        return abs(self.ratio - 1) <= self.allowed


def forecasts(rounds: int, directory: Path) -> Iterator[Forecasted | str]:
    """Each program with its forecast as soon as it is measured, or why it was left out."""
    for real in REAL_PROGRAMS:
        reason = real.missing()
        if reason:
            yield f"{PROGRAMS[real.need].title}: left out, {reason}"
            continue
        try:
            yield _forecasted(real, rounds, directory)
        except (RuntimeError, OSError) as error:
            yield f"{PROGRAMS[real.need].title}: left out, {error}"


def log_latency_ns(program: Program, directory: Path, seconds: float) -> float:
    """Time of the log writes of one commit: drivelab's own measurement of them, as in a check."""
    pattern = log_pattern(program, _NO_ROOM_LIMIT, runtime=f"{round(seconds * 1e9)}ns", ramp="100ms")
    place = directory if pattern.uses_tree else directory / program.write.trial
    of_file = TargetRange(path=str(place), size_bytes=pattern.file_size, create=True)
    timed = pattern.on(TargetRange(path=str(place)) if pattern.uses_tree else of_file, seed=1)
    try:
        return run_workload(timed).histograms["update" if pattern.uses_tree else "durable_write", "total"].mean_ns
    finally:
        if pattern.uses_tree:
            remove_tree(str(directory))
        else:
            place.unlink(missing_ok=True)


@contextmanager
def own_directory(parent: Path) -> Iterator[Path]:
    """A new directory that a program of another user can reach; it is removed with all that is in it."""
    directory = Path(tempfile.mkdtemp(prefix="drivelab-bench-", dir=parent))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def table(rows: list[Forecasted]) -> list[str]:
    """The programs as a table of Markdown."""
    several = " | ".join(f"{count} clients | band" for count in CLIENT_COUNTS)
    single = "log writes (us) | round trip (us) | commits a second | forecast | its range | ratio (pairs) | allowed"
    head = f"| program | {single} | {several} |"
    lines = [head, "|---|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|"]
    for row in rows:
        ratios = [mine / its for mine, its in zip(row.forecasts, row.reals, strict=True)]
        cells = [
            f"{row.program.title} {row.program.version}",
            f"{statistics.median(row.latencies_ns) / 1000:,.0f}",
            f"{row.round_trip_ns / 1000:.1f}",
            f"{statistics.median(row.reals):,.0f}",
            f"{statistics.median(row.forecasts):,.0f}",
            f"{row.range[0]:,.0f} to {row.range[1]:,.0f}{'' if row.is_in_range else ': missed'}",
            f"{row.ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            f"{1 - row.allowed:.2f} to {1 + row.allowed:.2f}"
            + ("" if abs(row.ratio - 1) <= row.allowed else ": missed"),
        ]
        for one in row.several:
            missed = "" if one.is_within else ": missed"
            cells += [f"{one.real:,.0f}", f"{one.band.low:,.0f} to {one.band.high:,.0f}{missed}"]
        cells += ["", ""] * (len(CLIENT_COUNTS) - len(row.several))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _forecasted(real: RealProgram, rounds: int, parent: Path) -> Forecasted:
    program = PROGRAMS[real.need]
    latencies, trips, rates = [], [], []
    with own_directory(parent) as directory, real.start(directory) as server:
        server.commits_per_s(1, RUN_S)
        for number in range(rounds):
            if number % 2:
                rates.append(server.commits_per_s(1, RUN_S))
            trips.append(_round_trip_ns(directory))
            latencies.append(log_latency_ns(program, directory, RUN_S))
            if not number % 2:
                rates.append(server.commits_per_s(1, RUN_S))
        latency = _estimate(statistics.median(latencies))
        new_block = log_latency_ns(replace(program, write=_NEW_BLOCKS), directory, RUN_S)
        several = _several(server, rate_bands(program, latency, _estimate(new_block)))
    pairs = zip(trips, latencies, strict=True)
    each = tuple(commit_rate(program.on_computer(trip), _estimate(one)).value or 0.0 for trip, one in pairs)
    middle_ns = statistics.median(trips)
    here = program.on_computer(middle_ns)
    return Forecasted(here, real.version(), tuple(latencies), middle_ns, each, tuple(rates), several)


def _round_trip_ns(directory: Path) -> float:
    """What a client and a server take here, as a check measures it."""
    log = directory / "round-trips"
    log.touch()
    try:
        return round_trip_ns(str(log))
    finally:
        log.unlink()


def _several(server: Server, bands: tuple[RateBand, ...]) -> tuple[Several, ...]:
    found = []
    for band in bands:
        reals = [server.commits_per_s(band.client_count, RUN_S / 2) for _ in range(_SEVERAL_RUNS)]
        found.append(Several(band, statistics.median(reals)))
    return tuple(found)


def _estimate(latency_ns: float) -> Estimate:
    return Estimate(latency_ns, None, None, "ns", 0, 0.0, "")
