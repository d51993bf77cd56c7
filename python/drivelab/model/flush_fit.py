"""What a write and a flush cost a drive, taken from latencies that are sums of several of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drivelab.model.estimate import Estimate
from drivelab.model.plain import Plain

# fitted: the costs were taken from it; held out: predicted from the others; not measured: predicted, nothing to check
CellRole = Literal["fitted", "held out", "not measured"]
# another mechanism: something adds to writes and flushes; refused: they do not add up; too few: nothing to fit
FlushVerdict = Literal["explains", "another mechanism", "refused", "too few cells"]


@dataclass(frozen=True, slots=True)
class FlushCell(Plain):
    """One combination: the commands of an operation, and how long it takes.

    Attributes
    ----------
    filesystem, cache : str
        Levels: ``ext4``, ``on``; empty where it is not known.
    writes, flushes : float
        Commands per operation.
    observed_ns, predicted_ns : float or None
        As measured, and as the costs of its commands add up; None where there is no such number.
    role : str
        fitted, held out, or not measured.
    """

    TOLD = ("residual",)

    filesystem: str
    cache: str
    writes: float
    flushes: float
    observed_ns: float | None
    predicted_ns: float | None = None
    role: CellRole = "fitted"

    @property
    def residual(self) -> float | None:
        """Predicted over measured, less 1; None where either is missing."""
        if self.observed_ns is None or self.predicted_ns is None:
            return None
        return self.predicted_ns / self.observed_ns - 1


@dataclass(frozen=True, slots=True)
class FlushFit(Plain):
    """A drive's costs of a write and of a flush.

    Attributes
    ----------
    drive, machine, workload, metric : str
        What was measured, where; the workload for people.
    verdict : str
        explains; another mechanism (it fits, with more than 10 % left); refused
        (writes and flushes do not add up); too few cells.
    write, flush : Estimate
        Cost in ns with the cache on; without a value where the fit is refused.
    uncached_write : Estimate
        Cost of a write in ns with the cache off, which includes making it durable; from the combination with
        the fewest writes.
    cells : tuple of FlushCell
        Combinations with the cache on first.
    rms_residual : float or None
        Of the fitted combinations with the cache on.
    candidates : tuple of str
        What else may be at work, where it does not explain everything.
    has_counts : bool
        Whether the commands were counted in the same run; otherwise they are those that Linux is known to send.
    notes : tuple of str
        What was left out.
    """

    drive: str
    machine: str
    workload: str
    metric: str
    verdict: FlushVerdict
    write: Estimate
    flush: Estimate
    uncached_write: Estimate
    cells: tuple[FlushCell, ...] = ()
    rms_residual: float | None = None
    candidates: tuple[str, ...] = ()
    has_counts: bool = True
    notes: tuple[str, ...] = ()

    def predicted_ns(self, writes: float, flushes: float) -> float | None:
        """How long an operation of so many commands takes; None where the costs are not known."""
        if flushes:
            known = self.write.value is not None and self.flush.value is not None
            return writes * (self.write.value or 0.0) + flushes * (self.flush.value or 0.0) if known else None
        return None if self.uncached_write.value is None else writes * self.uncached_write.value
