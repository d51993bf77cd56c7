"""A client that a fleet must not hear: plain, without a certificate, or with one of another authority."""

from __future__ import annotations

import socket
import ssl
import sys
from contextlib import suppress
from pathlib import Path

PATIENCE_S = 60
ALERT = b"\x15"


def heard_from(address: str, port: int, keys: str) -> bytes:
    """The first bytes that the other side says; none where it ends the connection."""
    connection = socket.create_connection((address, port), timeout=PATIENCE_S)
    if keys != "plain":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if keys != "none":
            context.load_cert_chain(Path(keys) / "host.pem", Path(keys) / "host.key")
        connection = context.wrap_socket(connection)
    with connection:
        with suppress(TimeoutError):
            connection.sendall(b"hello\n")
            return connection.recv(1)
        return b"silence"


if __name__ == "__main__":
    try:
        heard = heard_from(sys.argv[1], int(sys.argv[2]), sys.argv[3])
        # what is not TLS at all is answered by an alert, or by nothing
        print("refused" if heard in (b"", ALERT) else f"heard {heard!r}")
    except (ssl.SSLError, ConnectionError):
        print("refused")
