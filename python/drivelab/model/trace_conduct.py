"""How a trace was taken, and whether it is whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from drivelab.model.errors import DrivelabError

# what is not named is a count
_CONDUCT_KINDS: Mapping[str, type] = {
    **dict.fromkeys(("source", "reason", "clock", "device"), str),
    "environment": Mapping,
    "layers": tuple,
    "drives": Mapping,
}


@dataclass(frozen=True, slots=True)
class TraceConduct:
    """How a trace was taken, and whether it is whole.

    Attributes
    ----------
    source : str
        tracefs, relay, blk_tracer or recording.
    reason : str
        Why that source was taken.
    clock : str
        Clock of the trace: ``mono`` is that of the operations.
    device : str
        Kernel name of the traced disk.
    lost_events : int
        Events that the kernel could not keep.
    unmatched_bios : int
        Bios of this program's threads that lie in no operation.
    foreign_bios : int
        Bios of other programs, charged to nobody.
    duplicate_records : int
        Records that stood there twice.
    open_at_end : int
        Bios from the time of the operations that had not ended when the trace did.
    partial_operations : int
        Operations in whose window something is not known to its end.
    environment : mapping
        Scheduler, nr_requests, write_cache, fua, rotational, lockdown, kernel:
        before and after where they could change.
    layers : tuple of str
        Devices between the program and its drives that were traced, too, the uppermost first: ``dm-crypt home``.
    drives : mapping of str to str
        Kernel names of the drives beneath by ``major:minor``; of a trace older than layers none.
    """

    source: str
    reason: str
    clock: str = "mono"
    device: str = ""
    lost_events: int = 0
    unmatched_bios: int = 0
    foreign_bios: int = 0
    duplicate_records: int = 0
    open_at_end: int = 0
    partial_operations: int = 0
    environment: Mapping[str, Any] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    drives: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self) | {"layers": list(self.layers)}

    def names_of_devices(self, target: Mapping[str, Any]) -> dict[str, str]:
        """What layers and drives are called, by ``major:minor``, as far as that is known.

        Parameters
        ----------
        target : mapping
            Facts about the place that was traced, as `TargetFacts.to_json` gives them.
        """
        # a title ends with the name of its layer, that of the device mapper with its owner's
        titles = {title.split()[-1]: title for title in self.layers if title.strip()}
        found: dict[str, str] = {}
        for device in target.get("devices") or ():
            name = str(device.get("name") or "")
            own = (str(device.get("detail") or "").split() or [name])[-1] if device.get("kind") == "dm" else name
            found[str(device.get("device_number"))] = titles.get(own, name)
        return {number: name for number, name in (found | dict(self.drives)).items() if name}

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> TraceConduct:
        """What `to_json` wrote; keys that are not known are left out.

        Raises
        ------
        DrivelabError
            S506: a value is of a wrong kind.
        """
        known = {name: document[name] for name in TraceConduct.__dataclass_fields__ if name in document}
        if isinstance(known.get("layers"), list):
            known["layers"] = tuple(map(str, known["layers"]))
        for name, value in known.items():
            kind = _CONDUCT_KINDS.get(name, int)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise DrivelabError("S506", f"{name} of a stored trace is {value!r}")
        return TraceConduct(**known)
