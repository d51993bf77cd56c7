"""Whatever a queue was set to and in whatever order it was changed: it comes back exactly, also after a kill."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from drivelab.inventory.drives import read_drives
from drivelab.inventory.system_paths import SystemPaths
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal, begin_journal, take_journal
from drivelab.state.settings import attribute, kernel_attribute
from drivelab.state.settings.setting import Setting
from drivelab.state.undo import undo, undo_all
from fake_drive.system import FakeSystem, QueueRules

Settings = dict[str, Setting]
PLACE = "sys/block/sda/queue"
FILES = ("scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb", "wbt_lat_usec", "write_cache")
FOUND = ("mq-deadline", "33", "0", "512", "1000")
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
# what a real kernel does, and one whose defaults are the same on both sides
REAL = {
    "requests": {"none": "128"},
    "most_requests_alone": 128,
    "throttling": {"none": "75000", "mq-deadline": "75000", "kyber": "75000", "bfq": "0"},
    "least_read_ahead_kb": 128,
}
EVEN = {"requests": {}, "throttling": dict.fromkeys(SCHEDULERS, "75000"), "least_read_ahead_kb": 128}
# as root's slow integration asks for it
EVERYTHING = bool(os.environ.get("DRIVELAB_PROVE"))
# one level that differs from every start, of each setting of a queue
LEVELS = {
    "kernel-write-cache": "write through",
    "scheduler": "bfq",
    "nr-requests": "16",
    "read-ahead": "65536",
    "max-sectors": "32768",
    "write-back-throttling": "3000000",
}
STARTS = list(itertools.product(SCHEDULERS, ("33", "128"), ("0", "4096"), ("512", "64"), ("0", "1000")))


def begin(system: FakeSystem, rules: Mapping[str, object], start: Sequence[str]) -> DriveFacts:
    """A drive in the state of a start, on a kernel with these rules."""
    system.queues = QueueRules(**rules)  # type: ignore[arg-type]
    drive = (
        system.add("sda", "virtio")
        if not system.drive_names()
        else read_drives(["sda"], system.paths, ask_tools=False)[0]
    )
    scheduler, requests, read_ahead, sectors, throttling = start
    listed = " ".join(f"[{name}]" if name == scheduler else name for name in SCHEDULERS)
    texts = (listed, requests, read_ahead, sectors, throttling, "write back")
    for file, text in zip(FILES, texts, strict=True):
        system.put(f"{PLACE}/{file}", text)
    return drive


def values(system: FakeSystem) -> dict[str, str]:
    return {file: system.read(f"{PLACE}/{file}") for file in FILES}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is synced: thousands of journals are written here."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.mark.parametrize("rules", [REAL, EVEN], ids=["real", "even"])
def test_every_start_comes_back_from_every_level_of_a_scheduler(
    system: FakeSystem, settings: Settings, tmp_path: Path, quick: None, rules: Mapping[str, object]
) -> None:
    journal = begin_journal(tmp_path / "journals")
    # each start with one pair of levels; 12 pairs meet all starts of one scheduler more than once
    for start, (first, second) in zip(STARTS, itertools.cycle(itertools.permutations(SCHEDULERS, 2)), strict=False):
        drive = begin(system, rules, start)
        before = values(system)
        settings["scheduler"].set(drive, first, journal)
        settings["scheduler"].set(drive, second, journal)
        undo_all(journal)
        assert values(system) == before, (start, first, second)
    journal.close()


@pytest.mark.parametrize("rules", [REAL, EVEN], ids=["real", "even"])
def test_every_order_of_levels_comes_back(
    system: FakeSystem, settings: Settings, tmp_path: Path, quick: None, rules: Mapping[str, object]
) -> None:
    journal = begin_journal(tmp_path / "journals")
    # all orders of those that meet; the write cache goes last, and first in the next test
    orders = list(itertools.permutations([name for name in LEVELS if name != "kernel-write-cache"]))
    # each order from some starts, and each start with some orders
    for number, order in list(enumerate(orders))[:: 1 if EVERYTHING else 3]:
        start = STARTS[number * 7 % len(STARTS)]
        drive = begin(system, rules, start)
        before = values(system)
        for name in order:
            settings[name].set(drive, LEVELS[name], journal)
        undo_all(journal)
        assert values(system) == before, (start, order)
    journal.close()


class KilledError(BaseException):
    """Ends a process at one moment; nothing of drivelab catches it."""


class Kill:
    """Counts the moments at which a process may be killed, and ends it at one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, system: FakeSystem) -> None:
        self.left = -1
        for owner, name in ((Journal, "_append"), (kernel_attribute, "write_kernel_file")):
            monkeypatch.setattr(owner, name, self._before_and_after(getattr(owner, name)))

    def _before_and_after(self, function: Callable[..., None]) -> Callable[..., None]:
        def called(*arguments: object) -> None:
            self._moment()
            function(*arguments)
            self._moment()

        return called

    def _moment(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KilledError

    def during(self, work: Callable[[], object], moment: int) -> bool:
        """Do some work until a moment, counted from 1; whether it was ended there."""
        self.left = moment
        try:
            work()
        except KilledError:
            return True
        finally:
            self.left = -1
        return False


@pytest.fixture
def kill(system: FakeSystem, monkeypatch: pytest.MonkeyPatch) -> Kill:
    return Kill(monkeypatch, system)


def taken_over(journal: Journal) -> Journal:
    """The journal as the next process takes it, after this one was killed."""
    os.close(journal.descriptor)
    taken = take_journal(journal.path)
    assert taken is not None
    return taken


ORDERS = [
    ("scheduler", "nr-requests"),
    ("scheduler", "nr-requests", "read-ahead", "max-sectors", "write-back-throttling"),
    ("max-sectors", "read-ahead", "scheduler"),
    ("nr-requests", "scheduler", "write-back-throttling", "kernel-write-cache"),
]


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
@pytest.mark.parametrize("rules", [REAL, EVEN], ids=["real", "even"])
def test_a_run_killed_at_any_moment_and_a_restore_killed_at_any_moment_bring_everything_back(
    system: FakeSystem,
    settings: Settings,
    kill: Kill,
    tmp_path: Path,
    quick: None,
    rules: Mapping[str, object],
    order: Sequence[str],
) -> None:
    for moment in itertools.count(1):
        drive = begin(system, rules, FOUND)
        before = values(system)
        journal = begin_journal(tmp_path / "journals")

        def change(drive: DriveFacts = drive, journal: Journal = journal) -> None:
            for name in order:
                settings[name].set(drive, LEVELS[name], journal)

        was_killed = kill.during(change, moment)
        # the restore is killed at another moment each time
        for again in (moment % 5 + 1, moment % 3 + 1):
            journal = taken_over(journal)
            kill.during(lambda journal=journal: undo_all(journal), again)  # type: ignore[misc]
        journal = taken_over(journal)
        undo_all(journal)
        journal.close()
        assert values(system) == before, (moment, order)
        if not was_killed:
            break
    assert list((tmp_path / "journals").iterdir()) == []


@pytest.mark.parametrize("refused", FILES[:-1])
def test_what_the_kernel_refuses_is_told_keeps_no_other_back_and_comes_back_later(
    system: FakeSystem,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: str,
) -> None:
    drive = begin(system, REAL, FOUND)
    before = values(system)
    journal = begin_journal(tmp_path / "journals")
    for name, level in LEVELS.items():
        settings[name].set(drive, level, journal)

    def write(path: Path, value: str, refusal: str, where: str) -> None:
        if path.name == refused:
            raise DrivelabError("R404", f"{refusal}: Input/output error", where=where)
        system.write(path, value, refusal, where)

    with monkeypatch.context() as patched:
        patched.setattr(kernel_attribute, "write_kernel_file", write)
        with pytest.raises(DrivelabError) as failure:
            undo_all(journal)
    assert failure.value.code == "R406"
    assert f"queue/{refused} was" in failure.value.what
    now = values(system)
    # the requests of another scheduler are its own
    along = {"nr_requests", "wbt_lat_usec"} if refused == "scheduler" else set()
    assert {file for file in FILES if now[file] != before[file]} - along == {refused}
    undo_all(taken_over(journal))
    assert values(system) == before


def test_settings_put_back_one_by_one_come_back_too(system: FakeSystem, settings: Settings, tmp_path: Path) -> None:
    drive = begin(system, REAL, FOUND)
    journal = begin_journal(tmp_path / "journals")
    seen = []
    for name, level in LEVELS.items():
        seen.append(values(system))
        settings[name].set(drive, level, journal)
    for change in journal.outstanding:
        undo(change, journal)
        assert values(system) == seen.pop()


@pytest.mark.parametrize("name", ["nr-requests", "write-back-throttling", "read-ahead", "max-sectors"])
def test_what_somebody_else_has_set_since_stays_while_the_rest_comes_back(
    system: FakeSystem, settings: Settings, tmp_path: Path, name: str
) -> None:
    file = {"nr-requests": "nr_requests", "read-ahead": "read_ahead_kb", "max-sectors": "max_sectors_kb"}.get(
        name, "wbt_lat_usec"
    )
    drive = begin(system, REAL, FOUND)
    before = values(system)
    journal = begin_journal(tmp_path / "journals")
    settings["scheduler"].set(drive, "bfq", journal)
    settings["max-sectors"].set(drive, "32768", journal)
    theirs = "100"
    system.put(f"{PLACE}/{file}", theirs)
    undo_all(journal)
    assert values(system) == before | {file: theirs}


def test_a_number_of_requests_that_the_old_scheduler_does_not_take_is_that_of_before(
    system: FakeSystem, settings: Settings, tmp_path: Path
) -> None:
    drive = begin(system, REAL, ("none", "77", "0", "512", "1000"))
    before = values(system)
    journal = begin_journal(tmp_path / "journals")
    settings["scheduler"].set(drive, "bfq", journal)
    system.put(f"{PLACE}/nr_requests", "200")
    undo_all(journal)
    assert values(system) == before


def test_a_scheduler_that_somebody_else_chose_keeps_its_requests(
    system: FakeSystem, settings: Settings, tmp_path: Path
) -> None:
    drive = begin(system, REAL, FOUND)
    journal = begin_journal(tmp_path / "journals")
    settings["scheduler"].set(drive, "bfq", journal)
    settings["nr-requests"].set(drive, "256", journal)
    settings["nr-requests"].set(drive, "16", journal)
    system.write(system.root / PLACE / "scheduler", "kyber", "", "")
    after = values(system)
    assert undo_all(journal) == []
    assert values(system) == after


def test_a_level_that_the_kernel_does_not_keep_leaves_everything_as_it_was(
    system: FakeSystem, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = begin(system, REAL, FOUND)
    before = values(system)
    journal = begin_journal(tmp_path / "journals")
    read = kernel_attribute.read_attribute
    asked = []

    def read_another(name: str, attribute_name: str, paths: SystemPaths) -> str | None:
        asked.append(attribute_name)
        first_after_write = attribute_name == "queue/scheduler" and "[bfq]" in system.read(f"{PLACE}/scheduler")
        return "kyber" if first_after_write else read(name, attribute_name, paths)

    monkeypatch.setattr(attribute, "read_attribute", read_another)
    with pytest.raises(DrivelabError, match="was set to bfq and is kyber"):
        settings["scheduler"].set(drive, "bfq", journal)
    assert values(system) == before
    assert journal.outstanding == ()
