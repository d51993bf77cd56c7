"""What findings about a whole run are judged from, gathered trial by trial: a few numbers, however long the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, repeat

from drivelab.analyse.reference_drift import ReferenceValue, reference_drift
from drivelab.model.check_trials import PROBE
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.reference_drift import ReferenceDrift
from drivelab.model.trial_summary import TrialSummary


@dataclass(frozen=True, slots=True)
class ReferenceTrial:
    """One measurement of the reference combination: where, and its judged number."""

    target: str
    workload: str
    metric: str
    value: ReferenceValue


@dataclass(frozen=True, slots=True)
class SessionTrial:
    """When one trial was measured, and what was found then.

    Attributes
    ----------
    session : int
        Session of the run, from 1.
    found : mapping of str to str
        What was read back of the settings that it left as they were found.
    system : mapping of str to str
        What it ran on, as far as it was stored: ``kernel_release``, ``boot_id``.
    """

    session: int
    started_utc: str
    measured_ns: int
    target: str = ""
    found: Mapping[str, str] = field(default_factory=dict)
    system: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Session:
    """What a session of a run came to.

    Attributes
    ----------
    begin, end : datetime
        Begin of its first trial, and end of its last one.
    found : dict of (target, setting) to set of str
        What settings that were left as found were.
    """

    number: int
    begin: datetime
    end: datetime
    found: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    system: dict[str, set[str]] = field(default_factory=dict)

    def take(self, trial: SessionTrial) -> None:
        """Take one more trial of the session."""
        begin, end = _span(trial)
        self.begin, self.end = min(self.begin, begin), max(self.end, end)
        for name, value in trial.found.items():
            self.found.setdefault((trial.target, name), set()).add(value)
        for name, value in trial.system.items():
            self.system.setdefault(name, set()).add(value)


def _span(trial: SessionTrial) -> tuple[datetime, datetime]:
    begin = datetime.fromisoformat(trial.started_utc)
    return begin, begin + timedelta(microseconds=trial.measured_ns / 1000)


class RunEvidence:
    """Takes the trials of a run one after the other, and keeps what only several of them can tell.

    Notes
    -----
    Kept are the throughput of the compression probe's passes (four in a check),
    a number of every reference trial (one per block: a run of ten thousand
    trials in five blocks leaves six of them), of every session when it began
    and ended and what was found, and between which lengths the measured windows
    lie (`windows_ns`). Nothing else is kept of any other trial. `left_out` is
    what the plan was asked for and has no trials of, a sentence each.
    """

    def __init__(self, left_out: Sequence[str] = ()) -> None:
        self.left_out = tuple(left_out)
        self._probes: dict[str, Estimate] = {}
        self._references: dict[tuple[str, str, str], list[ReferenceValue]] = {}
        self._sessions: dict[int, Session] = {}
        self.windows_ns: tuple[int, int] | None = None

    @classmethod
    def of(cls, summaries: Iterable[TrialSummary], windows_ns: Iterable[int] = ()) -> RunEvidence:
        """The evidence of trials among which there is no reference; `windows_ns` are the lengths of their windows."""
        evidence = cls()
        for summary, window_ns in zip(summaries, chain(windows_ns, repeat(0)), strict=False):
            evidence.add(summary.name, summary.estimates.get(THROUGHPUT), window_ns=window_ns)
        return evidence

    def add(
        self,
        trial: str,
        throughput: Estimate | None = None,
        reference: ReferenceTrial | None = None,
        session: SessionTrial | None = None,
        window_ns: int = 0,
    ) -> None:
        """Take one trial.

        Parameters
        ----------
        reference : ReferenceTrial, optional
            Its judged number, when it is a trial of the reference; in the order in which they were measured.
        window_ns : int
            Length of its measured window; 0 where it is not known.
        """
        if window_ns > 0 and not trial.startswith(PROBE):
            low, high = self.windows_ns or (window_ns, window_ns)
            self.windows_ns = min(low, window_ns), max(high, window_ns)
        if trial.startswith(PROBE) and throughput is not None:
            self._probes[trial] = throughput
        if reference is not None:
            key = (reference.target, reference.workload, reference.metric)
            self._references.setdefault(key, []).append(reference.value)
        if session is not None:
            known = self._sessions.setdefault(session.session, Session(session.session, *_span(session)))
            known.take(session)

    def probes(self, kind: str) -> list[Estimate]:
        """Throughput of every pass of the compression probe with one kind of contents, in order."""
        return [rate for name, rate in self._probes.items() if name.startswith(f"{PROBE}{kind}")]

    def sessions(self) -> list[Session]:
        """The sessions of the run in their order."""
        return [self._sessions[number] for number in sorted(self._sessions)]

    def drifts(self) -> list[ReferenceDrift]:
        """How far the reference moved, target by target."""
        return [reference_drift(*key, values) for key, values in self._references.items()]
