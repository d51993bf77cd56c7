"""The order of a plan: randomised within blocks, with what is slow to change outermost."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from drivelab.plan.cells import Cell, made_as, units_of

T = TypeVar("T")
# one cell, or those that are measured at the same time
Unit = tuple[Cell, ...]
FIRST_REPEAT = 1


@dataclass(frozen=True, slots=True)
class Turn:
    """A cell's turn: when it is measured.

    Attributes
    ----------
    block, repeat : int
        Block of the order, and repeat of the cell, from 1.
    together : int
        Turns that follow each other with the same number are measured at the same time; 0 is alone.
    phase : str
        The phase that it belongs to; empty where there are none.
    round : int
        Round of that phase, from 1.
    """

    target: str
    cell: Cell
    block: int
    repeat: int
    is_reference: bool = False
    together: int = 0
    phase: str = ""
    round: int = 0


def turns(
    cells: dict[str, tuple[Cell, ...]],
    references: dict[str, Cell],
    *,
    repeats: int,
    generator: np.random.Generator,
) -> Iterator[Turn]:
    """Every turn in order.

    Parameters
    ----------
    cells : dict of str to tuple of Cell
        The cells of every target, by its label.
    references : dict of str to Cell
        The reference cell of those targets that have one.

    Notes
    -----
    A block is one repeat on one target. Within it file systems are in random
    order, within each of them the options it is mounted with, then combinations
    of settings, and within these the workloads (a split-plot design): making a file system before every
    trial would wear the drive and take most of the time. What runs at the same
    time stays together, in the order of the file. A reference is
    measured at the beginning of every block, and once more at the end: that one
    belongs to the last block of its target.
    """
    block = group = 0
    last_block: dict[str, int] = {}
    reference_count = dict.fromkeys(references, 0)
    for repeat in range(FIRST_REPEAT, FIRST_REPEAT + repeats):
        for target in shuffled(list(cells), generator):
            block += 1
            last_block[target] = block
            if target in references:
                reference_count[target] += 1
                yield Turn(target, references[target], block, reference_count[target], is_reference=True)
            for unit in _units_in_order(units_of(cells[target]), generator):
                group += len(unit) > 1
                for cell in unit:
                    yield Turn(target, cell, block, repeat, together=group if len(unit) > 1 else 0)
    for target, cell in references.items():
        yield Turn(target, cell, last_block[target], reference_count[target] + 1, is_reference=True)


def shuffled(items: Sequence[T], generator: np.random.Generator) -> list[T]:
    """The items in random order."""
    return [items[index] for index in generator.permutation(len(items))]


def _units_in_order(units: Sequence[Unit], generator: np.random.Generator) -> Iterator[Unit]:
    for made_alike in shuffled(_grouped(units, lambda cell: made_as(cell.filesystem)), generator):
        for mounted_alike in shuffled(_grouped(made_alike, lambda cell: cell.filesystem), generator):
            for set_alike in shuffled(_grouped(mounted_alike, lambda cell: tuple(cell.settings.items())), generator):
                # what one that watches for a burst uses up the next would miss: they keep the order of the file
                watches = any(cell.pattern.watches_burst for unit in set_alike for cell in unit)
                yield from set_alike if watches else shuffled(set_alike, generator)


def _grouped(units: Sequence[Unit], key: Callable[[Cell], Hashable]) -> list[list[Unit]]:
    groups: dict[Hashable, list[Unit]] = {}
    for unit in units:
        groups.setdefault(key(unit[0]), []).append(unit)
    return list(groups.values())
