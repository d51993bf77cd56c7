"""The part of the NBD protocol that QEMU speaks to a server, as bytes in and bytes out.

https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md
"""

from __future__ import annotations

import socket
import struct
from enum import IntEnum
from typing import NamedTuple

EIO, EINVAL = 5, 22
FUA_FLAG = 1
TRANSFER_BYTES_MAX = 32 << 20

_GREETING = b"NBDMAGICIHAVEOPT" + struct.pack(">H", 0b11)  # fixed newstyle, no zeroes
_OPTION_MAGIC = b"IHAVEOPT"
_REPLY_TO_OPTION = 0x0003E889045565A9
_REQUEST = struct.Struct(">IHHQQI")
_REQUEST_MAGIC = 0x25609513
_SIMPLE_REPLY = struct.Struct(">IIQ")
_SIMPLE_REPLY_MAGIC = 0x67446698
# has flags, flush, FUA, trim, write zeroes
_EXPORT_FLAGS = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6
_ACK, _INFO, _UNSUPPORTED = 1, 3, (1 << 31) + 1
_OPTION_EXPORT_NAME, _OPTION_ABORT, _OPTION_INFO, _OPTION_GO = 1, 2, 6, 7
_INFO_EXPORT, _INFO_BLOCK_SIZE = 0, 3
_BLOCK_SIZES = (512, 4096, TRANSFER_BYTES_MAX)


class Command(IntEnum):
    """What a client asks for."""

    READ = 0
    WRITE = 1
    DISCONNECT = 2
    FLUSH = 3
    DISCARD = 4
    WRITE_ZEROES = 6


class Request(NamedTuple):
    """One command from the client."""

    command: Command
    forces_unit_access: bool
    handle: int
    offset_bytes: int
    length_bytes: int
    data: bytes


def negotiate(client: socket.socket, size_bytes: int) -> bool:
    """Bring a new connection to the point where commands come; False when the client went away."""
    client.sendall(_GREETING)
    _receive(client, 4)  # the client's flags
    while True:
        magic, option, length = struct.unpack(">8sII", _receive(client, 16))
        if magic != _OPTION_MAGIC:
            return False
        _receive(client, length)
        if option == _OPTION_EXPORT_NAME:
            client.sendall(struct.pack(">QH", size_bytes, _EXPORT_FLAGS))
            return True
        if option in (_OPTION_INFO, _OPTION_GO):
            _reply(client, option, _INFO, struct.pack(">HQH", _INFO_EXPORT, size_bytes, _EXPORT_FLAGS))
            _reply(client, option, _INFO, struct.pack(">HIII", _INFO_BLOCK_SIZE, *_BLOCK_SIZES))
            _reply(client, option, _ACK)
            if option == _OPTION_GO:
                return True
        elif option == _OPTION_ABORT:
            _reply(client, option, _ACK)
            return False
        else:
            _reply(client, option, _UNSUPPORTED)


def take_request(received: bytearray) -> Request | None:
    """Remove the first whole request from what was received; None when it is not whole yet."""
    if len(received) < _REQUEST.size:
        return None
    magic, flags, command, handle, offset, length = _REQUEST.unpack_from(received)
    if magic != _REQUEST_MAGIC:
        raise ConnectionError(f"not an NBD request: {magic:#x}")
    end = _REQUEST.size + (length if command == Command.WRITE else 0)
    if len(received) < end:
        return None
    data = bytes(memoryview(received)[_REQUEST.size : end])
    del received[:end]
    return Request(Command(command), bool(flags & FUA_FLAG), handle, offset, length, data)


def reply(handle: int, error: int, data: bytes = b"") -> bytes:
    """The answer to a request."""
    return _SIMPLE_REPLY.pack(_SIMPLE_REPLY_MAGIC, error, handle) + data


def _reply(client: socket.socket, option: int, kind: int, payload: bytes = b"") -> None:
    client.sendall(struct.pack(">QIII", _REPLY_TO_OPTION, option, kind, len(payload)) + payload)


def _receive(client: socket.socket, length: int) -> bytes:
    received = b""
    while len(received) < length:
        piece = client.recv(length - len(received))
        if not piece:
            raise ConnectionError("the client went away while it negotiated")
        received += piece
    return received
