"""Runs that come from hosts: whole or not at all, and nowhere but below their own directory."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from drivelab.fleet import host_tasks
from drivelab.fleet.centre import Centre, HostGone
from drivelab.fleet.gather import gathered, is_as_it_came
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_plan import FleetItem
from drivelab.store.find_run import runs_at
from own_loop import in_own_loop

ITEM = FleetItem("one/S1", "one", "/dev/sda", state="complete", run="/runs/20260101-x")
NAME = "one_S1-20260101-x"


class Host:
    """Answers what a host does, a few bytes at a time, and lies where it is told to."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.sizes: dict[str, int] = {}
        self.asked: list[tuple[Any, ...]] = []
        self.leaves_at = ""

    async def ask(self, _host: str, question: Any, _run: str, *arguments: Any, within_s: float) -> Any:
        assert within_s > 0
        self.asked.append((question.__name__, *arguments))
        if question.__name__ == "files":
            listed = [
                (name, self.sizes.get(name, len(content)), hashlib.sha256(content).hexdigest())
                for name, content in self.files.items()
            ]
            is_small = sum(size for _, size, _ in listed) <= host_tasks.PIECE_BYTES_MAX
            contents = [self.files[name][:size] for name, size, _ in listed] if is_small else []
            return json.dumps(listed).encode() + b"\n" + b"".join(contents)
        if any(name == self.leaves_at and offset for name, offset, _ in arguments[0]):
            raise HostGone("it has left")
        return b"".join(self.files[name][offset:][:count] for name, offset, count in arguments[0])


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_tasks, "PIECE_BYTES_MAX", 4)


def gather(host: Host, parent: Path, item: FleetItem = ITEM) -> str:
    return in_own_loop(gathered(cast(Centre, host), item, parent))


def test_a_run_comes_whole_and_once(tmp_path: Path) -> None:
    host = Host({"run.json": b"0123456789", "ios/read.parquet": b"abc", "empty": b""})
    assert gather(host, tmp_path) == NAME
    found = {str(path.relative_to(tmp_path / NAME)): path.read_bytes() for path in (tmp_path / NAME).rglob("*.*")}
    assert found == {"run.json": b"0123456789", "ios/read.parquet": b"abc"}
    assert {path.name for path in tmp_path.iterdir()} == {NAME, f".{NAME}.files.json"}
    host.asked.clear()
    assert gather(host, tmp_path) == NAME
    assert host.asked == []


@pytest.mark.parametrize("damage", ["gone", "changed", "shorter", "a link"])
def test_a_run_that_is_not_here_as_it_came_is_brought_once_more(tmp_path: Path, damage: str) -> None:
    host = Host({"run.json": b"0123456789", "trials.parquet": b"abc"})
    gather(host, tmp_path)
    trials = tmp_path / NAME / "trials.parquet"
    # what is made here of a run is no damage
    (tmp_path / NAME / "report.html").write_text("a report")
    assert is_as_it_came(tmp_path / NAME)
    trials.unlink()
    if damage == "a link":
        (tmp_path / "elsewhere").write_bytes(b"abc")
        trials.symlink_to(tmp_path / "elsewhere")
    elif damage != "gone":
        trials.write_bytes(b"abd" if damage == "changed" else b"ab")
    assert not is_as_it_came(tmp_path / NAME)
    host.leaves_at = "run.json"
    with pytest.raises(HostGone):
        gather(host, tmp_path)
    # only what is whole takes its place
    assert (tmp_path / NAME / "report.html").exists()
    host.leaves_at = ""
    assert gather(host, tmp_path) == NAME
    assert is_as_it_came(tmp_path / NAME)
    (aside,) = tmp_path.glob(f".{NAME}.damaged-*")
    assert (aside / "report.html").read_text() == "a report"


def test_a_run_that_is_nowhere_any_more_is_told(tmp_path: Path) -> None:
    with pytest.raises(DrivelabError, match=r"/runs/20260101-x is not there any more") as caught:
        gather(Host({}), tmp_path)
    assert caught.value.code == "F910"
    assert list(tmp_path.iterdir()) == []


