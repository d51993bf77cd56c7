"""Named needs: which programs ask what of the storage beneath them, and who says so.

A need has a limit only where somebody published one. Where none is, the measured
number is translated into what it means, or into commits a second for the programs
that were traced (`drivelab.model.programs`).
``docs/needs.md`` lists them; a test holds the two together.
"""

from __future__ import annotations

from drivelab.model.errors import DrivelabError
from drivelab.model.need import Capability, Need, Threshold
from drivelab.model.programs import MARIADB, POSTGRESQL, REDIS_ALWAYS, SQLITE, SQLITE_WAL

_MS = 1_000_000.0
_S = 1_000_000_000.0

ETCD = Need(
    name="etcd",
    title="etcd",
    text="appends small records to its log and waits for fdatasync before it answers",
    thresholds=(
        Threshold(
            trial="sync-write-2300",
            metric="total_latency_ns_p99",
            direction="at_most",
            limit=10 * _MS,
            unit="ns",
            text="99 % of 2300-byte log writes were durable within {value}",
            force="required",
            source="etcd documentation, as quoted in Red Hat solution 6970109: wal_fsync_duration_seconds p99 below "
            "10 ms; writes of 2300 bytes as in IBM's article on fio and etcd",
        ),
        Threshold(
            trial="sync-write-16384",
            metric="iops",
            direction="at_least",
            limit=500,
            unit="1/s",
            text="{value} durable log writes a second, one after another",
            force="recommended",
            source="OKD documentation, etcd practices: 500 sequential writes of 8000 bytes a second for heavily loaded "
            "clusters; measured with 16 KiB, which is no easier",
            asked_less="writes of 8000 bytes",
        ),
    ),
    remark="OpenShift's own checker is content with 20 ms.",
)

ZOOKEEPER = Need(
    name="zookeeper",
    title="ZooKeeper",
    text="syncs its transaction log before it acknowledges a write, on a quorum of servers",
    thresholds=(
        Threshold(
            trial="sync-write-4096",
            metric="total_latency_ns_p99",
            direction="at_most",
            limit=1 * _S,
            unit="ns",
            text="99 % of 4 KiB log writes were durable within {value}",
            force="required",
            source="ZooKeeper, fsync.warningthresholdms: it warns of syncs above 1000 ms (ZOOKEEPER-2195)",
        ),
        Threshold(
            trial="sync-write-4096",
            metric="total_latency_ns_mean",
            direction="at_most",
            limit=2 * _MS,
            unit="ns",
            text="a 4 KiB log write was durable within {value} on average",
            force="recommended",
            source="Netdata, ZooKeeper dataLogDir guide: on a healthy dedicated SSD an fsync takes less than 2 ms",
        ),
    ),
)

COCKROACHDB = Need(
    name="cockroachdb",
    title="CockroachDB",
    text="syncs its log before Raft counts an entry as stored, for every write",
    thresholds=(
        Threshold(
            trial="sync-write-4096",
            metric="total_latency_ns_p99",
            direction="at_most",
            limit=50 * _MS,
            unit="ns",
            text="99 % of 4 KiB log writes were durable within {value}",
            force="required",
            source="Netdata, CockroachDB WAL fsync latency guide: sustained values above 50 ms mean that the device "
            "is struggling",
        ),
        Threshold(
            trial="sync-write-4096",
            metric="total_latency_ns_p99",
            direction="at_most",
            limit=10 * _MS,
            unit="ns",
            text="99 % of 4 KiB log writes were durable within {value}",
            force="recommended",
            source="Netdata, CockroachDB WAL fsync latency guide: below 10 ms on healthy local SSDs",
        ),
    ),
)

CONSUL = Need(
    name="consul",
    title="Consul",
    text="syncs its Raft log with every entry; its makers state what a server's disk must do in general",
    thresholds=(
        Threshold(
            trial="random-write-qd32",
            metric="iops",
            direction="at_least",
            limit=7500,
            unit="1/s",
            text="{value} random 4 KiB writes a second with 32 outstanding",
            force="required",
            source="HashiCorp, Consul server resource requirements: at least 7500 IOPS in production",
        ),
        Threshold(
            trial="sequential-write-qd8",
            metric="throughput_bytes_per_s",
            direction="at_least",
            limit=250e6,
            unit="B/s",
            text="{value} of sequential writes",
            force="required",
            source="HashiCorp, Consul server resource requirements: at least 250 MB/s in production",
        ),
    ),
)

