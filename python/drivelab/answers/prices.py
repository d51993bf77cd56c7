"""Gives drives of result sets the prices that somebody typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from drivelab.model.errors import DrivelabError
from drivelab.model.price import Price
from drivelab.model.result_set import MeasuredDrive, ResultSet


def with_prices(sets: Sequence[ResultSet], prices: Mapping[str, Price]) -> tuple[ResultSet, ...]:
    """The result sets with prices at their drives; one that was stored with a run gives way.

    Parameters
    ----------
    prices : mapping of str to Price
        By serial, model, or the name that tables give a drive.

    Raises
    ------
    DrivelabError
        U016: no drive has that name.
    """
    drives = [drive for one in sets for drive in one.drives]
    for name in prices:
        if not any(name in _names(drive) for drive in drives):
            known = ", ".join(dict.fromkeys(drive.serial or drive.name for drive in drives))
            raise DrivelabError("U016", f"no drive is called {name}", where="--price", do=f"choose: {known}")
    return tuple(replace(one, drives=tuple(_priced(drive, prices) for drive in one.drives)) for one in sets)


def _priced(drive: MeasuredDrive, prices: Mapping[str, Price]) -> MeasuredDrive:
    found = next((price for name, price in prices.items() if name in _names(drive)), drive.price)
    return replace(drive, price=found)


def _names(drive: MeasuredDrive) -> set[str]:
    return {drive.name, drive.serial, drive.model} - {""}
