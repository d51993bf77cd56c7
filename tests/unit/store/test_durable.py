"""A file is put in the place of a file, and of nothing else."""

from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.store.durable import followed, write_json


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with one of everything that is no regular file, and a link to each."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
    (tmp_path / "device").symlink_to("/dev/full")
    for name in ("pipe", "directory", "socket", "device"):
        (tmp_path / f"link-to-{name}").symlink_to(name)
    return tmp_path


@pytest.mark.provokes("S501")
@pytest.mark.parametrize("link", ["", "link-to-"])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pipe", "is a pipe"),
        ("directory", "is a directory"),
        ("socket", "is a socket"),
        ("device", "is a character device"),
    ],
)
def test_what_is_no_file_is_not_replaced(place: Path, link: str, name: str, says: str) -> None:
    before = {path.name: stat.S_IFMT(path.lstat().st_mode) for path in place.iterdir()}
    with pytest.raises(DrivelabError, match=says) as caught:
        write_json(followed(place / f"{link}{name}"), {})
    assert caught.value.code == "S501"
    assert {path.name: stat.S_IFMT(path.lstat().st_mode) for path in place.iterdir()} == before


def test_a_link_stays_and_the_file_that_it_points_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file, first, second = tmp_path / "elsewhere" / "a.json", tmp_path / "first", tmp_path / "second"
    first.symlink_to(file)
    second.symlink_to("first")
    for value in ({"new": 1}, {"old": 2}):
        write_json(followed(second), value)
        assert file.read_text() == f'{{"{next(iter(value))}": {next(iter(value.values()))}}}\n'
    assert (first.is_symlink(), second.is_symlink(), file.is_symlink()) == (True, True, False)
    assert [path.name for path in file.parent.iterdir()] == ["a.json"]


def test_a_file_that_became_a_pipe_meanwhile_is_not_replaced(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = place / "page"

    def write_and_exchange(path: Path, content: bytes) -> int:
        os.mkfifo(file)
        with path.open("wb") as opened:
            return opened.write(content)

    monkeypatch.setattr(Path, "write_bytes", write_and_exchange)
    with pytest.raises(DrivelabError, match="is a pipe"):
        write_json(file, {})
    assert file.is_fifo()
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(DrivelabError) as caught:
        write_json(followed(tmp_path / "a"), {})
    assert caught.value.code == "S501"
    assert (tmp_path / "a").is_symlink()


@pytest.mark.provokes("S501")
def test_where_nothing_can_be_written_the_first_failure_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    for name in ("write_bytes", "unlink"):
        monkeypatch.setattr(Path, name, read_only)
    with pytest.raises(DrivelabError, match=r"cannot write .*: Read-only file system") as caught:
        write_json(tmp_path / "a.json", {})
    assert caught.value.code == "S501"


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DrivelabError, match=f"there is no directory {tmp_path / 'none'}") as caught:
        write_json(tmp_path / "none" / "a.json", {})
    assert caught.value.code == "S501"


class CountedDict(dict[str, Any]):
    """Counts how often it is looked through."""

    looks = 0

    def items(self) -> Any:
        self.looks += 1
        return super().items()


def test_what_becomes_json_is_looked_through_once_however_deep_it_lies(tmp_path: Path) -> None:
    inner = [CountedDict(name="x" * 100, number=number) for number in range(3)]
    outer = CountedDict(plan=inner[1])
    hosts = CountedDict(one=inner[0])
    write_json(tmp_path / "a.json", {"hosts": hosts, "items": [outer, outer], "last": inner[2]})
    assert [one.looks for one in (hosts, *inner, outer)] == [1, 1, 2, 1, 2]


def test_json_is_expanded_down_to_a_level_where_it_does_not_fit(tmp_path: Path) -> None:
    long = "y" * 118
    write_json(tmp_path / "a.json", {"a": {"b": {"c": [1, {"d": [long]}], "e\n": {}}, 2: [None, True]}, "f": ["é"]})
    assert (tmp_path / "a.json").read_text(encoding="utf-8").splitlines() == [
        "{",
        ' "a": {',
        '  "b": {',
        f'   "c": [1, {{"d": ["{long}"]}}],',
        '   "e\\n": {}',
        "  },",
        '  "2": [null, true]',
        " },",
        ' "f": ["é"]',
        "}",
    ]
