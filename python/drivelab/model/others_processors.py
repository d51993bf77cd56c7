"""What other programs used of the processors beside a trial, and when that makes a machine busy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# of all processors, and at least so many of them
_PROCESSOR_SHARE_MAX, _PROCESSORS_MAX = 0.10, 0.5
# the kernel counts in ticks of 4 to 10 ms: of a trial of a few of them nothing can be said
_PROCESSOR_NS_MIN = 50_000_000
# who used less of what others used is not named
_USER_SHARE_MIN = 0.25


def busy_with_others(processors: Mapping[str, float | None]) -> float:
    """As many processors as other programs used (0.5 is half of one), where that is enough to disturb a trial; else 0.

    Parameters
    ----------
    processors : mapping
        ``context["processors"]`` of a trial: all were at work for `busy`, this
        program for `own` and threads of the kernel, which also serve our I/O, for
        `kernel_threads`.
    """
    count = processors["count"] or 1
    others = (processors["busy"] or 0.0) - (processors["own"] or 0.0) - (processors["kernel_threads"] or 0.0)
    # ticks are counted at other moments than the time that passes
    others = min(others, count)
    is_long = others * (processors["duration_ns"] or 0) >= _PROCESSOR_NS_MIN
    is_much = others >= max(_PROCESSORS_MAX, _PROCESSOR_SHARE_MAX * count)
    return others if is_long and is_much else 0.0


def users_of_processors(context: Mapping[str, Any], others: float) -> list[str]:
    """Names of the programs that used most of so many processors in a trial, the busiest first; empty if none is known.

    Parameters
    ----------
    context : mapping
        Of the trial; earlier versions kept no names.
    others : float
        What `busy_with_others` says of it.
    """
    return busiest_by(context, "processors", _USER_SHARE_MIN * others)


def busiest_by(context: Mapping[str, Any], key: str, least: float) -> list[str]:
    """Names of the other programs beside a trial that have so much of something, those with the most first."""
    programs = (context.get("other_programs") or {}).get("busiest", ())
    found = sorted((one for one in programs if one[key] >= least), key=lambda one: -one[key])
    return ["another drivelab" if one["name"] == "drivelab" else one["name"] for one in found]
