"""Process 1 of the guest: runs one command after the other for the test, which is at the end of a serial port.

One JSON object a line, both ways. Needs nothing but the standard library. Loading drivelab takes 20 s in the guest:
what a command of it, or a file of Python, needs is loaded here the first time, and each then is a process forked from
this one.
"""

from __future__ import annotations

import ast
import faulthandler
import glob
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

_PORT_S = 60
# a program that is told to abort writes where its threads are
_LAST_WORDS_S = 3
# one that the kernel does not let go never ends
_END_S = 5
_KERNEL_LINES = 40
_KERNEL_LINE_BYTES = 8192
_THREAD_FILES = ("wchan", "syscall", "stack")
_FILES_MAX = 4096


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


def run(
    command: list[str], stdin: str, timeout_s: float, environment: dict[str, str], python: dict[str, Any]
) -> dict[str, Any]:
    """Run a command to its end, or see where it is and kill it and its children when its time is over."""
    program = loaded(command, python)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/tmp",
            start_new_session=True,
            # there are no threads here
            preexec_fn=partial(become, program, command, environment, python["executable"]) if program else None,  # noqa: PLW1509
        )
    except OSError as error:
        return {"exit_code": 127, "stdout": "", "stderr": f"{command[0]}: {error}", "was_doing": ""}
    was_doing = ""
    try:
        out, err = process.communicate(stdin.encode(), timeout_s)
    except subprocess.TimeoutExpired:
        was_doing = what_is_done(process.pid)
        out, err = killed(process)
    return {
        "exit_code": process.returncode,
        "stdout": out.decode(errors="replace"),
        "stderr": err.decode(errors="replace"),
        "was_doing": was_doing,
    }


def loaded(command: list[str], python: dict[str, Any]) -> Callable[[], int] | None:
    """What a command does that is drivelab's or a file of Python, of which all that it needs is loaded then."""
    if command[0] != "drivelab" and not (command[0] == "python" and command[1].endswith(".py")):
        return None
    if "drivelab" not in sys.modules:
        sys.path[:0] = python["path"]
    if command[0] == "python":
        load_imports(command[1])
        return partial(run_script, command[1:])
    main = importlib.import_module("drivelab.__main__")
    main.prepare()
    from drivelab.cli.catalogue import command_of

    wanted = command_of(command[1:3])
    if wanted:
        importlib.import_module(wanted.module)
    return main.main if wanted else None


def load_imports(script: str) -> None:
    """Load what a file of Python imports of drivelab first of all."""
    for line in ast.parse(Path(script).read_text(encoding="utf-8")).body:
        if isinstance(line, ast.ImportFrom) and str(line.module).startswith("drivelab."):
            importlib.import_module(str(line.module))


def run_script(arguments: list[str]) -> int:
    """Be ``python`` with a file and its arguments."""
    sys.argv = arguments
    sys.path.insert(0, os.path.dirname(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


def become(program: Callable[[], int], command: list[str], environment: dict[str, str], executable: str) -> None:
    """In a process that was forked from this one: what a new one would be that runs a program, to its end."""
    # among them what subprocess waits for until the new program runs
    os.closerange(3, _FILES_MAX)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv, sys.executable = command, executable
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    faulthandler.enable()
    status = 1
    try:
        status = program()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status & 0xFF)


def killed(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What a command had written until it was killed with its children; Python's programs say where they were."""
    programs = {number: os.path.basename(linked_to(f"/proc/{number}/exe")) for number in processes_of(process.pid)}
    talkative = [number for number, name in programs.items() if name.startswith("python")]
    for number in talkative:
        kill(number, signal.SIGABRT)
    try:
        written = process.communicate(timeout=_LAST_WORDS_S if talkative else 0)
    except subprocess.TimeoutExpired:
        written = None
    kill(-process.pid, signal.SIGKILL)
    if written is not None:
        return written
    try:
        return process.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired as still:
        return still.stdout or b"", (still.stderr or b"") + b"\n(it does not even end when it is killed)\n"


def kill(number: int, what: signal.Signals) -> None:
    """Send a signal to a process, or with a negative number to a group, if it is still there."""
    try:
        os.kill(number, what)
    except ProcessLookupError:
        pass


def what_is_done(session: int) -> str:
    """Where every thread of a session is, in the kernel and by processor time, and what the kernel has said."""
    lines = []
    for process in processes_of(session):
        lines.append(f"process {process}: {read(f'/proc/{process}/cmdline').replace(chr(0), ' ').strip()}")
        for thread in sorted(map(int, entries(f"/proc/{process}/task"))):
            lines += thread_lines(f"/proc/{process}/task/{thread}", thread)
    return "\n".join([*lines, "--- kernel log", *kernel_log()])


def thread_lines(directory: str, thread: int) -> list[str]:
    """What the kernel tells of a thread."""
    # after the name, which is in parentheses: state, 10 others, then time in the program and in the kernel
    fields = read(f"{directory}/stat").rpartition(")")[2].split()
    if not fields:
        return [f"  thread {thread} has ended"]
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    user_s, kernel_s = (int(field) / ticks_per_s for field in fields[11:13])
    used = f"{user_s:.2f} s in the program, {kernel_s:.2f} s in the kernel"
    lines = [f"  thread {thread} {read(f'{directory}/comm').strip()}: state {fields[0]}, {used}"]
    for name in _THREAD_FILES:
        text = read(f"{directory}/{name}").strip()
        lines += [f"    {name}: {line}" for line in text.splitlines()]
    return lines


def processes_of(session: int) -> list[int]:
    """The processes of a session, and what they have started outside it."""
    parents = {}
    for number in filter(str.isdigit, entries("/proc")):
        fields = read(f"/proc/{number}/stat").rpartition(")")[2].split()
        if fields:
            parents[int(number)] = int(fields[1]), int(fields[3])
    found = {number for number, (_, of_session) in parents.items() if of_session == session}
    while more := {number for number, (parent, _) in parents.items() if parent in found} - found:
        found |= more
    return sorted(found)


def kernel_log() -> list[str]:
    """The last that the kernel has said, with seconds since it began."""
    lines = []
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            try:
                record = os.read(log, _KERNEL_LINE_BYTES).decode(errors="replace")
            except BlockingIOError:
                break
            except BrokenPipeError:
                # older lines were overwritten meanwhile; the next is there
                continue
            about, _, text = record.partition(";")
            microseconds = int(about.split(",")[2])
            lines.append(f"[{microseconds / 1e6:12.6f}] {text.splitlines()[0] if text else ''}")
    finally:
        os.close(log)
    return lines[-_KERNEL_LINES:]


def read(path: str) -> str:
    """A file of /proc; empty when there is none any more, or it is not to be had."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def entries(path: str) -> list[str]:
    """Names in a directory of /proc; none when it is gone."""
    try:
        return os.listdir(path)
    except OSError:
        return []


def linked_to(path: str) -> str:
    """What a link of /proc points to; empty when it is gone."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


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
