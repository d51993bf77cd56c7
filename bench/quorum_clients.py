"""Clients of etcd and ZooKeeper, which bring no small program that commits one entry after another."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Callable

_CREATE, _SET = 1, 5
_OPEN_TO_ALL = struct.pack(">ii", 1, 31) + struct.pack(">i", 5) + b"world" + struct.pack(">i", 6) + b"anyone"
_NODE_EXISTS = -110


def etcd_commits_per_s(port: int, value: str, clients: int, seconds: float) -> float:
    """Puts a second, through the HTTP gateway; each client has a connection and a key of its own."""

    def make(number: int) -> Callable[[], None]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key, content = (base64.b64encode(text.encode()).decode() for text in (f"key{number}", value))
        body = json.dumps({"key": key, "value": content})

        def commit() -> None:
            connection.request("POST", "/v3/kv/put", body)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"etcd refused: {text!r}")

        return commit

    return _rate(make, clients, seconds)


def zookeeper_commits_per_s(port: int, value: str, clients: int, seconds: float) -> float:
    """Nodes set a second; each client has a session and a node of its own."""
    content = struct.pack(">i", len(value)) + value.encode()

    def make(number: int) -> Callable[[], None]:
        session = socket.create_connection(("127.0.0.1", port), timeout=30)
        session.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # protocol, last transaction seen, time out in ms, session, password
        _exchange(session, struct.pack(">iqiqi16s", 0, 0, 30_000, 0, 16, b"") + b"\0")
        path = f"/node{number}".encode()
        place = struct.pack(">i", len(path)) + path
        made = _exchange(session, struct.pack(">ii", 1, _CREATE) + place + content + _OPEN_TO_ALL + bytes(4))
        _require(made, _NODE_EXISTS)
        order = struct.pack(">ii", 2, _SET) + place + content + struct.pack(">i", -1)
        return lambda: _require(_exchange(session, order))

    return _rate(make, clients, seconds)


def _exchange(session: socket.socket, order: bytes) -> bytes:
    session.sendall(struct.pack(">i", len(order)) + order)
    (length,) = struct.unpack(">i", _received(session, 4))
    return _received(session, length)


def _received(session: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = session.recv(length - len(data))
        if not part:
            raise ConnectionError("ZooKeeper has closed the session")
        data += part
    return data


def _require(answer: bytes, *allowed: int) -> None:
    """Return only if the answer's header says that all went well; it has number, transaction and error."""
    error = struct.unpack(">iqi", answer[:16])[2]
    if error not in (0, *allowed):
        raise RuntimeError(f"ZooKeeper refused: error {error}")


def _rate(make: Callable[[int], Callable[[], None]], clients: int, seconds: float) -> float:
    """Commits a second of clients that each commit again and again for so long."""
    commits = [make(number) for number in range(clients)]
    counts = [0] * clients
    begin = time.monotonic()

    def work(number: int) -> None:
        while time.monotonic() - begin < seconds:
            commits[number]()
            counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - begin)