LOGCABIN = Need(
    name="logcabin",
    title="LogCabin",
    text="syncs each entry of its Raft log, a few hundred bytes, before it answers",
    thresholds=(
        Threshold(
            trial="sync-write-512",
            metric="total_latency_ns_mean",
            direction="at_most",
            limit=1 * _MS,
            unit="ns",
            text="a 512-byte log write was durable within {value} on average",
            force="required",
            source="RAMCloud project wiki, Intel 530 page: an Intel 520, below 1 ms, performs well enough",
        ),
    ),
)

REDIS = Need(
    name="redis-aof",
    title="Redis with an append-only file",
    text="syncs the file once a second in the background (appendfsync everysec) and writes on meanwhile",
    thresholds=(
        Threshold(
            trial="sync-write-16384",
            metric="total_latency_ns_p99",
            direction="at_most",
            limit=2 * _S,
            unit="ns",
            text="99 % of 16 KiB appends were durable within {value}",
            force="required",
            source="Redis src/aof.c, flushAppendOnlyFile: a write is put off for 2 s at most while a sync is under "
            "way, then it may block every client",
        ),
    ),
    remark="With appendfsync always every write waits for a sync: that is `redis-always`.",
)

POSTGRES = Need(
    name="postgres",
    title=POSTGRESQL.title,
    text="writes the page of 8 KiB where its log ends over recycled space, and syncs it, at each commit",
    remark="PostgreSQL's documentation gives pg_test_fsync to measure with, and no limit.",
)

REDIS_SYNCED = Need(
    name=REDIS_ALWAYS.need,
    title=REDIS_ALWAYS.title,
    text="appends each command to a file and syncs it before it answers",
)

SQLITE_LOGGED = Need(
    name=SQLITE_WAL.need,
    title=SQLITE_WAL.title,
    text="writes changed pages to a log that it uses again, and syncs it at each commit",
    remark="There is one writer at a time: more clients commit no more often.",
)

SQLITE_ROLLED_BACK = Need(
    name=SQLITE.need,
    title=SQLITE.title,
    text="keeps old pages in a new file for each commit, and syncs four times",
    remark="There is one writer at a time: more clients commit no more often. The sync of the directory is not issued: "
    "the one before it has left it nothing to write.",
)

INNODB = Need(
    name=MARIADB.need,
    title=MARIADB.title,
    text="writes the block of 4 KiB where its log ends with direct I/O, and syncs it, at each commit",
)

KAFKA = Need(
    name="kafka",
    title="Kafka",
    text="appends to its logs through the page cache and by default never syncs: it relies on replicas",
    capability=Capability(
        trials=("sequential-write-qd8", "sequential-write-qd1"),
        metric="throughput_bytes_per_s",
        text="a broker's log on it takes at most {value}, replicas of other brokers included",
    ),
    remark="Kafka's documentation calls disk throughput the usual bottleneck, and gives no limit.",
)

CEPH = Need(
    name="ceph",
    title="Ceph OSD",
    text="syncs each transaction on every replica before it is acknowledged",
    capability=Capability(
        trials=("sync-write-4096",),
        metric="iops",
        text="its log takes {value} transactions a second, one after another",
    ),
    remark="The usual test is that of S. Han (2014): 4 KiB synchronous writes, one at a time.",
)

NEEDS = {
    need.name: need
    for need in (
        *(ETCD, ZOOKEEPER, COCKROACHDB, CONSUL, LOGCABIN, REDIS, POSTGRES, KAFKA, CEPH),
        *(REDIS_SYNCED, SQLITE_LOGGED, SQLITE_ROLLED_BACK, INNODB),
    )
}
# few run these: they are judged when somebody asks for them
ONLY_BY_NAME = frozenset({LOGCABIN.name})
# what people call them as well
_ALSO_CALLED = {"postgresql": "postgres", "innodb": "mariadb"}


def find_need(name: str) -> Need:
    """The need of that name.

    Raises
    ------
    DrivelabError
        U005: there is none.
    """
    need = NEEDS.get(_ALSO_CALLED.get(name.lower(), name.lower()))
    if need is None:
        raise DrivelabError("U005", f"'{name}' is not a known need", do=f"choose one of: {', '.join(NEEDS)}")
    return need
