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
from drivelab.report.parts_of_text import shared_beginning

LOOKED_FASTER_FROM = 1.05
# of two ways it is enough to say by how much one looks faster
_WAYS_MIN = 3


def ways_of_writing(combinations: Sequence[CombinationResult]) -> list[list[CombinationResult]]:
    """Several ways to write the same, at each of its levels, of which memory took at least one.

    Returns
    -------
    list of list of CombinationResult
        At each place the ways that reached the drive, the fastest durable one first, before those that did not; the
        places of each target behind each other.
    """
    places: dict[object, list[CombinationResult]] = {}
    for one in combinations:
        if THROUGHPUT in one.metrics:
            place = (one.target, tuple(one.levels.items()), one.block_size_bytes)
            places.setdefault(place, []).append(one)
    found = []
    for ways in places.values():
        durable = next((_durable_beside(one, ways) for one in ways if _is_in_memory(one)), None)
        if durable is not None and len(ways) >= _WAYS_MIN:
            found.append(sorted(ways, key=lambda one: (_is_in_memory(one), one is not durable)))
    return sorted(found, key=lambda ways: [one.target for one in combinations].index(ways[0].target))


def way_names(ways: Sequence[CombinationResult], every: Sequence[CombinationResult]) -> tuple[str, list[str]]:
    """What all of them write with the levels that are varied, and what each is called beside the others."""
    common, names = shared_beginning([one.label for one in ways])
    return f"{common}{_levels(ways[0], every)}".strip(), names


def ways_sentences(combinations: Sequence[CombinationResult]) -> Iterator[str]:
    """How fast each of several ways to write is at the first and the last of their levels, and how far one misleads.

    Yields
    ------
    str
        A sentence without a full stop; of each target one before the others.
    """
    targets: dict[str, list[list[CombinationResult]]] = {}
    for ways in ways_of_writing(combinations):
        targets.setdefault(ways[0].target, []).append(ways)
    where = {target: f" on {target}" if len(targets) > 1 else "" for target in targets}
    for target, places in targets.items():
        common, names = way_names(places[0], combinations)
        rates = [f"{name} {_rate(one)}" for name, one in zip(names, places[0], strict=True)]
        yield f"{common}{where[target]}: {', '.join(rates)}" if common or where[target] else ", ".join(rates)
    for target, places in targets.items():
        last = {one.workload: one for one in places[-1]}
        if len(places) > 1 and last.keys() == {one.workload for one in places[0]}:
            rates = [_rate(last[one.workload]) for one in places[0]]
            common, _ = way_names(places[-1], combinations)
            yield f"{common}{where[target]}, in the same order: {', '.join(rates)}"
    for target, places in targets.items():
        yield from _misleading([places[0], *places[1:][-1:]], where[target], combinations)


def _misleading(
    places: Sequence[Sequence[CombinationResult]], where: str, every: Sequence[CombinationResult]
) -> Iterator[str]:
    """How many times as fast the first way that memory took looked as the fastest durable one, at each place."""
    told: list[str] = []
    shares: list[float] = []
    first, beside = next(one for one in places[0] if _is_in_memory(one)), way_names(places[0], every)[1][0]
    for ways in places:
        durable, plain = ways[0], next(one for one in ways if _is_in_memory(one))
        times = plain.metrics[THROUGHPUT].median / durable.metrics[THROUGHPUT].median
        told.append(f"{number_text(times, 2)} times{_levels(durable, every)}")
        shares.append(100 * _reached(plain))
    low, high = (f"{share:.0f}" for share in (min(shares), max(shares)))
    share = low if low == high else f"{low} to {high}"
    yield f"{first.label}{where} looked {' and '.join(told)} as fast as {beside}, with {share} % of it on the drive"


def _is_in_memory(one: CombinationResult) -> bool:
    return not one.is_durable and _reached(one) < REACHED_WHOLE


def _rate(one: CombinationResult) -> str:
    return format_rate_bytes_per_s(one.metrics[THROUGHPUT].median)


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
        durable = _durable_beside(one, combinations) if _is_in_memory(one) else None
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
    rates = [(_rate(one), one) for one in (durable, same[-1])]
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
