"""Process 1 of the guest: runs one command after the other for the test, which is at the end of a serial port.

One JSON object a line, both ways. Needs nothing but Python's standard library.
"""

from __future__ import annotations

import glob
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PORT_S = 20


def main() -> None:
    """Say hello and serve for ever."""
    port = open_port()
    # the driver takes 32 KiB at a time, so both directions are buffered
    with os.fdopen(port, "rb") as orders, os.fdopen(os.dup(port), "wb") as answers:
        answers.write(b'"ready"\n')
        answers.flush()
        for line in orders:
            order = json.loads(line)
            answer = ORDERS[order.pop("do")](**order)
            answers.write(json.dumps(answer).encode() + b"\n")
            answers.flush()


def open_port() -> int:
    """The serial port, which appears a little after its driver was loaded."""
    deadline = time.monotonic() + _PORT_S
    while not (found := glob.glob("/dev/vport*p1")):
        if time.monotonic() > deadline:
            sys.exit("the guest has no serial port to the test")
        time.sleep(0.02)
    return os.open(found[0], os.O_RDWR)


def run(command: list[str], stdin: str, timeout_s: float, environment: dict[str, str]) -> dict[str, Any]:
    """Run a command to its end, or kill it and its children when its time is over."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/tmp",
            start_new_session=True,
        )
    except OSError as error:
        return {"exit_code": 127, "stdout": "", "stderr": f"{command[0]}: {error}", "timed_out": False}
    timed_out = False
    try:
        out, err = process.communicate(stdin.encode(), timeout_s)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    return {
        "exit_code": process.returncode,
        "stdout": out.decode(errors="replace"),
        "stderr": err.decode(errors="replace"),
        "timed_out": timed_out,
    }


def drives() -> dict[str, str]:
    """The path of each drive by its serial."""
    found = {}
    for block in Path("/sys/block").iterdir():
        serial = serial_of(block)
        if serial:
            found[serial] = f"/dev/{block.name}"
    return found


def settings(names: list[str]) -> dict[str, str]:
    """What the kernel has set for drives, and what is on top of them."""
    found = {"mounts": Path("/proc/mounts").read_text()}
    for name in names:
        block = Path("/sys/block", name)
        for file in (block / "queue").iterdir():
            try:
                found[str(file)] = file.read_text()
            except OSError:
                # a directory, or one that is only written to
                continue
        found[f"{name} entries"] = " ".join(sorted(path.name for path in block.iterdir()))
        found[f"{name} holders"] = " ".join(sorted(path.name for path in (block / "holders").iterdir()))
    return found


def serial_of(block: Path) -> str:
    """What a drive reports, or for a USB drive without pages of its own what its USB device reports."""
    page = block / "device" / "vpd_pg80"
    if page.exists():
        return page.read_bytes()[4:].decode(errors="replace").strip()
    path = block.resolve()
    for folder in (path, path / "device", *path.parents):
        if (folder / "serial").is_file():
            return (folder / "serial").read_text().strip()
        if folder == Path("/sys/devices"):
            break
    return ""


ORDERS: dict[str, Callable[..., Any]] = {"run": run, "drives": drives, "settings": settings}

if __name__ == "__main__":
    main()
