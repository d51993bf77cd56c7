"""Where the time of operations went: their parts over a traced pass, or over the repeats of one combination.

Every operation's latency is cut into parts that sum to it exactly, so means of
groups of operations sum too; medians of parts do not. The typical operation is
therefore the mean of the middle fifth by latency, and the slowest ones the
mean of the slowest 1 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.command_check import CountedCommands, Stack, command_check
from drivelab.analyse.operation_parts import Integers, OperationParts, joined_parts
from drivelab.analyse.quantile import quantile_estimates_from_series
from drivelab.analyse.ratio import mean_estimate_from_series
from drivelab.analyse.repeated_number import REPEATS_MIN, added_in_squares, median_of_logarithms, over_repeats
from drivelab.model.distributions import student_t
from drivelab.model.estimate import Estimate
from drivelab.model.trace import (
    DEVICE_WORK,
    LAYERS,
    PARTS,
    CommandCheck,
    Explanation,
    MemberTime,
    Part,
    PartSummary,
    TraceConduct,
)

SLOWEST_SHARE = 100
# more bios of our own than this share in no operation, and time may be charged to the wrong part
UNMATCHED_SHARE_MAX = 0.01
# so many operations of which something is not known to its end could all be among the slowest
PARTIAL_SHARE_MAX = 0.01
# what is in flight when a trace ends: no more than a queue holds, or that share of all bios
_IN_FLIGHT_MAX = 32
_CLOCKS = ("mono", "calibrated")
_COUNTERS = ("lost_events", "unmatched_bios", "foreign_bios", "duplicate_records", "open_at_end", "partial_operations")


@dataclass(frozen=True, slots=True, eq=False)
class TracedPass:
    """The traced pass of one trial.

    Attributes
    ----------
    untraced_ns : Estimate or None
        Median latency of the pass that nobody traced.
    q2c : (int, int)
        Sum and number of the times that btt's Q2C is the mean of
        (`drivelab.analyse.operation_parts.q2c_of_data`); no number when unknown.
    members : mapping of str to (int, int)
        Sum and number of the times of each drive's commands (`drivelab.analyse.operation_parts.member_times`).
    without_requests : tuple of str
        Drives that have none (`drivelab.analyse.operation_parts.drives_without_requests`).
    """

    trial: str
    operations: OperationParts
    conduct: TraceConduct
    untraced_ns: Estimate | None = None
    q2c: tuple[int, int] = (0, 0)
    members: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    without_requests: tuple[str, ...] = ()


def refusal_of(one: TracedPass) -> str:
    """Why the parts of a traced pass are no answer; empty when they are one.

    Notes
    -----
    - A trace of which nobody wrote down how it was taken.
    - Any lost event: whatever it told of, its time went to a wrong part.
    - A clock that is neither that of the operations (``mono``) nor calibrated
      against it (``calibrated`` is in its name): windows and events do not meet.
    - More than 1 % of this program's bios in no operation: the join is wrong.
    - More than 1 % of all bios, and more than 32, without an end: completions are missing.
    - More than 1 % of the operations with something in them that is not known to its end.
    - Parts that do not sum to the latency, or another number of layers than was traced: the table is damaged.
    """
    conduct, operations = one.conduct, one.operations
    if not operations.count:
        return "the traced pass has no such operation"
    if not conduct.source:
        return "nothing is known of how the trace was taken"
    if conduct.lost_events:
        lost = _counted(conduct.lost_events, "event was", "events were")
        return f"{lost} lost, and whatever they told of would be charged to a wrong part"
    if not any(name in conduct.clock for name in _CLOCKS):
        return f"the trace's clock ({conduct.clock or 'unknown'}) is not that of the operations, and was not calibrated"
    own = operations.work["bios"] + conduct.unmatched_bios
    if conduct.unmatched_bios > UNMATCHED_SHARE_MAX * own:
        return f"{conduct.unmatched_bios} of {_counted(own, 'bio', 'bios')} of this program belong to no operation"
    every = own + conduct.foreign_bios
    if conduct.open_at_end > max(_IN_FLIGHT_MAX, UNMATCHED_SHARE_MAX * every):
        return f"{conduct.open_at_end} of {every} bios never ended in the trace"
    if conduct.partial_operations > PARTIAL_SHARE_MAX * operations.count:
        # the pass may hold others than these
        return f"{_counted(conduct.partial_operations, 'operation is', 'operations are')} not known to the end"
    if operations.parts_ns.shape[1] != len(PARTS) + len(conduct.layers):
        return f"{operations.parts_ns.shape[1] - len(PARTS)} layers are in it, and {len(conduct.layers)} were traced"
    if operations.residual_ns:
        return f"the parts miss the latency by up to {operations.residual_ns} ns"
    return ""


def whole_passes(passes: Sequence[TracedPass]) -> list[TracedPass]:
    """Those whose parts are an answer."""
    return [one for one in passes if not refusal_of(one)]


def explanation_of(
    passes: Sequence[TracedPass], operation: str, *, label: str = "", stack: Stack | None = None
) -> Explanation:
    """Where the time of one combination of factors went.

    Parameters
    ----------
    passes : sequence of TracedPass
        The traced pass of each repeat, at least one.
    operation : str
        Which operations of them: read, write, trim, sync or durable_write.
    label : str
        The trial for people.

    Returns
    -------
    Explanation
        Of the passes that are whole (`refusal_of`); when none is, it has the
        latencies and the reason of the first one, and no parts.

    Notes
    -----
    Intervals of means come from the repeats where there are `REPEATS_MIN` of them, otherwise from the operations with
    their autocorrelation taken into account; those of quantiles always from the operations.
    """
    whole = whole_passes(passes)
    refusal = "" if whole else refusal_of(passes[0])
    kept = whole or [one for one in passes if one.operations.count] or list(passes[:1])
    joined = joined_parts([one.operations for one in kept])
    order = np.argsort(joined.latency_ns, kind="stable")
    typical, slowest = typical_of(order), slowest_of(order)
    count, names = joined.count, kept[0].conduct.layers
    work = {name: joined.work[name] / count for name in DEVICE_WORK} if count and not refusal else {}
    median, p99 = quantile_estimates_from_series(joined.latency_ns.astype(np.float64), [0.5, 0.99])
    mean = _mean_estimate(joined.latency_ns, [one.operations.latency_ns for one in kept])
    medians = [median] if len(kept) == 1 else [_median(one.operations) for one in kept]
    return Explanation(
        trial=passes[0].trial,
        label=label,
        operation=operation,
        operations=count,
        untraced_ns=over_repeats([one.untraced_ns for one in kept if one.untraced_ns is not None]),
        traced_ns=(over_repeats(medians) or median) if count else None,
        mean_ns=_mean(joined.latency_ns),
        typical_ns=_mean(joined.latency_ns[typical]),
        slowest_ns=_mean(joined.latency_ns[slowest]),
        typical_count=int(typical.size),
        slowest_count=int(slowest.size),
        parts=() if refusal else _summaries([one.operations for one in kept], joined, (typical, slowest), names),
        work=work,
        amplification=joined.work["bytes_written"] / joined.bytes_asked if work and joined.bytes_asked else None,
        residual_ns=joined.residual_ns,
        shared_operations=joined.shared_count,
        conduct=_joined_conduct([one.conduct for one in (whole or passes)]),
        check=_check(count, work, stack, refusal),
        refusal=refusal,
        trials=tuple(one.trial for one in kept),
        left_out=tuple(f"{one.trial}: {refusal_of(one)}" for one in passes if one not in kept),
        traced_p99_ns=p99 if count else None,
        traced_mean_ns=mean if count else None,
        tracing_cost=tracing_cost(kept),
        q2c_ns=None if refusal else _q2c(kept),
        members=() if refusal else _members(kept),
        without_requests=() if refusal else _without_requests(kept),
        untraced_repeats_ns=_of_each([one.untraced_ns for one in kept]),
        traced_repeats_ns=_of_each(medians),
    )


def _of_each(estimates: Sequence[Estimate | None]) -> tuple[float, ...]:
    """The number of each repeat, as it was seen where it is withheld."""
    known = [one.observed if one.value is None else one.value for one in estimates if one is not None]
    return tuple(value for value in known if value is not None)


def typical_of(order: NDArray[np.intp]) -> NDArray[np.intp]:
    """The operations of the middle fifth: ranks from 40 % to 60 %, as many of the slower as of the faster left out."""
    begin = 2 * order.size // 5
    return order[begin : order.size - begin]


def slowest_of(order: NDArray[np.intp]) -> NDArray[np.intp]:
    """The slowest 1 % of the operations, the slowest one where there are fewer than 200."""
    return order[order.size - min(order.size, max(1, order.size // SLOWEST_SHARE)) :]


def mean_of_repeats(sums: Sequence[float], counts: Sequence[int]) -> Estimate:
    """The mean over all operations of several repeats, with an interval from how the repeats differ.

    Parameters
    ----------
    sums : sequence of float
        Sum over the operations of each repeat, in ns.
    counts : sequence of int
        Operations of each repeat.

    Notes
    -----
    The ratio estimator of a sample of clusters (Cochran 1977, 6.4) with Student's t of
    repeats less one; with as many operations in every repeat, that of the repeats' means.
    """
    middle, error = ratio_error(np.asarray(sums, np.float64), np.asarray(counts, np.float64))
    half = student_t(len(counts) - 1) * error
    method = f"mean over {len(counts)} repeats, Student t with {len(counts) - 1} degrees of freedom"
    low = max(0.0, middle - half)
    return Estimate(middle, low, middle + half, "ns", int(sum(counts)), float(len(counts)), method)


def ratio_error(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> tuple[float, float]:
    """Ratio of two sums over clusters, and its standard error."""
    number, total = counts.size, float(counts.sum())
    middle = float(sums.sum()) / total
    residual = sums - middle * counts
    return middle, math.sqrt(float((residual**2).sum()) * number / (number - 1)) / total


def tracing_cost(passes: Sequence[TracedPass]) -> Estimate | None:
    """Traced over untraced median; None where some pass has no untraced one.

    Notes
    -----
    Both passes of a repeat lie close together, so from `REPEATS_MIN` repeats on
    it is the median of the ratios within them. Below, the intervals of the two medians
    are added in squares on a logarithmic scale (Donner and Zou 2012, MOVER),
    each half-width on the side to which it matters.
    """
    pairs = [
        (traced, one.untraced_ns)
        for one in passes
        if one.untraced_ns is not None and one.untraced_ns.value and (traced := _median(one.operations)).value
    ]
    if not pairs or len(pairs) < len(passes):
        return None
    logarithms = [math.log((traced.value or 1.0) / (untraced.value or 1.0)) for traced, untraced in pairs]
    if len(pairs) >= REPEATS_MIN:
        method = f"median of the ratios within {len(pairs)} repeats, Student t of their logarithms"
        return replace(median_of_logarithms(logarithms), method=method)
    middle, weight = sum(logarithms) / len(pairs), 1 / len(pairs)
    weighted = [(one, weight) for one, _ in pairs] + [(one, -weight) for _, one in pairs]
    low, high = added_in_squares(weighted, middle)
    count = len(pairs)
    return Estimate(
        math.exp(middle), low, high, "1", count, float(count), "ratio of medians, their intervals added in squares"
    )


def _summaries(
    passes: Sequence[OperationParts],
    joined: OperationParts,
    groups: tuple[NDArray[np.intp], NDArray[np.intp]],
    layers: Sequence[str],
) -> tuple[PartSummary, ...]:
    typical, slowest = groups
    named: list[tuple[int, Part, str]] = [(place, part, "") for place, part in enumerate(PARTS)]
    # after the call has come to its first bio this is in the layers, from above to below
    named[1:1] = [(len(PARTS) + place, LAYERS, layer) for place, layer in enumerate(layers)]
    found = []
    for place, part, layer in named:
        values = joined.parts_ns[:, place]
        mean = _mean_estimate(values, [one.parts_ns[:, place] for one in passes])
        p50, p99 = quantile_estimates_from_series(values.astype(np.float64), [0.5, 0.99])
        found.append(PartSummary(part, mean, p50, p99, _mean(values[typical]), _mean(values[slowest]), layer))
    return tuple(found)


def _mean_estimate(joined: Integers, by_pass: Sequence[Integers]) -> Estimate:
    """The mean over all operations, with an interval from the repeats where there are enough."""
    if len(by_pass) >= REPEATS_MIN:
        return mean_of_repeats([float(values.sum()) for values in by_pass], [values.size for values in by_pass])
    return mean_estimate_from_series(joined.astype(np.float64))


def _median(operations: OperationParts) -> Estimate:
    return seen(quantile_estimates_from_series(operations.latency_ns.astype(np.float64), [0.5])[0])


def seen(estimate: Estimate) -> Estimate:
    """The estimate; where it is withheld for want of independent operations, what was seen, without an interval."""
    if estimate.value is None and estimate.observed is not None:
        return replace(estimate, value=estimate.observed, low=None, high=None)
    return estimate


def _mean(values: Integers) -> float:
    return int(values.sum()) / values.size if values.size else 0.0


def _q2c(passes: Sequence[TracedPass]) -> float | None:
    number = sum(one.q2c[1] for one in passes)
    return sum(one.q2c[0] for one in passes) / number if number else None


def _members(passes: Sequence[TracedPass]) -> tuple[MemberTime, ...]:
    """How busy each drive was, where there are several."""
    names = dict.fromkeys(name for one in passes for name in one.members)
    if len(names) < 2:
        return ()
    sums = {name: np.sum([one.members.get(name, (0, 0)) for one in passes], axis=0) for name in names}
    return tuple(MemberTime(name, int(count), float(time / max(1, count))) for name, (time, count) in sums.items())


def _without_requests(passes: Sequence[TracedPass]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for one in passes for name in one.without_requests))


def _check(count: int, work: Mapping[str, float], stack: Stack | None, refusal: str) -> CommandCheck:
    if refusal:
        return CommandCheck("unknown", "commands are not counted in a trace that is not whole")
    # without FUA in the drive the kernel sends a write and a flush, which are counted as such
    fua = work["fua_writes"] if stack is not None and stack.cache == "write_back_fua" else 0.0
    counted = CountedCommands(count, work["flushes"], fua, work["device_writes"], work["journal_writes"])
    return command_check(counted, stack)


def _joined_conduct(conducts: Sequence[TraceConduct]) -> TraceConduct:
    """How the traces of several repeats were taken: the first one's, with the counters of all."""
    return replace(conducts[0], **{name: sum(getattr(one, name) for one in conducts) for name in _COUNTERS})


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"
