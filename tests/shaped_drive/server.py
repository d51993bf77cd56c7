"""The process that plays the drive: an NBD server with latencies, failures and an exact count of its commands.

    python -m shaped_drive.server SOCKET SIZE_BYTES CACHE_BYTES

It is told what to do on its standard input, one JSON object a line (`do_*`
below), answers each on its standard output, and ends when its input ends: no
drive outlives the test that made it. One thread does everything, so that what
is counted happened in one order.
"""

from __future__ import annotations

import ctypes
import heapq
import json
import os
import select
import socket
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

from shaped_drive import nbd
from shaped_drive.medium import SECTOR_BYTES, Medium
from shaped_drive.nbd import Command, Request

_RECEIVE_BYTES = 1 << 20
_HANDSHAKE_S = 60
_PR_SET_TIMERSLACK = 29
# a processor that slept answers up to 0.1 ms late, so the last of a latency is waited for awake
_AWAKE_NS = 100_000
# more than any test looks at one by one
_REMEMBERED_COMMANDS = 20_000


@dataclass
class Shape:
    """How fast the drive is.

    A command takes the channel that is free first, waits until it is, and holds
    it for its latency. The time begins when the command has arrived, or `way_ns`
    before: what others need to bring a command here and its answer back.

    Of each `slow_flush_every` flushes the last takes `slow_flush_latency_ns`; with 0, none does.
    """

    read_latency_ns: int = 0
    write_latency_ns: int = 0
    fua_write_latency_ns: int = 0
    flush_latency_ns: int = 0
    discard_latency_ns: int = 0
    slow_flush_latency_ns: int = 0
    slow_flush_every: int = 0
    channels: int = 1
    way_ns: int = 0

    def latency_ns(self, request: Request, flushes: int) -> int:
        """How long the drive works on a request, after so many flushes, this one included."""
        return max(0, self._whole_latency_ns(request, flushes) - self.way_ns)

    def _whole_latency_ns(self, request: Request, flushes: int) -> int:
        if request.command is Command.READ:
            return self.read_latency_ns
        if request.command is Command.FLUSH:
            is_slow = self.slow_flush_every and flushes % self.slow_flush_every == 0
            return self.slow_flush_latency_ns if is_slow else self.flush_latency_ns
        if request.command is Command.WRITE:
            return self.fua_write_latency_ns if request.forces_unit_access else self.write_latency_ns
        return self.discard_latency_ns


@dataclass
class Failure:
    """Which commands are answered with an I/O error: those of these names that touch this range."""

    commands: list[str]
    offset_bytes: int
    end_bytes: int

    def hits(self, request: Request) -> bool:
        """Whether a request is to fail; a flush has no range."""
        if request.command.name.lower() not in self.commands:
            return False
        if request.command is Command.FLUSH:
            return True
        return request.offset_bytes < self.end_bytes and self.offset_bytes < request.offset_bytes + request.length_bytes


@dataclass
class Counts:
    """What the drive was sent; a write with FUA counts as a write too."""

    reads: int = 0
    writes: int = 0
    fua_writes: int = 0
    flushes: int = 0
    discards: int = 0
    write_zeroes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    discarded_bytes: int = 0
    errors: int = 0

    def add(self, request: Request) -> None:
        """Count a command that has arrived."""
        length = request.length_bytes
        if request.command is Command.READ:
            self.reads += 1
            self.read_bytes += length
        elif request.command is Command.WRITE:
            self.writes += 1
            self.fua_writes += request.forces_unit_access
            self.written_bytes += length
        elif request.command is Command.FLUSH:
            self.flushes += 1
        elif request.command is Command.DISCARD:
            self.discards += 1
            self.discarded_bytes += length
        else:
            self.write_zeroes += 1


@dataclass(frozen=True)
class Answered:
    """What the drive itself knows of a command's time (CLOCK_MONOTONIC), whatever the way to it adds.

    It was at the drive when `taken_ns` was read, and still there when `answered_ns` was.
    """

    command: str
    taken_ns: int
    answered_ns: int

    @property
    def took_ns(self) -> int:
        """How long the drive had it: never less than its latency."""
        return self.answered_ns - self.taken_ns


@dataclass(order=True)
class Pending:
    """A command that arrived at `taken_ns` and will be answered at `due_ns` (CLOCK_MONOTONIC)."""

    due_ns: int
    number: int
    taken_ns: int = field(compare=False)
    request: Request = field(compare=False)
    last_write: int = field(compare=False)


