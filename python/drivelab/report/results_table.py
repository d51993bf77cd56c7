"""The one table: a row per trial, every number with its interval, and marks that lead to what limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.metric import DEVICE_BYTES, FLUSHES, FUA_WRITES, PER_OPERATION, REACHED, WRITES, metric_of
from drivelab.model.run_answer import REACHED_WHOLE
from drivelab.report.content import TrialContent
from drivelab.report.numerals import (
    THIN_SPACE,
    DisplayUnit,
    column_unit,
    count_text,
    number_text,
    shown_number,
)
from drivelab.report.reported_findings import ReportedFinding

_LATENCIES = ("p50", "p99", "p999")


@dataclass(frozen=True, slots=True)
class Header:
    """Head of a column: its band (``latency``), its name, and the unit of everything below it."""

    key: str
    band: str
    name: str
    unit: str

    @property
    def full(self) -> str:
        """Name and unit, for the narrow page and for screen readers."""
        words = f"{self.name} per operation" if self.band == PER_OPERATION else f"{self.band} {self.name}".strip()
        return f"{words} [{self.unit}]" if self.unit else words


@dataclass(frozen=True, slots=True)
class NumberCell:
    """A number, its interval, how it came about, and the findings that touch it (numbers from 1)."""

    value: str
    interval: str = ""
    note: str = ""
    marks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One trial: its cells in the order of the headers, and the findings that touch it as a whole."""

    trial: TrialContent
    cells: tuple[NumberCell, ...]
    marks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ResultsTable:
    """Headers, and rows by kind of trial; a trial that mixes operations has a row for each."""

    headers: tuple[Header, ...]
    groups: tuple[tuple[str, tuple[Row, ...]], ...]

    @property
    def bands(self) -> list[tuple[str, int]]:
        """The bands of neighbouring columns, each with the number of its columns."""
        return bands_of(self.headers)


def bands_of(headers: Sequence[Header]) -> list[tuple[str, int]]:
    """The bands of neighbouring columns, each with the number of its columns."""
    bands: list[tuple[str, int]] = []
    for header in headers:
        if bands and bands[-1][0] == header.band and header.band:
            bands[-1] = (header.band, bands[-1][1] + 1)
        else:
            bands.append((header.band, 1))
    return bands


def results_table(trials: Sequence[TrialContent], findings: Sequence[ReportedFinding]) -> ResultsTable:
    """The table of all trials' numbers.

    Parameters
    ----------
    trials : sequence of TrialContent
        Those of a kind together.
    findings : sequence of ReportedFinding
        Each marks the numbers that it touches, or the trial's name when it is
        about the whole trial or about a number that is not shown.
    """
    shown = [part for trial in trials for part in trial.parts]
    units = _units(shown)
    headers = _headers(shown, units)
    groups: dict[str, list[Row]] = {}
    for trial in shown:
        groups.setdefault(trial.group, []).append(_row(trial, headers, units, findings))
    return ResultsTable(headers, tuple((name, tuple(rows)) for name, rows in groups.items()))


def header_of(metric: str, units: Mapping[str, DisplayUnit]) -> Header:
    """The head of a metric's column."""
    of = metric_of(metric)
    return Header(metric, of.band, of.head, "%" if of.is_share else units[of.unit].name)


def _units(trials: Sequence[TrialContent]) -> Mapping[str, DisplayUnit]:
    def known(*metrics: str) -> list[float | None]:
        return [shown_number(e) for trial in trials for metric in metrics if (e := trial.estimate(metric))]

    latencies, bytes_each = known(*_LATENCIES), known(DEVICE_BYTES)
    if not any(latencies):
        latencies = [trial.histogram.maximum_ns for trial in trials if trial.histogram.total_count]
    return {
        "ns": column_unit(latencies, "ns"),
        "B": DisplayUnit("KiB", 2**10) if any(bytes_each) else column_unit(bytes_each, "B"),
        "B/s": column_unit(known(THROUGHPUT), "B/s"),
        "1/s": DisplayUnit("1/s", 1),
        "1": DisplayUnit("", 1),
    }


def _headers(trials: Sequence[TrialContent], units: Mapping[str, DisplayUnit]) -> tuple[Header, ...]:
    rates = [RATE, THROUGHPUT]
    if any(_is_partly_memory(trial.estimate(REACHED)) for trial in trials):
        rates.append(REACHED)
    headers = [Header("count", "", "I/Os", "")]
    headers += [header_of(metric, units) for metric in (*rates, *_LATENCIES, "max")]
    for metric in (WRITES, FUA_WRITES, FLUSHES, DEVICE_BYTES):
        found = [e for trial in trials if trial.is_durable and (e := trial.estimate(metric))]
        if any(e.value or e.high for e in found) if metric == FUA_WRITES else found:
            headers.append(header_of(metric, units))
    return tuple(headers)


def _is_partly_memory(reached: Estimate | None) -> bool:
    return reached is not None and reached.value is not None and reached.value < REACHED_WHOLE


def _row(
    trial: TrialContent,
    headers: Sequence[Header],
    units: Mapping[str, DisplayUnit],
    findings: Sequence[ReportedFinding],
) -> Row:
    touching = [finding for finding in findings if trial.name in finding.trials]
    placed: set[int] = set()
    cells = []
    for header in headers:
        marks = tuple(finding.number for finding in touching if header.key in finding.metrics[trial.name])
        if header.band == "latency" and not trial.is_main:
            marks = ()
        cell = _cell(trial, header, units, marks)
        # a mark without a number beside it would be lost
        placed |= set(marks) if cell.value else set()
        cells.append(cell)
    return Row(trial, tuple(cells), tuple(finding.number for finding in touching if finding.number not in placed))


def _cell(trial: TrialContent, header: Header, units: Mapping[str, DisplayUnit], marks: tuple[int, ...]) -> NumberCell:
    if not trial.histogram.total_count and header.key in ("count", "max") and trial.part_of:
        return NumberCell("", marks=marks)
    if header.key == "count":
        # of several operations on files no latencies are told, but how many there were
        count = trial.histogram.total_count or int(trial.row.get("operation_count") or 0)
        return NumberCell(count_text(count), marks=marks)
    if header.key == "max":
        if not trial.histogram.total_count:
            return NumberCell("–", marks=marks)
        value = number_text(trial.histogram.maximum_ns / units["ns"].scale)
        return NumberCell(value, note="the slowest I/O, exact", marks=marks)
    estimate = trial.estimate(header.key)
    if estimate is None or (header.band == PER_OPERATION and not trial.is_durable):
        return NumberCell("")
    if header.key == REACHED:
        most = estimate.high if estimate.value is None else estimate.value
        sign = "≤" + THIN_SPACE if estimate.value is None else ""
        return NumberCell("–" if most is None else f"{sign}{number_text(100 * most)}", "", _note(estimate), marks)
    note = _note(estimate)
    if trial.lasting(header.key):
        note = f"what lasted, and what a cache or a burst gave at first; the mean of both was measured by {note}"
    value, interval = trial.numbers(header.key, units[estimate.unit])
    return NumberCell(value or "–", interval, note, marks)


def _note(estimate: Estimate) -> str:
    """How the number came about, for whoever asks by pointing at it."""
    count = f"{count_text(estimate.sample_count)} observations"
    if 0 < estimate.effective_sample_count < 0.99 * estimate.sample_count:
        count += f", worth {count_text(estimate.effective_sample_count)} independent ones"
    return f"{count}; {estimate.method}" if estimate.method else count
