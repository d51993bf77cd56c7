"""Real programs, each started on a directory of its own, with clients that commit one small row after another.

The settings are those of Debian's packages; what is durable is what the program promises by itself.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from quorum_clients import etcd_commits_per_s, zookeeper_commits_per_s

VALUE = "0123456789abcdef" * 4
# a server that does not answer by then never will
_STARTS_WITHIN_S = 60
# of clients that are told how many commits, not how long: at first so many each, then more until it takes so long
_PILOT_COMMITS = 20
_PILOT_S = 0.1
_ROWS_BEFORE = 1200
_POSTGRES = "/usr/lib/postgresql/15/bin"
_SEARCHED = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", _POSTGRES))
_ZOOKEEPER_CLASSES = "/etc/zookeeper/conf:/usr/share/java/*"


@dataclass(frozen=True)
class Server:
    """A program that runs: its processes, and how to have `clients` commit for some seconds."""

    process_ids: Callable[[], list[int]]
    commits_per_s: Callable[[int, float], float]


@dataclass(frozen=True)
class RealProgram:
    """A program as it is installed here."""

    need: str
    package: str
    tools: tuple[str, ...]
    version_words: tuple[str, ...]
    start: Callable[[Path], contextlib.AbstractContextManager[Server]]

    def missing(self) -> str:
        """What is not installed, as a reason to leave the program out; empty when all is there."""
        gone = [tool for tool in self.tools if shutil.which(tool, path=_SEARCHED) is None]
        if self.need == "zookeeper" and not Path("/usr/share/java/zookeeper.jar").exists():
            gone.append("zookeeper.jar")
        return f"{', '.join(gone)} not installed (apt install {self.package})" if gone else ""

    def version(self) -> str:
        """The first line that it says of itself."""
        done = subprocess.run(_found(*self.version_words), capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).strip().splitlines()[0]


@contextlib.contextmanager
def postgresql(directory: Path) -> Iterator[Server]:
    """One table with a serial key; each commit inserts a row of 64 characters."""
    give = partial(_run, user=_owner(directory, "postgres"))
    data, socket = directory / "data", directory
    give("initdb", "-D", data, "-A", "trust", "-U", "postgres")
    options = f"-k {socket} -c listen_addresses=''"
    give("pg_ctl", "-D", data, "-w", "-o", options, "-l", directory / "log", "start")
    try:
        place = ("-h", socket, "-U", "postgres")
        give("psql", *place, "-qc", "create table rows (id bigserial primary key, text text)", "postgres")
        script = directory / "insert.sql"
        script.write_text(f"insert into rows (text) values ('{VALUE}');\n", encoding="utf-8")
        script.chmod(0o644)

        def commits_per_s(clients: int, seconds: float) -> float:
            load = ("-n", "-M", "prepared", "-f", script, "-c", clients, "-j", min(clients, 2), "-T", round(seconds))
            text = give("pgbench", *place, *load, "postgres")
            line = next(line for line in text.splitlines() if line.startswith("tps ="))
            return float(line.split()[2])

        main = int((data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        yield Server(lambda: _family(main), commits_per_s)
    finally:
        give("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


@contextlib.contextmanager
def redis(directory: Path) -> Iterator[Server]:
    """One list of keys; each commit sets one of 64 characters, with appendfsync always."""
    socket = directory / "socket"
    settings = ("--appendonly", "yes", "--appendfsync", "always", "--save", "", "--port", "0")
    words = ("redis-server", *settings, "--dir", directory, "--unixsocket", socket)

    def commits_per_s(clients: int, seconds: float) -> float:
        load = ("-s", socket, "-t", "set", "-d", len(VALUE), "-r", 100_000, "--csv")

        def run(count: int) -> float:
            text = _run("redis-benchmark", *load, "-c", clients, "-n", count)
            return float(text.strip().splitlines()[-1].split(",")[1].strip('"'))

        return _for_so_long(run, clients, seconds)

    with _serving(words, directory, lambda: _run("redis-cli", "-s", socket, "ping")) as process:
        yield Server(lambda: _family(process.pid), commits_per_s)


@contextlib.contextmanager
def mariadb(directory: Path) -> Iterator[Server]:
    """One InnoDB table with a serial key; each commit inserts a row of 64 characters.

    The log is one that was gone over before, as that of a server is that has run for a while.
    """
    owner = _owner(directory, "mysql")
    data, socket = directory / "data", directory / "socket"
    who = ("--user=mysql",) if owner else ()
    _run("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", *who)
    _write_out(data / "ib_logfile0")
    words = ("mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking", *who)
    client = ("--no-defaults", f"--socket={socket}", "--user=root")
    with _serving(words, directory, lambda: _run("mariadb-admin", *client, "ping")) as process:
        table = "create database lab; create table lab.entries (id bigint auto_increment primary key, text varchar(64))"
        _run("mariadb", *client, "-e", table)
        insert = f"insert into entries (text) values ('{VALUE}')"

        def commits_per_s(clients: int, seconds: float) -> float:
            load = (f"--concurrency={clients}", "--create-schema=lab", "--no-drop", f"--query={insert}")

            def run(count: int) -> float:
                text = _run("mariadb-slap", *client, *load, f"--number-of-queries={count}", "--iterations=1")
                line = next(line for line in text.splitlines() if "Average number of seconds" in line)
                # it counts in ms
                return count / max(0.001, float(line.split(":")[1].split()[0]))

            return _for_so_long(run, clients, seconds)

        yield Server(lambda: _family(process.pid), commits_per_s)


@contextlib.contextmanager
def sqlite(directory: Path, *, journal: str) -> Iterator[Server]:
    """One table with a serial key; the shell is told to insert rows of 64 characters, and says when it has."""
    opening = (f"pragma journal_mode={journal};", "pragma synchronous=off;")
    insert = f"insert into rows (text) values ('{VALUE}');"
    with subprocess.Popen(
        _found("sqlite3", "-batch", directory / "rows.db"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        told, says = shell.stdin, shell.stdout

        def ask(*lines: str) -> None:
            told.write("\n".join((*lines, ".print done", "")))
            told.flush()
            while (line := says.readline()).strip() != "done":
                if not line:
                    raise RuntimeError("sqlite3 has ended")

        # a log goes over itself once it has had 1000 pages
        ask(*opening, "create table rows (id integer primary key, text text);", *[insert] * _ROWS_BEFORE)
        ask("pragma synchronous=full;")

        def commits_per_s(clients: int, seconds: float) -> float:
            if clients != 1:
                raise ValueError("sqlite has one writer at a time")
            begin, count = time.monotonic(), 0
            while time.monotonic() - begin < seconds:
                ask(*[insert] * 5)
                count += 5
            return count / (time.monotonic() - begin)

        try:
            yield Server(lambda: [shell.pid], commits_per_s)
        finally:
            told.close()


@contextlib.contextmanager
def etcd(directory: Path) -> Iterator[Server]:
    """A cluster of one; each commit puts one key of 64 characters through its HTTP gateway."""
    client, peer = "http://127.0.0.1:23790", "http://127.0.0.1:23800"
    addresses = ("--listen-client-urls", client, "--advertise-client-urls", client)
    peers = ("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}")
    words = ("etcd", "--data-dir", directory / "data", *addresses, *peers, "--logger", "zap", "--log-level", "error")
    rate = partial(etcd_commits_per_s, 23790, VALUE)
    with _serving(words, directory, lambda: rate(1, 0.01)) as process:
        yield Server(lambda: _family(process.pid), rate)


@contextlib.contextmanager
def zookeeper(directory: Path) -> Iterator[Server]:
    """A server alone; each commit sets one node to 64 characters."""
    configuration = directory / "zoo.cfg"
    lines = (f"dataDir={directory}/data", "clientPort=21810", "clientPortAddress=127.0.0.1", "tickTime=2000")
    more = ("admin.enableServer=false", "maxClientCnxns=0")
    configuration.write_text("\n".join((*lines, *more, "")), encoding="utf-8")
    server = "org.apache.zookeeper.server.ZooKeeperServerMain"
    words = ("java", "-cp", _ZOOKEEPER_CLASSES, "-Dzookeeper.log.dir=" + str(directory), server, configuration)
    rate = partial(zookeeper_commits_per_s, 21810, VALUE)
    with _serving(words, directory, lambda: rate(1, 0.01)) as process:
        yield Server(lambda: _family(process.pid), rate)


PROGRAMS = (
    RealProgram("postgres", "postgresql", ("postgres", "pgbench"), ("postgres", "--version"), postgresql),
    RealProgram("sqlite-wal", "sqlite3", ("sqlite3",), ("sqlite3", "--version"), partial(sqlite, journal="wal")),
    RealProgram("sqlite", "sqlite3", ("sqlite3",), ("sqlite3", "--version"), partial(sqlite, journal="delete")),
    RealProgram(
        "redis-always", "redis-server", ("redis-server", "redis-benchmark"), ("redis-server", "--version"), redis
    ),
    RealProgram("etcd", "etcd-server", ("etcd",), ("etcd", "--version"), etcd),
    RealProgram("mariadb", "mariadb-server", ("mariadbd", "mariadb-slap"), ("mariadbd", "--version"), mariadb),
    RealProgram("zookeeper", "zookeeper", ("java",), ("dpkg-query", "-W", "zookeeper"), zookeeper),
)


def _write_out(path: Path) -> None:
    """Write a file over itself: space that was only reserved costs a commit of the file system's journal when used."""
    with path.open("r+b") as file:
        content = file.read()
        file.seek(0)
        file.write(content)
        os.fsync(file.fileno())


