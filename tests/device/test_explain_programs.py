"""Real programs are explained while they work: each commit is the calls that its program is known to make for it.

Counted are calls on files, which no other program of the machine changes, and never how long they take.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from device.program import Drivelab, wait_for_line
from system_packages import find_program

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]
COMMITS = 40
POSTGRES = "/usr/lib/postgresql/*/bin/postgres"
PG_TEST_FSYNC = "/usr/lib/postgresql/*/bin/pg_test_fsync"
Rows = list[dict[str, Any]]


@contextmanager
def serving(words: list[str], is_ready: Callable[[], object]) -> Iterator[subprocess.Popen[bytes]]:
    """A server that answers; it is ended like one that its system ends."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, stdout=quiet, stderr=quiet) as server:
        try:
            while True:
                assert server.poll() is None, "it has ended"
                try:
                    is_ready()
                    break
                except (OSError, subprocess.CalledProcessError):
                    time.sleep(0.1)
            yield server
        finally:
            server.send_signal(signal.SIGINT)


def followed(drivelab: Drivelab, pid: int, path: Path, load: Callable[[], object]) -> tuple[dict[str, Any], Rows]:
    """The answer about a server that was followed during a load, and its calls."""
    following = drivelab.start("explain", "--json", "--pid", str(pid), "--path", str(path))
    wait_for_line(following, "following ")
    load()
    following.send_signal(signal.SIGINT)
    out, err = following.communicate()
    assert following.returncode == 0, err
    found = json.loads(out)
    assert found["lost_events"] == 0
    return found, calls_of(found)


def calls_of(found: dict[str, Any]) -> Rows:
    return list(pq.read_table(Path(found["directory"]) / "calls.parquet").to_pylist())


def counts(rows: Rows, name: str) -> Counter[str]:
    """Calls on files whose name holds a word, by call."""
    return Counter(row["call"] for row in rows if name in row["file"])


def assert_each_made_the_drive_flush(rows: Rows, name: str) -> None:
    synced = [row for row in rows if name in row["file"] and row["call"] == "fdatasync"]
    assert synced
    # of commits that come together one flush is for several; here each comes after the other
    assert sum(row["flush_ns"] > 0 for row in synced) >= 0.9 * len(synced)


@pytest.mark.needs_tool("sqlite3")
def test_a_commit_of_sqlite_is_two_writes_and_a_sync_of_its_log(drivelab: Drivelab, mounted: Path) -> None:
    database = mounted / "rows.db"
    setup = "pragma journal_mode=wal; create table rows (text); pragma wal_autocheckpoint=0;"
    subprocess.run(["sqlite3", str(database), setup], check=True, stdout=subprocess.DEVNULL)
    inserts = "insert into rows values ('x');" * COMMITS
    # while it waits its log is open, and is seen
    script = mounted / "script.sql"
    script.write_text(f"pragma synchronous=full; pragma wal_autocheckpoint=0;\n{inserts}\n.shell sleep 1\n")
    words = ("sqlite3", "-batch", str(database), f".read {script}")
    answer = drivelab.run("explain", "--json", "--path", str(mounted), "--command", "--", *words)
    assert answer.returncode == 0, answer.stderr
    rows = calls_of(json.loads(answer.stdout))
    told = counts(rows, "rows.db-wal")
    # its header is synced before its first frame; at the end it is copied into the database, after a last sync
    assert told["fdatasync"] == COMMITS + 2
    # header and page of each frame, and the log's own header
    assert told["pwrite64"] == 2 * COMMITS + 1
    assert_each_made_the_drive_flush(rows, "rows.db-wal")


@pytest.mark.needs_tool("redis-server", "redis-cli")
def test_a_set_of_redis_is_a_write_and_a_sync_of_its_log(drivelab: Drivelab, mounted: Path) -> None:
    place = mounted / "socket"
    settings = ["--port", "0", "--unixsocket", str(place), "--appendonly", "yes", "--appendfsync", "always"]
    ask = ["redis-cli", "-s", str(place)]
    words = ["redis-server", *settings, "--save", "", "--dir", str(mounted)]
    with serving(words, lambda: subprocess.run([*ask, "ping"], check=True, capture_output=True)) as server:
        load = [*ask, "-r", str(COMMITS), "set", "key", "value"]
        _, rows = followed(drivelab, server.pid, mounted, lambda: subprocess.run(load, check=True, capture_output=True))
    told = counts(rows, ".incr.aof")
    assert told["write"] == COMMITS
    # fdatasync in Redis 7, fsync before
    assert told["fdatasync"] + told["fsync"] == COMMITS
    assert_each_made_the_drive_flush(rows, ".incr.aof")


