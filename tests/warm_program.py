"""drivelab imported once, for the commands of many tests: each runs in a copy of that process, which starts at once.

Half of what a small command costs is the start of Python and what it imports; a test file starts hundreds. Each
command is a process of its own, with the arguments, surroundings and pipes of one that a shell starts. What a test
kills, traces or signals, and what it says about the start itself, is started as by a user instead.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

# one message each way, far below what a socket of datagrams takes
_MESSAGE_BYTES = 1 << 17
_OF_RESULTS = ("numpy.ma", "numpy.random", "rich.console", "rich.table")


@functools.cache
def warm_program() -> WarmProgram:
    """The one of this process, from the first command that is run in it."""
    return WarmProgram()


class WarmProgram:
    """Runs commands to their end, one at a time; what they print is kept in files, which take any amount."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # the descriptor ends with this process, and the server with it
        command = [sys.executable, str(Path(__file__)), str(theirs.fileno())]
        paths = os.pathsep.join(path for path in sys.path if path)
        self._server = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], env=os.environ | {"PYTHONPATH": paths}, stdin=subprocess.DEVNULL
        )
        theirs.close()

    def run(self, arguments: Sequence[str], environment: Mapping[str, str | bytes]) -> subprocess.CompletedProcess[str]:
        """Exit status, stdout and stderr of ``drivelab ARGUMENTS``."""
        surroundings = {name: os.fsdecode(value) for name, value in environment.items()}
        request = json.dumps({"arguments": list(arguments), "environment": surroundings, "folder": os.getcwd()})
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            socket.send_fds(self._socket, [request.encode()], [out.fileno(), err.fileno()])
            status = self._socket.recv(_MESSAGE_BYTES)
            assert status, "the process that drivelab was imported into has ended"
            printed = [_text(file) for file in (out, err)]
        return subprocess.CompletedProcess(["drivelab", *arguments], json.loads(status), *printed)


def _text(file: io.IOBase) -> str:
    file.seek(0)
    # as of subprocess's pipes of text
    return str(file.read().decode()).replace("\r\n", "\n").replace("\r", "\n")


def _serve(descriptor: int) -> None:
    from drivelab.__main__ import prepare

    prepare()
    import drivelab.cli
    from drivelab.report.html import page_templates

    # also what a command imports and compiles only when it shows its result
    commands = [module.name for module in pkgutil.walk_packages(drivelab.cli.__path__, "drivelab.cli.")]
    for name in (*commands, *_OF_RESULTS):
        importlib.import_module(name)
    templates = page_templates()
    for file in resources.files("drivelab.report").joinpath("templates").iterdir():
        if file.name.endswith(".j2"):
            templates.get_template(file.name)
    gc.freeze()
    with socket.socket(fileno=descriptor) as connection:
        while True:
            request, descriptors, _flags, _address = socket.recv_fds(connection, _MESSAGE_BYTES, 2)
            if not request:
                return
            child = os.fork()
            if child == 0:
                connection.close()
                _become(json.loads(request), *descriptors)
            for one in descriptors:
                os.close(one)
            _, status = os.waitpid(child, 0)
            connection.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())


def _become(request: dict[str, Any], out: int, err: int) -> None:
    """Be the command that was asked for, to its end."""
    status = 1
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.close(out)
        os.close(err)
        # as Python leaves them when it starts: a file's text is buffered, errors come line by line
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        sys.argv[1:] = request["arguments"]
        from drivelab.__main__ import main

        status = main()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(status)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _serve(int(sys.argv[1]))
