"""The I/O whose commands the tests count."""

from __future__ import annotations

from vm.drives import GuestDrive
from vm.guest import Guest

_WRITES = """
import mmap, os, sys
page = mmap.mmap(-1, 4096)
page.write(b"x" * 4096)
for path in sys.argv[2:]:
    file = os.open(path, os.O_RDWR | os.O_DIRECT)
    for at in range(int(sys.argv[1])):
        os.pwrite(file, page, 4096 * at)
        os.fsync(file)
    os.close(file)
"""


def write_and_sync(guest: Guest, *drives: GuestDrive, count: int) -> None:
    """Count from zero; write 4 KiB past the page cache and sync, `count` times, on some drives or on all."""
    for drive in guest.drives:
        drive.reset_counts()
    guest.run("python", "-c", _WRITES, str(count), *(drive.path for drive in drives or guest.drives))
