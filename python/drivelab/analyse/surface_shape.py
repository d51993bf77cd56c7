"""Where a surface of throughput over file size and record size has a trough, and from where on it falls off.

A shape is told only where it shows at most sizes of the other factor, each time
beyond the spread of the repeats: three equal repeats lie apart by chance too
often for one place to count. Of 2000 flat surfaces of the size of
`record-surface` none had any shape, with repeats that scatter by 2, by 10 or by
40 % (``tests/unit/analyse/test_surface_shape.py`` simulates some of them).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from drivelab.model.errors import DrivelabError
from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.run_answer import CombinationResult
from drivelab.model.surface import REPEATS_MIN, ShapeKind, SizeFactor, SurfaceShape
from drivelab.model.units import parse_bytes

FILE_SIZE: SizeFactor = "file_size"
RECORD_SIZE: SizeFactor = "block_size"
# sizes of the other factor that a shape has to show at, more than half of those that were measured
LINES_MIN = 4
# a smaller difference changes nothing that anybody would do
LOSS_MIN = 0.1


@dataclass(frozen=True, slots=True)
class Place:
    """The throughput at one place of a surface, in B/s: the median of its repeats, and from where to where they lie."""

    value: float
    lowest: float
    highest: float


# by the size along the line
Line = Mapping[int, Place]


@dataclass(frozen=True, slots=True)
class Found:
    """A shape before it is known whose it is; the fields mean what they mean in `SurfaceShape`."""

    size_bytes: int
    neighbours_bytes: tuple[int, int]
    loss: float
    largest_loss: float
    line_count: int
    clear_count: int


def surface_shapes(combinations: Iterable[CombinationResult]) -> tuple[SurfaceShape, ...]:
    """What stands out of the surfaces of a run.

    Parameters
    ----------
    combinations : iterable of CombinationResult
        Of one run. Those are surfaces that differ in file size and record size
        alone and have at least `REPEATS_MIN` repeats; places with trials that
        do not describe the drive are gaps.

    Returns
    -------
    tuple of SurfaceShape
        Of each surface troughs, then falls, then rises; file sizes before record sizes.
    """
    found = []
    for (target, workload, levels), places in _surfaces(combinations).items():
        for kind, factor, shape in _shapes(places):
            found.append(SurfaceShape(target, workload, dict(levels), kind, factor, **asdict(shape)))
    return tuple(found)


def _surfaces(
    combinations: Iterable[CombinationResult],
) -> dict[tuple[str, str, tuple[tuple[str, str], ...]], dict[tuple[int, int], Place]]:
    """Places by file size and record size, of each target, workload and combination of other levels."""
    found: dict[tuple[str, str, tuple[tuple[str, str], ...]], dict[tuple[int, int], Place]] = {}
    for one in combinations:
        metric = one.metrics.get(THROUGHPUT)
        sizes = [_size(one.levels.get(factor)) for factor in (FILE_SIZE, RECORD_SIZE)]
        if metric is None or metric.repeat_count < REPEATS_MIN or one.invalid_trials or not all(sizes):
            continue
        others = tuple((name, level) for name, level in one.levels.items() if name not in (FILE_SIZE, RECORD_SIZE))
        surface = found.setdefault((one.target, one.workload, others), {})
        surface[sizes[0], sizes[1]] = Place(metric.median, metric.lowest, metric.highest)
    return found


def _size(level: str | None) -> int:
    try:
        return parse_bytes(level) if level else 0
    except DrivelabError:
        return 0


def _shapes(places: Mapping[tuple[int, int], Place]) -> Iterator[tuple[ShapeKind, SizeFactor, Found]]:
    along_files = _lines(((record, file), place) for (file, record), place in places.items())
    along_records = _lines(places.items())
    ways: tuple[tuple[SizeFactor, list[Line]], ...] = ((FILE_SIZE, along_files), (RECORD_SIZE, along_records))
    for factor, lines in ways:
        for shape in troughs(lines):
            yield "trough", factor, shape
    edges: tuple[tuple[ShapeKind, bool], ...] = (("falls", False), ("rises", True))
    for kind, is_descending in edges:
        for factor, lines in ways:
            found = edge(lines, is_descending=is_descending)
            if found is not None:
                yield kind, factor, found


def _lines(places: Iterable[tuple[tuple[int, int], Place]]) -> list[Line]:
    """Lines along the second size, one for each first one."""
    found: dict[int, dict[int, Place]] = {}
    for (across, along), place in places:
        found.setdefault(across, {})[along] = place
    return [dict(sorted(line.items())) for _, line in sorted(found.items())]


def troughs(lines: Sequence[Line]) -> Iterator[Found]:
    """Sizes that are slower than the next smaller and the next larger one.

    Parameters
    ----------
    lines : sequence of mapping of int to Place
        Places along the size, one line for each size of the other factor.
    """
    sizes = sorted({size for line in lines for size in line})
    for before, size, after in zip(sizes, sizes[1:], sizes[2:], strict=False):
        whole = [line for line in lines if {before, size, after} <= line.keys()]
        clear = [line for line in whole if line[size].highest < min(line[before].lowest, line[after].lowest)]
        if not _is_most(clear, whole):
            continue
        loss = 1 - median(line[size].value / (line[before].value * line[after].value) ** 0.5 for line in whole)
        if loss >= LOSS_MIN:
            yield Found(size, (before, after), loss, loss, len(whole), len(clear))


def edge(lines: Sequence[Line], *, is_descending: bool = False) -> Found | None:
    """The last size before all larger ones are slower; None where there is no such fall.

    Parameters
    ----------
    lines : sequence of mapping of int to Place
        Places along the size, one line for each size of the other factor.
    is_descending : bool
        Whether to go from large sizes to small ones: then it is the first size of a rise.
    """
    sizes = sorted({size for line in lines for size in line}, reverse=is_descending)
    slower: list[tuple[int, float, int, int]] = []
    # from the far end back to the first size that is as good as the best
    for place in range(len(sizes) - 1, 0, -1):
        found = _slower_than_before(lines, sizes[:place], sizes[place])
        if found is None:
            break
        slower.insert(0, (sizes[place], *found))
    place = len(sizes) - len(slower)
    if not slower or place < 2:
        return None
    first, slowest = slower[0], max(slower, key=lambda one: one[1])
    return Found(sizes[place - 1], (first[0], slowest[0]), first[1], slowest[1], first[2], first[3])


def _slower_than_before(lines: Sequence[Line], before: Sequence[int], size: int) -> tuple[float, int, int] | None:
    """By which share a size is slower than what comes before it on its lines, on how many, and on how many clearly.

    The two sizes that are best on most lines are what it is held against: the
    best of a line alone is often best by luck.
    """
    best = _best(lines, before)
    whole = [line for line in lines if size in line and any(one in line for one in best)]
    if not whole:
        return None
    references = [[line[one] for one in best if one in line] for line in whole]
    pairs = list(zip(whole, references, strict=True))
    clear = [line for line, good in pairs if line[size].highest < min(one.lowest for one in good)]
    loss = 1 - median(line[size].value / median(one.value for one in good) for line, good in pairs)
    return (loss, len(whole), len(clear)) if loss >= LOSS_MIN and _is_most(clear, whole) else None


def _best(lines: Sequence[Line], sizes: Sequence[int]) -> tuple[int, ...]:
    """The two of some sizes that come nearest to the best of their lines, in the median over the lines."""

    def goodness(size: int) -> float:
        shares = [
            line[size].value / max(line[one].value for one in sizes if one in line) for line in lines if size in line
        ]
        return median(shares) if shares else 0.0

    return tuple(sorted(sizes, key=goodness, reverse=True)[:2])


def _is_most(clear: Sequence[Line], whole: Sequence[Line]) -> bool:
    return len(whole) >= LINES_MIN and 2 * len(clear) > len(whole)
