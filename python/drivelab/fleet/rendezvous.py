"""Has many hosts begin at one moment: none begins until all are ready, and none does if one cannot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence

from drivelab.model.fleet_plan import NOT_TOGETHER
from drivelab.model.names import names_in_words

# the moment reaches every host before it comes
_LEAD_NS = 2_000_000_000


class NotTogether(Exception):
    """One of those that were to begin together cannot; it says which."""


def not_together(names: Sequence[str]) -> str:
    """Why nobody begins, where these could not."""
    several = f"{len(names)} hosts ({names_in_words(names)})" if len(names) > 1 else names[0]
    return f"{NOT_TOGETHER}, and {several} could not"


class Rendezvous:
    """Waits until everybody is ready.

    Parameters
    ----------
    names : iterable of str
        Who is waited for.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._missing = set(names)
        self._moment: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def is_ready(self, name: str) -> None:
        """Somebody is; the last one sets the moment."""
        self._missing.discard(name)
        if not self._missing and not self._moment.done():
            self._moment.set_result(time.time_ns() + _LEAD_NS)

    def fails(self, name: str) -> None:
        """Somebody cannot begin: nobody does, unless all have begun already."""
        if not self._moment.done():
            self._moment.set_exception(NotTogether(not_together([name])))
            # whoever waits hears of it; it is no error where nobody does
            self._moment.exception()

    def require_possible(self) -> None:
        """Return only if nobody has failed until now.

        Raises
        ------
        NotTogether
            Somebody cannot.
        """
        if self._moment.done():
            self._moment.result()

    async def moment(self) -> int:
        """When all begin, in nanoseconds since 1970 by our clock.

        Raises
        ------
        NotTogether
            Somebody cannot.
        """
        return await asyncio.shield(self._moment)
