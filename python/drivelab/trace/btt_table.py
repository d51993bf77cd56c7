"""btt's table, number for number: what scripts and papers know as Q2C and D2C."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from drivelab import _engine
from drivelab.trace.recording import RecordingSummary, reading_errors

Flavour = Literal["1.2", "legacy"]
# in the order of btt's rows
PHASES = ("Q2Qdm", "Q2Adm", "Q2Cdm", "Q2Q", "Q2A", "Q2G", "S2G", "G2I", "Q2M", "I2D", "M2D", "D2C", "Q2C")


@dataclass(frozen=True, slots=True)
class BttRow:
    """A row of btt's table: times in s as btt rounds them, and how many there were."""

    min_s: float
    avg_s: float
    max_s: float
    n: int

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"min_s": self.min_s, "avg_s": self.avg_s, "max_s": self.max_s, "n": self.n}


@dataclass(frozen=True, slots=True)
class BttTable:
    """What btt prints of a recording.

    Attributes
    ----------
    text : str
        The rows below "All Devices", as btt prints them.
    per_device_text : str
        The section "Per Device" of ``btt -A``; empty unless it was asked for.
    rows : mapping of str to BttRow
        By phase, in btt's order.
    devices : mapping of str to mapping
        The same for each device, ``major:minor``.
    recording : RecordingSummary
        What reading the recording found.
    """

    text: str
    per_device_text: str
    rows: Mapping[str, BttRow]
    devices: Mapping[str, Mapping[str, BttRow]]
    recording: RecordingSummary

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON: ``{"all": {phase: {min_s, avg_s, max_s, n}}, "devices": {...}}``."""
        devices = {device: _rows_json(rows) for device, rows in self.devices.items()}
        return {"all": _rows_json(self.rows), "devices": devices}


def btt_table(paths: Sequence[Path], flavour: Flavour = "1.2", *, per_device: bool = False) -> BttTable:
    """The table that btt prints of recordings that blkparse has merged.

    Parameters
    ----------
    paths : sequence of Path
        Directories, base names, files of CPUs or merged dumps; read as one recording.
    flavour : str
        1.2 for the btt of blktrace 1.2.0 and later, legacy for those before it.
    per_device : bool
        Whether the text of each device is made, too.

    Raises
    ------
    DrivelabError
        B901, B902, B903, B905, B906: nothing can be read.

    Notes
    -----
    Ctrl-C is raised while it reads.
    """
    with reading_errors(paths):
        found = json.loads(_engine.btt_table([str(path) for path in paths], flavour, per_device))
    return BttTable(
        text=found["text"],
        per_device_text=found.get("per_device_text", ""),
        rows=rows_of(found["all"]),
        devices={device: rows_of(rows) for device, rows in found["devices"].items()},
        recording=RecordingSummary.from_json(found["recording"]),
    )


def rows_of(found: Mapping[str, Any]) -> dict[str, BttRow]:
    """Rows in btt's order from what the engine tells."""
    return {phase: BttRow(**found[phase]) for phase in PHASES if phase in found}


def _rows_json(rows: Mapping[str, BttRow]) -> dict[str, Any]:
    return {phase: row.to_json() for phase, row in rows.items()}