@pytest.mark.needs_tool(POSTGRES, "psql", "setpriv")
def test_a_commit_of_postgresql_is_one_write_and_one_sync_of_its_log(drivelab: Drivelab, mounted: Path) -> None:
    binaries = Path(find_program(POSTGRES) or "").parent
    data, user = mounted / "data", ("setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups")
    shutil.chown(mounted, "postgres")
    for directory in [mounted, *mounted.parents]:
        if directory.stat().st_uid == 0 and len(directory.parts) > 2:
            directory.chmod(0o755)
    make = [*user, binaries / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"]
    subprocess.run(make, check=True, capture_output=True, cwd=mounted)
    ask = ["psql", "-h", str(mounted), "-U", "postgres", "-qAt"]

    def run(*statements: str) -> str:
        words = [word for text in statements for word in ("-c", text)]
        return subprocess.run([*ask, *words], check=True, capture_output=True, text=True).stdout

    # only the commits themselves write the log
    quiet = ("autovacuum=off", "full_page_writes=off", "wal_writer_delay=10s", "checkpoint_timeout=1d")
    words = [*user, str(binaries / "postgres"), "-D", str(data), "-k", str(mounted), "-c", "listen_addresses="]
    words += [word for setting in quiet for word in ("-c", setting)]
    backend: list[int] = []
    with serving(words, lambda: run("select 1")) as server:
        run("create table rows (text text)", "insert into rows values ('x')", "checkpoint")

        def load() -> None:
            # while it waits its log is open, and is seen
            inserts = [*["insert into rows values ('x')"] * COMMITS, "select pg_sleep(1)"]
            backend.append(int(run("select pg_backend_pid()", *inserts)))

        found, rows = followed(drivelab, server.pid, mounted, load)
    told = counts([row for row in rows if row["process"] == backend[0]], "/pg_wal/")
    assert (told["pwrite64"], told["fdatasync"]) == (COMMITS, COMMITS)
    assert_each_made_the_drive_flush(rows, "/pg_wal/")
    assert found["answer"].startswith("postgres's ")


@pytest.mark.needs_tool(PG_TEST_FSYNC)
def test_pg_test_fsync_says_itself_how_long_a_write_and_its_sync_take(drivelab: Drivelab, mounted: Path) -> None:
    measure = (find_program(PG_TEST_FSYNC) or "", "-s", "1", "-f", str(mounted / "tried"))
    # what it measures after its last fdatasync takes longer than all before, and is not looked at: it ends there
    until = ("sh", "-c", '"$@" | sed "/^Compare open_sync/q"', "sh")
    answer = drivelab.run("explain", "--json", "--path", str(mounted), "--command", "--", *until, *measure)
    assert answer.returncode == 0, answer.stderr
    place = Path(json.loads(answer.stdout)["directory"]) / "calls.parquet"
    calls = pq.read_table(place, columns=["call", "latency_ns", "start_ns"]).sort_by("start_ns")
    # of one write before each sync, then of two
    told = re.findall(r"^ +fdatasync +([\d.]+) ops/sec", answer.stderr, re.MULTILINE)
    assert len(told) == 2
    found: defaultdict[int, list[int]] = defaultdict(list)
    writes: list[int] = []
    for call, latency_ns in zip(calls["call"].to_pylist(), calls["latency_ns"].to_pylist(), strict=True):
        writes.append(latency_ns)
        if call in ("fdatasync", "fsync"):
            if call == "fdatasync":
                found[len(writes) - 1].append(sum(writes))
            writes = []
    for (count, often), times in ((each, found[each[0]]) for each in enumerate(told, start=1)):
        assert len(times) >= 0.95 * float(often), f"all of a second, after {count} writes"
        # its clock stands outside of the calls, where a busy machine adds time; to the first one's writes those of the
        # method before it are counted, so that it is not among these
        assert 0.7 < sum(times) / (len(times) + 1) * float(often) / 1e9 <= 1


@pytest.mark.needs_tool("etcd")
def test_etcd_says_itself_how_long_a_sync_of_its_log_takes(drivelab: Drivelab, mounted: Path) -> None:
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        client, peer = (f"http://127.0.0.1:{each.getsockname()[1]}" for each in (one, other))

    def put() -> None:
        content = base64.b64encode(b"x").decode()
        body = json.dumps({"key": content, "value": content}).encode()
        urllib.request.urlopen(f"{client}/v3/kv/put", body).read()

    addresses = ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer]
    addresses += ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
    with serving(["etcd", "--data-dir", str(mounted / "etcd"), *addresses], put) as server:
        before = told_by_etcd(client)
        found, rows = followed(drivelab, server.pid, mounted, lambda: [put() for _ in range(COMMITS)])
        after = told_by_etcd(client)
    synced = [row["latency_ns"] / 1e9 for row in rows if "/member/wal/" in row["file"] and row["call"] == "fdatasync"]
    assert counts(rows, "/member/wal/")["write"] >= COMMITS
    # some come before it is followed, and after
    assert COMMITS <= len(synced) <= after[float("inf")] - before[float("inf")]
    # no more of them take longer than a bound than etcd itself counts: its clock runs outside of the call
    for bound, count in after.items():
        longer = (after[float("inf")] - count) - (before[float("inf")] - before[bound])
        assert sum(latency > bound for latency in synced) <= longer, bound
    assert_each_made_the_drive_flush(rows, "/member/wal/")
    assert found["answer"].startswith("etcd's ")


def told_by_etcd(address: str) -> dict[float, int]:
    """By bound in seconds how many syncs of its log were no longer, as etcd counts them."""
    text = urllib.request.urlopen(f"{address}/metrics").read().decode()
    found = re.findall(r'^etcd_disk_wal_fsync_duration_seconds_bucket\{le="([^"]+)"\} (\d+)', text, re.MULTILINE)
    assert found
    return {float(bound): int(count) for bound, count in found}
