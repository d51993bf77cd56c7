"""How a host is started over ssh: with the user's own client, its configuration, its agent, its known hosts."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from drivelab.fleet.starter import Starter
from drivelab.model.fleet_hosts import HostEntry

_OPTIONS = (
    *("-T", "-a", "-x"),
    # nobody is there to type a password for each of a thousand hosts
    *("-o", "BatchMode=yes"),
    *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
)


def ssh_starter(entry: HostEntry, name: str, connect_s: int) -> Starter:
    """What starts a host.

    Parameters
    ----------
    entry : HostEntry
        How it is reached.
    name : str
        What it is called, which the user's ssh may know.
    connect_s : int
        How long ssh tries to connect.
    """
    return Starter(ssh_words_of(entry, name, connect_s, worker_words(entry)))


def ssh_words_of(entry: HostEntry, name: str, connect_s: int, remote: Sequence[str]) -> list[str]:
    """The command that has a host do something."""
    port = ["-p", str(entry.port)] if entry.port else []
    user = ["-l", entry.user] if entry.user else []
    there = ["--", entry.address or name, " ".join(map(_quoted, remote))]
    return ["ssh", *_OPTIONS, "-o", f"ConnectTimeout={connect_s}", *port, *user, *there]


def worker_words(entry: HostEntry) -> list[str]:
    """What runs on a host: it reads whom to join from its standard input."""
    words = [*shlex.split(entry.drivelab or "drivelab"), "fleet", "worker", "-", "--json"]
    return ["sudo", "-n", *words] if entry.sudo else words


def _quoted(word: str) -> str:
    """A word as a shell there takes it; it knows whose home begins a path."""
    return f"~/{shlex.quote(word.removeprefix('~/'))}" if word.startswith("~/") else shlex.quote(word)
