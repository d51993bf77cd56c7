"""Working files: hidden, locked while they are used, and gone afterwards however it ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.run import work_area as module
from drivelab.run.process_owner import owner_lives, owner_tag
from drivelab.run.work_area import can_preallocate, direct_io_refusal, remove_leftovers, work_area
from drivelab.state.working_files import FILE_PREFIX


def in_another_process(directory: Path, rest: str) -> subprocess.Popen[str]:
    """A process that makes a working file, says so, and then does `rest`."""
    script = textwrap.dedent(
        f"""
        import os, sys, time
        from pathlib import Path
        from drivelab.run.work_area import work_area
        with work_area(Path({str(directory)!r})) as area:
            print(area.new_file(), flush=True)
            {rest}
        """
    )
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


def test_files_are_gone_when_the_context_ends(tmp_path: Path) -> None:
    with work_area(tmp_path) as area:
        first, second = area.new_file(), area.new_file()
        assert first.exists()
        assert first.name.startswith(FILE_PREFIX)
        area.remove(second)
        assert not second.exists()
    assert list(tmp_path.iterdir()) == []


def test_files_are_gone_after_an_exception(tmp_path: Path) -> None:
    def interrupted() -> None:
        with work_area(tmp_path) as area:
            area.new_file().write_bytes(b"x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    process = in_another_process(tmp_path, "time.sleep(60)")
    assert process.stdout is not None
    left = Path(process.stdout.readline().strip())
    assert left.exists()
    assert remove_leftovers(tmp_path) == (), "its process lives"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert left.exists()
    with work_area(tmp_path) as area:
        assert area.removed_leftovers == (left.name,)
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "data.bin"
    mine.touch()
    link = tmp_path / f"{FILE_PREFIX}1-1-aaaa"
    link.symlink_to(mine)
    folder = tmp_path / f"{FILE_PREFIX}1-1-bbbb"
    folder.mkdir()
    assert remove_leftovers(tmp_path) == ()
    assert mine.exists()
    assert link.is_symlink()
    assert folder.is_dir()


def test_a_file_that_was_made_a_moment_ago_and_is_not_locked_yet_stays(tmp_path: Path) -> None:
    (tmp_path / f"{FILE_PREFIX}{owner_tag()}-aaaa").touch()
    assert remove_leftovers(tmp_path) == ()


def test_a_file_locked_by_a_process_in_another_container_stays(tmp_path: Path) -> None:
    with work_area(tmp_path) as area:
        made = area.new_file()
        elsewhere = made.with_name(f"{FILE_PREFIX}999999999-1-aaaa")
        made.rename(elsewhere)
        assert remove_leftovers(tmp_path) == ()
        elsewhere.unlink()


def test_this_process_lives_and_one_of_another_start_time_does_not() -> None:
    pid, _, started = owner_tag().partition("-")
    assert owner_lives(owner_tag())
    assert owner_lives(f"{owner_tag()}-abcd")
    assert not owner_lives(f"{pid}-{int(started) + 1}")
    assert not owner_lives("no-tag")


@pytest.mark.provokes("R451")
@pytest.mark.parametrize(
    ("refusal", "advice"), [(errno.EACCES, "may write"), (errno.EROFS, "mount"), (errno.ENOSPC, "free space")]
)
def test_a_directory_without_room_or_permission_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int, advice: str
) -> None:
    def refuse(*_arguments: object, **_options: object) -> int:
        raise OSError(refusal, os.strerror(refusal))

    with work_area(tmp_path) as area:
        monkeypatch.setattr(module.os, "open", refuse)
        with pytest.raises(DrivelabError, match="no working file") as raised:
            area.new_file()
        monkeypatch.undo()
    assert raised.value.code == "R451"
    assert advice in raised.value.do


def test_the_file_system_says_whether_it_takes_direct_io_and_reserves_space(tmp_path: Path) -> None:
    with work_area(tmp_path) as area:
        path = area.new_file()
        assert isinstance(can_preallocate(path), bool)
        assert path.stat().st_size == 0
        assert isinstance(direct_io_refusal(path), str)


def test_a_refused_direct_open_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(module.os, "open", refuse)
    assert direct_io_refusal(tmp_path / "x") == "the file system refuses O_DIRECT"
