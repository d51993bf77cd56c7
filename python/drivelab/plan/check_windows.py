"""How the durable trials of a check are spread over it: each in several windows, with other trials between them.

A drive may change its speed slowly: throttled for a minute, with a cache that fills and empties, beside a neighbour
that comes and goes. A single window may meet one speed alone; windows that lie apart meet several, and how much they
differ says how far the number may be from that of another time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.order import shuffled

# behind which trials a round of the durable ones is measured; reads give a drive time to put in order what was written
_BEHIND = ("sequential-read-qd8", "random-read-qd32")
_BEHIND_QUICK = _BEHIND[1:]
# and how many before anything else is written
_ROUNDS_FIRST, _ROUNDS_FIRST_QUICK = 3, 2
_RAMP: Any = "50ms"


@dataclass(frozen=True, slots=True)
class CheckTrial:
    """A trial of a check, or one window of it, by its name, with what it is in words."""

    name: str
    label: str
    pattern: WorkloadPattern
    file_name: str = ""
    window: int = 1
    window_count: int = 1


def spread(
    durable: Sequence[CheckTrial], others: Sequence[CheckTrial], *, seed: int, is_quick: bool
) -> Iterator[CheckTrial]:
    """The trials of a check in order: some rounds of the durable ones, then the others with a round behind some.

    Parameters
    ----------
    durable : sequence of CheckTrial
        Each is cut into windows, one in every round; a round behind the first is in random order.
    """
    behind = _BEHIND_QUICK if is_quick else _BEHIND
    first = _ROUNDS_FIRST_QUICK if is_quick else _ROUNDS_FIRST
    generator, count = np.random.default_rng(seed), first + len(behind)

    def one_round(number: int) -> Iterator[CheckTrial]:
        in_order = durable if number == 1 else shuffled(durable, generator)
        yield from (_window(trial, number, count) for trial in in_order)

    for number in range(1, first + 1):
        yield from one_round(number)
    for trial in others:
        yield trial
        if trial.name in behind:
            yield from one_round(first + 1 + behind.index(trial.name))


def _window(trial: CheckTrial, number: int, count: int) -> CheckTrial:
    """One of so many windows of a trial, from 1; all together take its time, and as many bytes."""
    pattern = trial.pattern
    times = {name: f"{getattr(pattern, name) // count}ns" for name in ("runtime", "enough_after")}
    amounts = {name: getattr(pattern, name) // count for name in ("bytes", "enough_bytes")}
    part = pattern.changed(**times, **amounts, ramp=_RAMP)
    if number > 1:
        # single I/Os are kept of the first
        part = part.changed(record_ios=False, count=0)
    return replace(trial, pattern=part, window=number, window_count=count)
