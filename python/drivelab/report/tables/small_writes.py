"""The durable small writes of several result sets: which of them are the same workload, and how settings are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from drivelab.model.judged_metric import LATENCY, MEAN_LATENCY
from drivelab.model.level_words import level_text
from drivelab.model.result_set import Observation, ResultSet
from drivelab.model.units import format_bytes
from drivelab.model.workload import TREE_OPERATIONS
from drivelab.report.combination_labels import NOT_APPLICABLE
from drivelab.report.tables.drive_rows import DriveRow

# reads end with nothing durable, and an operation on files is more than a write
_OTHERS = ("read", *TREE_OPERATIONS)
# from this size on a write is issued for the bytes that it moves
LARGE_WRITE_BYTES = 1 << 20
FILESYSTEM, MOUNT, WRITE_CACHE, BLOCK_SIZE = "filesystem", "mount", "write-cache", "block_size"
# every factor with its level, in the order of the names
Levels = tuple[tuple[str, str], ...]
_SETTINGS = (FILESYSTEM, MOUNT, WRITE_CACHE)
_NAMES = {MEAN_LATENCY: "mean", LATENCY: "median"}


@dataclass(frozen=True, slots=True)
class SmallWrite:
    """A workload of durable small writes, as one or several result sets measured it.

    Attributes
    ----------
    title : str
        What it is, the size of a write included.
    metric : str
        Which latency is shown wherever there is one: the mean where a published page is among the sets.
    members : frozenset of (str, str, int or None)
        Key of the result set, name of the workload and size of a write.
    told_as : tuple of (str, str)
        Key of every published page that calls it something else than `title`, and what it calls it.
    """

    title: str
    metric: str
    members: frozenset[tuple[str, str, int | None]]
    told_as: tuple[tuple[str, str], ...] = ()

    @property
    def latency(self) -> str:
        """What the latency is: ``mean latency``."""
        return f"{_NAMES[self.metric]} latency"

    def of(self, row: DriveRow) -> dict[Levels, Observation]:
        """The latency of every combination of a row, by its levels; a note tells where it is not `metric`."""
        keys = {one.key for one in row.sets}
        workloads = {(workload, size) for key, workload, size in self.members if key in keys}
        found: dict[Levels, Observation] = {}
        for place in sorted(chain.from_iterable(row.places.get(kind, ()) for kind in workloads)):
            one = row.observations[place]
            if not is_small_write(one):
                continue
            levels = tuple(sorted(one.levels.items()))
            if levels not in found or one.metric == self.metric:
                found[levels] = one
        return {levels: self._told(one) for levels, one in found.items()}

    def row_notes(self, row: DriveRow) -> tuple[str, ...]:
        """What has to be known of a row: that it did not do quite the same."""
        keys = {one.key for one in row.sets}
        return tuple(f"published of: {title}; only the size is the same" for key, title in self.told_as if key in keys)

    def _told(self, one: Observation) -> Observation:
        if one.metric == self.metric:
            return one
        told = f"a {_NAMES[one.metric]}, where others are {_NAMES[self.metric]}s"
        return replace(one, note=f"{told}; {one.note}" if one.note else told)


def is_small_write(one: Observation) -> bool:
    """Whether it is the latency of durable writes that are small, or of several sizes."""
    # a curve over sizes is told as a whole
    is_small = one.block_size_bytes is None or one.block_size_bytes < LARGE_WRITE_BYTES or BLOCK_SIZE in one.levels
    return one.is_durable and is_small and one.operation not in _OTHERS and one.metric in (MEAN_LATENCY, LATENCY)


def small_writes(sets: Sequence[ResultSet]) -> tuple[SmallWrite, ...]:
    """The workloads of durable small writes, in the order of the sets.

    Workloads of two runs are the same if they have name and size in common. That of
    a published page, whose names are not ours, is the only one of that size, if there is one.
    """
    members: dict[tuple[str, int | None], set[tuple[str, str, int | None]]] = {}
    titles: dict[tuple[str, int | None], dict[str, str]] = {}
    kinds = [(one, each) for one in sorted(sets, key=lambda one: one.is_reference) for each in one.observations]
    for one, each in kinds:
        if not is_small_write(each):
            continue
        workload = _kind(each)
        same_size = [kind for kind in members if kind[1] == workload[1] and workload[1] is not None]
        group = same_size[0] if one.is_reference and workload not in members and len(same_size) == 1 else workload
        members.setdefault(group, set()).add((one.key, *workload))
        titles.setdefault(group, {}).setdefault(one.key, each.title or each.workload)
    metric = MEAN_LATENCY if any(one.is_reference for one in sets) else LATENCY
    metric = (
        metric
        if any(each.metric == metric for _, each in kinds)
        else LATENCY
        if metric == MEAN_LATENCY
        else MEAN_LATENCY
    )
    names = {group: next(iter(found.values())) for group, found in titles.items()}
    counts = Counter(names.values())
    references = {one.key for one in sets if one.is_reference}
    return tuple(
        SmallWrite(
            title=title_with_size(names[group], group[1], is_alone=counts[names[group]] == 1),
            metric=metric,
            members=frozenset(found),
            told_as=tuple(
                (key, told) for key, told in titles[group].items() if key in references and told != names[group]
            ),
        )
        for group, found in members.items()
    )


def other_levels(levels: Mapping[str, str]) -> Levels:
    """The levels of every other factor."""
    return tuple(sorted((name, level) for name, level in levels.items() if name not in _SETTINGS))


def factor_head(name: str) -> str:
    """The name of a factor as tables head it."""
    return name.replace("_", " ").replace("filesystem", "file system")


def factor_words(name: str, levels: Mapping[str, str]) -> str:
    """The level of some factor, with its unit."""
    return level_text(name, levels[name]) if name in levels else NOT_APPLICABLE


def _kind(one: Observation) -> tuple[str, int | None]:
    return (one.workload, one.block_size_bytes)


def title_with_size(title: str, size: int | None, *, is_alone: bool = False) -> str:
    """A workload's title with the size of its I/Os, unless it tells that; one that stands alone by any number."""
    text = format_bytes(size) if size is not None else ""
    is_told = not text or text in title or (is_alone and any(char.isdigit() for char in title))
    return title if is_told else f"{title}, {text}"
