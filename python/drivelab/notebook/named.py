"""Things by their name, which say what there is when a name is misspelt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

Thing = TypeVar("Thing")


class Named(Mapping[str, Thing]):
    """A mapping that nobody changes.

    Parameters
    ----------
    what : str
        What its things are called: ``figure``.
    """

    def __init__(self, what: str, things: Mapping[str, Thing]) -> None:
        self._what = what
        self._things = dict(things)

    def __getitem__(self, name: str) -> Thing:
        """The thing of that name.

        Raises
        ------
        KeyError
            There is none; the message lists the names.
        """
        if name not in self._things:
            raise KeyError(f"no {self._what} {name!r}; there are: {', '.join(self._things) or 'none'}")
        return self._things[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def __repr__(self) -> str:
        return f"<{len(self)} {self._what}{'' if len(self) == 1 else 's'}: {', '.join(self)}>"
