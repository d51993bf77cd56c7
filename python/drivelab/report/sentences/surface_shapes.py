"""Where surfaces of throughput over file size and record size are highest, and what stands out of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.level_words import level_size, level_text
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.model.surface import REPEATS_MIN, SurfaceShape
from drivelab.model.units import format_bytes
from drivelab.report.combination_labels import BLOCK_SIZE, FILE_SIZE, combinations_by_table, of_largest_files
from drivelab.report.parts_of_text import capitalised

# more of them nobody reads
TOLD_AT_MOST = 12
# from how many record sizes on there is a curve, and which share of the best is near to it
RECORDS_MIN, NEAR = 3, 0.9
NOTHING = "No dips or edges: no file size or record size is slower than its neighbours at most sizes of the other."
NOT_JUDGED = (
    f"Which file size or record size stands out was not judged: that takes {REPEATS_MIN} repeats of each. "
    "The maps show what was seen."
)
_SIZES = {"file_size": "files", "block_size": "records"}
_OTHERS = {"file_size": "record sizes", "block_size": "file sizes"}


def shape_sentences(answer: RunAnswer) -> tuple[str, ...]:
    """Which sizes are fastest and what stands out, the troughs first; none where not both sizes were varied."""
    surfaces = [one for one in answer.combinations if {"file_size", "block_size"} <= one.levels.keys()]
    if not surfaces:
        return ()
    titles = {one.workload: one.label for one in surfaces}
    targets = {one.target for one in surfaces}
    told = list(_sentences(answer.shapes, titles, has_several=len(targets) > 1))
    left = len(told) - TOLD_AT_MOST
    more = (f"{left} more such edges are in the figures.",) if left > 0 else ()
    is_judged = any(one.trial_count >= REPEATS_MIN for one in surfaces)
    stands_out = (*told[:TOLD_AT_MOST], *more) or ((NOTHING,) if is_judged else (NOT_JUDGED,))
    return (*_over_records(surfaces), *_fastest(surfaces), *stands_out)


def _over_records(surfaces: Sequence[CombinationResult]) -> Iterator[str]:
    """With which records the largest files come near to their best throughput, in the median over the workloads."""
    shares: dict[str, list[float]] = {}
    for group in combinations_by_table(surfaces):
        known = [one for one in of_largest_files(group) if THROUGHPUT in one.metrics and not one.invalid_trials]
        best = max(map(_rate, known), default=0.0)
        for one in known:
            shares.setdefault(one.levels[BLOCK_SIZE], []).append(_rate(one) / best)
    if len(shares) < RECORDS_MIN:
        return
    medians = {size: median(shares[size]) for size in sorted(shares, key=level_size)}
    first, last = _near(list(medians.values()))
    sizes = list(medians)
    words = {size: level_text(BLOCK_SIZE, size) for size in sizes}
    ends = [size for is_apart, size in ((first > 0, sizes[0]), (last < len(sizes) - 1, sizes[-1])) if is_apart]
    others = " and".join(f" those of {words[size]} to {_percent(medians[size])}" for size in ends)
    files = level_text(FILE_SIZE, max((one.levels[FILE_SIZE] for one in surfaces), key=level_size))
    records = f"records of {words[sizes[first]]}{f' to {words[sizes[last]]}' if first < last else ''}"
    share = f"{_percent(min(medians[size] for size in sizes[first : last + 1]))}{' or more' if first < last else ''}"
    most = max(map(len, shares.values()))
    over = f" (median of {most} workloads)" if most > 1 else ""
    yield f"With files of {files}, {records} come to {share} of the best throughput{others and f',{others}'}{over}."


def _near(shares: Sequence[float]) -> tuple[int, int]:
    """The first and the last place about the best one that come near to the best."""
    first = last = max(range(len(shares)), key=shares.__getitem__)
    while first and shares[first - 1] >= NEAR:
        first -= 1
    while last < len(shares) - 1 and shares[last + 1] >= NEAR:
        last += 1
    return first, last


def _fastest(surfaces: Sequence[CombinationResult]) -> Iterator[str]:
    """The file size and the record size at which most workloads are fastest by the median."""
    best: dict[tuple[str, str], CombinationResult] = {}
    for one in surfaces:
        place = (one.target, one.workload)
        if THROUGHPUT in one.metrics and (place not in best or _rate(one) > _rate(best[place])):
            best[place] = one
    if len(best) > 1:
        files, records = (Counter(one.levels[factor] for one in best.values()).most_common(1)[0] for factor in _SIZES)
        # an order of medians, which nobody judged
        size = level_text("file_size", files[0])
        words = f"The fastest combination has files of {size} in {files[1]} of {len(best)} workloads"
        yield f"{words}, and records of {level_text('block_size', records[0])} in {records[1]}."


def _rate(one: CombinationResult) -> float:
    return one.metrics[THROUGHPUT].median


def _sentences(shapes: Sequence[SurfaceShape], titles: dict[str, str], *, has_several: bool) -> Iterator[str]:
    levels = {tuple(one.levels.items()) for one in shapes}
    for kind in ("trough", "falls", "rises"):
        for one in shapes:
            if one.kind == kind:
                where = [titles.get(one.workload, one.workload), *([one.target] if has_several else [])]
                # what all have in common tells nothing
                where += [pair[1] for pair in one.levels.items() if any(pair not in each for each in levels)]
                yield f"{capitalised(', '.join(where))}: {_words(one)}."


def _words(one: SurfaceShape) -> str:
    size, first, second = (format_bytes(number) for number in (one.size_bytes, *one.neighbours_bytes))
    things = _SIZES[one.factor]
    seen = f"at {one.clear_count} of {one.line_count} {_OTHERS[one.factor]}"
    if one.kind == "trough":
        return f"{things} of {size} are {_percent(one.loss)} slower than their neighbours, {first} and {second}, {seen}"
    # what lies beyond the neighbours was not judged
    beyond = f"{first} by {_percent(one.loss)}"
    if first != second:
        beyond += f", {second} by {_percent(one.largest_loss)}"
    return f"{things} {'above' if one.kind == 'falls' else 'below'} {size} are slower, {beyond} ({seen})"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"
