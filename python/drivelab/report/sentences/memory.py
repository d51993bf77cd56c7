"""What memory did for writes: how much faster they looked than durable ones, and which of a job file it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.level_words import levels_phrase
from drivelab.model.metric import REACHED
from drivelab.model.run_answer import REACHED_WHOLE, CombinationResult
from drivelab.model.units import format_rate_bytes_per_s
from drivelab.model.workload import ends_durable
from drivelab.report.content import TrialContent
from drivelab.report.numerals import number_text

LOOKED_FASTER_FROM = 1.05


def memory_sentences(combinations: Sequence[CombinationResult]) -> Iterator[str]:
    """How fast each workload is durably that looked faster than it is, at the first level where it did and at the last.

    Parameters
    ----------
    combinations : sequence of CombinationResult
        Each is held against the fastest durable one of the same bytes and levels; the table has the other levels.

    Yields
    ------
    str
        A sentence without a full stop.
    """
    told = set()
    for one in combinations:
        place = (one.target, one.workload)
        durable = None if one.is_durable or _reached(one) >= REACHED_WHOLE else _durable_beside(one, combinations)
        if durable is None or place in told:
            continue
        rate = durable.metrics[THROUGHPUT].median
        size = one.metrics[THROUGHPUT].median / rate
        # what mostly reached the drive looks like what it is
        if size >= LOOKED_FASTER_FROM:
            told.add(place)
            where = f" on {one.target}" if len({each.target for each in combinations}) > 1 else ""
            rates = _rates(durable, combinations)
            at = _levels(one, combinations) if len(rates) > 1 else ""
            yield (
                f"{durable.label}{where}: {', '.join(rates)}; {one.label} looked {number_text(size, 2)} times as "
                f"fast{at}, with {100 * _reached(one):.0f} % of it on the drive"
            )


def taken_by_memory(trials: Sequence[TrialContent]) -> Iterator[str]:
    """Of which jobs of a job file the latency is that of the page cache, where nothing durable is measured beside them.

    Parameters
    ----------
    trials : sequence of TrialContent
        Of a run of a job file, whose author may have wanted just that.

    Yields
    ------
    str
        At most one sentence.
    """
    writing = [one for one in trials if "write" in _operations(one) and not one.workload.get("tree")]
    names = list(dict.fromkeys(one.label for one in writing if _is_taken(one)))
    if names and len(names) == len(dict.fromkeys(one.label for one in writing)):
        which = f"{names[0]}: a" if len(names) == 1 else "A"
        yield f"{which} write is over when it lies in the page cache: what a durable one takes no number says."


def _operations(trial: TrialContent) -> list[str]:
    return [str(one.get("operation")) for one in trial.workload.get("operations", ())]


def _is_taken(trial: TrialContent) -> bool:
    is_durable = ends_durable("write", trial.workload.get("durability") or {})
    return not (trial.workload.get("direct") or is_durable or trial.workload.get("backend") in ("null", "mmap"))


def _reached(one: CombinationResult) -> float:
    reached = one.metrics.get(REACHED)
    return reached.median if reached is not None and THROUGHPUT in one.metrics else 1.0


def _durable_beside(one: CombinationResult, combinations: Sequence[CombinationResult]) -> CombinationResult | None:
    """The fastest way of the same bytes and levels that is durable."""
    alike = [
        other
        for other in combinations
        if (other.is_durable or other.is_durable_at_end)
        and not other.invalid_trials
        and THROUGHPUT in other.metrics
        and (other.target, other.levels, other.block_size_bytes) == (one.target, one.levels, one.block_size_bytes)
    ]
    return max(alike, key=lambda other: other.metrics[THROUGHPUT].median, default=None)


def _rates(durable: CombinationResult, combinations: Sequence[CombinationResult]) -> list[str]:
    """How fast it is at these levels, and at the last ones: ``1.13 GB/s (100 I/Os)``."""
    place = (durable.target, durable.workload)
    same = [
        one
        for one in combinations
        if (one.target, one.workload) == place and not one.invalid_trials and THROUGHPUT in one.metrics
    ]
    rates = [(format_rate_bytes_per_s(one.metrics[THROUGHPUT].median), one) for one in (durable, same[-1])]
    told = [f"{rate}{_levels(one, combinations)}" for rate, one in rates]
    return told if rates[0][0] != rates[1][0] else told[:1]


def _levels(one: CombinationResult, combinations: Sequence[CombinationResult]) -> str:
    """The levels that are varied, in brackets."""
    varied = {
        name: level
        for name, level in one.levels.items()
        if len({each.levels[name] for each in combinations if name in each.levels}) > 1
    }
    return f" ({levels_phrase(varied)})" if varied else ""
