"""Root in a directory of another user, who puts links and other files in the place of ours all the time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from device.program import Drivelab
from device.swapper import NOBODY
from drivelab.cli.main import run
from drivelab.held_directory import HeldDirectory
from drivelab.run import stage
from drivelab.state.journal import Journal

pytestmark = pytest.mark.needs_root
SWAPPER = Path(__file__).with_name("swapper.py")
HARD_LINKS = 200


class Canary:
    """A file of root's that must stay as it is, and a directory of nobody's in which it is aimed at."""

    def __init__(self, place: Path) -> None:
        # others must be able to come here
        for above in (place, *place.parents):
            if above.stat().st_uid == os.geteuid() and above != Path("/"):
                above.chmod(above.stat().st_mode | 0o011)
        secret = place / "secret"
        secret.mkdir(mode=0o755)
        self.file = secret / "canary"
        self.file.write_bytes(os.urandom(1 << 20))
        self.file.chmod(0o600)
        self.directory = place / "theirs"
        self.directory.mkdir()
        for number in range(HARD_LINKS):
            (self.directory / f"hard-{number}").hardlink_to(self.file)
        os.chown(self.directory, NOBODY, NOBODY)
        self._was = self._now()

    def _now(self) -> tuple[str, int, int, list[str]]:
        found = self.file.stat()
        digest = hashlib.sha256(self.file.read_bytes()).hexdigest()
        return digest, found.st_size, found.st_mode, sorted(os.listdir(self.file.parent))

    def require_untouched(self) -> None:
        assert self._now() == self._was, "root has changed a file that was there"

    @property
    def swaps(self) -> int:
        return sum(name.startswith("swapped-") for name in os.listdir(self.directory))


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    canary = Canary(tmp_path)
    command = [sys.executable, str(SWAPPER), str(canary.directory), str(canary.file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline().strip() == "ready"
        yield canary
        assert swapper.poll() is None, "it has gone on until the end"
        swapper.kill()
    canary.require_untouched()


def require_told(canary: Canary, done: subprocess.CompletedProcess[str]) -> None:
    """Something was exchanged, and the command says so instead of going on in silence."""
    assert canary.swaps, "nothing was exchanged: this test has tried nothing"
    assert done.returncode != 0, done.stdout
    assert "bug:" not in done.stderr


@pytest.mark.provokes("R459")
def test_a_check(drivelab: Drivelab, canary: Canary) -> None:
    done = drivelab.run("check", str(canary.directory), "--quick")
    require_told(canary, done)
    assert "R459" in done.stderr + done.stdout


EXPERIMENT = """
format = 1
name = "small"
question = "Does it stay in its place?"
repeats = { full = 2, quick = 2 }

[[workloads]]
name = "log"
block_size = "512"
file_state = "append"
durability = "fdatasync"
count = 50

[[workloads]]
name = "files"
operation = "create"
file_count = 50
"""


def test_a_run(drivelab: Drivelab, canary: Canary, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(EXPERIMENT)
    done = drivelab.run("run", str(file), str(canary.directory))
    require_told(canary, done)


def test_an_explanation(drivelab: Drivelab, canary: Canary) -> None:
    done = drivelab.run("explain", str(canary.directory))
    require_told(canary, done)


def test_io_on_a_file_that_is_made(drivelab: Drivelab, canary: Canary) -> None:
    for number in range(5):
        made = canary.directory / f"made-{number}"
        done = drivelab.run("io", str(made), "--operation", "write", "--size", "256KiB", "--runtime", "50ms")
        assert "bug:" not in done.stderr
        if canary.swaps:
            assert done.returncode != 0, done.stdout
    assert canary.swaps


def test_io_on_files(drivelab: Drivelab, canary: Canary) -> None:
    for operation in ("create", "replace", "read_file", "delete"):
        options = ("--operation", operation, "--files", "200", "--runtime", "100ms")
        done = drivelab.run("io", str(canary.directory), *options)
        assert "bug:" not in done.stderr
    assert canary.swaps


@pytest.mark.parametrize("command", ["run", "explain"])
@pytest.mark.parametrize("moment", ["made", "looked at again"])
def test_a_directory_of_ours_whose_name_comes_to_mean_a_file(
    command: str, moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The moments between making a directory and finding out what its path leads to."""
    secret, theirs = tmp_path / "secret", tmp_path / "theirs"
    secret.write_bytes(b"precious" * 4096)
    theirs.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))

    def exchange() -> None:
        for made in theirs.glob("drivelab-data-*"):
            if not made.is_symlink():
                made.rename(theirs / "moved")
                made.symlink_to(secret)

    make, prepared = stage.make_data_directory, stage.TargetStage.prepare

    def made_and_exchanged(parent: Path, journal: Journal) -> HeldDirectory:
        directory = make(parent, journal)
        exchange()
        return directory

    def exchanged_and_prepared(self: stage.TargetStage, *arguments: Any, **more: Any) -> Any:
        exchange()
        return prepared(self, *arguments, **more)

    if moment == "made":
        monkeypatch.setattr(stage, "make_data_directory", made_and_exchanged)
    else:
        monkeypatch.setattr(stage.TargetStage, "prepare", exchanged_and_prepared)
    file = tmp_path / "small.toml"
    file.write_text(EXPERIMENT)
    arguments = ["run", str(file), str(theirs)] if command == "run" else ["explain", str(theirs), "--count", "50"]
    assert run(arguments) != 0
    assert "R459" in "".join(capsys.readouterr())
    assert secret.read_bytes() == b"precious" * 4096
