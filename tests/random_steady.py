"""Write amplification of a simulated drive right after it was written in several ways, and in the end."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivelab.inventory.target import resolve_target
from drivelab.model.target import TargetFacts
from drivelab.model.workload import Access, BlockSizeShare, Limits, OperationShare, TargetRange, Workload
from drivelab.run.engine import run_workload
from drivelab.run.preconditioning import writes_of
from drivelab.run.simulated import SimulatedDrive

BLOCK = 4096
_REGIONS = 100
# parts of a fill in which write amplification is counted, one after the other
WINDOWS, WINDOW_SHARE = 4, 0.02


@dataclass(frozen=True)
class Written:
    """What came of a drive that was written.

    Attributes
    ----------
    drive : SimulatedDrive
        As it is.
    facts : TargetFacts
        The target.
    told : dict
        What was told of it.
    """

    drive: SimulatedDrive
    facts: TargetFacts
    told: dict[str, Any]

    @property
    def passes(self) -> float:
        """Bytes that were written, over all flash that the drive has."""
        assert self.facts.simulated is not None
        assert self.facts.simulated.flash is not None
        return float(self.told["bytes_written"]) / self.facts.simulated.flash.raw

    def amplification(self, fills: float, seed: int) -> float:
        """Write amplification of random writes of so many fills."""
        workload = _writes(self.facts, round(fills * self.facts.size_bytes), seed)
        found = self.drive.measure("random", workload, self.facts).context["simulated"]["write_amplification"]
        assert isinstance(found, float)
        return found

    def amplifications(self) -> list[float]:
        """Those of the windows right after."""
        return [self.amplification(WINDOW_SHARE, 100 + window) for window in range(WINDOWS)]


def new_drive(spare: float, *, smaller: int, collection: str = "greedy") -> tuple[SimulatedDrive, TargetFacts]:
    """The model of a Micron 7450 MAX, so many times smaller, with so much more flash than it shows."""
    facts = resolve_target("sim:micron-7450-max")
    model = facts.simulated
    assert model is not None
    assert model.flash is not None
    raw, block = model.flash.raw // smaller, max(model.flash.block // smaller, 2**19)
    flash = model.flash.model_copy(update={"raw": raw, "block": block, "collection": collection})
    cache = model.cache.model_copy(update={"size": model.cache.size // smaller})
    size = int(raw / (1 + spare)) // block * block
    model = model.model_copy(update={"size": size, "flash": flash, "cache": cache})
    return SimulatedDrive(model, seed=1), replace(facts, simulated=model, size_bytes=size)


def settled(spare: float, *, smaller: int, collection: str = "greedy", fills: float = 4) -> float:
    """What write amplification comes to after random writes of many fills."""
    drive, facts = new_drive(spare, smaller=smaller, collection=collection)
    written = Written(drive, facts, {})
    drive.precondition("sequential", facts, seed=1, stop=threading.Event(), progress=lambda _: None)
    written.amplification(fills, 1)
    return written.amplification(fills, 2)


def written_by(kind: str, spare: float, *, smaller: int, collection: str = "greedy", used: bool = False) -> Written:
    """A drive that was written as drivelab does it; one that was in use before, if asked."""
    drive, facts = new_drive(spare, smaller=smaller, collection=collection)
    if used:
        drive.precondition("sequential", facts, seed=2, stop=threading.Event(), progress=lambda _: None)
        drive.measure("use", _writes(facts, 2 * facts.size_bytes, 3), facts)
    told = drive.precondition(kind, facts, seed=1, stop=threading.Event(), progress=lambda _: None)
    return Written(drive, facts, told)


def written_with_guess(guess: float, spare: float, *, smaller: int) -> Written:
    """A drive that was written region by region, as fio's `sprandom` does it, which is told what is spare."""
    drive, facts = new_drive(spare, smaller=smaller)
    for number, blocks in enumerate(_regions(facts.size_bytes // BLOCK, guess)):
        with writes_of(blocks, TargetRange(path=facts.path), seed=number) as workload:
            run_workload(workload, drive=drive.engine)
    return Written(drive, facts, {"bytes_written": drive.counters()["bytes_written"]})


def _regions(block_count: int, guess: float) -> Iterator[NDArray[np.int64]]:
    """Places of each region: first those again that shall be invalid in the one before, then new ones.

    The valid share rises geometrically from that of a collected block, for a write amplification of 0.5 / guess + 0.7.
    """
    random = np.random.default_rng(1)
    order = random.permutation(block_count)
    size = math.floor(block_count * (1 + guess) / _REGIONS)
    collected = 1 - 1 / (0.5 / guess + 0.7)
    again = np.empty(0, dtype=np.int64)
    taken = 0
    for region in range(_REGIONS):
        valid = collected ** (1 - region / (_REGIONS - 1))
        new = order[taken : taken + max(0, size - len(again))]
        taken += len(new)
        blocks = np.concatenate([again, new])
        yield blocks
        again = blocks[random.random(len(blocks)) >= valid]
        if taken == block_count:
            return


def _writes(facts: TargetFacts, total_bytes: int, seed: int) -> Workload:
    return Workload(
        target=TargetRange(path=facts.path),
        operations=(OperationShare(operation="write"),),
        block_sizes=(BlockSizeShare(bytes=BLOCK),),
        access=Access(kind="random"),
        queue_depth=32,
        limits=Limits(bytes=total_bytes),
        seed=seed,
    )
