"""Which of this machine's addresses others reach it by."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct

from drivelab.model.errors import DrivelabError

_SIOCGIFADDR = 0x8915
_ANY_PORT = 9


def address_towards(other: str) -> str:
    """Our address on the way to another machine; nothing is sent.

    Parameters
    ----------
    other : str
        A name or an address, also as ``tls://ADDRESS:PORT``.

    Raises
    ------
    DrivelabError
        F909: there is no way to it.
    """
    host = host_of(other)
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


def host_of(address: str) -> str:
    """The host of ``tls://HOST:PORT``; of anything else itself."""
    if "://" not in address:
        return address
    return address.partition("://")[2].rpartition(":")[0].strip("[]")
