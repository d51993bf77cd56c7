"""The test's end of a shaped drive: starts the server, asks it, changes it."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from shaped_drive.server import Answered, Counts

_ANSWER_S = 60
_TESTS = Path(__file__).resolve().parents[1]
MIB = 2**20


class ShapedDrive:
    """A drive that runs as a process of its own until `close`.

    Parameters
    ----------
    size_bytes : int
        A multiple of 4096.
    cache_bytes : int
        How much its volatile write cache holds before the oldest write is made
        durable unasked.

    Attributes
    ----------
    socket_path : pathlib.Path
        Where its NBD server listens.
    """

    def __init__(self, size_bytes: int = 256 * MIB, cache_bytes: int = 64 * MIB) -> None:
        self.size_bytes = size_bytes
        # the path of a socket may have 107 characters: not in pytest's directories
        self._directory = tempfile.mkdtemp(prefix="drivelab-drive-")
        self.socket_path = Path(self._directory, "nbd")
        command = [sys.executable, "-m", "shaped_drive.server", str(self.socket_path)]
        self._process = subprocess.Popen(
            [*command, str(size_bytes), str(cache_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(_TESTS)},
            # Ctrl-C is for the test, which then closes the drive
            start_new_session=True,
        )
        run_first(self._process.pid)
        try:
            self._read_line()
        except BaseException:
            ShapedDrive.close(self)
            raise

    def shape(self, **changes: int) -> None:
        """Change how fast it is, for commands that arrive from now on.

        Parameters
        ----------
        **changes : int
            Fields of `shaped_drive.server.Shape`: ``read_latency_ns``,
            ``write_latency_ns``, ``fua_write_latency_ns``, ``flush_latency_ns``,
            ``discard_latency_ns``, ``slow_flush_latency_ns`` and ``slow_flush_every``,
            ``channels`` (commands at work at the same time), ``way_ns``.
        """
        self._order("shape", **changes)

    def counts(self) -> Counts:
        """What it was sent since the last `reset_counts`."""
        return Counts(**self._order("counts"))

    def answered(self) -> list[Answered]:
        """When it took and answered each of the last commands since the last `reset_counts`, in that order."""
        return [Answered(**one) for one in self._order("answered")]

    def reset_counts(self) -> None:
        """Begin to count from zero."""
        self._order("reset_counts")

    def fail(
        self, commands: Sequence[str] = ("read", "write"), offset_bytes: int = 0, length_bytes: int | None = None
    ) -> None:
        """Answer commands with an I/O error from now on; what was failed before stays failed.

        Parameters
        ----------
        commands : sequence of str
            Of ``read``, ``write``, ``flush``, ``discard``, ``write_zeroes``.
        offset_bytes, length_bytes : int
            The range; left out, it is the whole drive. A flush has no range.
        """
        end = self.size_bytes if length_bytes is None else offset_bytes + length_bytes
        self._order("fail", commands=list(commands), offset_bytes=offset_bytes, end_bytes=end)

    def heal(self) -> None:
        """Fail no more."""
        self._order("heal")

    def be_new(self) -> None:
        """Be as in the beginning: empty, at once with every answer, without failures, counts at zero.

        Nobody may hold anything of its contents: no mount, no page cache.
        """
        self._order("be_new")

    def cut_power(self, kept_fraction: float = 0.0, seed: int = 1) -> int:
        """Drop its client, lose what was not durable, and return how many sectors changed by that.

        Parameters
        ----------
        kept_fraction : float
            Part of the cached sectors that reached the medium all the same;
            between 0 and 1 writes are torn.
        seed : int
            Chooses those sectors.
        """
        return int(self._order("cut_power", kept_fraction=kept_fraction, seed=seed))

    def close(self) -> None:
        """End the process; the contents are gone."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _order(self, do: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._read_line())

    def _read_line(self) -> bytes:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], _ANSWER_S)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            state = self._process.poll()
            raise RuntimeError(f"the shaped drive does not answer (exit status {state}; its complaint is on stderr)")
        return line


def run_first(process_id: int) -> None:
    """Let a process run before all ordinary ones, as a drive does not wait for programs; only root can."""
    with suppress(PermissionError):
        os.sched_setscheduler(process_id, os.SCHED_RR, os.sched_param(1))
