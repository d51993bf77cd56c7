"""What an undo may know of its journal beside the facts of its own change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drivelab.state.journal import Change, Journal


@dataclass(frozen=True, slots=True)
class UndoContext:
    """The journal around a change; given to an undo that has a parameter ``context``.

    Attributes
    ----------
    journal : Journal or None
        None where a change is undone without one.
    change : Change or None
        The change itself.
    """

    journal: Journal | None = None
    change: Change | None = None

    @property
    def beside(self) -> tuple[Change, ...]:
        """The other changes of its kind that are not put back yet."""
        if self.journal is None or self.change is None:
            return ()
        changes = self.journal.outstanding
        return tuple(one for one in changes if one.kind == self.change.kind and one.number != self.change.number)

    @property
    def newer(self) -> tuple[Change, ...]:
        """Those of them that were made later, and that could not be put back before."""
        return tuple(one for one in self.beside if self.change is not None and one.number > self.change.number)

    def note(self, change: Change | None = None, **facts: Any) -> None:
        """Add facts to the change, or to another one: a later undo gets them too."""
        noted = change or self.change
        if self.journal is not None and noted is not None:
            self.journal.note(noted, **facts)


NO_CONTEXT = UndoContext()
