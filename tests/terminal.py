"""Programs on a terminal of a width, and what stood on it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
from collections.abc import Sequence
from pathlib import Path

HIDDEN, SHOWN = "\x1b[?25l", "\x1b[?25h"
_REDRAWN = re.compile(r"(?:\r|\x1b\[2K|\x1b\[1A)+")
_STYLE = re.compile(r"\x1b\[[?\d;]*[a-zA-Z]")
_ENOUGH = b"typical"


def written_on_terminal(
    command: Sequence[str],
    columns: int,
    *,
    out: Path,
    interrupts: bool = False,
) -> str:
    """What a program wrote on stderr, a terminal so wide; with Ctrl-C as soon as it told a latency, if it is to be."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    with out.open("wb") as results:
        given = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "xterm"}
        process = subprocess.Popen(command, stdin=slave, stdout=results, stderr=slave, env=given)
    os.close(slave)
    written = b""
    while True:
        try:
            written += os.read(master, 65536)
        except OSError:
            break
        if interrupts and _ENOUGH in written:
            process.send_signal(signal.SIGINT)
            interrupts = False
    os.close(master)
    process.wait()
    return written.decode().replace("\r\n", "\n")


def looks_of(written: str) -> list[list[str]]:
    """The lines of each look, as they stood before they were drawn again; the last is what stayed."""
    looks = [_STYLE.sub("", look).split("\n") for look in _REDRAWN.split(written)]
    return [[line for line in look if line.strip()] for look in looks]
