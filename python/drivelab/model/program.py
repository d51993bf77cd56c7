"""Programs that commit: what each does for a commit, as traced, and what it costs the program itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from drivelab.model.plain import Plain
from drivelab.model.workload import AccessKind, FileState

MIB = 2**20
# between what a program's own time lies on other computers, once the length of a round trip is known there
_OF_OWN_TIME = (0.55, 2.0)


@dataclass(frozen=True, slots=True)
class LogWrite:
    """What a program writes and syncs for a commit.

    Attributes
    ----------
    trial : str
        Name of the trial that issues the same.
    size_bytes : int
        Of the write, which an fdatasync follows.
    file_state : str
        What the file is before: written (``overwrite``), growing (``append``), reserved
        (``preallocated``) or a hole (``sparse``).
    access : str
        ``same`` where commits write the same page again until it is full, else ``sequential``.
    file_bytes : int
        Size of the file, or how far it may grow.
    direct : bool
        Whether it goes around the page cache.
    is_behind_journal : bool
        Whether pages of the file are overwritten behind a rollback journal: the operation ``update``.
    sync_count : int
        How many syncs, one after another, that have something to make durable.
    stat_before_write : bool
        Whether it asks for the file's attributes first.
    """

    trial: str
    size_bytes: int
    file_state: FileState
    access: AccessKind = "sequential"
    file_bytes: int = 16 * MIB
    direct: bool = False
    is_behind_journal: bool = False
    sync_count: int = 1
    stat_before_write: bool = False


@dataclass(frozen=True, slots=True)
class OwnTime:
    """What a commit costs the program and its client beside its log: their time with all data in memory.

    Attributes
    ----------
    one_ns : float
        With one client: time of a commit less that of its log writes, on a file system in memory.
    low_ns, high_ns : float
        Between which it was seen.
    memory_ns : dict of int to float
        Processor time of a commit, by the number of clients: time per commit on tmpfs, where a sync is no call at all.
    round_trips : float
        How many times as long it takes as the least that a client and a server can do: the median over computers.
    """

    one_ns: float
    low_ns: float
    high_ns: float
    memory_ns: dict[int, float]
    round_trips: float = 0.0

    def on_computer(self, round_trip_ns: float | None) -> OwnTime:
        """The same on a computer on which a round trip takes so long, within what was ever seen: a trip may be late."""
        if not round_trip_ns or not self.round_trips:
            return self
        here_ns = min(max(self.round_trips * round_trip_ns, self.low_ns), self.high_ns)
        least, most = _OF_OWN_TIME
        return replace(self, one_ns=here_ns, low_ns=least * here_ns, high_ns=most * here_ns)


@dataclass(frozen=True, slots=True)
class Background:
    """Syncs that a program makes beside its commits, whatever their rate: commits wait for the drive meanwhile.

    Attributes
    ----------
    sync_count : int
        How many of them, each about as long as that of a commit.
    every_ns : float
        So long after the last ones.
    """

    sync_count: int
    every_ns: float


@dataclass(frozen=True, slots=True)
class Program:
    """A program as it was traced.

    Attributes
    ----------
    need : str
        Name of the need that it belongs to.
    title : str
        Its name for people.
    version, settings : str
        What was traced.
    commit : str
        What a client asked for.
    calls : tuple of str
        The calls on its files for each commit, in order, as traced.
    write : LogWrite
        The same as a trial.
    own : OwnTime
        Its own time.
    shares_syncs : bool
        Whether clients that commit together share a sync.
    background : Background or None
        What it syncs besides.
    """

    need: str
    title: str
    version: str
    settings: str
    commit: str
    calls: tuple[str, ...]
    write: LogWrite
    own: OwnTime
    shares_syncs: bool = True
    background: Background | None = None

    def on_computer(self, round_trip_ns: float | None) -> Program:
        """The same with the own time that it has where a round trip takes so long (`OwnTime.on_computer`)."""
        return replace(self, own=self.own.on_computer(round_trip_ns))

    def with_own_time(self, one_ns: float) -> Program:
        """The same with the own time that a forecast was made with."""
        return replace(self, own=replace(self.own, one_ns=one_ns))

    def left_to_commits(self, latency_ns: float) -> float:
        """Share of the time that syncs in the background leave to commits, where a log write takes so long."""
        beside = self.background
        return 1.0 if beside is None else beside.every_ns / (beside.every_ns + beside.sync_count * latency_ns)


@dataclass(frozen=True, slots=True)
class RateBand(Plain):
    """Commits a second of several clients: between which two rates."""

    client_count: int
    low: float
    high: float
