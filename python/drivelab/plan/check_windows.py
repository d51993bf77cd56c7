"""How the durable trials of a check are spread over it: each in several windows, with other trials between them.

A drive may change its speed slowly: throttled for a minute, with a cache that fills and empties, beside a neighbour
that comes and goes. A single window may meet one speed alone; windows that lie apart meet several, and how much they
differ says how far the number may be from that of another time. A quick check has no time for that: of the three
windows that it could have, whose scatter nobody knows, even a steady drive would have intervals that settle little.
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
# and how many before anything else is written
_ROUNDS_FIRST = 3
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


def spread(durable: Sequence[CheckTrial], others: Sequence[CheckTrial], *, seed: int) -> Iterator[CheckTrial]:
    """The trials of a check in order: some rounds of the durable ones, then the others with a round behind some.

    Parameters
    ----------
    durable : sequence of CheckTrial
        Each is cut into windows, one in every round; a round behind the first is in random order.
    """
    generator, count = np.random.default_rng(seed), _ROUNDS_FIRST + len(_BEHIND)

    def one_round(number: int) -> Iterator[CheckTrial]:
        in_order = durable if number == 1 else shuffled(durable, generator)
        yield from (_window(trial, number, count) for trial in in_order)

    for number in range(1, _ROUNDS_FIRST + 1):
        yield from one_round(number)
    for trial in others:
        yield trial
        if trial.name in _BEHIND:
            yield from one_round(_ROUNDS_FIRST + 1 + _BEHIND.index(trial.name))


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
