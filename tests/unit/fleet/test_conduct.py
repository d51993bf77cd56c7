"""What a fleet notes of its hosts while it is carried out."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from drivelab.cli.fleet_live import telling
from drivelab.fleet.book import FleetBook
from drivelab.fleet.centre import Centre, HostGone
from drivelab.fleet.certificates import Keys
from drivelab.fleet.conduct import Conductor, Manner, _in_a_fleet
from drivelab.fleet.erase_list import EraseList
from drivelab.fleet.local_commands import failure_in_words
from drivelab.fleet.record import new_fleet
from drivelab.fleet.ssh import ssh_starter
from drivelab.fleet.starter import Starter
from drivelab.inventory.openers import WAIT
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import FleetItem, FleetWork
from drivelab.store.durable import storage_error
from own_loop import in_own_loop

FAILED = FleetItem("one/S1", "one", "/dev/sda", state="failed", reason="T101: no drive")
NOTHING = {"state": "planned", "reason": "", "run": "", "answer": ""}


class Host:
    """One host that others have started, and what it answers."""

    def __init__(self, outcome: Mapping[str, str]) -> None:
        self.outcome = outcome

    def listen(self, hear: Any) -> None:
        """It says what a test has it say."""
        self.hear = hear

    async def when_joined(self, host: str) -> None:
        assert host == "one"

    async def ask(self, host: str, question: Any, *_arguments: Any, **_options: Any) -> Mapping[str, str]:
        assert (host, question.__name__) == ("one", "outcome")
        return self.outcome


def gathered(folder: Path, item: FleetItem, outcome: Mapping[str, str]) -> FleetItem:
    """What is known of an item once its host was asked what lies there."""
    book = FleetBook(new_fleet(FleetWork("check"), {"one": HostEntry()}, folder).with_items([item]))
    manner = Manner(None, ssh_starter, 60, 60, 30, EraseList(), True, lambda _key: None, lambda _hosts, _lines: None)
    in_own_loop(Conductor(book, cast(Centre, Host(outcome)), manner).gather())
    return book.fleet.items[item.key]


def test_of_a_drive_that_is_measured_already_it_is_said_to_resume_later() -> None:
    error = {"code": "C211", "what": "sda is being measured by drivelab (run Y)", "do": WAIT}
    said = failure_in_words(3, [json.dumps({"error": error})])
    later = "wait until it has ended, and resume this fleet then"
    assert _in_a_fleet(said, FAILED) == f"C211: sda is being measured by drivelab (run Y); {later}"


def test_a_failure_is_still_known_when_its_host_has_kept_nothing_of_it(tmp_path: Path) -> None:
    assert gathered(tmp_path, FAILED, NOTHING) == FAILED


@pytest.mark.parametrize("state", ["measuring", "cut_off"])
def test_what_was_not_known_is_as_the_host_says(tmp_path: Path, state: Any) -> None:
    found = gathered(tmp_path, replace(FAILED, state=state, reason="it has left"), NOTHING)
    assert (found.state, found.reason) == ("planned", "")


class NobodyJoins:
    """No host ever joins."""

    address = "tls://127.0.0.1:1"

    def listen(self, _hear: Any) -> None:
        """Nobody says anything."""

    async def when_joined(self, _host: str) -> None:
        await asyncio.sleep(600)


def hanging_words(pids: Path) -> Any:
    """What starts a host that hears nothing, not even that it is to end, and leaves its number behind."""
    script = f"trap '' TERM HUP INT; echo $$ > {pids}/$$; while :; do sleep 1; done"
    return lambda _entry, _name, _connect_s: Starter(["sh", "-c", script])


def conductor_of_a_hanging_host(folder: Path) -> tuple[FleetBook, Conductor]:
    (folder / "pids").mkdir()
    book = FleetBook(new_fleet(FleetWork("check"), {"one": HostEntry()}, folder))
    keys = {"one": Keys("a", "c", "k")}
    start = hanging_words(folder / "pids")
    manner = Manner(keys, start, 1, 60, 30, EraseList(), True, lambda _key: None, lambda _hosts, _lines: None)
    return book, Conductor(book, cast(Centre, NobodyJoins()), manner)


def assert_nothing_runs_on(folder: Path) -> None:
    (pid,) = [int(path.name) for path in (folder / "pids").iterdir()]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_host_that_hangs_is_given_up_and_what_started_it_is_ended(tmp_path: Path) -> None:
    book, conductor = conductor_of_a_hanging_host(tmp_path)
    in_own_loop(conductor.measure())
    assert book.fleet.hosts["one"].reason == "it did not join within 1 s"
    assert_nothing_runs_on(tmp_path)


def test_who_is_interrupted_leaves_nothing_running_and_says_what_was_not_asked(tmp_path: Path) -> None:
    book, conductor = conductor_of_a_hanging_host(tmp_path)

    async def interrupted() -> None:
        measuring = asyncio.ensure_future(conductor.measure())
        while not list((tmp_path / "pids").iterdir()):
            await asyncio.sleep(0.01)
        measuring.cancel()
        await asyncio.wait({measuring})

    in_own_loop(interrupted())
    assert book.fleet.hosts["one"].reason == "the fleet was interrupted"
    assert_nothing_runs_on(tmp_path)


def test_what_is_measured_is_what_its_host_said_it_began(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of three drives one begins, one has no consent, and one is asked for when the connection is dead already."""
    items = [FleetItem(f"one/S{number}", "one", "/dev/sda") for number in range(3)]
    book = FleetBook(new_fleet(FleetWork("run"), {"one": HostEntry()}, tmp_path).with_items(items))
    listening = Measuring()
    with telling(book, as_json=False) as teller:
        manner = Manner(None, ssh_starter, 60, 60, 30, EraseList(), True, teller.tell, lambda _hosts, _lines: None)
        conductor = Conductor(book, cast(Centre, listening), manner)

        async def measured(name: str) -> None:
            for item in items:
                await conductor.measure_item(item)

        in_own_loop(conductor.one_host("one", measured))
    assert [item.state for item in book.fleet.items.values()] == ["complete", "failed", "planned"]
    assert capsys.readouterr().err.splitlines() == [
        "one/S0: measuring",
        "one/S0: complete: 11 us",
        "one/S1: failed: C201: not listed",
        "one: the connection to it was lost",
    ]


