"""A client of a network block device, as little of one as the tests of the server need."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

READ, WRITE, DISCONNECT, FLUSH, TRIM = range(5)
FUA = 1
REQUEST_MAGIC = 0x25609513
GO, LIST = 7, 3


class NbdClient:
    """A connection that has negotiated, unless `negotiates` is false.

    Attributes
    ----------
    size_bytes, flags : int
        What the server told of the drive.
    """

    def __init__(self, path: Path, *, negotiates: bool = True) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(60)
        self.socket.connect(str(path))
        self.size_bytes = self.flags = 0
        if negotiates:
            assert self.take(18) == b"NBDMAGICIHAVEOPT\x00\x03"
            self.socket.sendall(struct.pack(">I", 3))
            for kind, data in self.option(GO, struct.pack(">IH", 0, 0)):
                if kind == 3 and data[:2] == b"\x00\x00":
                    self.size_bytes, self.flags = struct.unpack(">QH", data[2:])

    def option(self, number: int, data: bytes) -> list[tuple[int, bytes]]:
        """Send an option; the answers until the last one, each with its kind."""
        self.socket.sendall(b"IHAVEOPT" + struct.pack(">II", number, len(data)) + data)
        answers = []
        while not answers or answers[-1][0] in (2, 3):
            magic, about, kind, length = struct.unpack(">QIII", self.take(20))
            assert (magic, about) == (0x0003E889045565A9, number)
            answers.append((kind, self.take(length)))
        return answers

    def send(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> None:
        """Send a command and wait for nothing."""
        header = struct.pack(">IHHQQI", REQUEST_MAGIC, flags, command, 7, offset, length or len(data))
        self.socket.sendall(header + data)

    def ask(
        self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0
    ) -> tuple[int, bytes]:
        """Send a command; the error of its answer, and the data of a read."""
        self.send(command, offset, length, data, flags)
        magic, error, cookie = struct.unpack(">IIQ", self.take(16))
        assert (magic, cookie) == (0x67446698, 7)
        return error, self.take(length) if command == READ and not error else b""

    def take(self, length: int) -> bytes:
        """The next bytes; fewer when the server has ended the connection."""
        taken = b""
        while len(taken) < length:
            try:
                piece = self.socket.recv(length - len(taken))
            except ConnectionResetError:
                piece = b""
            if not piece:
                break
            taken += piece
        return taken

    def close(self) -> None:
        """Leave without a word."""
        self.socket.close()
