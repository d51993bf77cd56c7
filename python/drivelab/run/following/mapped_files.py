"""Which files a process has mapped, as /proc tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from drivelab.model.system_calls import MAPPED_BEFORE
from drivelab.run.following.seen_file import SeenFile, look_at

_PROC = Path("/proc")
# range, rights of which the last one tells that it is shared, offset, device, inode, path
_LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ...s [0-9a-f]+ ([0-9a-f]+):([0-9a-f]+) \d+ +(/.*)")


def mapped_files(process: int, now_ns: int) -> Iterator[SeenFile]:
    """Files of which a process shares mappings with others, so that what it writes there reaches them."""
    text = ""
    with suppress(OSError):
        text = (_PROC / str(process) / "maps").read_text(errors="surrogateescape")
    for number, told in enumerate(_LINE.finditer(text)):
        begin, end, major, minor = (int(told[at], 16) for at in (1, 2, 3, 4))
        found = SeenFile(
            process, MAPPED_BEFORE + number, told[5], f"{major}:{minor}", False, True, now_ns, now_ns, address=begin
        )
        found.mapped_bytes = end - begin
        look_at(found, _PROC / str(process) / "map_files" / f"{told[1]}-{told[2]}")
        yield found
