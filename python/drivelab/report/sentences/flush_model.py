"""What a write and a flush cost a drive, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.estimate import Estimate
from drivelab.model.flush_fit import FlushCell, FlushFit
from drivelab.report.numerals import latency_text

DRIVES_TOLD = 6
# a sum that is further from what was measured is told beside it
_EXACT_WITHIN = 0.05
# what is left of a combination is told from here on
_TOLD_FROM = 0.10


def flush_sentences(fits: Sequence[FlushFit]) -> tuple[str, ...]:
    """What writes and flushes cost each drive where they explain its latencies; the table has all the others.

    Parameters
    ----------
    fits : sequence of FlushFit
        The drives in order; of several each has one sentence, at most
        `DRIVES_TOLD`. Costs of commands that nobody counted are not told.
    """
    known = [fit for fit in fits if fit.verdict == "explains" and fit.has_counts and _is_known(fit)]
    if len(fits) == 1:
        return tuple(_sentence(text) for fit in known for text in (_costs(fit), _uncached(fit)) if text)
    has_workloads = len({fit.workload for fit in fits}) > 1
    return tuple(
        f"{fit.drive}{f', {fit.workload}' if has_workloads else ''}: {_costs(fit)}." for fit in known[:DRIVES_TOLD]
    )


def _is_known(fit: FlushFit) -> bool:
    """Whether there is a cost to tell: an interval that begins at 0 says that nobody knows."""
    return all(one.low is None or one.low > 0 for one in (fit.flush, fit.write) if one.value)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _costs(fit: FlushFit) -> str:
    is_rough = None in (fit.flush.low, fit.flush.high)
    about = "about " if is_rough and fit.flush.value and fit.write.value else ""
    return f"a flush costs {about}{_cost(fit.flush)}, a write {about}{_cost(fit.write)}{_example(fit)}"


def _cost(estimate: Estimate) -> str:
    text = latency_text(estimate.value or 0.0) if estimate.value else "next to nothing"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} (95\u00a0% interval {latency_text(estimate.low)} to {latency_text(estimate.high)})"


def _example(fit: FlushFit) -> str:
    """The largest mixture, taken apart: ``with the cache on, ext4's 0.96 ms are 3 writes + 2 flushes``."""
    measured = [cell for cell in fit.cells if cell.flushes and cell.observed_ns is not None]
    most = max(measured, key=lambda cell: cell.writes + cell.flushes)
    cache = " with the cache on," if most.cache == "on" else ""
    name = f"{most.filesystem}'s " if most.filesystem not in ("", "raw") else ""
    told = f"{cache} {name}{latency_text(most.observed_ns or 0.0)} are {commands_text(most)}"
    if most.predicted_ns and most.residual is not None and abs(most.residual) > _EXACT_WITHIN:
        told += f", for which that makes {latency_text(most.predicted_ns)}"
    return f":{told}"


def _uncached(fit: FlushFit) -> str:
    """What the cost of a write with the cache off says of the combinations that cost several."""
    held_out = [cell for cell in fit.cells if cell.role == "held out" and cell.residual is not None]
    if not held_out or fit.uncached_write.value is None:
        return ""
    text = f"with the cache off a write costs {_cost(fit.uncached_write)}"
    told = [f"{_held_out(cell)}" for cell in held_out]
    return f"{text}, which predicts {'; '.join(told)}"


def _held_out(cell: FlushCell) -> str:
    predicted, observed = cell.predicted_ns or 0.0, cell.observed_ns or 0.0
    text = f"{latency_text(predicted)} for {cell.filesystem or 'the other'} ({commands_text(cell)})"
    if abs(cell.residual or 0.0) <= _TOLD_FROM:
        return f"{text}: {latency_text(observed)} were measured"
    word = "more" if observed > predicted else "less"
    return f"{text}, where {latency_text(observed)} were measured, {latency_text(abs(observed - predicted))} {word}"


def commands_text(cell: FlushCell) -> str:
    """The commands of an operation: ``3 writes + 2 flushes``."""
    parts = [_count(cell.writes, "write", "writes")]
    if cell.flushes:
        parts.append(_count(cell.flushes, "flush", "flushes"))
    return " + ".join(parts)


def _count(count: float, one: str, several: str) -> str:
    text = f"{count:.2f}".rstrip("0").rstrip(".")
    return f"{text} {one if text == '1' else several}"
