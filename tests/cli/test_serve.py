"""Simulated drives as block devices: other programs and drivelab are told one truth."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from drivelab.cli.main import run
from nbd_client import FLUSH, FUA, LIST, READ, TRIM, WRITE, NbdClient
from small_simulated_drive import MODEL

EINVAL, ENOSPC, EIO = 22, 28, 5
SIZE = 64 * 2**20
WRITES = 400


class Served:
    """A drive that is served by a process of its own; what it told is there when the block has ended."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "drive"
        self.model = directory / "small.toml"
        self.told: dict[str, Any] = {}
        self._clients: list[NbdClient] = []

    def client(self, *, negotiates: bool = True) -> NbdClient:
        """A new client, which leaves at the end if it has not left before."""
        self._clients.append(NbdClient(self.path, negotiates=negotiates))
        return self._clients[-1]

    def leave(self) -> None:
        """All clients leave."""
        for client in self._clients:
            client.close()


@contextmanager
def served(model: str = MODEL, *options: str) -> Iterator[Served]:
    # the path of a socket may have 107 characters: not in pytest's directories
    with TemporaryDirectory(prefix="drivelab-") as name:
        drive = Served(Path(name))
        drive.model.write_text(model)
        command = [sys.executable, "-m", "drivelab", "serve", f"sim:{drive.model}", str(drive.path), "--json", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                assert "serving" in process.stderr.readline()
                yield drive
            finally:
                drive.leave()
                process.send_signal(signal.SIGTERM)
                output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert not drive.path.exists()
        drive.told.update(json.loads(output))


def test_what_was_written_is_read_again() -> None:
    with served() as drive:
        client = drive.client()
        assert client.size_bytes == SIZE
        # the cache is volatile: flushes and FUA are offered, beside trims and several connections
        assert client.flags == 0b1_0010_1101
        data = os.urandom(3 * 4096 + 17)
        assert client.ask(WRITE, 12345, data=data, flags=FUA) == (0, b"")
        assert drive.client().ask(READ, 12345, len(data)) == (0, data)
        assert client.ask(TRIM, 0, 8192 + 4096) == (0, b"")
        assert client.ask(READ, 0, 16384) == (0, bytes(12288) + _after_trim(data))
        assert client.ask(WRITE, SIZE - 4096, data=bytes(4096)) == (0, b"")
        assert client.ask(FLUSH) == (0, b"")
    told = drive.told["operations"]
    assert {name: one["count"] for name, one in told.items()} == {
        "read": 2,
        "write": 1,
        "forced_write": 1,
        "trim": 1,
        "flush": 1,
    }
    # a volatile cache: what has to be safe waits for the flash
    assert told["forced_write"]["latency_ns"]["mean"] > told["write"]["latency_ns"]["mean"]
    assert drive.told["simulated"]["flushes"] == 1


def _after_trim(data: bytes) -> bytes:
    """What is left from byte 12288 to 16384: the trim ended within what was written at 12345."""
    whole = bytearray(16384)
    whole[12345:16384] = data[: 16384 - 12345]
    return bytes(whole[12288:])


def test_a_cache_that_forgets_nothing_needs_no_flush() -> None:
    with served(MODEL.replace("volatile = true", "volatile = false")) as drive:
        assert drive.client().flags & 0b1100 == 0


def test_errors_of_the_model_reach_the_client() -> None:
    with served(MODEL + "\n[errors]\nunreadable = [[0, 4096]]\n") as drive:
        client = drive.client()
        assert client.ask(READ, 0, 512) == (EIO, b"")
        assert client.ask(READ, 4096, 512) == (0, bytes(512))
    assert drive.told["operations"]["read"]["errors"] == 1


def test_requests_that_make_no_sense_are_refused_and_the_connection_stays() -> None:
    with served() as drive:
        client = drive.client()
        assert client.ask(READ, SIZE - 512, 1024) == (EINVAL, b"")
        assert client.ask(READ, 2**64 - 1, 2) == (EINVAL, b"")
        assert client.ask(READ, 0, 2**32 - 1) == (EINVAL, b"")
        assert client.ask(WRITE, SIZE, data=bytes(512)) == (ENOSPC, b"")
        assert client.ask(TRIM, SIZE, 1) == (EINVAL, b"")
        assert client.ask(99) == (EINVAL, b"")
        assert client.ask(READ, 0, 512) == (0, bytes(512))
    assert drive.told["refused_requests"] == 6
    assert drive.told["broken_connections"] == 0


GARBAGE = (
    b"GET / HTTP/1.1\r\n\r\n" * 10,
    bytes(64),
    b"\xff" * 64,
    # an option of 4 GiB
    b"\x00\x00\x00\x03IHAVEOPT" + b"\xff" * 16,
)


def test_who_speaks_something_else_is_sent_away_and_others_stay() -> None:
    with served() as drive:
        client = drive.client()
        for garbage in GARBAGE:
            stranger = drive.client(negotiates=False)
            stranger.take(18)
            stranger.socket.sendall(garbage)
            # an answer may come before the end
            stranger.take(10**6)
            in_the_middle = drive.client()
            in_the_middle.socket.sendall(garbage)
            assert in_the_middle.take(1) == b""
        too_long = drive.client()
        too_long.send(WRITE, 0, 2**32 - 1)
        assert too_long.take(1) == b""
        # gone in the middle of a write, with an answer outstanding
        gone = drive.client()
        gone.send(READ, 0, 2**20)
        gone.send(WRITE, 0, 4096, data=bytes(100))
        gone.close()
        assert client.ask(READ, 0, 512) == (0, bytes(512))
    assert drive.told["broken_connections"] == 2 * len(GARBAGE) + 1


def test_options_that_are_unknown_are_refused_one_by_one() -> None:
    with served() as drive:
        client = drive.client(negotiates=False)
        client.take(18)
        client.socket.sendall(bytes([0, 0, 0, 3]))
        assert [kind for kind, _ in client.option(LIST, b"")] == [2, 1]
        assert client.option(5, b"")[0][0] == (1 << 31) + 1
        # a name longer than the option
        assert client.option(7, b"\xff" * 6)[0][0] == (1 << 31) + 3
        assert client.option(2, b"")[0][0] == 1
        assert client.take(1) == b""


@pytest.mark.needs_tool("fio")
def test_fio_and_drivelab_are_told_one_truth(capfd: pytest.CaptureFixture[str]) -> None:
    with served() as drive:
        job = (
            *("--name=a", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={drive.path}", "--output-format=json"),
            *("--rw=randwrite", "--bs=4k", "--size=16m", f"--number_ios={WRITES}", "--fsync=1"),
        )
        said = subprocess.run(["fio", *job], check=True, capture_output=True, text=True, timeout=120).stdout
        arguments = (
            *("--operation", "write", "--access", "random", "--block-size", "4KiB", "--size", "16MiB"),
            *("--durability", "fdatasync", "--count", str(WRITES), "--json"),
        )
        assert run(["io", f"sim:{drive.model}", *arguments]) == 0
        own = json.loads(capfd.readouterr().out)["operations"]
    fio = json.loads(said[said.index("{") :])["jobs"][0]
    told = drive.told["operations"]
    assert told["write"]["count"] == fio["write"]["total_ios"] == WRITES
    # the last write is not followed by a flush of its own, or by that of the end
    assert abs(told["flush"]["count"] - fio["sync"]["total_ios"]) <= 2
    # what fio measured contains what the model took and how late its answers were, whatever this machine is busy with
    for ours, theirs in (("write", fio["write"]["lat_ns"]), ("flush", fio["sync"]["lat_ns"])):
        assert theirs["mean"] >= told[ours]["latency_ns"]["mean"] + told[ours]["late_ns"]["mean"]
    # in the drive's own time both saw the same; a flush that is asked for later finds less to write out
    write, flush = (told[name]["latency_ns"]["mean"] for name in ("write", "flush"))
    assert write == pytest.approx(own["write"]["total_latency_ns"]["mean"], rel=0.02)
    assert 300_000 <= flush <= 1.02 * own["sync"]["total_latency_ns"]["mean"]


def test_a_drive_that_is_written_before_has_reads_of_flash() -> None:
    means = []
    for options in ((), ("--precondition",)):
        with served(MODEL, *options) as drive:
            client = drive.client()
            for number in range(20):
                assert client.ask(READ, number * 4096, 4096) == (0, bytes(4096))
        means.append(drive.told["operations"]["read"]["latency_ns"]["mean"])
    # a page of flash takes 50 us to read
    assert means[1] - means[0] == pytest.approx(50_000, rel=0.02)


def test_a_port_of_this_machine_will_do(tmp_path: Path) -> None:
    model = tmp_path / "small.toml"
    model.write_text(MODEL)
    command = [sys.executable, "-m", "drivelab", "serve", f"sim:{model}", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            place = process.stdout.readline().partition("nbd://127.0.0.1:")[2].partition(";")[0]
            with socket.create_connection(("127.0.0.1", int(place)), timeout=60) as client:
                assert client.recv(8) == b"NBDMAGIC"
        finally:
            process.send_signal(signal.SIGTERM)
            output = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    assert "connections: 1" in output


@pytest.mark.provokes("T109")
@pytest.mark.parametrize("address", ["0.0.0.0:10809", "example.org:10809", "127.0.0.1:99999", "{}", "{}/none/drive"])
def test_nobody_is_served_where_others_may_come_or_something_lies(
    address: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "sim:consumer-ssd", address.format(tmp_path)]) == 1
    assert "T109" in capfd.readouterr().err


def test_only_simulated_drives_are_served(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", str(tmp_path), str(tmp_path / "drive")]) == 2
    assert "T106" in capfd.readouterr().err
    assert run(["serve", "sim:consumer-ssd", str(tmp_path / "drive"), "--contents", str(tmp_path / "none")]) == 1
    assert "S501" in capfd.readouterr().err
