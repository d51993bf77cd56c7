"""The guest and its drives are what the other tests take them for."""

from __future__ import annotations

import json
import re

import pytest

from vm.guest import Guest, GuestError

WRITE_TWO_PAGES = """
import mmap, os, sys
page = mmap.mmap(-1, 4096)
for path in sys.argv[1:]:
    file = os.open(path, os.O_RDWR | os.O_DIRECT)
    page[:] = b"flushed " * 512
    os.pwrite(file, page, 0)
    os.fsync(file)
    page[:] = b"cached. " * 512
    os.pwrite(file, page, 4096)
    os.close(file)
"""
READ_TWO_PAGES = """
import json, sys
print(json.dumps({path: open(path, "rb").read(8192).decode() for path in sys.argv[1:]}))
"""


def test_a_command_gives_back_its_output_and_exit_status(guest: Guest) -> None:
    result = guest.shell("cat; echo wrong >&2; exit 3", stdin="hällo", check=False)
    assert (result.exit_code, result.stdout, result.stderr) == (3, "hällo", "wrong\n")
    assert guest.run("no-such-program", check=False).exit_code == 127


def test_a_command_that_fails_or_does_not_end_is_an_error_with_the_console(guest: Guest) -> None:
    guest.shell("echo the drive is on fire >/dev/kmsg; echo 8 >/proc/sysrq-trigger")
    with pytest.raises(GuestError, match=r"`false` ended with 1\n(.*\n)+--- console"):
        guest.run("false")
    with pytest.raises(GuestError, match=r"was killed after 0\.5 s"):
        guest.shell("sleep 3600 & sleep 3600", timeout_s=0.5)
    assert guest.shell("echo alive").stdout == "alive\n"


WAITS = """
import subprocess, threading, time
def child_that_sleeps():
    subprocess.run(["sleep", "1000"])
def rests():
    time.sleep(1000)
threading.Thread(target=child_that_sleeps, name="waiting").start()
rests()
"""


def test_a_command_that_does_not_end_tells_where_it_was(guest: Guest) -> None:
    guest.shell("echo the program is about to rest >/dev/kmsg")
    with pytest.raises(GuestError, match=r"was killed after 5 s") as failure:
        guest.run("python", "-c", WAITS, timeout_s=5)
    told = str(failure.value)
    # Python's own view, which comes first, of every thread
    assert re.search(r"--- stderr\nFatal Python error: Aborted\n(.*\n)+.*line 6 in rests", told), told
    assert "line 4 in child_that_sleeps" in told
    # and the kernel's, of every thread of every process
    doing = told.partition("--- what it was doing\n")[2]
    threads = re.findall(r"thread \d+ (\S+): state S, [\d.]+ s in the program, [\d.]+ s in the kernel", doing)
    assert threads == ["python", "python", "sleep"], told
    assert len(re.findall(r"^process \d+: ", doing, re.MULTILINE)) == 2
    assert len(re.findall(r"stack: .*hrtimer_nanosleep", doing)) == 2, "two of them sleep by the clock"
    assert "wchan: " in doing
    assert re.search(r"^\[ *\d+\.\d{6}\] the program is about to rest$", doing, re.MULTILINE), told
    # nothing of it goes on; process 1 does not bury the dead
    assert guest.shell("pgrep --runstates D,R,S --exact sleep", check=False).exit_code == 1


def test_a_guest_that_panics_says_why_and_the_next_test_gets_a_new_one(guest: Guest) -> None:
    with pytest.raises(GuestError, match=r"the guest ended before it answered(.*\n)+.*sysrq"):
        guest.shell("echo c >/proc/sysrq-trigger")
    assert not guest.is_usable
    guest.be_new()
    assert guest.shell("echo alive").stdout == "alive\n"


def test_nothing_the_guest_writes_reaches_this_machine(guest: Guest) -> None:
    guest.shell("echo overwritten >/etc/hostname; cat /etc/hostname")
    with open("/etc/hostname") as file:
        assert "overwritten" not in file.read()


def test_each_test_begins_with_empty_drives_in_their_first_settings(guest: Guest) -> None:
    scsi, virtio = guest.drive("scsi"), guest.drive("virtio")
    guest.run("sdparm", "--clear=WCE", scsi.path)
    guest.shell(f"echo 'A file system' | dd of={virtio.path} conv=fsync")
    virtio.shape(read_latency_ns=10_000_000)
    guest.be_new()
    # its exit status is 5 for pages that QEMU does not have
    assert guest.run("sdparm", "--quiet", "--get=WCE", scsi.path, check=False).stdout.split()[1] == "1"
    assert guest.shell(f"head -c 16 {virtio.path} | tr -d '\\0'").stdout == ""
    assert virtio.counts().writes == 0


def test_a_power_cut_loses_on_every_kind_what_was_not_flushed_and_nothing_else(guest: Guest) -> None:
    paths = [drive.path for drive in guest.drives]
    guest.run("python", "-c", WRITE_TWO_PAGES, *paths)
    assert guest.power_cut() == {drive.serial: 4096 // 512 for drive in guest.drives}
    found = json.loads(guest.run("python", "-c", READ_TWO_PAGES, *(drive.path for drive in guest.drives)).stdout)
    assert found == {drive.path: "flushed " * 512 + "\0" * 4096 for drive in guest.drives}


def test_a_failing_drive_fails_in_the_guest(guest: Guest) -> None:
    for drive in guest.drives:
        drive.fail(["write"], offset_bytes=1 << 20, length_bytes=4096)
        write = f"dd if=/dev/zero of={drive.path} bs=4096 count=1 oflag=direct"
        guest.shell(f"{write} seek=255")
        assert guest.shell(f"{write} seek=256", check=False).exit_code == 1, drive.kind
        assert drive.counts().errors >= 1, drive.kind


def test_discards_reach_every_drive_that_offers_them(guest: Guest) -> None:
    for drive in guest.drives:
        if drive.kind == "usb-storage":
            continue
        guest.shell(f"blkdiscard --offset 1048576 --length 2097152 {drive.path}")
        assert drive.counts().discarded_bytes == 2 << 20, drive.kind


def test_a_guest_of_its_own_has_the_drives_that_were_asked_for() -> None:
    with Guest(kinds=("nvme", "nvme", "sata"), size_bytes=64 << 20) as own:
        assert [drive.serial for drive in own.drives] == ["vm-nvme-1", "vm-nvme-2", "vm-sata-1"]
        assert own.shell(f"blockdev --getsize64 {own.drives[1].path}").stdout == f"{64 << 20}\n"
    with pytest.raises(ValueError, match="floppy is no kind of drive"):
        Guest(kinds=("floppy",))
