"""What other programs used of the processors beside a trial, and when that makes a machine busy."""

from __future__ import annotations

from collections.abc import Mapping

# of all processors, and at least so many of them
_PROCESSOR_SHARE_MAX, _PROCESSORS_MAX = 0.10, 0.5
# the kernel counts in ticks of 4 to 10 ms: of a trial of a few of them nothing can be said
_PROCESSOR_NS_MIN = 50_000_000


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
