"""The programs that were traced. ``docs/needs.md`` tells of them, and a test holds the two together.

`python bench/program_traces.py` takes the traces again, `python bench/own_time.py` the programs' own times.
"""

from __future__ import annotations

from drivelab.model.program import MIB, Background, LogWrite, OwnTime, Program

CLIENT_COUNTS = (8, 32)
_US = 1000.0
_ROW = "64 characters"

POSTGRESQL = Program(
    need="postgres",
    title="PostgreSQL",
    version="15.18",
    settings="as Debian has them: wal_sync_method fdatasync, synchronous_commit on, wal_recycle and wal_init_zero on",
    commit=f"insert of a row of {_ROW}, prepared (pgbench), through a socket",
    calls=("pwrite64 of 8192 B over a page that is there, the same until it is full", "fdatasync"),
    write=LogWrite("sync-write-postgres", 8192, "overwrite", "same"),
    own=OwnTime(46 * _US, 23 * _US, 185 * _US, {1: 67 * _US, 8: 13 * _US, 32: 18 * _US}, round_trips=4.6),
)

SQLITE_WAL = Program(
    need="sqlite-wal",
    title="SQLite with a write-ahead log",
    version="3.40.1",
    settings="journal_mode WAL, synchronous FULL",
    commit=f"insert of a row of {_ROW} by the sqlite3 shell",
    calls=(
        "pwrite64 of 24 B and of 4096 B right behind, over a log that is there once 1000 pages were written",
        "fdatasync",
    ),
    # the 4120 bytes lie across two pages, and both are written
    write=LogWrite("sync-write-sqlite-wal", 8192, "overwrite", file_bytes=4 * MIB),
    own=OwnTime(25 * _US, 15 * _US, 49 * _US, {1: 26 * _US}, round_trips=1.9),
    shares_syncs=False,
)

SQLITE = Program(
    need="sqlite",
    title="SQLite with a rollback journal",
    version="3.40.1",
    settings="journal_mode DELETE, synchronous FULL, as Debian has them",
    commit=f"insert of a row of {_ROW} by the sqlite3 shell",
    calls=(
        "openat of a new journal, 7 pwrite64 to it, 8720 B in all",
        "fdatasync of the journal",
        "fdatasync of the directory",
        "pwrite64 of 12 B over the start of the journal, fdatasync",
        "2 pwrite64 of 4096 B over pages of the database, fdatasync",
        "unlink of the journal",
    ),
    write=LogWrite("sync-write-sqlite", 4096, "overwrite", file_bytes=MIB, is_behind_journal=True, sync_count=3),
    # beside syncs of 0.1 ms
    own=OwnTime(57 * _US, 33 * _US, 215 * _US, {1: 78 * _US}, round_trips=6.4),
    shares_syncs=False,
)

REDIS_ALWAYS = Program(
    need="redis-always",
    title="Redis with appendfsync always",
    version="7.0.15",
    settings="appendonly yes, appendfsync always, no snapshots",
    commit=f"set of a key to {_ROW} (redis-benchmark), through a socket",
    calls=("write of 107 B to the end of the append-only file", "fdatasync"),
    write=LogWrite("sync-write-redis", 107, "append", file_bytes=512 * MIB),
    own=OwnTime(27 * _US, 13 * _US, 71 * _US, {1: 74 * _US, 8: 9 * _US, 32: 8 * _US}, round_trips=1.6),
)

ETCD = Program(
    need="etcd",
    title="etcd",
    version="3.4.23",
    settings="a cluster of one, as Debian has it",
    commit=f"put of a key to {_ROW} through the HTTP gateway",
    calls=("write of 160 B behind the last one, into 64 MB that were allocated before", "fdatasync"),
    write=LogWrite("sync-write-etcd", 160, "preallocated", file_bytes=64 * MIB),
    # on a drive with syncs of 0.1 ms: in memory its processors hardly sleep
    own=OwnTime(500 * _US, 425 * _US, 1600 * _US, {1: 377 * _US, 8: 240 * _US, 32: 190 * _US}, round_trips=45),
    # its database behind the log: 20 fdatasync and 60 pwrite64 a second were traced beside the log's
    background=Background(2, 100_000_000),
)

MARIADB = Program(
    need="mariadb",
    title="MariaDB with InnoDB",
    version="10.11.19",
    settings="as Debian has them: innodb_flush_log_at_trx_commit 1, innodb_flush_method O_DIRECT, no binary log",
    commit=f"insert of a row of {_ROW} (mariadb-slap), through a socket",
    calls=(
        "pwrite64 of 4096 B with O_DIRECT over a block of the log that is there, the same until it is full",
        "fdatasync",
    ),
    write=LogWrite("sync-write-mariadb", 4096, "overwrite", "same", direct=True),
    own=OwnTime(45 * _US, 27 * _US, 170 * _US, {1: 87 * _US, 8: 17 * _US, 32: 23 * _US}, round_trips=5.0),
)

ZOOKEEPER = Program(
    need="zookeeper",
    title="ZooKeeper",
    version="3.8.0",
    settings="a server alone, as Debian has it",
    commit=f"set of a node to {_ROW}, through TCP",
    calls=(
        "newfstatat of the log",
        "write of 139 B behind the last one, into a hole that ends 64 MiB ahead",
        "fdatasync",
    ),
    write=LogWrite("sync-write-zookeeper", 139, "sparse", file_bytes=64 * MIB, stat_before_write=True),
    own=OwnTime(160 * _US, 105 * _US, 940 * _US, {1: 179 * _US, 8: 46 * _US, 32: 38 * _US}, round_trips=17),
)

PROGRAMS = {
    program.need: program for program in (POSTGRESQL, SQLITE_WAL, SQLITE, REDIS_ALWAYS, ETCD, MARIADB, ZOOKEEPER)
}
