"""Jobs of fio that end by their own numbers: its options decide, by what is counted while they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from drivelab.interop.fio.ends import Counted, EndWatch
from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Workload
from drivelab.run.engine import Progress, ProgressListener
from drivelab.run.execute import Instruments
from drivelab.run.measure_together import measure_together
from drivelab.run.together import Member


def ending(instruments: Instruments, plan: Plan, job_file: Mapping[str, Any]) -> Instruments:
    """Instruments that end a job where its options say so, and keep with its numbers what ended it.

    Parameters
    ----------
    job_file : mapping of str to Any
        What is kept of the job file in ``run.json``.
    """
    options = {job["workload"]: {**job["shared"], **job["given"]} for job in job_file["jobs"]}
    jobs = {step.trial: options[step.workload] for step in plan.steps if step.workload in options}

    def measured(name: str, workload: Workload, target: TargetFacts, **more: Any) -> Measurement:
        watch = _watch(jobs.get(name), workload)
        if watch is None:
            return instruments.measure(name, workload, target, **more)
        listener = _listening(watch, more.pop("progress", None))
        return _with_end(instruments.measure(name, workload, target, progress=listener, **more), watch)

    def measured_together(members: Sequence[Member], **more: Any) -> Sequence[Measurement | DrivelabError]:
        watches = [_watch(jobs.get(member.name), member.workload) for member in members]
        watched = [
            replace(member, progress=_listening(watch, member.progress)) if watch else member
            for member, watch in zip(members, watches, strict=True)
        ]
        found = (instruments.measure_together or measure_together)(watched, **more)
        return [
            _with_end(each, watch) if watch and isinstance(each, Measurement) else each
            for each, watch in zip(found, watches, strict=True)
        ]

    return replace(instruments, measure=measured, measure_together=measured_together)


def _watch(options: Mapping[str, str] | None, workload: Workload) -> EndWatch | None:
    watch = EndWatch(options or {}, workload.job_count)
    return watch if watch.is_needed else None


def _listening(watch: EndWatch, listener: ProgressListener | None) -> ProgressListener:
    def goes_on(progress: Progress) -> bool:
        if listener is not None and not listener(progress):
            return False
        slowest_ns = {name: most for name, (_, most) in progress.latencies_ns.items()}
        times_s = progress.elapsed_ns / 1e9, progress.counted_ns / 1e9
        return progress.is_ramping or watch.goes_on(Counted(*times_s, progress.counts, progress.bytes, slowest_ns))

    return goes_on


def _with_end(measured: Measurement, watch: EndWatch) -> Measurement:
    """The measurement, with what ended it and how steady it was in fio's sense."""
    ended = {"ended_by": asdict(watch.ended_by)} if watch.ended_by else {}
    steady = watch.steady_state()
    return replace(measured, context=measured.context | ended | ({"steadystate": steady} if steady else {}))
