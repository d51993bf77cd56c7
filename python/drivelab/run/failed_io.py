"""Why a trial that gave numbers failed all the same."""

from __future__ import annotations

from drivelab.model.errors import DrivelabError
from drivelab.model.measurement import Measurement


def failure_of(measured: Measurement) -> DrivelabError | None:
    """The error of I/O that the drive refused, of a block that was damaged, or of a limit that a job of fio names."""
    ended = measured.context.get("ended_by") or {}
    if ended.get("errno"):
        do = f"it is what {ended['option']} asks for; what was measured until then is kept"
        return DrivelabError("R426", ended["why"], where=measured.workload.target.path, do=do)
    errors = measured.engine.get("errors") or ()
    if measured.engine.get("stopped_by") != "error" or not errors:
        return None
    first = errors[0]
    place = f"{'file' if measured.workload.tree else 'byte'} {first['first_offset_bytes']}"
    what = f"{first['operation']} failed with {first['name']} at {place}"
    do = "look at the kernel log: dmesg; what was measured until then is kept"
    if measured.workload.verify and first["name"] == "EILSEQ":
        what = f"what was read at {place} is not what was written there (EILSEQ)"
        do = "it is damaged, unless neither drivelab nor fio wrote it; what lies behind it was not checked"
    target = measured.workload.target
    others = f", or another of the {1 + len(target.others)} files" if target.others else ""
    return DrivelabError("R420", what, where=f"{target.path}{others}", do=do)
