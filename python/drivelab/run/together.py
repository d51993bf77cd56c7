"""Issues several workloads at the same time: a thread for each, one common start, one wish to stop for all."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from drivelab import _engine
from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Workload
from drivelab.run.engine import EngineRun, Looks, Progress, ProgressListener, RecordListener, StopRequest, run_workload


@dataclass(frozen=True, slots=True)
class Member:
    """One of several workloads that run at the same time.

    Attributes
    ----------
    target : TargetFacts
        What the devices beneath its path are.
    title : str
        What the others call it.
    progress : callable or None
        Called about every 0.1 s, from a thread of its own; the workload ends when it returns False.
    on_records : callable or None
        Takes the records of single I/Os.
    drops_page_cache : bool
        Whether the page cache gives up what it holds of the file or device first.
    looks : Looks or None
        Who sees what was counted so far, from a thread of its own.
    """

    name: str
    workload: Workload
    target: TargetFacts
    title: str = ""
    progress: ProgressListener | None = None
    on_records: RecordListener | None = None
    drops_page_cache: bool = False
    looks: Looks | None = None


def run_together(members: Sequence[Member], stop: StopRequest) -> list[EngineRun | DrivelabError]:
    """What the engine found for each member, or why that one failed, in their order.

    Parameters
    ----------
    members : sequence of Member
        What is issued; each ends by its own limits, or when one that ends the others has ended.

    Notes
    -----
    When one cannot begin, none issues anything: the others get an error that names it.
    """
    return _Group(members, stop).run()


def without_one(members: Sequence[Member], failed: int, error: DrivelabError) -> list[DrivelabError]:
    """Why nothing was measured, for each member: one could not begin, and the others were to run with it."""
    name = members[failed].title or members[failed].name
    what = f"it was to run together with {name}, which could not begin: {error.what}"
    other = DrivelabError(error.code, what, where=error.where, do=error.do)
    return [error if place == failed else other for place in range(len(members))]


class SummedProgress:
    """Makes one progress of those of several workloads at the same time."""

    def __init__(self, tell: ProgressListener) -> None:
        self._tell = tell
        self._latest: dict[int, Progress] = {}
        self._lock = threading.Lock()

    def of(self, place: int) -> ProgressListener:
        """The listener of one member."""
        return lambda progress: self._take(place, progress)

    def _take(self, place: int, progress: Progress) -> bool:
        with self._lock:
            self._latest[place] = progress
            counts: Counter[str] = Counter()
            moved: Counter[str] = Counter()
            for one in self._latest.values():
                counts.update(one.counts)
                moved.update(one.bytes)
            return self._tell(
                Progress(
                    elapsed_ns=max(one.elapsed_ns for one in self._latest.values()),
                    is_ramping=all(one.is_ramping for one in self._latest.values()),
                    counts=dict(counts),
                    bytes=dict(moved),
                    counted_ns=max(one.counted_ns for one in self._latest.values()),
                )
            )


class _Group:
    """The threads of one group; the stop request of each of them."""

    def __init__(self, members: Sequence[Member], stop: StopRequest) -> None:
        self._members = members
        self._stop = stop
        self._gate = _engine.StartGate(len(members))
        self._are_to_end = threading.Event()
        self._found: list[EngineRun | None] = [None] * len(members)
        self._errors: dict[int, BaseException] = {}

    def is_set(self) -> bool:
        """Whether all are to end."""
        return self._are_to_end.is_set() or self._stop.is_set()

    def run(self) -> list[EngineRun | DrivelabError]:
        threads = [
            threading.Thread(target=self._run_one, args=(place,), name=member.name)
            for place, member in enumerate(self._members)
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:
            # a second Ctrl-C, or no thread to be had: nobody may go on issuing I/O
            self._are_to_end.set()
            self._gate.shut()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            raise
        return self._judged()

    def _run_one(self, place: int) -> None:
        member = self._members[place]
        try:
            self._found[place] = run_workload(
                member.workload,
                stop=self,
                on_progress=member.progress,
                on_records=member.on_records,
                start=self._gate,
                looks=member.looks,
            )
        except BaseException as error:
            # raised again by the thread that waits for all
            self._errors[place] = error
            if not isinstance(error, DrivelabError):
                self._are_to_end.set()
        if member.workload.ends_others:
            self._are_to_end.set()

    def _judged(self) -> list[EngineRun | DrivelabError]:
        errors: dict[int, DrivelabError] = {}
        for place, error in sorted(self._errors.items()):
            if not isinstance(error, DrivelabError):
                raise error
            errors[place] = error
        runs = {place: run for place, run in enumerate(self._found) if run is not None}
        if errors and not any(_has_begun(run) for run in runs.values()):
            first = next(iter(errors))
            others = without_one(self._members, first, errors[first])
            return [errors.get(place, other) for place, other in enumerate(others)]
        return [errors[place] if place in errors else runs[place] for place in range(len(self._members))]


def _has_begun(run: EngineRun) -> bool:
    return any(int(counts.get("count", 0)) for counts in run.summary["all_phases"].values())
