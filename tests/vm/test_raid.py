"""RAID sets on a real kernel: every level, a run on one that is killed and resumed, and nothing of them left behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from vm.guest import Guest

RAID_SETS = Path(__file__).with_name("raid_sets.py")
MIB = 2**20
TIMEOUT_S = 240
# the guest's own directories lie in memory and are small: scratch drives get a sparse disk
ROOM = """
modprobe loop
truncate -s 2G /run/room.img
mkfs.ext4 -q -F -O ^has_journal /run/room.img
mkdir /run/room
mount -o loop /run/room.img /run/room
"""
EXPERIMENT = """
format = 1
name = "raid"
question = "What does a small durable write cost?"
repeats = { full = 1 }

[[factors]]
setting = "filesystem"
levels = ["ext4"]

[[factors]]
setting = "scheduler"
levels = ["none"]

[[workloads]]
name = "small"
count = 40
block_size = "4KiB"
durability = "fdatasync"
file_state = "append"
direct = true
"""
# as soon as the file system on the set is mounted; the trial is then about to begin
KILLED = """
drivelab run /run/raid.toml {target} {consent} >/run/said 2>&1 & run=$!
is_mounted='/raid_set/ {{made = 1}} made && /"kind": "mount"/ {{mounted = 1}} END {{exit !mounted}}'
until awk "$is_mounted" {journals}/$run-*.jsonl 2>/dev/null; do
    kill -0 $run
    sleep 0.1
done
kill -9 $run
grep -c '^md.* raid5' /proc/mdstat
"""
ENVIRONMENT = {"DRIVELAB_RUNS": "/run/runs", "XDG_STATE_HOME": "/run/state", "DRIVELAB_SCRATCH": "/run/room"}
# chunk, layout, bitmap, version of the superblock, and what the kernel does about a crash
FACTS = {
    "raid0": [512 * 1024, "", "none", "1.2", "none"],
    "raid1": [0, "", "none", "1.2", "resync"],
    "raid5": [512 * 1024, "left-symmetric", "none", "1.2", "resync"],
    "raid6": [512 * 1024, "left-symmetric", "none", "1.2", "resync"],
    "raid10": [512 * 1024, "near=2", "none", "1.2", "resync"],
}
JOURNALS = "/run/state/drivelab/journals"

pytestmark = pytest.mark.needs_tool("mdadm", "mkfs.ext4", "losetup")


@pytest.fixture(scope="module")
def raid_guest() -> Iterator[Guest]:
    """A guest with four equal drives, and room for scratch drives."""
    with Guest(kinds=("virtio",) * 4, size_bytes=64 * MIB) as running:
        running.shell(ROOM)
        yield running


def test_every_level_is_made_as_planned_and_taken_apart(raid_guest: Guest) -> None:
    paths = [drive.path for drive in raid_guest.drives]
    answer = raid_guest.run("python", RAID_SETS, *paths, environment=ENVIRONMENT, timeout_s=TIMEOUT_S)
    found = json.loads(answer.stdout)
    for level, seen in found["levels"].items():
        members = paths[: 4 if level == "raid6" else 3]
        assert (seen["level"], seen["members"], seen["is_ours"], seen["left"]) == (level, members, True, [])
        assert seen["size_bytes"] == pytest.approx(seen["expected_bytes"], rel=0.02)
        assert len(seen["done"]) == 1
        assert seen["as_target"] == ["C204"] * len(members)
        if level != "raid0":
            code, what = seen["degraded"]
            assert (code, f"has lost 1 of {len(members)} members" in what) == ("R457", True)
    assert {level: seen["facts"] for level, seen in found["levels"].items()} == FACTS
    # made of files: taken apart before these, and both loop devices gone
    assert found["scratch"] == {
        "is_ours": True,
        "transports": ["loop", "loop"],
        "is_counted": True,
        "done": ["took", "detached", "deleted", "detached", "deleted"],
        "left": [],
    }
    do = f"if all that is on it may be lost: --erase {raid_guest.drives[-1].serial}"
    assert found["refused"] == ["C201", do]


def test_a_killed_run_is_put_back_and_resumed_on_a_new_set(raid_guest: Guest) -> None:
    drives = raid_guest.drives[:3]
    target = f"raid5:{','.join(drive.path for drive in drives)}"
    consent = " ".join(f"--erase {drive.serial}" for drive in drives)
    raid_guest.shell("cat >/run/raid.toml", stdin=EXPERIMENT)
    script = KILLED.format(target=target, consent=consent, journals=JOURNALS)
    assert raid_guest.shell(script, environment=ENVIRONMENT, timeout_s=TIMEOUT_S).stdout == "1\n"
    restored = raid_guest.run("drivelab", "restore", environment=ENVIRONMENT, timeout_s=TIMEOUT_S).stdout
    assert "unmounted" in restored
    assert "took the RAID set drivelab-" in restored
    nothing_left = f"! grep ^md /proc/mdstat; ! grep /run/drivelab /proc/mounts; ls {JOURNALS}; wipefs {drives[0].path}"
    assert raid_guest.shell(nothing_left).stdout == ""
    run_directory = raid_guest.shell("ls -d /run/runs/*").stdout.strip()
    words = ("drivelab", "resume", run_directory, *consent.split(), "--json")
    raid_guest.run(*words, environment=ENVIRONMENT, timeout_s=TIMEOUT_S)
    run = json.loads(raid_guest.shell("cat /run/runs/*/run.json").stdout)
    assert (run["status"], run.get("failures")) == ("complete", None)
    facts = run["targets"][0]["facts_before"]
    assert (facts["kind"], facts["raid"]["level"], len(facts["drives"])) == ("block_device", "raid5", 3)
    assert run["plan"]["left_out"][0].startswith("scheduler none for raid5-")
    assert raid_guest.shell(nothing_left).stdout == ""
