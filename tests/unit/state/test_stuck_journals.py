"""A journal that cannot be undone is named and harms no other; none is obeyed that asks for anything else."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.state.change_rules import RULES, why_not_obeyed
from drivelab.state.journal import begin_journal, left_journals
from drivelab.state.journal_owner import why_not_own
from drivelab.state.restore import forget, put_back
from drivelab.state.undo import UNDO
from left_over import restore_left_over

SCRATCH = "drivelab-scratch-0123456789ab.img"
DRIVE = {"name": "sdx", "serials": ["GONE"], "wwn": None, "diskseq": 1, "queue": 1, "boot": "another"}
Leave = Callable[..., Path]


@pytest.fixture
def leave(tmp_path: Path) -> Leave:
    """Leaves a journal behind that lists changes, as a killed process does."""

    def leave_journal(*changes: tuple[str, Any], name: str = "") -> Path:
        journal = begin_journal(tmp_path / "journals", command="drivelab run x")
        for number, (kind, facts) in enumerate(changes, 1):
            line = {"event": "change", "number": number, "kind": kind, "facts": facts}
            os.write(journal.descriptor, f"{json.dumps(line)}\n".encode())
        os.close(journal.descriptor)
        # its process has ended: no process has that number
        place = journal.path.with_name(f"99999999-{name or journal.path.stem}.jsonl")
        return journal.path.rename(place)

    return leave_journal


def scratch_file(directory: Path, number: int) -> tuple[Path, tuple[str, Any]]:
    path = directory / f"drivelab-scratch-{number:012x}.img"
    path.write_text("x")
    return path, ("scratch_file", {"path": str(path)})


CANNOT = {
    "another version": ("scratch_file", {"file": f"/tmp/{SCRATCH}"}),
    "more than this version knows": ("scratch_file", {"path": f"/tmp/{SCRATCH}", "mode": "new"}),
    "a path that is not ours": ("scratch_file", {"path": "/etc/passwd"}),
    "a path that leads elsewhere": ("scratch_file", {"path": f"/tmp/../etc/{SCRATCH}"}),
    "a directory that is not ours": ("data_directory", {"path": "/etc"}),
    "facts as a list": ("scratch_file", ["/tmp"]),
    "a number as a path": ("scratch_file", {"path": 7}),
    "a kind of the future": ("teleport", {"path": "x"}),
    "a drive that is not there": (
        "drive_write_cache",
        {"drive": DRIVE, "old": "on", "new": "off", "kernel": "write back"},
    ),
}


@pytest.mark.provokes("R408")
@pytest.mark.parametrize("change", CANNOT.values(), ids=CANNOT)
def test_what_cannot_be_undone_keeps_nothing_else_back(tmp_path: Path, leave: Leave, change: tuple[str, Any]) -> None:
    before, first = scratch_file(tmp_path, 1)
    beside, second = scratch_file(tmp_path, 2)
    after, third = scratch_file(tmp_path, 3)
    leave(first, name="a")
    # facts of no kind at all: nothing in that journal can be trusted
    own = [second] if isinstance(change[1], dict) else []
    stuck = leave(*own, change, name="b")
    leave(third, name="c")
    found = put_back(tmp_path / "journals")
    assert not before.exists()
    assert not after.exists()
    assert beside.exists() == (not own)
    assert [one.path for one in found.stuck] == [str(stuck)]
    assert found.stuck[0].error.code in ("R406", "R408")
    assert f"drivelab restore --forget {stuck.name}" in found.stuck[0].error.do
    assert list(left_journals(tmp_path / "journals")) == [stuck]


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000 + b"\n",
        b"\xff\xfe\n",
        b'"begin"\n',
        b'{"event": "change", "number": {}, "kind": 1, "facts": 0}\n',
    ],
    ids=["deep", "no text", "a text", "no change"],
)
def test_a_damaged_journal_keeps_nothing_else_back(tmp_path: Path, leave: Leave, content: bytes) -> None:
    file, change = scratch_file(tmp_path, 1)
    damaged = leave(name="a")
    damaged.write_bytes(content)
    leave(change, name="b")
    with pytest.raises(DrivelabError) as failure:
        restore_left_over(tmp_path / "journals")
    assert (failure.value.code, failure.value.where) == ("R408", str(damaged))
    assert not file.exists()


def test_several_are_each_named(tmp_path: Path, leave: Leave) -> None:
    stuck = [leave(change, name=str(number)) for number, change in enumerate(CANNOT.values())]
    with pytest.raises(DrivelabError) as failure:
        restore_left_over(tmp_path / "journals")
    assert failure.value.code == "R406"
    assert all(str(path) in failure.value.what for path in stuck)


def test_a_journal_that_is_given_up_is_kept_aside(tmp_path: Path, leave: Leave) -> None:
    directory = tmp_path / "journals"
    stuck = leave(CANNOT["a drive that is not there"])
    with pytest.raises(DrivelabError, match="is no journal in") as refusal:
        forget(directory, stuck.name[:-1])
    assert refusal.value.code == "U005"
    assert stuck.name in refusal.value.do
    content = stuck.read_bytes()
    aside, listed = forget(directory, stuck.name)
    assert aside.read_bytes() == content
    assert "GONE" in listed[0]
    assert restore_left_over(directory) == []


def test_the_journal_of_a_living_process_is_not_given_up(tmp_path: Path) -> None:
    journal = begin_journal(tmp_path / "journals")
    with pytest.raises(DrivelabError, match="still lives"):
        forget(tmp_path / "journals", journal.path.name)
    journal.close()


def test_every_kind_of_change_has_rules_for_just_its_facts() -> None:
    assert set(RULES) == set(UNDO)
    for kind, undo in UNDO.items():
        assert set(RULES[kind]) == set(inspect.signature(undo).parameters) - {"context", "paths"}, kind


ATTRIBUTE = {
    "drive": DRIVE,
    "attribute": "queue/nr_requests",
    "old": "33",
    "new": "64",
    "others": {"queue/scheduler": "bfq", "queue/read_ahead_kb": "128"},
}
TRACE = {"name": "buffer_size_kb", "old": "7", "new": "8", "boot": "x"}


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        ("drive_attribute", ATTRIBUTE | {"attribute": "../../../../../.."}),
        ("drive_attribute", ATTRIBUTE | {"attribute": "queue/../uevent"}),
        ("drive_attribute", ATTRIBUTE | {"attribute": "uevent"}),
        ("drive_attribute", ATTRIBUTE | {"old": "* * * * * root id"}),
        ("drive_attribute", ATTRIBUTE | {"others": {"../x": "1"}}),
        ("drive_attribute", ATTRIBUTE | {"others": {"queue/scheduler": "none\n* *"}}),
        ("drive_attribute", ATTRIBUTE | {"drive": DRIVE | {"name": "../../etc"}}),
        ("drive_attribute", ATTRIBUTE | {"drive": ["sda"]}),
        ("governor", {"group": "../..", "old": "powersave", "new": "performance", "boot": "x"}),
        ("trace_file", TRACE | {"name": "../../../etc/passwd"}),
        ("trace_file", TRACE | {"old": "a\nb"}),
        ("block_trace", {"device": "../sda", "interface": "switch", "boot": "x"}),
        ("mount", {"mount_point": "/home", "device": "/dev/sda"}),
        ("mount", {"mount_point": "/run/drivelab/../../home-0123abcd", "device": "/dev/sda"}),
        ("loop_device", {"backing_file": "/srv/disk.img"}),
        ("filesystem", {"device": "/srv/x", "filesystem": "ext4", "uuid": "0" * 36}),
        ("raid_set", {"uuid": "x", "name": "../x", "members": ["/dev/sda"], "boot": "x"}),
    ],
)
def test_a_place_that_drivelab_never_writes_is_refused(kind: str, facts: dict[str, Any]) -> None:
    assert why_not_obeyed(kind, facts, UNDO[kind])


def test_what_drivelab_writes_is_obeyed() -> None:
    for kind, facts in (("drive_attribute", ATTRIBUTE), ("trace_file", TRACE)):
        assert why_not_obeyed(kind, facts, UNDO[kind]) == ""


@pytest.mark.needs_root
@pytest.mark.provokes("R412")
def test_root_obeys_no_journal_that_somebody_else_may_have_written(tmp_path: Path, leave: Leave) -> None:
    file, change = scratch_file(tmp_path, 1)
    journal = leave(change)
    directory = tmp_path / "journals"

    def refused() -> str:
        found = put_back(directory)
        assert [one.error.code for one in found.stuck] == ["R412"]
        assert "drivelab restore --trust" in found.stuck[0].error.do
        assert file.exists()
        return found.stuck[0].error.what

    os.chown(journal, 65534, 65534)
    assert "belongs to user nobody" in refused()
    os.chown(journal, 0, 0)
    journal.chmod(0o620)
    assert "can be written by others" in refused()
    journal.chmod(0o600)
    os.chown(directory, 65534, 65534)
    assert f"{directory} belongs to user nobody" in refused()
    os.chown(directory, 0, 0)
    directory.chmod(0o777)
    assert "can be written by others" in refused()
    directory.chmod(0o700)
    os.chown(tmp_path, 65534, 65534)
    assert f"{tmp_path} belongs to user nobody" in refused()
    os.chown(tmp_path, 0, 0)
    os.chown(journal, 65534, 65534)
    assert put_back(directory, is_trusted=True).stuck == []
    assert not file.exists()


@pytest.mark.needs_root
@pytest.mark.provokes("R409")
def test_root_begins_no_journal_where_others_could_exchange_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    with pytest.raises(DrivelabError, match="belongs to user nobody") as refusal:
        begin_journal(home / "drivelab" / "journals")
    assert refusal.value.code == "R409"
    assert "sudo -i" in refusal.value.do


def test_only_the_owner_looks_into_the_journals(tmp_path: Path) -> None:
    directory = tmp_path / "journals"
    directory.mkdir(mode=0o755)
    begin_journal(directory).close()
    assert directory.stat().st_mode & 0o777 == 0o700
    assert why_not_own(directory) == ""


def test_a_link_in_place_of_a_journal_is_not_followed(tmp_path: Path, leave: Leave) -> None:
    file, change = scratch_file(tmp_path, 1)
    elsewhere = leave(change).rename(tmp_path / "elsewhere.jsonl")
    (tmp_path / "journals" / "1-x.jsonl").symlink_to(elsewhere)
    os.mkfifo(tmp_path / "journals" / "2-x.jsonl")
    assert [one.error.code for one in put_back(tmp_path / "journals").stuck] == ["R408", "R408"]
    assert file.exists()
