"""Fits all cells of an experiment to its targets, and keeps what was adapted, left out or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from drivelab.model.errors import DrivelabError
from drivelab.model.plan import PlannedTarget
from drivelab.model.target import MADE_KINDS
from drivelab.plan.availability import KnownSettings, Refusal, constant, in_words, reduced, refusals, without_unreadable
from drivelab.plan.cells import Cell, units_of
from drivelab.plan.fit import fit, refuse_unless_together


class Fitting:
    """Fits cells to targets, and gathers what that changes.

    Parameters
    ----------
    skip_unavailable : bool
        Whether levels that a target cannot have are left out, and factors of
        which it can have none stay as found; on scratch drives and RAID sets that is always so.
    """

    def __init__(self, known: Mapping[str, KnownSettings], *, skip_unavailable: bool) -> None:
        self._known = known
        self._skip_unavailable = skip_unavailable
        self._notes: dict[str, None] = {}
        self._left_out: list[Refusal] = []
        self._refused: list[Refusal] = []
        self._measured = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What was adapted, in words."""
        return tuple(self._notes)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Levels that are not measured, and why."""
        return in_words(self._left_out)

    def cells(self, cells: Sequence[Cell], target: PlannedTarget) -> tuple[Cell, ...]:
        """The cells that the target can have.

        Raises
        ------
        DrivelabError
            P704, P705, P706: the target cannot have a cell at all, or not those that run at the same time.
        """
        known = self._known[target.label]
        leaves_out = self._skip_unavailable or target.kind in MADE_KINDS
        if leaves_out:
            cells, kept = reduced(cells, target, known)
            self._left_out += kept
        else:
            cells, stays = constant(cells, target, known)
            self._notes.update(dict.fromkeys(stays))
        found = []
        for cell in cells:
            refused = refusals(cell, target, known)
            if refused:
                (self._left_out if leaves_out else self._refused).extend(refused)
                continue
            fitted, adapted = fit(without_unreadable(cell, known), target)
            self._notes.update(dict.fromkeys(adapted))
            if fitted is not None:
                found.append(fitted)
        units = units_of(found)
        for unit in units:
            refuse_unless_together(unit, target)
        self._measured = self._measured or bool(units)
        return tuple(cell for unit in units for cell in unit)

    def refuse(self) -> None:
        """Return only if something is left, and nothing was left out without the user's word.

        Raises
        ------
        DrivelabError
            P707: a level is not to be had. P708: nothing is left.
        """
        if self._refused:
            raise DrivelabError("P707", "; ".join(in_words(self._refused)))
        if not self._measured:
            # nothing is measured beside it, as what it stays
            left_out = in_words(replace(one, stays=False) for one in self._left_out)
            raise DrivelabError("P708", f"nothing is left to measure: {'; '.join((*left_out, *self._notes))}")