def _for_so_long(run: Callable[[int], float], clients: int, seconds: float) -> float:
    """The rate of a run that takes about so long; `run` is told a number of commits, the same for every client."""
    each = _PILOT_COMMITS
    rate = run(each * clients)
    while each * clients < rate * _PILOT_S:
        each *= 10
        rate = run(each * clients)
    return run(max(1, round(seconds * rate / clients)) * clients)


def _owner(directory: Path, name: str) -> str | None:
    """The user that a program is run as where it refuses to be root's, who is given the directory."""
    if os.geteuid() != 0:
        return None
    shutil.chown(directory, name)
    return pwd.getpwnam(name).pw_name


def _found(*words: object) -> list[str]:
    first, *others = [str(word) for word in words]
    return [shutil.which(first, path=_SEARCHED) or first, *others]


def _run(*words: object, user: str | None = None) -> str:
    # a file and no pipe: a server that is started keeps it open
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(_found(*words), stdout=said, stderr=said, check=False, user=user, cwd="/")
        said.seek(0)
        text = said.read()
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} failed: {text[-500:]}")
    return text


@contextlib.contextmanager
def _serving(
    words: Sequence[object], directory: Path, answers: Callable[[], object]
) -> Iterator[subprocess.Popen[bytes]]:
    """A server from when it answers until the context ends."""
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(_found(*words), stdout=log, stderr=log, cwd="/")
    try:
        _wait_until(answers, process, directory / "log")
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _wait_until(answers: Callable[[], object], process: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + _STARTS_WITHIN_S
    while True:
        try:
            answers()
            return
        except (RuntimeError, OSError):
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"it does not answer: {log.read_text(errors='replace')[-500:]}") from None
            time.sleep(0.2)


def _family(process_id: int) -> list[int]:
    """A process and its children."""
    children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text(encoding="utf-8")
    return [process_id, *map(int, children.split())]
