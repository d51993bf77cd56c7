"""What every setting can do: be read, be set and read back, be put back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from drivelab.model.setting import SettingFacts
from drivelab.state.journal import Journal

Undo = Callable[..., str]


class Setting(Protocol):
    """One setting; there is one file per setting, and one object of it in `drivelab.state.settings.catalogue`.

    Attributes
    ----------
    name : str
        As in an experiment's file.
    is_of_host : bool
        Whether it belongs to the computer as a whole, not to one drive.
    undo : dict of str to callable
        Kinds of change that it writes to the journal, and what puts each back.
        It is called with the facts of the change, does nothing where nothing is
        left to do, leaves a value alone that somebody else has set since, and
        says what it did.
    """

    name: str
    is_of_host: bool
    undo: dict[str, Undo]

    def read(self, drive: Any) -> SettingFacts:
        """The setting as it is now, in every layer, and what it can be. Nothing is changed.

        Parameters
        ----------
        drive : DriveFacts or None
            The drive; a setting of the computer does not look at it.
        """
        ...

    def set(self, drive: Any, level: str, journal: Journal) -> str:
        """Bring the setting to a level, and give the level as read back.

        The old value goes to the journal before anything is changed; nothing
        happens when the setting has the level already.

        Raises
        ------
        DrivelabError
            C207: another drive goes by that name now. R401: not root. R402, R403: a program is not installed, or
            failed. R404: it cannot have the level, did not take it, or something else was read back.
        """
        ...
