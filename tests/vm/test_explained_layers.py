"""Time in a layer between file system and drive is told as that layer's: as much as it made the program wait longer.

In virtual time an instruction takes 1 ns: the same operations on the same kind of
drive, once bare and once with a layer above it, differ by what the layer adds,
which the program's own clock counts and the trace knows nothing of.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import pytest

from vm.guest import Guest
from vm.test_explained_latencies import AWAKE

HERE = Path(__file__).parent
MS = 1_000_000
ANSWER_S = 900
QUICK = ("--repeats", "1", "--quick", "--count", "20")
# every drive here is memory of the guest
FILE_SIZE = "8MiB"
# what a layer adds, by the program's clock: within 2 % or 5 us
SHARE, LEAST_NS = 0.02, 5_000
DRIVES = {"bare": 1, "linear": 1, "crypt": 1, "delay": 1, "thin": 1, "fast1": 1, "slow1": 3, "fast5": 1, "even5": 1}
DRIVES |= {"slow5": 4, "file": 1}
SETUP = f"""
    modprobe null_blk nr_devices=0
    mount -t configfs none /sys/kernel/config
    for one in {" ".join(f"{name}:{latency_ms}" for name, latency_ms in DRIVES.items())}; do
        name=${{one%%:*}}
        mkdir /sys/kernel/config/nullb/$name
        cd /sys/kernel/config/nullb/$name
        echo 1 >memory_backed
        echo 64 >cache_size
        echo 192 >size
        echo 2 >irqmode
        echo ${{one##*:}}000000 >completion_nsec
        echo 1 >power
    done
    modprobe -a dm-mod dm-delay dm-crypt dm-thin-pool raid1 raid456 loop
    modprobe brd rd_nr=1 rd_size=65536
    sectors=$(blockdev --getsz /dev/bare)
    dmsetup create plain --table "0 $((sectors - 2048)) linear /dev/linear 2048"
    dmsetup create secret --table "0 $sectors crypt aes-xts-plain64 $(printf %064d 7) 0 /dev/crypt 0"
    # reads, writes and flushes
    dmsetup create slow --table "0 $sectors delay /dev/delay 0 4 /dev/delay 0 8 /dev/delay 0 20"
    dmsetup create meta --table "0 16384 linear /dev/thin 0"
    dmsetup create data --table "0 $((sectors - 16384)) linear /dev/thin 16384"
    dd if=/dev/zero of=/dev/mapper/meta bs=4k count=1 conv=fsync status=none
    dmsetup create pool --table "0 $((sectors - 16384)) thin-pool /dev/mapper/meta /dev/mapper/data 128 0"
    dmsetup message pool 0 "create_thin 0"
    dmsetup create provisioned --table "0 $((sectors - 16384)) thin /dev/mapper/pool 0"
    mdadm --create /dev/md1 --quiet --run --assume-clean --bitmap=none --level=1 --raid-devices=2 /dev/fast1 /dev/slow1
    mdadm --create /dev/md5 --quiet --run --assume-clean --level=5 --raid-devices=3 /dev/fast5 /dev/even5 /dev/slow5
    mkfs="mkfs.ext4 -q -F -b 4096 -J size=4 -E nodiscard,lazy_itable_init=0"
    $mkfs /dev/file
    mkdir /tmp/below
    mount /dev/file /tmp/below
    dd if=/dev/zero of=/tmp/below/image bs=1M count=48 conv=fsync status=none
    losetup /dev/loop0 /tmp/below/image
    for device in bare mapper/plain mapper/secret mapper/slow mapper/provisioned md1 md5 loop0 ram0; do
        $mkfs /dev/$device
        mkdir /tmp/$(basename $device)
        mount /dev/$device /tmp/$(basename $device)
    done
    sync
"""
NAMES = ("bare", "plain", "secret", "slow", "provisioned", "md1", "md5", "loop0", "ram0")
READS = ("/dev/bare", "/dev/mapper/slow")
Found = dict[str, Any]
pytestmark = [pytest.mark.timeout(3 * ANSWER_S), pytest.mark.xdist_group("explained_layers")]


@pytest.fixture(scope="module")
def found() -> dict[str, Found]:
    """Every explanation that these tests look at, by the target: one boot for all."""
    if platform.machine() != "x86_64":
        pytest.skip("the guest runs this machine's programs, and they must be those of an x86-64")
    targets = (*(f"/tmp/{name}" for name in NAMES), *READS)
    with Guest(kinds=(), has_virtual_time=True) as guest:
        guest.shell(AWAKE)
        guest.shell(SETUP, timeout_s=ANSWER_S)
        files = ("--size", FILE_SIZE)
        asked = json.dumps([[target, *QUICK, *(() if target in READS else files)] for target in targets])
        answer = guest.run("python", HERE / "explanations.py", stdin=asked, timeout_s=ANSWER_S)
    answers = json.loads(answer.stdout)
    assert [one["status"] for one in answers] == [0] * len(targets), [one["said"] for one in answers]
    return {target: one["answer"]["explanations"][0] for target, one in zip(targets, answers, strict=True)}


def layers_ns(one: Found) -> dict[str, float]:
    return dict(one["typical"].get("layers_ns", {}))


def test_the_parts_sum_to_the_nanosecond_and_nothing_is_lost(found: dict[str, Found]) -> None:
    for target, one in found.items():
        typical = one["typical"]
        whole = sum(typical["parts"].values()) + sum(layers_ns(one).values())
        assert whole == pytest.approx(typical["latency_ns"], abs=0.01), target
        assert one["residual_ns"] == one["trace"]["lost_events"] == one["trace"]["partial_operations"] == 0, target


@pytest.mark.parametrize(
    ("target", "bare", "layers"),
    [
        ("/tmp/plain", "/tmp/bare", ["dm-linear plain"]),
        ("/tmp/secret", "/tmp/bare", ["dm-crypt secret"]),
        ("/tmp/slow", "/tmp/bare", ["dm-delay slow"]),
        ("/dev/mapper/slow", "/dev/bare", ["dm-delay slow"]),
    ],
)
def test_a_layer_takes_as_long_as_it_makes_the_program_wait(
    found: dict[str, Found], target: str, bare: str, layers: list[str]
) -> None:
    with_layer, without = found[target], found[bare]
    added_ns = with_layer["typical"]["latency_ns"] - without["typical"]["latency_ns"]
    assert list(layers_ns(with_layer)) == with_layer["trace"]["layers"] == layers
    assert sum(layers_ns(with_layer).values()) == pytest.approx(added_ns, rel=SHARE, abs=LEAST_NS)
    for part in ("device_ns", "flush_ns"):
        times = (one["typical"]["parts"][part] for one in (with_layer, without))
        assert next(times) == pytest.approx(next(times), rel=SHARE, abs=LEAST_NS)


def test_a_delay_of_reads_is_another_than_one_of_writes_and_flushes(found: dict[str, Found]) -> None:
    # each is at least what was asked for, and at most a tick of 4 ms longer
    assert 4 * MS <= layers_ns(found["/dev/mapper/slow"])["dm-delay slow"] <= 8 * MS
    assert (8 + 20) * MS <= layers_ns(found["/tmp/slow"])["dm-delay slow"] <= (12 + 24) * MS


def test_every_layer_of_a_thin_pool_has_a_row(found: dict[str, Found]) -> None:
    names = found["/tmp/provisioned"]["trace"]["layers"]
    assert names[:2] == ["dm-thin provisioned", "dm-thin-pool pool"]
    assert set(names[2:]) == {"dm-linear meta", "dm-linear data"}
    assert found["/tmp/provisioned"]["typical"]["parts"]["device_ns"] >= 1 * MS


@pytest.mark.parametrize(("name", "layer", "slow"), [("md1", "RAID-1", "slow1"), ("md5", "RAID-5", "slow5")])
def test_the_slow_member_of_a_set_is_found(found: dict[str, Found], name: str, layer: str, slow: str) -> None:
    one = found[f"/tmp/{name}"]
    assert one["trace"]["layers"] == [f"md {layer} {name}"]
    members = {member["drive"]: member["mean_ns"] for member in one["members"]}
    # the interrupt and what comes before it take some microseconds
    for member, mean_ns in members.items():
        assert mean_ns == pytest.approx(DRIVES[member] * MS, rel=SHARE, abs=2 * LEAST_NS)
    assert max(members, key=lambda member: members[member]) == slow


def test_a_mirror_writes_and_flushes_each_member_and_waits_for_the_slower(found: dict[str, Found]) -> None:
    one = found["/tmp/md1"]
    work, parts = one["work_per_operation"], one["typical"]["parts"]
    assert (work["device_writes"], work["flushes"]) == pytest.approx((2, 2), abs=0.05)
    assert (parts["device_ns"], parts["flush_ns"]) == pytest.approx((3 * MS, 3 * MS), rel=SHARE, abs=3 * LEAST_NS)


def test_a_loop_device_is_a_layer_above_the_drive_of_its_file(found: dict[str, Found]) -> None:
    one = found["/tmp/loop0"]
    assert (one["trace"]["layers"], list(one["trace"]["drives"].values())) == (["loop0"], ["file"])
    assert one["typical"]["parts"]["device_ns"] >= 1 * MS
    assert layers_ns(one)["loop0"] > 0


def test_a_drive_without_requests_is_told_to_be_one(found: dict[str, Found]) -> None:
    one = found["/tmp/ram0"]
    assert one["drives_without_requests"] == ["ram0"]
    assert one["work_per_operation"]["device_writes"] == 1
    assert one["typical"]["parts"]["device_ns"] > 0
