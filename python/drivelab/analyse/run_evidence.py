"""What findings about a whole run are judged from, gathered trial by trial: a few numbers, however long the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from drivelab.analyse.judged_metric import THROUGHPUT
from drivelab.analyse.reference_drift import ReferenceValue, reference_drift
from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import ReferenceDrift
from drivelab.model.trial_summary import TrialSummary

# of a check's trials these are compared with each other
PROBE = "compression-"


@dataclass(frozen=True, slots=True)
class ReferenceTrial:
    """One measurement of the reference combination: where, and its judged number."""

    target: str
    workload: str
    metric: str
    value: ReferenceValue


class RunEvidence:
    """Takes the trials of a run one after the other, and keeps what only several of them can tell.

    Notes
    -----
    Kept are the throughput of the compression probe's passes (four in a check),
    and three numbers of every reference trial (one per block): a run of ten
    thousand trials in five blocks leaves six of them. Nothing is kept of any
    other trial.
    """

    def __init__(self) -> None:
        self._probes: dict[str, Estimate] = {}
        self._references: dict[tuple[str, str, str], list[ReferenceValue]] = {}

    @classmethod
    def of(cls, summaries: Iterable[TrialSummary]) -> RunEvidence:
        """The evidence of trials among which there is no reference."""
        evidence = cls()
        for summary in summaries:
            evidence.add(summary.name, summary.estimates.get(THROUGHPUT))
        return evidence

    def add(self, trial: str, throughput: Estimate | None = None, reference: ReferenceTrial | None = None) -> None:
        """Take one trial.

        Parameters
        ----------
        trial : str
            Its name.
        throughput : Estimate, optional
            Its throughput in B/s.
        reference : ReferenceTrial, optional
            Its judged number, when it is a trial of the reference; in the order in which they were measured.
        """
        if trial.startswith(PROBE) and throughput is not None:
            self._probes[trial] = throughput
        if reference is not None:
            key = (reference.target, reference.workload, reference.metric)
            self._references.setdefault(key, []).append(reference.value)

    def probes(self, kind: str) -> list[Estimate]:
        """Throughput of every pass of the compression probe with one kind of contents, in order."""
        return [rate for name, rate in self._probes.items() if name.startswith(f"{PROBE}{kind}")]

    def drifts(self) -> list[ReferenceDrift]:
        """How far the reference moved, target by target."""
        return [reference_drift(*key, values) for key, values in self._references.items()]
