"""What is said of hosts that could not be started, wait in a queue, or were taken away, from the words of others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import pytest

from drivelab.fleet.book import FleetBook
from drivelab.fleet.centre import Centre, HostGone
from drivelab.fleet.certificates import Keys
from drivelab.fleet.conduct import Manner
from drivelab.fleet.connections import HostConnections
from drivelab.fleet.erase_list import EraseList
from drivelab.fleet.record import new_fleet
from drivelab.fleet.slurm import SlurmStarter
from drivelab.fleet.start_failures import start_failure
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import FleetItem, FleetWork
from own_loop import in_own_loop

ENDED = "srun: error: node0: task 0: Exited with exit code 1"
ERROR = '{"error": {"code": "F908", "what": "another version", "where": "", "do": "install the same"}}'
PASSWORD = "let sudo ask for none there: a line with NOPASSWD in its /etc/sudoers.d"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        # what Slurm 22.05 printed
        (["sudo: a password is required", ENDED], f"sudo: a password is required (exit code 1); {PASSWORD}"),
        (
            ['{"error": {"code": "F909", "what": "No such file or directory", "where": "/run"}}', ENDED],
            "F909: No such file or directory (/run)",
        ),
        ([ERROR, ENDED], "F908: another version; install the same"),
        ([ENDED], f"{ENDED} (exit code 1)"),
        (
            [
                "srun: error: Application launch failed: Communication connection failure",
                "srun: Job step aborted",
                "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.",
            ],
            "srun: error: Application launch failed: Communication connection failure (exit code 1)",
        ),
        (
            ["srun: error: Unable to allocate resources: Invalid node name specified"],
            (
                "srun: error: Unable to allocate resources: Invalid node name specified (exit code 1); "
                "name nodes as sinfo -N does"
            ),
        ),
        # what OpenSSH 9.2 printed
        (
            ["root@10.0.0.1: Permission denied (publickey)."],
            (
                "root@10.0.0.1: Permission denied (publickey). (exit code 1); "
                "have ssh log in there without a password: ssh-copy-id"
            ),
        ),
        ([], "it said nothing (exit code 1)"),
    ],
)
def test_why_a_host_could_not_start_is_told_and_what_to_do(said: Sequence[str], told: str) -> None:
    assert start_failure(1, said) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "slurmstepd-node0: error: *** STEP 14.0 ON node0 CANCELLED AT 2026-11-29T19:52:18 DUE TO TIME LIMIT ***",
            (
                "Slurm took the node back: CANCELLED AT 2026-11-29T19:52:18 DUE TO TIME LIMIT; "
                "give it longer: SLURM_TIMELIMIT"
            ),
        ),
        (
            "slurmstepd: error: *** STEP 5.0 ON n7 CANCELLED AT 2026-11-29T19:49:40 ***",
            "Slurm took the node back: CANCELLED AT 2026-11-29T19:49:40",
        ),
        ("srun: error: Node failure on node0", "Slurm took the node back: Node failure on node0"),
        ("srun: Force Terminated StepId=21.0", ""),
    ],
)
def test_what_slurm_took_back_is_told_with_its_words(line: str, told: str) -> None:
    assert in_own_loop(SlurmStarter([], "n7").ended(143, ["joined", line, "ended by SIGTERM", ENDED])).taken == told


class Joining:
    """Hosts that join when a test says so."""

    address = "tls://127.0.0.1:1"

    def __init__(self) -> None:
        self.here = asyncio.Event()

    async def when_joined(self, _host: str) -> None:
        await self.here.wait()

    def listen(self, _hear: object) -> None:
        """Nobody says anything."""


def connections_of(
    folder: Path, script: str, join_s: float, tell: Callable[[str], None]
) -> tuple[FleetBook, HostConnections, Joining]:
    """Hosts ``one`` and ``two``, which a script starts."""
    keys = dict.fromkeys(("one", "two"), Keys("a", "c", "k"))
    book = FleetBook(new_fleet(FleetWork("check"), dict.fromkeys(keys, HostEntry()), folder))
    manner = Manner(
        *(keys, lambda _entry, name, _connect_s: SlurmStarter(["sh", "-c", script, name], name)),
        *(join_s, 60, 30, EraseList(), True, tell, lambda _hosts, _lines: None),
    )
    centre = Joining()
    return book, HostConnections(book, cast(Centre, centre), manner), centre


def slurm_that_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm's own commands, made up."""
    for name, line in (("squeue", " (Resources)"), ("sinfo", ", and one is allocated (none)")):
        (folder / name).write_text(f"#!/bin/sh\necho '{line}'\necho 'another line'\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


QUEUED = "echo 'srun: job 17 queued and waiting for resources' >&2; cat > /dev/null"
WAITS = "job 17 waits in Slurm's queue (Resources), and one is allocated"


def test_a_host_in_a_queue_is_told_lets_others_start_and_is_forgotten_once_it_joins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm_that_says(tmp_path, monkeypatch)
    monkeypatch.setattr("drivelab.fleet.connections._STARTED_AT_ONCE", 1)
    monkeypatch.setattr("drivelab.fleet.connections._QUEUED_S", 0.1)
    told: list[tuple[str, str]] = []

    async def work() -> None:
        def tell(name: str) -> None:
            told.append((name, book.fleet.hosts[name].reason))
            if len(told) == 2:
                centre.here.set()

        book, connections, centre = connections_of(tmp_path, QUEUED, 600, tell)

        async def one(name: str) -> None:
            async with connections.connected(name):
                assert book.fleet.hosts[name].reason == ""

        await asyncio.gather(one("one"), one("two"))

    in_own_loop(work())
    assert sorted(told) == [("one", WAITS), ("two", WAITS)]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (QUEUED, f": {WAITS}; wait longer: --join-within 12h"),
        (
            "echo 'srun: error: munge: retrying' >&2; cat > /dev/null",
            "; what was last said: srun: error: munge: retrying",
        ),
    ],
)
def test_a_host_that_never_joins_is_told_with_what_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, told: str
) -> None:
    slurm_that_says(tmp_path, monkeypatch)
    monkeypatch.setattr("drivelab.fleet.connections._QUEUED_S", 0.1)

    async def work() -> None:
        _, connections, _ = connections_of(tmp_path, script, 2, lambda _key: None)
        async with connections.connected("one"):
            pass

    with pytest.raises(HostGone) as caught:
        in_own_loop(work())
    assert str(caught.value) == f"it did not join within 2 s{told}"


def test_a_job_is_known_to_wait_where_slurm_does_not_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = [
        "srun: Required node not available (down, drained or reserved)",
        "srun: job 17 queued and waiting for resources",
    ]
    assert in_own_loop(SlurmStarter([], "one").why_it_waits(said)) == "job 17 waits in Slurm's queue"
    assert in_own_loop(SlurmStarter([], "one").why_it_waits(["joined"])) == ""


def test_what_was_cut_off_has_the_reason_of_slurm(tmp_path: Path) -> None:
    script = "echo '*** STEP 5.0 ON n7 CANCELLED AT 2026-11-29T19:49:40 ***' >&2; cat > /dev/null"

    async def work() -> FleetBook:
        book, connections, centre = connections_of(tmp_path, script, 600, lambda _key: None)
        centre.here.set()
        book.add({"one/a": FleetItem("one/a", "one", "/dev/sda", state="cut_off", reason="it was interrupted")})
        async with connections.connected("one"):
            book.change_host("one", reason="the connection to it was lost")
        return book

    book = in_own_loop(work())
    reason = "Slurm took the node back: CANCELLED AT 2026-11-29T19:49:40"
    assert (book.fleet.hosts["one"].reason, book.fleet.items["one/a"].reason) == (reason, reason)