@pytest.mark.parametrize("reason", ["the fleet was interrupted", "the connection to it was lost"])
def test_what_was_cut_off_stays_so_until_its_host_says_that_it_goes_on(tmp_path: Path, reason: str) -> None:
    """Whoever goes on may be killed at any moment, and what is kept then is all that is known."""
    item = FleetItem("one/S0", "one", "/dev/sda", state="cut_off", reason=reason, run="/runs/f/one/S0/x")
    book = FleetBook(new_fleet(FleetWork("run"), {"one": HostEntry()}, tmp_path).with_items([item]))
    seen = []

    class GoesOn(Measuring):
        async def ask(self, host: str, question: Any, fleet: str, *arguments: Any, **options: Any) -> Mapping[str, str]:
            seen.append(book.fleet.items[item.key])
            self.hear(host, {"fleet": fleet, "item": item.key, "line": "1 of 4 trials"})
            seen.append(book.fleet.items[item.key])
            return {**NOTHING, "state": "complete"}

    manner = Manner(None, ssh_starter, 60, 60, 30, EraseList(), True, lambda _key: None, lambda _hosts, _lines: None)
    centre = GoesOn()
    in_own_loop(Conductor(book, cast(Centre, centre), manner).measure_item(item))
    # what comes late says nothing any more
    centre.hear("one", {"fleet": book.fleet.name, "item": item.key, "line": "2 of 4 trials"})
    seen.append(book.fleet.items[item.key])
    assert [(one.state, one.reason) for one in seen] == [("cut_off", reason), ("measuring", ""), ("complete", "")]


def test_who_goes_on_is_not_told_of_lines_of_drives_that_are_measured(tmp_path: Path) -> None:
    done = FleetItem("one/S1", "one", "/dev/sda", drive={"serial": "S1"}, state="complete", gathered="x")
    fleet = new_fleet(FleetWork("run"), {"one": HostEntry(), "two": HostEntry()}, tmp_path).with_items([done])
    told: list[Any] = []
    listed = EraseList(["S1", "one:sda", "S9"])
    manner = Manner(None, ssh_starter, 60, 60, 30, listed, True, lambda _key: None, lambda *one: told.append(one))
    conductor = Conductor(FleetBook(fleet), cast(Centre, Host(NOTHING)), manner)
    in_own_loop(conductor.census.may_begin("two", []))
    assert told == [(["two"], ["S9"])]


def test_what_is_measured_and_not_to_be_trusted_is_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = FleetBook(new_fleet(FleetWork("run"), {"one": HostEntry()}, tmp_path).with_items([FAILED]))
    with telling(book, as_json=False) as teller:
        book.change("one/S1", state="complete", reason="", answer="11 us", doubt="2 of 2 trials do not describe it")
        teller.tell("one/S1")
    assert capsys.readouterr().err == "one/S1: complete, but 2 of 2 trials do not describe it\n"


def test_why_nothing_began_together_is_told_in_the_answer_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reason, waits = "C220: /srv/oak.dat exists", "all were to begin together, and oak could not"
    hosts = dict.fromkeys(("oak", "fir", "elm"), HostEntry())
    items = [FleetItem(f"{name}/dat", name, "/srv/dat") for name in hosts]
    book = FleetBook(new_fleet(FleetWork("io"), hosts, tmp_path).with_items(items))
    with telling(book, as_json=False) as teller:
        book.change("oak/dat", state="failed", reason=reason)
        teller.tell("oak/dat")
        for name, said in (("oak", reason), ("fir", waits), ("elm", waits)):
            book.change_host(name, reason=said)
            teller.tell(name)
            teller.tell("fir/dat")
        assert capsys.readouterr().err == ""
        # once they are at work each end is told when it comes
        for name in ("fir", "elm"):
            book.change(f"{name}/dat", state="measuring", reason="")
        book.change("elm/dat", state="failed", reason="E311: no space")
        teller.tell("elm/dat")
    assert capsys.readouterr().err == "elm/dat: failed: E311: no space\n"


