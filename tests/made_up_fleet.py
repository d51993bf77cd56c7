"""Stored runs of a fleet that nobody has: real runs, written again with other hosts, drives and scaled numbers.

What stands in them was measured once, by the runs that they are made of; hosts, serials, firmwares, tags and dates
are made up, and the columns of latencies and rates of the trials are multiplied by a factor of drive, run and repeat
(the texts beside them, estimates among them, are as they were). So they say nothing about any drive, and their truth is
known.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from drivelab.fleet.record import FleetRecord, new_fleet
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import FleetItem, FleetWork

BASE = Path(__file__).parent / "golden" / "runs" / "queue-depth-grid"
_RATES = ("iops", "throughput_bytes_per_s")
_LATENCY = "_latency_ns_"


@dataclass(frozen=True, slots=True)
class MadeUpDrive:
    """A drive that is made up, and how much slower it is than the run that it is made of."""

    host: str
    serial: str
    model: str = "MADE-UP 480"
    firmware: str = "A1"
    name: str = "nvme0n1"
    tags: Mapping[str, str] = field(default_factory=dict)
    slowness: float = 1.0
    # standard deviation of the logarithm from run to run
    scatter: float = 0.005


def made_up_drives(
    count: int, *, per_host: int = 8, hosts_per_rack: int = 5, models: Sequence[str] = ("MADE-UP 480",), seed: int = 1
) -> Iterator[MadeUpDrive]:
    """Drives in hosts in racks, a few percent apart."""
    random = np.random.default_rng(seed)
    for number in range(count):
        host = number // per_host
        yield MadeUpDrive(
            host=f"host{host:03d}",
            serial=f"SN{number:06d}",
            model=models[number % len(models)],
            name=f"nvme{number % per_host}n1",
            tags={"rack": f"r{host // hosts_per_rack:02d}", "delivery": f"2026-{1 + number % 3:02d}"},
            slowness=float(np.exp(0.02 * random.standard_normal())),
        )


def write_fleet(
    parent: Path,
    drives: Sequence[MadeUpDrive],
    *,
    runs_each: int = 1,
    base: Path = BASE,
    seed: int = 1,
    change: Callable[[dict[str, Any], MadeUpDrive, int], None] | None = None,
) -> list[Path]:
    """The directories of the runs, `runs_each` of each drive, a week apart.

    Parameters
    ----------
    change : callable, optional
        Changes the ``run.json`` of a drive's run of that number, from 0.
    """
    random = np.random.default_rng(seed)
    run_json = json.loads((base / "run.json").read_text())
    trials = pq.read_table(base / "trials.parquet")  # type: ignore[no-untyped-call]
    others = [name for name in ("intervals.parquet", "histograms.parquet") if (base / name).exists()]
    begun = datetime.fromisoformat(run_json["started_utc"])
    found = []
    for number in range(runs_each):
        for place, drive in enumerate(drives):
            when = begun + timedelta(days=7 * number, minutes=place)
            document = _document(run_json, drive, when)
            if change is not None:
                change(document, drive, number)
            directory = parent / f"{when:%Y%m%dT%H%M%SZ}-{document['experiment']['name']}-{drive.serial}"
            directory.mkdir(parents=True)
            (directory / "run.json").write_text(json.dumps(document))
            factors = drive.slowness * np.exp(
                drive.scatter * random.standard_normal() + 0.005 * random.standard_normal(len(trials))
            )
            table = _scaled(trials, factors, document["targets"][0]["label"])
            pq.write_table(table, directory / "trials.parquet")  # type: ignore[no-untyped-call]
            for name in others:
                shutil.copyfile(base / name, directory / name)
            found.append(directory)
    return found


def write_gathered_fleet(parent: Path) -> tuple[FleetRecord, list[Path]]:
    """A fleet of the hosts fir and oak, which both call themselves localhost, and their runs, which are all here."""
    fleet = new_fleet(FleetWork("run"), {"fir": HostEntry(), "oak": HostEntry()}, parent)
    drives = [replace(drive, host="localhost", name=f"loop{number}") for number, drive in enumerate(made_up_drives(2))]
    directories = write_fleet(fleet.directory, drives)
    items = [
        FleetItem(f"{host}/d", host, "/dev/d", state="complete", gathered=directory.name)
        for host, directory in zip(("fir", "oak"), directories, strict=True)
    ]
    fleet.with_items(items).keep()
    return fleet, directories


def _document(base: Mapping[str, Any], drive: MadeUpDrive, when: datetime) -> dict[str, Any]:
    document = deepcopy(dict(base))
    document["host"]["hostname"] = drive.host
    document["tags"] = dict(drive.tags)
    document["started_utc"] = when.isoformat(timespec="milliseconds")
    document["finished_utc"] = (when + timedelta(minutes=9)).isoformat(timespec="milliseconds")
    for target in document["targets"]:
        for facts in filter(None, (target.get("facts_before"), target.get("facts_after"))):
            for one in facts["drives"]:
                one |= {"serial": drive.serial, "serials": [drive.serial], "wwn": None, "model": drive.model}
                one |= {"firmware": drive.firmware, "name": drive.name, "path": f"/dev/{drive.name}"}
    return document


def _scaled(trials: pa.Table, factors: np.ndarray, label: str) -> pa.Table:
    """The trials with latencies multiplied by the factors, and rates divided by them."""
    for place, name in enumerate(trials.column_names):
        is_rate = name.removesuffix("_low").removesuffix("_high") in _RATES
        if trials.schema.field(name).type == pa.float64() and (is_rate or _LATENCY in name):
            values = trials[name].to_numpy()
            scaled = values / factors if is_rate else values * factors
            trials = trials.set_column(place, name, pa.array(scaled, pa.float64(), from_pandas=True))
    return trials
