"""How much faster writes looked that memory took, beside those of the same bytes that were durable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.level_words import level_text
from drivelab.model.metric import REACHED
from drivelab.model.run_answer import REACHED_WHOLE, CombinationResult
from drivelab.report.numerals import number_text

# of one workload; the table has all
LEVELS_NAMED = 6
LOOKED_FASTER_FROM = 1.05


def memory_sentences(combinations: Sequence[CombinationResult]) -> Iterator[str]:
    """A sentence for each workload that looked faster than what it wrote: it ends without a full stop."""
    groups: dict[tuple[str, str], list[CombinationResult]] = {}
    for one in combinations:
        if not one.is_durable and _reached(one) < REACHED_WHOLE:
            groups.setdefault((one.target, one.workload), []).append(one)
    for (target, _), members in groups.items():
        told = []
        name = ""
        for one in members:
            durable = _durable_beside(one, combinations, name)
            if durable is None:
                continue
            name = durable.label
            size = one.metrics[THROUGHPUT].median / durable.metrics[THROUGHPUT].median
            # what mostly reached the drive looks like what it is
            if size < LOOKED_FASTER_FROM:
                continue
            told.append(
                f"{number_text(size, 2)} times as fast as {name}{_levels(one, members)}, when "
                f"{100 * _reached(one):.0f} % of it had reached the drive"
            )
        if told:
            where = f" on {target}" if len({one.target for one in combinations}) > 1 else ""
            yield f"{members[0].label}{where} looked {'; '.join(told[:LEVELS_NAMED])}"


def _reached(one: CombinationResult) -> float:
    reached = one.metrics.get(REACHED)
    return reached.median if reached is not None and THROUGHPUT in one.metrics else 1.0


def _durable_beside(
    one: CombinationResult, combinations: Sequence[CombinationResult], label: str
) -> CombinationResult | None:
    for other in combinations:
        is_alike = (other.target, other.levels, other.block_size_bytes) == (
            one.target,
            one.levels,
            one.block_size_bytes,
        )
        is_known = not other.invalid_trials and THROUGHPUT in other.metrics and label in ("", other.label)
        if other.is_durable and is_alike and is_known:
            return other
    return None


def _levels(one: CombinationResult, members: Sequence[CombinationResult]) -> str:
    varying: Mapping[str, str] = {
        name: level for name, level in one.levels.items() if len({other.levels.get(name) for other in members}) > 1
    }
    words = ", ".join(f"{name} {level_text(name, level)}" for name, level in varying.items())
    return f" at {words}" if words else ""
