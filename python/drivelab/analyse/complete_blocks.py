"""Trials as a rectangle: the blocks and combinations of levels of which nothing is missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from drivelab.analyse.paired_ratios import BLOCKS_MIN
from drivelab.analyse.trial_value import TrialValue
from drivelab.model.finding import trials_of
from drivelab.model.names import counted_of, in_number

# in the order of the factors
Cell = tuple[str, ...]
Block = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CompleteBlocks:
    """Logarithms by block and cell, none missing.

    Attributes
    ----------
    factors : tuple of str
        Those that have two levels or more, in the order of the file.
    cells : tuple of tuple of str
        Levels, in the order of `factors`.
    blocks : tuple of (int, int)
        Block and session.
    logarithms : ndarray, shape (blocks, cells)
        Natural; several trials of the same cell in a block are averaged.
    notes : tuple of str
        What was left out.
    """

    factors: tuple[str, ...]
    cells: tuple[Cell, ...]
    blocks: tuple[Block, ...]
    logarithms: NDArray[np.float64]
    notes: tuple[str, ...] = ()

    def mappings(self) -> list[dict[str, str]]:
        """The cells as mappings from factor to level."""
        return [dict(zip(self.factors, cell, strict=True)) for cell in self.cells]

    def levels(self, order: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Levels of each factor that are there, in the order of the file."""
        return {
            factor: [level for level in order[factor] if any(cell[place] == level for cell in self.cells)]
            for place, factor in enumerate(self.factors)
        }


def complete_blocks(trials: Sequence[TrialValue], order: Mapping[str, Sequence[str]]) -> CompleteBlocks | None:
    """The largest part of the trials of one workload on one target that is complete.

    Parameters
    ----------
    trials : sequence of TrialValue
        Those that do not describe the drive are left out.
    order : mapping of str to sequence of str
        Levels of every factor in the order of the experiment's file.

    Returns
    -------
    CompleteBlocks or None
        None where nothing is left.

    Notes
    -----
    A run that was cut off leaves a block with some of the cells, a trial that
    was refused leaves a cell out of a block. Where `BLOCKS_MIN` blocks have all
    cells, these blocks are taken. Otherwise blocks are taken in, the fullest
    first, as long as that leaves more degrees of freedom for the scatter: only
    cells that all of them have stay. A factor that a cell does not have counts
    as its first level there.
    """
    valid = [trial for trial in trials if not trial.is_invalid]
    alike, notes = _found_alike(valid)
    if len(valid) < len(trials):
        count = len(trials) - len(valid)
        notes.append(f"{trials_of(count, len(trials), 'do not')} describe the drive: left out")
    factors = tuple(name for name, levels in order.items() if _is_varied(name, levels, alike))
    values: dict[Block, dict[Cell, list[float]]] = {}
    for trial in alike:
        cell = tuple(trial.levels.get(name, order[name][0]) for name in factors)
        if all(level in order[name] for name, level in zip(factors, cell, strict=True)):
            values.setdefault((trial.block, trial.session), {}).setdefault(cell, []).append(math.log(trial.value))
    if not values:
        return None
    blocks, cells = _largest_rectangle(values)
    seen = {cell for by_cell in values.values() for cell in by_cell}
    known = {number for number, _ in values}
    if lacking := len(known - {number for number, _ in blocks}):
        blocks_are = counted_of(lacking, len(known), "block", "are")
        notes.append(f"{blocks_are} not complete and {in_number(lacking, 'were')} left out")
    if lacking := len(seen) - len(cells):
        notes.append(f"{counted_of(lacking, len(seen), 'combination', 'are')} missing in some block: left out")
    logarithms = np.array([[fmean(values[block][cell]) for cell in cells] for block in blocks])
    used = tuple(name for place, name in enumerate(factors) if len({cell[place] for cell in cells}) > 1)
    kept = tuple(tuple(level for name, level in zip(factors, cell, strict=True) if name in used) for cell in cells)
    return CompleteBlocks(used, kept, tuple(blocks), logarithms, tuple(notes))


def _is_varied(name: str, levels: Sequence[str], trials: Sequence[TrialValue]) -> bool:
    return bool(levels) and len({trial.levels.get(name, levels[0]) for trial in trials}) > 1


def _found_alike(trials: Sequence[TrialValue]) -> tuple[list[TrialValue], list[str]]:
    """The trials for which what was left as found was most often the same."""
    found = Counter(tuple(sorted(trial.found.items())) for trial in trials if trial.found)
    names = {name for known in found for name, _ in known}
    notes = []
    alike = list(trials)
    for name in sorted(names):
        values = Counter(trial.found[name] for trial in alike if name in trial.found)
        if len(values) > 1:
            most, _ = values.most_common(1)[0]
            alike = [trial for trial in alike if trial.found.get(name, most) == most]
            notes.append(f"{name} was not found the same everywhere: only trials with {most} are compared")
    return alike, notes


def _largest_rectangle(values: Mapping[Block, Mapping[Cell, Sequence[float]]]) -> tuple[list[Block], list[Cell]]:
    fullest = sorted(values, key=lambda block: (-len(values[block]), block))
    best: tuple[tuple[int, int], list[Block], list[Cell]] | None = None
    shared = dict.fromkeys(cell for block in fullest for cell in values[block])
    whole = [block for block in fullest if len(values[block]) == len(shared)]
    if len(whole) >= BLOCKS_MIN:
        return sorted(whole), list(shared)
    for count, block in enumerate(fullest, start=1):
        shared = dict.fromkeys(cell for cell in shared if cell in values[block])
        size = ((count - 1) * max(len(shared) - 1, 0), count * len(shared))
        if best is None or size > best[0]:
            best = size, fullest[:count], list(shared)
    assert best is not None
    return sorted(best[1]), best[2]
