"""Jobs on a zoned drive of the guest's kernel: the same writes, reads and resets as fio's own."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from drivelab.model.errors import EXIT_OK
from vm.guest import Guest, Result

SECTORS_PER_MIB = 2048
ZONE, CAPACITY, BLOCK = 4 * SECTORS_PER_MIB, 3 * SECTORS_PER_MIB, SECTORS_PER_MIB // 2
CONVENTIONAL, ZONES, OPEN_MAX = 2, 16, 4
NEW_DRIVE = f"""
    modprobe null_blk nr_devices=0
    mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
    cd /sys/kernel/config/nullb
    [ ! -d nullb0 ] || rmdir nullb0
    mkdir nullb0
    cd nullb0
    echo 4096 >blocksize
    echo 1 >zoned
    echo {4 * ZONES} >size
    echo 4 >zone_size
    echo 3 >zone_capacity
    echo {CONVENTIONAL} >zone_nr_conv
    echo {OPEN_MAX} >zone_max_open
    echo 1 >memory_backed
    echo 1 >power
"""
TRACED = "/sys/kernel/tracing/events/block/block_bio_queue/enable"
EVENT = re.compile(r"block_bio_queue: \d+,\d+ (\w+) (\d+) \+ (\d+)")
ON_DRIVE = "[global]\nfilename=/dev/nullb0\nzonemode=zbd\nbs=512k\ndirect=1\nioengine=psync\nstonewall\n"
IN_ORDER = """
[first]
rw=write
offset=2z
size=4z
[again]
rw=write
offset=2z
size=4z
[read]
rw=read
[trim]
rw=trim
bs=4m
offset=2z
size=6z
"""
AT_RANDOM = """
[full]
rw=write
offset=2z
max_open_zones=3
[random]
rw=randwrite
offset=2z
size=8z
max_open_zones=3
"""
SEVERAL_JOBS = """
[random]
rw=randwrite
offset=2z
size=8z
numjobs=2
ioengine=libaio
iodepth=4
max_open_zones=3
"""


@dataclass(frozen=True)
class Issued:
    """What the drive was sent: ``write``, ``read`` or ``reset``, and its first sector; only blocks of the one size."""

    kind: str
    sector: int

    @property
    def zone(self) -> int:
        """Number of its zone."""
        return self.sector // ZONE


@pytest.fixture(scope="module")
def zoned_guest() -> Iterator[Guest]:
    """A guest without drives but the one that its kernel makes up."""
    if platform.machine() != "x86_64":
        pytest.skip("the guest runs this machine's programs, and they must be those of an x86-64")
    with Guest(kinds=()) as running:
        yield running


def sent(guest: Guest, program: tuple[str, ...], job_file: str) -> list[Issued]:
    """What a program sends to a new drive for a job file."""
    guest.shell(f"{NEW_DRIVE}\ncat >/tmp/zones.fio <<'END'\n{ON_DRIVE}{job_file}\nEND\n")
    guest.shell(f"echo >/sys/kernel/tracing/trace; echo 1 >{TRACED}")
    consent = ("--erase", "nullb0") if "drivelab" in program else ()
    answer = guest.run(*program, "/tmp/zones.fio", *consent)
    assert answer.exit_code == EXIT_OK
    trace = guest.shell(f"echo 0 >{TRACED}; cat /sys/kernel/tracing/trace").stdout
    found = []
    for flags, sector, count in EVENT.findall(trace):
        # a reset is none of the operations that this kernel's traces have letters for
        kind = {"W": "write", "R": "read", "N": "reset"}.get(flags[0])
        if kind and (kind == "reset" or int(count) == BLOCK):
            found.append(Issued(kind, int(sector)))
    return found


def kept_to_zones(issued: list[Issued], *, open_max: int) -> int:
    """How many zones were reset, of writes that were where the drive takes them, in no more zones than were allowed."""
    pointers = {number: number * ZONE for number in range(CONVENTIONAL, ZONES)}
    resets = 0
    for each in issued:
        full = each.zone * ZONE + CAPACITY
        if each.kind == "reset":
            assert pointers[each.zone] == full, "only full zones are reset"
            pointers[each.zone] = each.sector
            resets += 1
        elif each.kind == "write":
            assert each.sector == pointers[each.zone]
            pointers[each.zone] += BLOCK
            assert pointers[each.zone] <= full
            is_open = [number * ZONE < at < number * ZONE + CAPACITY for number, at in pointers.items()]
            assert sum(is_open) <= open_max
    return resets


def test_what_is_in_order_goes_where_fio_sends_it(zoned_guest: Guest) -> None:
    ours = sent(zoned_guest, ("drivelab", "fio"), IN_ORDER)
    assert ours == sent(zoned_guest, ("fio",), IN_ORDER)
    blocks = 4 * CAPACITY // BLOCK
    counts = [sum(each.kind == kind for each in ours) for kind in ("write", "reset", "read")]
    # trims reset the four zones that hold data; zones without write pointers are read whole, others as far as written
    assert counts == [2 * blocks, 4 + 4, blocks + CONVENTIONAL * ZONE // BLOCK]


def test_random_writes_keep_to_write_pointers_and_open_zones_as_fios_do(zoned_guest: Guest) -> None:
    ours, fios = (sent(zoned_guest, program, AT_RANDOM) for program in (("drivelab", "fio"), ("fio",)))
    filled = (ZONES - CONVENTIONAL) * CAPACITY // BLOCK
    assert ours[:filled] == fios[:filled]
    resets = [kept_to_zones(issued, open_max=3) for issued in (ours, fios)]
    assert [len(ours) - resets[0], len(fios) - resets[1]] == [filled + 8 * ZONE // BLOCK] * 2
    # that many blocks make up so many zones, and three may have been begun
    least = 8 * ZONE // CAPACITY
    assert all(least <= count <= least + 3 for count in resets)


def test_jobs_with_several_writes_outstanding_share_zones(zoned_guest: Guest) -> None:
    issued = sent(zoned_guest, ("drivelab", "fio"), SEVERAL_JOBS)
    resets = kept_to_zones(issued, open_max=3)
    assert len(issued) - resets == 2 * 8 * ZONE // BLOCK


def refused(guest: Guest, *options: str) -> Result:
    """What is said to writes that cannot be on a zoned drive."""
    guest.shell(NEW_DRIVE)
    asked = ("--operation", "write", "--zoned-drive", "--once", "--erase", "nullb0", *options)
    return guest.run("drivelab", "io", "/dev/nullb0", *asked, check=False)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ((), "the page cache keeps none"),
        (("--direct", "--max-open-zones", "8"), "8 open zones were asked for, and 4 can be"),
        (("--direct", "--zone-size", "8MiB"), "zones of 8388608 B were asked for, and the drive has 4194304 B"),
        (("--direct", "--size", "1MiB", "--offset", "9MiB"), "hold no whole zone"),
        (("--direct", "--block-size", "6KiB"), "is not a multiple of 4096 B"),
    ],
)
def test_what_a_zoned_drive_cannot_do_is_refused(zoned_guest: Guest, options: tuple[str, ...], what: str) -> None:
    answer = refused(zoned_guest, *options)
    assert answer.exit_code != EXIT_OK
    assert what in " ".join(answer.stderr.split())