class Server:
    """One drive and at most one client."""

    def __init__(self, path: str, size_bytes: int, cache_bytes: int) -> None:
        self._cache_bytes = cache_bytes
        self.medium = Medium(size_bytes, cache_bytes)
        self.shape = Shape()
        self.failures: list[Failure] = []
        self.counts = Counts()
        self._answered: deque[Answered] = deque(maxlen=_REMEMBERED_COMMANDS)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._client: socket.socket | None = None
        self._received = bytearray()
        self._orders = bytearray()
        self._pending: list[Pending] = []
        self._free_at_ns = [0]
        self._arrived = 0

    def serve(self) -> None:
        """Work until the input ends."""
        control = sys.stdin.fileno()
        while True:
            sources: list[Any] = [control, self._listener if self._client is None else self._client]
            ready, _, _ = select.select(sources, [], [], self._wait_s())
            if control in ready and not self._take_orders(control):
                return
            if self._listener in ready:
                self._accept()
            elif self._client is not None and self._client in ready:
                self._take_requests(self._client)
            self._answer_what_is_due()

    def do_be_new(self) -> None:
        """Answer at once, fail nothing, hold nothing, have counted nothing."""
        self.medium = Medium(self.medium.size_bytes, self._cache_bytes)
        self.failures.clear()
        self.do_reset_counts()
        self.do_shape(**asdict(Shape()))

    def do_shape(self, **changes: int) -> None:
        """Change latencies or the number of channels, for commands that arrive from now on."""
        self.shape = Shape(**asdict(self.shape) | changes)
        if len(self._free_at_ns) != self.shape.channels:
            self._free_at_ns = [0] * self.shape.channels

    def do_counts(self) -> dict[str, int]:
        """What was sent since the last reset."""
        return asdict(self.counts)

    def do_reset_counts(self) -> None:
        """Begin to count from zero."""
        self.counts = Counts()
        self._answered.clear()

    def do_answered(self) -> list[dict[str, Any]]:
        """The last commands that were answered since the last reset, in that order."""
        return [asdict(one) for one in self._answered]

    def do_fail(self, commands: list[str], offset_bytes: int, end_bytes: int) -> None:
        """Answer such commands with EIO from now on."""
        self.failures.append(Failure(commands, offset_bytes, end_bytes))

    def do_heal(self) -> None:
        """Fail no more."""
        self.failures.clear()

    def do_cut_power(self, kept_fraction: float, seed: int) -> int:
        """Drop the client without an answer to what it waits for, and lose what was not durable."""
        self._disconnect()
        return self.medium.cut_power(kept_fraction, seed)

    def _take_orders(self, control: int) -> bool:
        text = os.read(control, 65536)
        self._orders += text
        *lines, rest = self._orders.split(b"\n")
        self._orders = bytearray(rest)
        for line in lines:
            order = json.loads(line)
            answer = getattr(self, f"do_{order.pop('do')}")(**order)
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
        return bool(text)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        client.settimeout(_HANDSHAKE_S)
        try:
            if not nbd.negotiate(client, self.medium.size_bytes):
                client.close()
                return
        except OSError:
            client.close()
            return
        client.settimeout(None)
        self._client = client

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None
        self._received.clear()
        self._pending.clear()
        self._free_at_ns = [0] * self.shape.channels

    def _take_requests(self, client: socket.socket) -> None:
        try:
            piece = client.recv(_RECEIVE_BYTES)
        except ConnectionError:
            piece = b""
        now_ns = time.monotonic_ns()
        self._received += piece
        while request := nbd.take_request(self._received):
            if request.command is Command.DISCONNECT:
                piece = b""
                break
            self.counts.add(request)
            start_ns = max(now_ns, heapq.heappop(self._free_at_ns))
            due_ns = start_ns + self.shape.latency_ns(request, self.counts.flushes)
            heapq.heappush(self._free_at_ns, due_ns)
            self._arrived += 1
            pending = Pending(due_ns, self._arrived, now_ns, request, self.medium.last_write())
            heapq.heappush(self._pending, pending)
        if not piece:
            self._disconnect()

    def _wait_s(self) -> float | None:
        if not self._pending:
            return None
        return max(0, self._pending[0].due_ns - _AWAKE_NS - time.monotonic_ns()) / 1e9

    def _answer_what_is_due(self) -> None:
        while self._client is not None and self._pending and self._pending[0].due_ns <= time.monotonic_ns():
            done = heapq.heappop(self._pending)
            error, data = self._carry_out(done)
            self.counts.errors += error != 0
            # before the answer is sent: whoever waits for it may run at once
            self._answered.append(Answered(done.request.command.name.lower(), done.taken_ns, time.monotonic_ns()))
            try:
                self._client.sendall(nbd.reply(done.request.handle, error, data))
            except ConnectionError:
                self._disconnect()

    def _carry_out(self, pending: Pending) -> tuple[int, bytes]:
        """Error number and data for the client; the contents change now, when the latency is over."""
        request = pending.request
        offset, length = request.offset_bytes, request.length_bytes
        if offset % SECTOR_BYTES or length % SECTOR_BYTES or offset + length > self.medium.size_bytes:
            return nbd.EINVAL, b""
        if any(failure.hits(request) for failure in self.failures):
            return nbd.EIO, b""
        if request.command is Command.READ:
            return 0, self.medium.read(offset, length)
        if request.command is Command.WRITE:
            self.medium.write(offset, request.data, durably=request.forces_unit_access)
        elif request.command is Command.FLUSH:
            self.medium.flush(pending.last_write)
        else:
            self.medium.zero(offset, length, durably=request.forces_unit_access)
        return 0, b""


def main() -> None:
    """Play the drive that the arguments describe."""
    # the kernel may fire timers 50 µs late to save power; a drive should not
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)
    path, size_bytes, cache_bytes = sys.argv[1:]
    server = Server(path, int(size_bytes), int(cache_bytes))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    server.serve()


if __name__ == "__main__":
    main()
