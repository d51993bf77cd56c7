"""Which files ``drivelab io`` takes for its own: those that it made, as it left them."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from drivelab.cli import main

WRITE = ("--operation", "write", "--count", "4")


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit status, stdout and stderr of a command."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = main.run(list(arguments))
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def made(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "made.bin"
    status, _out, err = run("io", str(path), *WRITE, "--size", "64KiB")
    assert status in (0, 4), err
    # without the notes of a file system the mark is kept nowhere, and this file would test nothing
    assert os.getxattr(path, "user.drivelab.made")
    return path


def fill_in_place(made: Path, precious: Path) -> None:
    with made.open("r+b") as file:
        file.truncate(0)
        file.write(precious.read_bytes())


def fill_as_large_as_it_was(made: Path, precious: Path) -> None:
    content = precious.read_bytes()
    made.write_bytes((content * 65536)[: made.stat().st_size])


def fill_with_old_times(made: Path, precious: Path) -> None:
    shutil.copyfile(precious, made)
    shutil.copystat(precious, made)


def copy_with_its_mark(made: Path, precious: Path) -> None:
    other = made.with_name("copy")
    shutil.copy2(made, other)
    assert os.getxattr(other, "user.drivelab.made")
    other.replace(made)


@pytest.mark.provokes("C220")
@pytest.mark.parametrize("change", [fill_in_place, fill_as_large_as_it_was, fill_with_old_times, copy_with_its_mark])
def test_a_file_with_somebodys_data_or_a_copy_is_not_taken(
    run: Run, made: Path, tmp_path: Path, change: Callable[[Path, Path], None]
) -> None:
    precious = tmp_path / "precious.db"
    precious.write_bytes(os.urandom(5000))
    os.utime(precious, (1_000_000_000, 1_000_000_000))
    change(made, precious)
    before = hashlib.sha256(made.read_bytes()).hexdigest()
    status, _out, err = run("io", str(made), *WRITE)
    assert (status, "[C220]" in err) == (3, True), err
    assert hashlib.sha256(made.read_bytes()).hexdigest() == before


def test_its_own_file_is_written_again_and_again_also_when_it_grew(run: Run, made: Path) -> None:
    for options in ((), ("--size", "128KiB"), ("--backend", "mmap"), ()):
        status, _out, err = run("io", str(made), *WRITE, *options)
        assert status in (0, 4), err


def test_a_file_that_was_read_only_by_drivelab_stays_its_own(run: Run, made: Path) -> None:
    assert run("io", str(made), "--count", "4")[0] in (0, 4)
    assert run("io", str(made), *WRITE)[0] in (0, 4)
