"""Results of jobs as they come: those so far, for ``--status-interval``, and those of jobs that failed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drivelab import __version__
from drivelab.analyse.interval_series import histograms_of_intervals
from drivelab.interop.fio.export import asked_of_job, jobs_of
from drivelab.interop.fio.exported_job import asked_result, document_of, job_result, with_shares
from drivelab.interop.fio.options import BY_NAME
from drivelab.interop.fio.sizes import Amount, ValueMistake
from drivelab.interop.fio.translated import TranslatedJob
from drivelab.interop.fio.values import parse_value
from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.model.target import TargetFacts
from drivelab.model.workload import OPERATIONS, Workload
from drivelab.run.engine import Looks
from drivelab.run.execute import Instruments
from drivelab.run.measure_together import measure_together
from drivelab.run.together import Member


def interval_ns(text: str) -> int:
    """The time between two looks, of which fio reads a bare number as seconds."""
    try:
        value, _ = parse_value(BY_NAME["runtime"], text)
    except ValueMistake as mistake:
        raise DrivelabError("U006", f"--status-interval={text}: {mistake}", do="write seconds: 10") from mistake
    if not isinstance(value, Amount) or not value.value:
        raise DrivelabError("U006", f"--status-interval={text} is no time", do="write seconds: 10")
    return value.value * 1000


class Status:
    """The results so far of the jobs of one run.

    Parameters
    ----------
    every_ns : int
        Time of a job's measured window between two of its looks; 0: nobody looks.
    jobs : mapping of str to TranslatedJob
        The jobs, by the name of their trial.
    write : callable
        Takes each document, as fio's JSON has it.
    """

    def __init__(
        self, every_ns: int, jobs: Mapping[str, TranslatedJob], write: Callable[[dict[str, Any]], None]
    ) -> None:
        self._every_ns = every_ns
        self._jobs = jobs
        self._write = write
        self._found: dict[str, Measurement] = {}
        # those that run at the same time, and those of them that have looked since the last document
        self._running: set[str] = set()
        # how often each of them is still going to look, at most
        self._left: dict[str, int] = {}
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def watching(self, instruments: Instruments) -> Instruments:
        """Instruments that show what they measure."""

        def measured(name: str, workload: Workload, target: TargetFacts, **more: Any) -> Measurement:
            self._begin([name])
            found = instruments.measure(name, workload, target, looks=self._looks(name, workload), **more)
            self._found[name] = found
            return found

        def measured_together(members: Sequence[Member], **more: Any) -> Sequence[Measurement | DrivelabError]:
            self._begin([member.name for member in members])
            watched = [replace(member, looks=self._looks(member.name, member.workload)) for member in members]
            found = (instruments.measure_together or measure_together)(watched, **more)
            self._found |= {each.name: each for each in found if isinstance(each, Measurement)}
            return found

        return replace(instruments, measure=measured, measure_together=measured_together)

    def with_unfinished(self, document: dict[str, Any], finished: Collection[str]) -> dict[str, Any]:
        """A document with the jobs that were ended, or failed at I/O, too: what they had done until then."""
        trials = [name for name in self._jobs if name in self._found and name not in finished]
        order = [(job.name, job.reporting_group) for job in self._jobs.values()]
        results = [*document["jobs"], *(result for name in trials for result in self._results(name))]
        results.sort(key=lambda result: order.index((result["jobname"], result["groupid"])))
        return document | {"jobs": with_shares(results)}

    def _begin(self, names: Sequence[str]) -> None:
        self._running, self._seen = set(names), set()

    def _looks(self, name: str, workload: Workload) -> Looks | None:
        if not self._every_ns:
            return None
        looks = Looks(self._every_ns, lambda rows, counted_ns: self._look(name, workload, rows, counted_ns))
        self._left[name] = len(looks.moments_ns(workload))
        return looks

    def _look(self, name: str, workload: Workload, rows: pa.Table, counted_ns: int) -> None:
        """Keep how one job stands; the document comes when all that still run have looked."""
        with self._lock:
            if name in self._seen:
                # a whole interval has passed: those that have not looked have ended
                self._running = set(self._seen)
            self._found[name] = _so_far(name, workload, rows, counted_ns)
            self._seen.add(name)
            self._left[name] -= 1
            if all(one in self._seen or not self._left[one] for one in self._running):
                self._show()

    def _show(self) -> None:
        self._seen = set()
        begun = [name for name in self._jobs if name in self._found]
        results = [result for name in begun for result in self._results(name)]
        self._write(document_of(datetime.now(UTC), __version__, results, [self._found[name] for name in begun]))

    def _results(self, name: str) -> list[dict[str, Any]]:
        job, found = self._jobs[name], self._found[name]
        asked = asked_result({**job.shared, **job.given})
        count = int(job.resolved["numjobs"])
        jobs = [[found]] if asked.is_of_group else jobs_of([found], count)
        more = asked_of_job(job.name, job.given_to_each, count // len(jobs))
        return [job_result(job.name, [parts], job.reporting_group, asked) | more for parts in jobs]


def _so_far(name: str, workload: Workload, rows: pa.Table, counted_ns: int) -> Measurement:
    """What the whole intervals of a job come to."""
    totals = rows.filter(pc.equal(rows["latency"], "total"))

    def summed(operation: str, column: str) -> int:
        return int(pc.sum(totals.filter(pc.equal(totals["operation"], operation))[column]).as_py() or 0)

    counts = {each: {column: summed(each, column) for column in ("count", "bytes")} for each in OPERATIONS}
    engine = {"measured_ns": counted_ns, "operations": counts}
    return Measurement(name, workload, engine, histograms_of_intervals(rows), rows)
