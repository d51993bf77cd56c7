"""Which rows of a table are shown where there is room for some of them only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# a factor with fewer levels makes no curve
_CURVE_LEVELS_MIN = 3


def shown_places(rows: Sequence[Mapping[str, str]], most: int, leading: int = 0) -> list[int]:
    """Places of the rows that are shown: all, or as many as there is room for, with a line for how many are not.

    Parameters
    ----------
    rows : sequence of mapping of str to str
        The levels of each row.
    most : int
        Lines that there are.
    leading : int
        How many rows lead: they are shown in any case, as far as the last of the others leaves room.

    Returns
    -------
    list of int
        In the order of the rows. Where nothing leads, whole curves over the factor with the most levels, the
        one with all other factors at their first levels before the others; some rows from the first to the last where
        that one has no room, or where there is none.
    """
    room = max(2, most - 1)
    # a line for the rest is worth a row
    if len(rows) <= max(most, room + 1):
        return list(range(len(rows)))
    curves = [] if leading else _curves(rows)
    shown: list[int] = []
    for curve in curves:
        if len(shown) + len(curve) > room:
            break
        shown += curve
    if shown:
        return sorted(shown)
    pool = curves[0] if curves else range(len(rows))
    leading = min(leading, room - 2)
    rest = room - leading
    spread = (leading + round(at * (len(pool) - leading - 1) / (rest - 1)) for at in range(rest))
    return [*range(leading), *(pool[place] for place in spread)]


def _curves(rows: Sequence[Mapping[str, str]]) -> list[list[int]]:
    """The places of the rows of each curve, those with the most factors at their first levels first."""
    levels: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, level in row.items():
            levels.setdefault(name, {})[level] = None
    longest = max(levels, key=lambda name: len(levels[name]), default="")
    if len(levels.get(longest, ())) < _CURVE_LEVELS_MIN:
        return []
    firsts = {name: next(iter(of)) for name, of in levels.items()}
    found: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault(tuple((name, row[name]) for name in row if name != longest), []).append(place)
    return [
        found[others] for others in sorted(found, key=lambda one: sum(firsts[name] != level for name, level in one))
    ]