def test_a_small_run_comes_with_the_names_of_its_files(tmp_path: Path) -> None:
    host = Host({"run.json": b"0\n1", "a/b": b"2"})
    left = tmp_path / f".{NAME}.partial" / "run.json"
    left.parent.mkdir()
    left.write_bytes(b"more than there is")
    assert gather(host, tmp_path) == NAME
    assert [name for name, *_ in host.asked] == ["files"]
    assert ((tmp_path / NAME / "run.json").read_bytes(), (tmp_path / NAME / "a" / "b").read_bytes()) == (b"0\n1", b"2")


def test_each_file_of_a_small_run_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: Counter[str] = Counter()
    really_open = os.open

    def counted(path: Any, *arguments: Any, **options: Any) -> int:
        opened[Path(path).name] += 1
        return really_open(path, *arguments, **options)

    monkeypatch.setattr(os, "open", counted)
    host = Host({"run.json": b"01", "a/b": b"2"})
    gather(host, tmp_path)
    assert (opened["run.json"], opened["b"]) == (1, 1)


def test_what_was_cut_off_goes_on_where_it_stopped(tmp_path: Path) -> None:
    host = Host({"run.json": b"0123456789"})
    host.leaves_at = "run.json"
    with pytest.raises(HostGone):
        gather(host, tmp_path)
    assert not (tmp_path / NAME).exists()
    host.leaves_at = ""
    host.asked.clear()
    gather(host, tmp_path)
    assert [wanted for name, *wanted in host.asked if name == "pieces"] == [
        [[("run.json", 4, 4)]],
        [[("run.json", 8, 2)]],
    ]
    assert (tmp_path / NAME / "run.json").read_bytes() == b"0123456789"


@pytest.mark.provokes("F910")
@pytest.mark.parametrize("name", ["../x", "a/../../x", "/tmp/x", "", ".", "a\0b", "..", "a/./../../x", "//x"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    parent = tmp_path / "below" / "fleet"
    parent.mkdir(parents=True)
    with pytest.raises(DrivelabError, match="is no name of a file of a run") as caught:
        gather(Host({name: b"stolen"}), parent)
    assert caught.value.code == "F910"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_run_with_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    item = FleetItem("one/S1", "one", "/dev/sda", state="complete", run="/runs/a\0b")
    with pytest.raises(DrivelabError, match="is no name of a file of a run"):
        gather(Host({"run.json": b"x"}), tmp_path, item)


def test_a_run_of_a_parent_s_name_stays_below_the_fleet(tmp_path: Path) -> None:
    item = FleetItem("one/S1", "one", "/dev/sda", state="complete", run="/runs/..")
    assert gather(Host({"run.json": b"x"}), tmp_path, item) == "one_S1-.."
    assert (tmp_path / "one_S1-.." / "run.json").is_file()


def test_less_or_other_than_was_told_is_not_kept(tmp_path: Path) -> None:
    host = Host({"run.json": b"0123"})
    host.sizes["run.json"] = 10
    with pytest.raises(DrivelabError, match=r"files of /runs/20260101-x changed while they came over") as caught:
        gather(host, tmp_path)
    assert caught.value.code == "F910"
    host.sizes["run.json"] = 3
    with pytest.raises(DrivelabError, match="came over damaged") as caught:
        gather(host, tmp_path)
    assert caught.value.code == "F910"
    assert not (tmp_path / NAME).exists()
    host.sizes.clear()
    gather(host, tmp_path)
    assert (tmp_path / NAME / "run.json").read_bytes() == b"0123"


def test_what_is_kept_aside_is_no_run_of_the_fleet(tmp_path: Path) -> None:
    host = Host({"run.json": b"{}"})
    gather(host, tmp_path)
    (tmp_path / NAME / "run.json").write_bytes(b"")
    gather(host, tmp_path)
    assert len(list(tmp_path.glob(f".{NAME}.damaged-*/run.json"))) == 1
    assert runs_at(str(tmp_path)) == [tmp_path / NAME]
