"""Has hosts wait until all of them have said what they are going to do, and it is told what that erases.

A host that is off holds up nobody for long: once no other has answered for a while, those that have begin. One that
answers later is told of when it comes, and is subject to the same list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from drivelab.fleet.erase_list import EraseList
from drivelab.model.errors import DrivelabError
from drivelab.model.names import names_in_words
from drivelab.plan.fleet import Drive

_QUIET_S = 60.0
_NAMED_MAX = 5


class FleetRefused(Exception):
    """Nothing of the fleet may begin.

    Attributes
    ----------
    error : DrivelabError
        Why.
    """

    def __init__(self, error: DrivelabError) -> None:
        self.error = error
        super().__init__(error.what)


class Census:
    """Counts hosts that have said what they are going to do.

    Parameters
    ----------
    names : iterable of str
        Who is waited for.
    erase_list : EraseList
        What may be erased; a line that means no drive is a mistake, of which nobody knows what it was to mean.
    tell : callable
        Told the hosts that begin now, and the lines of which it is not known yet whether they mean a drive.
    quiet_s : float
        How long nothing may be heard until those that have answered begin.
    are_all : bool
        Whether these are all hosts: a serial may be that of a drive of a host that is not asked.
    """

    def __init__(
        self,
        names: Iterable[str],
        erase_list: EraseList,
        tell: Callable[[Sequence[str], Sequence[str]], None],
        quiet_s: float = _QUIET_S,
        *,
        are_all: bool = True,
    ) -> None:
        self._names = tuple(names)
        self._missing = dict.fromkeys(self._names)
        self._erase_list, self._tell, self._quiet_s = erase_list, tell, quiet_s
        self._drives: dict[str, Sequence[Drive]] = {}
        # of a host that was lost nobody knows what it has
        self._are_all = are_all
        self._has_begun = asyncio.Event()
        self._refusal: FleetRefused | None = None
        self._quiet: asyncio.TimerHandle | None = None

    async def may_begin(self, name: str, drives: Sequence[Drive]) -> None:
        """Return when a host may begin, of which it is known what it is going to do.

        Raises
        ------
        FleetRefused
            A line of the list means no drive.
        DrivelabError
            F902: a line means no drive of a host that has come late: the others are at work.
        """
        self._drives[name] = drives
        is_late = self._has_begun.is_set()
        self._missing.pop(name, None)
        self.goes_on()
        await self._has_begun.wait()
        if self._refusal is not None:
            raise self._refusal
        if not is_late:
            return
        wrong, _ = self._erase_list.without_drive({name: drives}, are_all=False)
        if wrong:
            raise _mistaken(wrong)
        self._tell([name], ())

    def leaves(self, name: str) -> None:
        """A host has ended, or could not be asked."""
        if name in self._missing:
            del self._missing[name]
            self._are_all = False
            self.goes_on()

    def goes_on(self) -> None:
        """Something was heard of a host that is waited for."""
        if self._quiet is not None:
            self._quiet.cancel()
        if not self._missing:
            self._begin()
        elif not self._has_begun.is_set():
            self._quiet = asyncio.get_running_loop().call_later(self._quiet_s, self._begin)

    def _begin(self) -> None:
        if self._has_begun.is_set() or not self._drives:
            return
        are_all = self._are_all and not self._missing
        wrong, unknown = self._erase_list.without_drive(self._drives, are_all=are_all)
        if wrong:
            self._refusal = FleetRefused(_mistaken(wrong))
        else:
            # as they are listed, whoever answered first
            self._tell([name for name in self._names if name in self._drives], unknown)
        self._has_begun.set()


def _mistaken(lines: Sequence[str]) -> DrivelabError:
    more = f" and {len(lines) - _NAMED_MAX} more" if len(lines) > _NAMED_MAX else ""
    what = f"no drive is meant by {names_in_words(lines[:_NAMED_MAX])}{more} of the erase list"
    do = "correct the list, as 'drivelab fleet drives' tells serials; nothing was touched"
    return DrivelabError("F902", what, do=do)
