"""What a real drive's counter said, and the same of its model.

The readings are from "SSD-iq: Uncovering the Hidden Side of SSD Performance" (PVLDB 18, 2025), repository
gabriel-haas/ssdiq-pub: physical over host writes of a Micron 7450 MAX 800 GB under uniform random writes of 4 KiB.
"""

from __future__ import annotations

from drivelab.inventory.target import resolve_target
from drivelab.model.simulated import SimulatedModel
from drivelab.model.workload import Access, BlockSizeShare, Limits, OperationShare, TargetRange, Workload
from drivelab.run.simulated import SimulatedDrive

TARGET = "sim:micron-7450-max"
# GiB in use, and the seven readings
READINGS = {745: [1.890], 671: [1.601], 596: [1.410], 522: [1.279], 447: [1.172], 373: [1.107, 1.112]}
# the model is a 128th of the drive
_SCALE = 128
_SETTLING_FILLS, _COUNTED_FILLS = 5, 8


def write_amplification(used_gib: int, *, smaller: int) -> float:
    """What the model comes to when so much of it is in use, everything of it so many times smaller."""
    facts = resolve_target(TARGET)
    assert facts.simulated is not None
    drive = SimulatedDrive(_smaller(facts.simulated, smaller), seed=1)
    size = used_gib * 2**30 // _SCALE // smaller

    def writes(kind: str, total_bytes: int) -> Workload:
        return Workload(
            target=TargetRange(path=TARGET, size_bytes=size),
            operations=(OperationShare(operation="write"),),
            block_sizes=(BlockSizeShare(bytes=4096),),
            access=Access.model_validate({"kind": kind}),
            queue_depth=64,
            limits=Limits(bytes=total_bytes),
            seed=1,
        )

    drive.measure("fill", writes("sequential", size), facts)
    drive.measure("settle", writes("random", _SETTLING_FILLS * size), facts)
    counted = drive.measure("count", writes("random", _COUNTED_FILLS * size), facts)
    found = counted.context["simulated"]["write_amplification"]
    assert isinstance(found, float)
    return found


def _smaller(model: SimulatedModel, by: int) -> SimulatedModel:
    assert model.flash is not None
    flash = model.flash.model_copy(update={"raw": model.flash.raw // by, "block": model.flash.block // by})
    return model.model_copy(update={"size": model.size // by, "flash": flash})