def told_of_one(folder: Path, **answer: str) -> FleetItem:
    """An item of which its host answers so."""
    item = replace(FAILED, state="planned", reason="", drive={"serial": "S1"})
    book = FleetBook(new_fleet(FleetWork("check"), {"one": HostEntry()}, folder).with_items([item]))
    manner = Manner(None, ssh_starter, 60, 60, 30, EraseList(), True, lambda _key: None, lambda _hosts, _lines: None)
    conductor = Conductor(book, cast(Centre, Answering(NOTHING | answer)), manner)
    return in_own_loop(conductor.measure_item(item))


class Refusing(Host):
    """One whose runs find no room here."""

    async def ask(self, host: str, question: Any, *_arguments: Any, **_options: Any) -> Mapping[str, str]:
        raise storage_error(OSError(errno.ENOSPC, "No space left on device"), Path("/runs/f/run.json"))


def test_no_room_for_a_run_here_is_told_with_the_place_here(tmp_path: Path) -> None:
    book = FleetBook(new_fleet(FleetWork("check"), {"one": HostEntry()}, tmp_path).with_items([FAILED]))
    manner = Manner(None, ssh_starter, 60, 60, 30, EraseList(), True, lambda _key: None, lambda _hosts, _lines: None)
    in_own_loop(Conductor(book, cast(Centre, Refusing(NOTHING)), manner).gather())
    assert book.fleet.hosts["one"].reason == "S502: no room left to store run.json (/runs/f on this machine)"


class Answering(Host):
    """One that answers the same, whatever is asked."""

    async def ask(self, host: str, question: Any, *_arguments: Any, **_options: Any) -> dict[str, str]:
        return dict(self.outcome)


def test_no_room_on_a_host_is_told_with_the_host_and_what_helps_there(tmp_path: Path) -> None:
    error = storage_error(OSError(errno.ENOSPC, "No space left on device"), Path("/srv/runs/fleets/run.json"))
    words = failure_in_words(1, [json.dumps({"error": {**vars(error), "code": error.code}}, default=str)])
    assert told_of_one(tmp_path, state="failed", reason=words).reason == (
        "S502: no room left to store run.json (/srv/runs/fleets); free space there on one, or keep runs of one "
        'elsewhere, in hosts.toml: drivelab = "env DRIVELAB_RUNS=DIR drivelab"'
    )


def test_what_a_check_of_a_host_says_of_writes_names_the_line_of_the_list(tmp_path: Path) -> None:
    said = "Only read: reads in order reach 2 GB/s; writes need --erase SERIAL (or a directory)."
    assert told_of_one(tmp_path, state="complete", answer=said).answer == (
        "Only read: reads in order reach 2 GB/s; writes need --erase-list with the line one:S1 (or a directory)."
    )


class Measuring:
    """A host that measures one drive, refuses the next, and leaves at the third."""

    def listen(self, hear: Any) -> None:
        self.hear = hear

    async def when_joined(self, _host: str) -> None:
        """It is there."""

    def is_here(self, _host: str) -> bool:
        return False

    async def ask(self, host: str, _question: Any, fleet: str, item: Any, *_arguments: Any, **_options: Any) -> Any:
        if item["key"] == "one/S2":
            raise HostGone("the connection to it was lost")
        if item["key"] == "one/S1":
            return NOTHING | {"state": "failed", "reason": "C201: not listed"}
        self.hear(host, {"fleet": fleet, "item": item["key"], "line": "step 1 of 2"})
        return NOTHING | {"state": "complete", "answer": "11 us"}


def test_what_a_host_tells_of_another_s_drive_is_not_heard(tmp_path: Path) -> None:
    items = [FleetItem(f"{host}/S1", host, "/dev/sda", state="measuring") for host in ("one", "two")]
    fleet = new_fleet(FleetWork("check"), {"one": HostEntry(), "two": HostEntry()}, tmp_path).with_items(items)
    book, listening = FleetBook(fleet), Host(NOTHING)
    manner = Manner(None, ssh_starter, 60, 60, 30, EraseList(), True, lambda _key: None, lambda _hosts, _lines: None)
    Conductor(book, cast(Centre, listening), manner)
    for key in ("one/S1", "two/S1", "none/S1"):
        listening.hear("one", {"fleet": fleet.name, "item": key, "line": "half of it"})
    assert [item.now for item in book.fleet.items.values()] == ["half of it", ""]
