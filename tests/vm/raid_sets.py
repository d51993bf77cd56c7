"""Makes RAID sets in the guest, one level after the other, takes each apart, and prints as JSON what was seen.

Its arguments are the paths of the drives; nobody has consented to lose the last one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from drivelab.inventory.block_devices import slaves_of
from drivelab.inventory.consent import Consent, require_erase_consent
from drivelab.inventory.loop_target import resolve_measured
from drivelab.inventory.raid import resolve_raid
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.raid import MEMBERS_MIN, RAID_LEVELS
from drivelab.model.target import TargetFacts
from drivelab.run.device_counters import counted_device
from drivelab.run.raid_on_target import make_raid_target
from drivelab.state.journal import Journal, begin_journal, journal_directory
from drivelab.state.programs import run_program
from drivelab.state.raid import make_raid, require_whole, superblock_uuid
from drivelab.state.undo import undo_all


def main() -> None:
    """Make every level, and have it lose a member; a set of scratch drives; one without the consent of an owner."""
    drives = {path: resolve_measured(path) for path in sys.argv[1:]}
    journal = begin_journal(journal_directory(), command="raid_sets")
    found: dict[str, Any] = {"levels": {}}
    for level in RAID_LEVELS:
        named = list(drives)[: max(MEMBERS_MIN[level], 3)]
        asked = resolve_raid(f"{level}:{','.join(named)}", drives.__getitem__)
        found["levels"][level] = made_and_taken_apart(asked, named, journal)
    found["scratch"] = of_scratch_drives(journal)
    last = list(drives)[-2:]
    serial = drives[last[0]].drives[0].serials
    found["refused"] = refused(resolve_raid(f"raid1:{','.join(last)}", drives.__getitem__), Consent(serial), journal)
    journal.close()
    print(json.dumps(found))


def made_and_taken_apart(asked: TargetFacts, members: list[str], journal: Journal) -> dict[str, Any]:
    """A set as it was planned and as it came out, and what was left of it afterwards."""
    assert asked.raid is not None
    made = make_raid(asked.raid, members, journal)
    block, raid = Path("/sys/block", Path(made.path).name), made.facts
    seen = {
        "expected_bytes": asked.size_bytes,
        "size_bytes": 512 * int((block / "size").read_text()),
        "level": (block / "md/level").read_text().strip(),
        "members": [f"/dev/{name}" for name in slaves_of(block.name)],
        "is_ours": [superblock_uuid(Path(member)) for member in members] == [raid.uuid] * len(members),
        "facts": [raid.chunk_bytes, raid.layout, raid.bitmap, raid.metadata, raid.consistency],
        "as_target": [refused_alone(resolve_target(member)) for member in members],
        "degraded": degraded(made.path, members[1]) if raid.level != "raid0" else [],
        "done": undo_all(journal),
    }
    return seen | {"left": [*arrays(), *(member for member in members if superblock_uuid(Path(member)))]}


def refused_alone(member: TargetFacts) -> str:
    """Why a member of a set that is there may not be written to by itself, though its owner gave it up."""
    try:
        require_erase_consent(member, [f"{member.drives[0].serials[0]}+contents"])
    except DrivelabError as error:
        return error.code
    return ""


def degraded(path: str, member: str) -> list[str]:
    """What is said of a set after it has lost a member."""
    require_whole(path)
    run_program(["mdadm", "--manage", path, "--fail", member])
    try:
        require_whole(path)
    except DrivelabError as error:
        return [error.code, error.what]
    return []


def of_scratch_drives(journal: Journal) -> dict[str, Any]:
    """A set of two scratch drives, and what was left of it afterwards."""
    made, _ = make_raid_target(resolve_target("raid1:2*scratch:16MiB"), journal, Consent(), lambda *_: None)
    seen = {
        "is_ours": made.raid is not None and made.identity is not None and made.identity.serials == (made.raid.uuid,),
        "transports": [drive.transport for drive in made.drives],
        "is_counted": counted_device(made.devices) == Path(made.path).name,
        "done": [sentence.partition(" ")[0] for sentence in undo_all(journal)],
    }
    loops = [path.name for path in Path("/sys/block").glob("loop*") if "drivelab" in backing(path)]
    return seen | {"left": [*arrays(), *loops]}


def refused(asked: TargetFacts, consent: Consent, journal: Journal) -> list[Any]:
    """What became of a set of which one owner did not consent."""
    try:
        make_raid_target(asked, journal, consent, lambda *_: None)
    except DrivelabError as error:
        return [error.code, error.do, *arrays(), *journal.outstanding]
    return []


def arrays() -> list[str]:
    """Names of the sets that the kernel runs."""
    return [line.split()[0] for line in Path("/proc/mdstat").read_text().splitlines() if line.startswith("md")]


def backing(path: Path) -> str:
    """The file behind a loop device; empty without one."""
    file = path / "loop" / "backing_file"
    return file.read_text() if file.exists() else ""


if __name__ == "__main__":
    main()
