"""Which of this machine's addresses others reach it by, and how one is written."""

from __future__ import annotations

import asyncio
import fcntl
import ipaddress
import re
import socket
import struct
from pathlib import Path

from drivelab.model.errors import DrivelabError

_SIOCGIFADDR = 0x8915
_ANY_PORT = 9
_SCHEDULER = re.compile(r"tls://(\[[0-9a-fA-F:]+(?:%[A-Za-z0-9_.-]+)?\]|[^:/\[\]]+):([0-9]{1,5})")
# of version 6: the address without its colons, four numbers, and the name of its interface
_ADDRESSES_V6 = Path("/proc/net/if_inet6")


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
            # a link-local one means nothing without its interface
            return socket.getnameinfo(probe.getsockname(), socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)[0]
    except OSError as error:
        raise DrivelabError("F909", f"there is no way to {host}: {error.strerror or error}") from error


def address_of(interface: str) -> str:
    """The address of an interface, of version 4 if it has one; an address stays what it is.

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
        if found := _address_v6(interface):
            return found
        do = "name an interface of this machine, or one of its addresses: ip address"
        raise DrivelabError("F909", f"{interface} has no address: {error.strerror}", do=do) from error


def _address_v6(interface: str) -> str:
    """The address of version 6 of an interface, a link-local one only where it has no other; empty without any."""
    lines = [line.split() for line in _ADDRESSES_V6.read_text().splitlines()] if _ADDRESSES_V6.exists() else []
    found = [ipaddress.IPv6Address(bytes.fromhex(line[0])) for line in lines if line[-1] == interface]
    if not found:
        return ""
    first = min(found, key=lambda address: address.is_link_local)
    return f"{first}%{interface}" if first.is_link_local else str(first)


async def as_seen_here(address: str, within_s: float) -> str:
    """Where others are, by the interface of this machine that leads there if they are told by a link-local address.

    Parameters
    ----------
    address : str
        ``tls://HOST:PORT`` as it is called elsewhere, or here.
    within_s : float
        How long each interface is tried.

    Raises
    ------
    DrivelabError
        F909: it is something else, or no interface leads there.
    """
    host, port = place_of(address)
    bare = host.partition("%")[0]
    if ":" not in bare or not ipaddress.ip_address(bare).is_link_local:
        return address
    names = [name for _, name in socket.if_nameindex()]
    trials = [asyncio.ensure_future(_is_reached(f"{bare}%{name}", port, within_s)) for name in names]
    for name, is_reached in zip(names, await asyncio.gather(*trials), strict=True):
        if is_reached:
            return f"tls://[{bare}%{name}]:{port}"
    what = f"no interface leads to {address}, which is an address of one cable"
    raise DrivelabError("F909", what, do="name an address that hosts reach: --listen ADDRESS")


async def _is_reached(host: str, port: int, within_s: float) -> bool:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), within_s)
    except OSError:
        return False
    writer.close()
    return True


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
