"""Made-up result sets for the tests of reports about several runs."""

from __future__ import annotations

from collections.abc import Mapping

from drivelab.model.estimate import Estimate
from drivelab.model.result_set import Machine, MeasuredDrive, Observation, ResultSet

MICROSECOND = 1000.0


def observed(
    drive: str, value: float, low: float | None = None, high: float | None = None, **changes: object
) -> Observation:
    """A median latency in µs with its ends, of 512 B durable writes; keywords replace any part."""
    ends = [None if end is None else end * MICROSECOND for end in (low, high)]
    given: dict[str, object] = {
        "drive": drive,
        "machine": "pike",
        "workload": "small",
        "title": "512 B durable write",
        "operation": "durable_write",
        "metric": "total_latency_ns_p50",
        "estimate": Estimate(value * MICROSECOND, *ends, "ns", 1000, 3.0, "made up"),
        "block_size_bytes": 512,
        "queue_depth": 1,
        "is_durable": True,
    }
    return Observation(**(given | changes))  # type: ignore[arg-type]


def levels(**names: str) -> Mapping[str, str]:
    """Levels of factors; underscores stand for the hyphens of ``write-cache``."""
    return {name.replace("_", "-"): level for name, level in names.items()}


def result_set(key: str, *observations: Observation, **changes: object) -> ResultSet:
    """Results of a run of one day on one machine, with the drives that the observations name."""
    given: dict[str, object] = {
        "key": key,
        "title": "Small writes",
        "question": "What does one durable byte cost?",
        "source": f"run {key}",
        "measured": "2026-01-31",
        "machines": (Machine("pike", kernel="6.12.41", cpu="made up"),),
        "drives": tuple(
            MeasuredDrive(name, model=name, firmware="1.0", serial=f"{name}-1", machine="pike")
            for name in dict.fromkeys(one.drive for one in observations)
        ),
        "observations": observations,
    }
    return ResultSet(**(given | changes))  # type: ignore[arg-type]
