"""A server that speaks S3 (moto), buckets in it, and a wire to it that can be cut."""

from __future__ import annotations

import json
import logging
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

_PIECE_BYTES = 65536
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@contextmanager
def s3_server() -> Iterator[int]:
    """The port of a server at 127.0.0.1 while the block runs."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        yield server.get_host_and_port()[1]
    finally:
        server.stop()


class Bucket:
    """A bucket of its own in a server.

    Attributes
    ----------
    name : str
        What it is called.
    """

    def __init__(self, port: int) -> None:
        self.name = f"bucket-{secrets.token_hex(6)}"
        self._client: Any = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        self._client.create_bucket(Bucket=self.name)

    def refuse_writes(self) -> None:
        """Let nobody write."""
        resource = f"arn:aws:s3:::{self.name}/*"
        denied = {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": resource}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [denied]})
        self._client.put_bucket_policy(Bucket=self.name, Policy=policy)

    def names(self) -> list[str]:
        """The names of all objects."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        return [one["Key"] for page in pages for one in page.get("Contents", [])]

    def content(self, name: str) -> bytes:
        """What an object holds."""
        return bytes(self._client.get_object(Bucket=self.name, Key=name)["Body"].read())

    def put(self, name: str, content: bytes) -> None:
        """Replace an object."""
        self._client.put_object(Bucket=self.name, Key=name, Body=content)

    def remove(self, name: str) -> None:
        """Remove an object."""
        self._client.delete_object(Bucket=self.name, Key=name)

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()


class Wire:
    """A port that leads to another one, until a request comes that is to be cut off.

    Parameters
    ----------
    port : int
        Where it leads.

    Attributes
    ----------
    cuts : callable
        Tells of the first line of a request whether it is cut off: a PUT does not arrive, of others the answer in half.
    requests : list of str
        First lines of all requests that came.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cuts: Callable[[str], bool] = lambda _line: False
        self.requests: list[str] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        """Carry both directions of a connection, and end it within an answer that is to be cut."""
        is_cut = threading.Event()
        with client, socket.create_connection(("127.0.0.1", self._to)) as server, suppress(OSError):
            back = threading.Thread(target=self._answers, args=(server, client, is_cut), daemon=True)
            back.start()
            while piece := client.recv(_PIECE_BYTES):
                line = piece.split(b"\r\n", 1)[0].decode("latin-1")
                if line.endswith("HTTP/1.1"):
                    self.requests.append(line)
                    if self.cuts(line):
                        if line.startswith("PUT"):
                            return
                        is_cut.set()
                server.sendall(piece)
            server.shutdown(socket.SHUT_WR)
            back.join()

    @staticmethod
    def _answers(server: socket.socket, client: socket.socket, is_cut: threading.Event) -> None:
        with suppress(OSError):
            while piece := server.recv(_PIECE_BYTES):
                if is_cut.is_set():
                    client.sendall(piece[: len(piece) // 2])
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(piece)
            client.shutdown(socket.SHUT_WR)
