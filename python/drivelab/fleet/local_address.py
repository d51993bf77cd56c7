"""Which of this machine's addresses others reach it by, and how one is written."""

from __future__ import annotations

import fcntl
import ipaddress
import re
import socket
import struct

from drivelab.model.errors import DrivelabError

_SIOCGIFADDR = 0x8915
_ANY_PORT = 9
_SCHEDULER = re.compile(r"tls://(\[[0-9a-fA-F:]+\]|[^:/\[\]]+):([0-9]{1,5})")


def address_towards(host: str) -> str:
    """Our address on the way to another machine; nothing is sent.

    Parameters
    ----------
    host : str
        Its name or address.

    Raises
    ------
    DrivelabError
        F909: there is no way to it.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, _ANY_PORT, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(place)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise DrivelabError("F909", f"there is no way to {host}: {error.strerror or error}") from error


def address_of(interface: str) -> str:
    """The address of an interface; an address stays what it is.

    Raises
    ------
    DrivelabError
        F909: there is no such interface, or it has no address.
    """
    try:
        return str(ipaddress.ip_address(interface))
    except ValueError:
        pass
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            asked = struct.pack("256s", interface.encode()[:15])
            return socket.inet_ntoa(fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, asked)[20:24])
    except OSError as error:
        do = "name an interface of this machine, or one of its addresses: ip address"
        raise DrivelabError("F909", f"{interface} has no address: {error.strerror}", do=do) from error


def host_part(address: str) -> str:
    """An address as it stands before a port: one of version 6 has colons of its own."""
    return f"[{address}]" if ":" in address else address


def place_of(address: str) -> tuple[str, int]:
    """Host and port of ``tls://HOST:PORT``.

    Raises
    ------
    DrivelabError
        F909: it is something else.
    """
    found = _SCHEDULER.fullmatch(address)
    if found is None or not 0 < int(found[2]) < 65536:
        raise DrivelabError("F909", f"'{address}' is no address with a port", do="write it so: tls://10.0.0.1:8786")
    return found[1].strip("[]"), int(found[2])
