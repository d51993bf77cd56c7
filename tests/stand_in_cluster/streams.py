"""The streams that kubectl attaches by: SPDY/3.1 over an upgraded connection, the server's side of it.

Frames and names of streams are those of the SPDY protocol, draft 3.1, and of v4.channel.k8s.io.
"""

from __future__ import annotations

import json
import struct
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

# headers are packed with a dictionary of the protocol, which every kubectl has in it
_DICTIONARY_BEGINS = b"\0\0\0\x07options\0\0\0\x04head"
_DICTIONARY_BYTES, _DICTIONARY_SUM = 1423, 0xE3C6A7C2
_SYN_STREAM, _SYN_REPLY, _PING = 1, 2, 6
_LAST = 1
_PIECE_BYTES = 1 << 14


def header_dictionary(kubectl: Path) -> bytes:
    """The dictionary for headers, out of the program that it is to be spoken to."""
    program = kubectl.read_bytes()
    start = program.index(_DICTIONARY_BEGINS)
    found = program[start : start + _DICTIONARY_BYTES]
    assert zlib.adler32(found) == _DICTIONARY_SUM, "the dictionary of SPDY/3 is not in kubectl"
    return found


class Streams:
    """One client that wants to be attached.

    Attributes
    ----------
    hear : callable
        Told what the client writes to standard input; None once it has closed it, or is gone.
    attach : callable
        Called once all streams are there.
    """

    def __init__(self, dictionary: bytes, reader: BinaryIO, writer: BinaryIO, attach: Callable[[Streams], None]):
        self.hear: Callable[[bytes | None], None] = lambda _text: None
        self.attach = attach
        self._reader, self._writer = reader, writer
        self._unpack = zlib.decompressobj(zdict=dictionary)
        self._pack = zlib.compressobj(zdict=dictionary)
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def listen(self) -> None:
        """Answer frames until the client is gone."""
        try:
            while len(head := self._reader.read(8)) == 8:
                number, flags_and_size = struct.unpack(">II", head)
                flags, body = flags_and_size >> 24, self._reader.read(flags_and_size & 0xFFFFFF)
                if number >> 31:
                    self._control(number & 0xFFFF, body, head)
                elif number == self._numbers.get("stdin"):
                    if body:
                        self.hear(body)
                    if flags & _LAST:
                        self.hear(None)
        except OSError:
            pass
        self.hear(None)

    def say(self, stream: str, text: bytes) -> None:
        """Write to a stream of the client."""
        for start in range(0, len(text), _PIECE_BYTES):
            self._data(stream, text[start : start + _PIECE_BYTES], 0)

    def end(self) -> None:
        """Say that the container has ended."""
        for stream in ("stdout", "stderr"):
            self._data(stream, b"", _LAST)
        self._data("error", json.dumps({"metadata": {}, "status": "Success"}).encode(), _LAST)

    def _control(self, kind: int, body: bytes, head: bytes) -> None:
        if kind == _SYN_STREAM:
            number = struct.unpack(">I", body[:4])[0]
            self._numbers[self._headers(self._unpack.decompress(body[10:]))["streamtype"]] = number
            nothing = self._pack.compress(struct.pack(">I", 0)) + self._pack.flush(zlib.Z_SYNC_FLUSH)
            reply = struct.pack(">I", number) + nothing
            self._send(struct.pack(">HHI", 0x8003, _SYN_REPLY, len(reply)) + reply)
            if {"error", "stdin", "stdout", "stderr"} <= self._numbers.keys():
                self.attach(self)
        elif kind == _PING:
            self._send(head + body)

    def _headers(self, block: bytes) -> dict[str, str]:
        words, place = [], 4
        while place < len(block):
            size = struct.unpack(">I", block[place : place + 4])[0]
            words.append(block[place + 4 : place + 4 + size].decode())
            place += 4 + size
        return dict(zip(words[::2], words[1::2], strict=True))

    def _data(self, stream: str, text: bytes, flags: int) -> None:
        if stream in self._numbers:
            self._send(struct.pack(">II", self._numbers[stream], flags << 24 | len(text)) + text)

    def _send(self, frame: bytes) -> None:
        with self._lock:
            try:
                self._writer.write(frame)
                self._writer.flush()
            except (OSError, ValueError):
                pass
