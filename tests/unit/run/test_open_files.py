"""What descriptors are seen to stand for while their program opens and closes others."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivelab.run.following import open_files
from drivelab.run.following.open_files import OpenFiles
from drivelab.run.following.processes import open_links


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    """Of the file ``before``."""
    opened = os.open(tmp_path / "before", os.O_CREAT | os.O_RDWR)
    yield opened
    os.close(opened)


def change(descriptor: int, path: Path) -> None:
    """Have a descriptor stand for another file."""
    other = os.open(path, os.O_CREAT | os.O_RDWR)
    os.dup2(other, descriptor)
    os.close(other)


@pytest.mark.parametrize("is_known", [True, False])
def test_what_changes_during_a_look_is_not_taken_for_what_it_was_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, descriptor: int, is_known: bool
) -> None:
    files = OpenFiles(lambda: [os.getpid()])
    if is_known:
        files.look()
    changed_ns = []

    def change_then(process: int) -> dict[int, str]:
        links = open_links(process)
        changed_ns.append(time.monotonic_ns())
        change(descriptor, tmp_path / "after")
        return links

    monkeypatch.setattr(open_files, "open_links", change_then)
    files.look()
    monkeypatch.setattr(open_files, "open_links", open_links)
    files.look()
    seen = {Path(file.path).name: file for file in files.seen if file.descriptor == descriptor}
    assert set(seen) == ({"before", "after"} if is_known else {"after"})
    assert seen["after"].first_ns > changed_ns[0]
    if is_known:
        assert seen["before"].first_ns < seen["before"].last_ns < changed_ns[0]
