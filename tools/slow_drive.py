"""A drive as slow as you say, as a loop device: slow_drive.py --write 2.9ms --flush 7.2ms.

For trying out what drivelab says of a drive whose latencies are known. It is the
drive of the tests (`tests/shaped_drive`): it lives in memory, has a volatile
write cache, and is gone when this program ends. Needs root, losetup, and QEMU's
storage daemon. Commands wait in line: one is at work at a time.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from drivelab.model.errors import DrivelabError
from drivelab.model.units import format_bytes, format_duration_ns, parse_bytes, parse_duration_ns
from system_packages import GOALS, find_installer, find_program, install_command

TESTS = Path(__file__).resolve().parents[1] / "tests"
PROGRAMS = ("losetup", "setpriv", "qemu-storage-daemon")
SIZE_STEP_BYTES = 4096
CACHE_MODES = {"on": "write back", "off": "write through"}


def main() -> int:
    """Show the drive until a signal ends it; exit status."""
    options = read_options()
    reason = why_impossible()
    if reason:
        print(reason, file=sys.stderr)
        return 1
    # a signal sent to all of a shell's jobs ends this program as Ctrl-C does
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        show_drive(options)
    except KeyboardInterrupt:
        return 0
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def read_options() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("read", "write", "flush"):
        told = f"how long a {name} takes, 2.9ms (default: as fast as it can)"
        parser.add_argument(f"--{name}", metavar="TIME", type=duration_ns, default=0, help=told)
    told = "off: the kernel believes that there is no volatile cache, and sends no flush"
    parser.add_argument("--cache", choices=sorted(CACHE_MODES), default="on", help=told)
    parser.add_argument("--size", metavar="SIZE", type=size_bytes, default=size_bytes("256MiB"), help="default: 256MiB")
    return parser.parse_args()


def duration_ns(text: str) -> int:
    """A duration that was typed."""
    try:
        return parse_duration_ns(text)
    except DrivelabError as error:
        raise argparse.ArgumentTypeError(error.what) from None


def size_bytes(text: str) -> int:
    """A size that was typed."""
    try:
        found = parse_bytes(text)
    except DrivelabError as error:
        raise argparse.ArgumentTypeError(error.what) from None
    if found <= 0 or found % SIZE_STEP_BYTES:
        raise argparse.ArgumentTypeError(f"{format_bytes(found)} is no multiple of {format_bytes(SIZE_STEP_BYTES)}")
    return found


def why_impossible() -> str:
    """What keeps this machine from having such a drive; empty when nothing does."""
    if os.geteuid() != 0:
        return "a loop device needs root: sudo"
    missing = [tool for tool in GOALS["test"] if tool.program in PROGRAMS and find_program(tool.program) is None]
    return install_command(missing, find_installer(), as_root=True) if missing else ""


def show_drive(options: argparse.Namespace) -> None:
    """Make the drive, print its path, and wait for a signal."""
    sys.path.insert(0, str(TESTS))
    from shaped_drive.loop import LoopDrive

    with tempfile.TemporaryDirectory(prefix="slow-drive-") as directory:
        drive = LoopDrive(Path(directory), options.size)
        try:
            way_ns = drive.take_off_way()
            drive.shape(
                read_latency_ns=options.read,
                write_latency_ns=options.write,
                fua_write_latency_ns=options.write,
                flush_latency_ns=options.flush,
            )
            drive.kernel_cache_mode.write_text(CACHE_MODES[options.cache])
            print(drive.path, flush=True)
            print(f"erase it by --erase {drive.name}; Ctrl-C ends it", file=sys.stderr)
            for name in ("read", "write", "flush"):
                if 0 < getattr(options, name) < way_ns:
                    told = f"a {name} takes {format_duration_ns(way_ns)}: the way to the drive is that long"
                    print(told, file=sys.stderr)
            signal.pause()
        finally:
            drive.close()


if __name__ == "__main__":
    sys.exit(main())
