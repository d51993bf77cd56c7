"""Trials on simulated drives: the same workloads, in the drives' own time, with the drives' own counters."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import DeviceCounts, Measurement
from drivelab.model.plan import PlannedStep
from drivelab.model.simulated import SimulatedModel
from drivelab.model.target import TargetFacts
from drivelab.model.workload import TargetRange, Workload
from drivelab.run.bucket_watch import run_as_asked
from drivelab.run.emptied_cache import leaves_cache_full
from drivelab.run.engine import (
    EngineRun,
    ProgressListener,
    RecordListener,
    StopRequest,
    make_simulated_drive,
    run_workload,
)
from drivelab.run.preconditioning import FILLING, precondition, reservations, whole
from drivelab.run.prepared_trial import PreparedTrial, Stage, StoppedError
from drivelab.run.progress import RunProgress

NOT_REAL = "the drive is simulated"


class SimulatedDrive:
    """A drive that only this process knows: what it holds, its time, and what it counts.

    Parameters
    ----------
    seed : int
        The same drive with the same seed and the same workloads does the same again.
    """

    def __init__(self, model: SimulatedModel, seed: int) -> None:
        self.engine = make_simulated_drive(model, seed=seed)

    def counters(self) -> dict[str, int]:
        """What it has counted since it was made, and its time."""
        read: dict[str, int] = json.loads(self.engine.counters())
        return read

    def measure(
        self,
        name: str,
        workload: Workload,
        target: TargetFacts,
        *,
        stop: StopRequest | None = None,
        progress: ProgressListener | None = None,
        on_records: RecordListener | None = None,
    ) -> Measurement:
        """What one workload did, beside what the drive counted meanwhile.

        Raises
        ------
        DrivelabError
            E301, E309, E310: the workload cannot be issued to it. R424: it appends.
        """
        if workload.file_state == "append":
            do = "leave --file-state append out, or measure a directory"
            raise DrivelabError("R424", "a simulated drive has no file that grows", where=target.text, do=do)
        before = self.counters()
        if not workload.writes and not before["bytes_trimmed"]:
            # as files are laid out before they are read; what was trimmed is meant to be empty
            self.engine.lay_out(workload.target.offset_bytes, _range_bytes(workload.target, target.size_bytes))
        run = run_as_asked(workload, stop=stop, on_progress=progress, on_records=on_records, drive=self.engine)
        after = self.counters()
        emptied = {"write_cache_emptied_ns": self.engine.flush()} if leaves_cache_full(workload, is_direct=True) else {}
        moved = {key: after[key] - before[key] for key in after}
        written = moved["bytes_written"]
        return run.measurement(
            name,
            workload,
            devices=(_counts(target.devices[0].name, moved),),
            context={
                "simulated": {
                    **moved,
                    "write_amplification": moved["flash_bytes_written"] / written if written else None,
                },
                "other_work": None,
                "device_counters_reason": "",
                "counted_device": target.devices[0].name,
                **emptied,
            },
        )

    def precondition(
        self, kind: str, target: TargetFacts, *, seed: int, stop: StopRequest, progress: Callable[[float], None]
    ) -> dict[str, Any]:
        """Write all of it, as real drives are written (`drivelab.run.preconditioning.precondition`)."""

        def issue(workload: Workload, goes_on: ProgressListener) -> EngineRun:
            return run_workload(workload, stop=stop, on_progress=goes_on, drive=self.engine)

        whole_drive = TargetRange(path=target.path)
        trims = whole(whole_drive, "trim", target.size_bytes, direct=False, seed=seed)
        told = precondition(
            kind,
            whole_drive,
            target.size_bytes,
            seed=seed,
            issue=issue,
            progress=progress,
            stop=stop,
            trim=partial(run_workload, trims, stop=stop, drive=self.engine),
        )
        self.engine.flush()
        return told


def _range_bytes(target: TargetRange, drive_bytes: int) -> int:
    rest = max(0, drive_bytes - target.offset_bytes)
    return min(target.size_bytes, rest) or rest


def _counts(device: str, moved: dict[str, int]) -> DeviceCounts:
    return DeviceCounts(
        device=device,
        reads=moved["reads"],
        writes=moved["writes"],
        discards=moved["trims"],
        flushes=moved["flushes"],
        bytes_read=moved["bytes_read"],
        bytes_written=moved["bytes_written"],
        read_merges=0,
        write_merges=0,
        read_ns=0,
        write_ns=0,
        flush_ns=0,
        data_writes_low=moved["writes"],
        data_writes_high=moved["writes"],
    )


class SimulatedStage(Stage):
    """A simulated drive as a target of a plan: made for the run, and gone with it."""

    notes: tuple[str, ...] = (f"{NOT_REAL}: its numbers are those of a model and say nothing about hardware",)

    def __init__(self, facts: TargetFacts, progress: RunProgress, stop: StopRequest) -> None:
        super().__init__(facts)
        self._progress = progress
        self._stop = stop
        self._drive: SimulatedDrive | None = None
        self._filled = ""

    def prepare(self, step: PlannedStep) -> PreparedTrial:
        """Bring the drive to where a step needs it.

        Raises
        ------
        DrivelabError
            R424: the step needs what a simulated drive does not have. E301 to E315: its first write failed.
        StoppedError
            The user asked for the end meanwhile.
        """
        _refuse_what_it_has_not(step)
        drive = self._made(step)
        context: dict[str, Any] = {}
        target = TargetRange(path=self.facts.path)
        if step.actions.get("trim") == "device":
            trim = whole(target, "trim", self.facts.size_bytes, direct=False, seed=step.seed)
            drive.measure("trim", trim, self.facts, stop=self._stop)
            self._filled = ""
        kind = step.actions.get("precondition", "none")
        if kind not in ("none", self._filled):
            self._progress.preparing(FILLING[kind].format(self.facts.text))
            goes_on = self._progress.preparing_goes_on
            told = drive.precondition(kind, self.facts, seed=step.seed, stop=self._stop, progress=goes_on)
            self.notes += reservations(told)
            context["precondition"] = told
            self._filled = kind
        if self._stop.is_set():
            raise StoppedError
        workload = step.pattern.on(target, seed=step.seed)
        achieved = {"filesystem": "raw"} if step.filesystem is not None else {}
        return PreparedTrial(workload, self.facts, achieved | dict(step.actions), context, measure=drive.measure)

    def tidy(self, trial: PreparedTrial, measured: Measurement | None, /) -> None:
        """Leave the drive as it is: what it holds belongs to the next trial."""

    def release(self) -> tuple[str, ...]:
        """Forget the drive, on which nothing could be left."""
        self._drive = None
        return ()

    def _made(self, step: PlannedStep) -> SimulatedDrive:
        """The drive, new where there is none yet or the step purges it."""
        if self._drive is None or step.actions.get("purge", "none") != "none":
            assert self.facts.simulated is not None
            self._drive = SimulatedDrive(self.facts.simulated, step.seed)
            self._filled = ""
        return self._drive


def _refuse_what_it_has_not(step: PlannedStep) -> None:
    missing = [
        *(["workloads that run together"] if step.together else []),
        *([f"the file system {step.filesystem.name}"] if step.filesystem and step.filesystem.type != "raw" else []),
        *(["trim fstrim"] if step.actions.get("trim") == "fstrim" else []),
    ]
    if missing:
        what = f"a simulated drive has no {missing[0]}"
        raise DrivelabError("R424", what, where=step.label, do="leave it out, or measure a real drive")
