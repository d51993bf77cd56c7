"""A recording of the block layer: what reading it found beside its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from drivelab import _engine
from drivelab.model.errors import KINDS, DrivelabError
from drivelab.model.names import counted
from drivelab.model.units import format_bytes

_MINOR_BITS = 20
_MORE = ("notices", "versions", "missing_cpus", "has_other_byte_order", "realtime")
# records are not lost by these: they are there, only not where or how they should be
_HARMLESS = frozenset({"out_of_order", "mixed_byte_order"})
# until its end nothing is missing
_WHOLE_SO_FAR = _HARMLESS | {"truncated"}
# what helps where nothing was lost while it was recorded
_ADVICE = {
    "missing_cpu": "put the files of all CPUs beside each other",
    "foreign": "name only files that blktrace or blkparse -d wrote",
    "unreadable": "copy the file to a disk that can be read",
    "truncated": "copy the whole file; where it was made short, there was no room left: trace again",
    "garbage": "copy the file again, byte by byte; scp and cp do, text mode does not",
    "wrong_cpu": "give each file its own name back: NAME.blktrace.CPU",
}


@dataclass(frozen=True, slots=True)
class Damage:
    """One place of a file that is not as a recording should be.

    Attributes
    ----------
    offset_bytes : int
        Where in the file.
    kind : str
        truncated, garbage, sequence_gap, missing_cpu, ...
    what : str
        What is wrong, as a sentence without its end.
    """

    file: str
    offset_bytes: int
    kind: str
    what: str

    @property
    def text(self) -> str:
        """For people: ``sda.blktrace.0, byte 480: the last record is cut short``."""
        return f"{self.place}: {self.what}"

    @property
    def place(self) -> str:
        """Where it is: ``sda.blktrace.0, byte 480``."""
        return f"{self.file}, byte {self.offset_bytes}"

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"file": self.file, "offset": self.offset_bytes, "kind": self.kind, "what": self.what}


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """What reading a recording found.

    Attributes
    ----------
    files : tuple of str
        The files that were read.
    records : int
        Records, without notices.
    duration_ns : int
        From the first record to the last.
    devices : mapping of str to int
        Records of each device, ``major:minor``.
    duplicates : int
        Records that are equal in everything to another one of the same time.
    lost : mapping of int to int
        Lost records by CPU.
    damages : tuple of Damage
        The first ones of each kind.
    damage_counts : mapping of str to int
        How many there are of each kind.
    skipped_bytes : int
        Bytes that were passed over because they are no records.
    notes : tuple of str
        What the user should know about the choice of the files.
    more : mapping
        What only JSON tells: versions, realtime, ...
    """

    files: tuple[str, ...]
    records: int
    duration_ns: int
    devices: Mapping[str, int]
    duplicates: int
    lost: Mapping[int, int]
    damages: tuple[Damage, ...]
    damage_counts: Mapping[str, int]
    skipped_bytes: int
    notes: tuple[str, ...]
    more: Mapping[str, Any]

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> RecordingSummary:
        """What the engine tells of a recording."""
        first, last = found["first_time_ns"] or 0, found["last_time_ns"] or 0
        return RecordingSummary(
            files=tuple(found["files"]),
            records=found["records"],
            duration_ns=max(0, last - first),
            devices={device_name(number): records for number, records in found["devices"]},
            duplicates=found["duplicates"],
            lost=dict(found["lost"]),
            damages=tuple(Damage(one["file"], one["offset"], one["kind"], one["what"]) for one in found["damages"]),
            damage_counts=found["damage_counts"],
            skipped_bytes=found["skipped_bytes"],
            notes=tuple(found["notes"]),
            more={key: found[key] for key in _MORE},
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON; the damages stand beside it."""
        return {
            "files": list(self.files),
            "records": self.records,
            "duration_ns": self.duration_ns,
            "devices": dict(self.devices),
            "duplicates": self.duplicates,
            "lost": {str(cpu): count for cpu, count in self.lost.items()},
            "damage_counts": dict(self.damage_counts),
            "skipped_bytes": self.skipped_bytes,
            "notes": list(self.notes),
            **self.more,
        }

    @property
    def is_lossy(self) -> bool:
        """Whether records of the time that was recorded are missing."""
        return not _WHOLE_SO_FAR.issuperset(self.damage_counts) or bool(self.lost)

    @property
    def lost_total(self) -> int:
        """Lost records of all CPUs."""
        return sum(self.lost.values())

    def damage_error(self) -> DrivelabError | None:
        """B904 where records were lost or passed over, so that the numbers are those of a part; None otherwise."""
        kinds = [kind for kind in self.damage_counts if kind not in _HARMLESS]
        if not kinds and not self.lost:
            return None
        grave = [damage for damage in self.damages if damage.kind in kinds]
        words = [f"{counted(self.lost_total, 'record', 'are')} lost"] if self.lost_total else []
        words += [f"{format_bytes(self.skipped_bytes)} are no records"] if self.skipped_bytes else []
        words += [grave[0].what] if grave and not words else []
        what = f"the numbers are those of a part: {', '.join(words)}"
        advice = "" if self.lost or not grave else _ADVICE.get(grave[0].kind, "")
        return DrivelabError("B904", what, where=grave[0].place if grave else self.files[0], do=advice)


def device_name(number: int) -> str:
    """A device as the kernel writes it: ``8:0``."""
    return f"{number >> _MINOR_BITS}:{number & ((1 << _MINOR_BITS) - 1)}"


@contextmanager
def reading_errors(paths: Sequence[object]) -> Iterator[None]:
    """Turn what the engine says of recordings that cannot be read into B901 to B906.

    Parameters
    ----------
    paths : sequence
        What is being read, for an error that names no file.
    """
    try:
        yield
    except _engine.EngineError as error:
        code, what, where, advice = error.args
        known = code if code in KINDS else "B902"
        raise DrivelabError(known, what, where=where or ", ".join(map(str, paths)), do=advice) from None
