"""Files that jobs of fio name: what is left of them, what is used again, and whose may be written to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drivelab.cli.main import run
from drivelab.held_directory import HeldDirectory, HeldFile
from drivelab.inventory.consent import Consent
from drivelab.model.errors import EXIT_REFUSED, EXIT_USAGE, DrivelabError
from drivelab.run.resumption import plan_resumption
from drivelab.run.user_files import UserFiles
from drivelab.store.read import open_run

SMALL = ("--bs=4k", "--size=64k", "--eta=never")
LEFT = (
    "--rw=write",
    "--rw=randread",
    "--rw=randrw --numjobs=3",
    "--rw=write --nrfiles=4",
    "--rw=randwrite --nrfiles=2 --numjobs=2 --ioengine=libaio --iodepth=4",
    "--rw=write --numjobs=2 --filename_format=$jobname-$jobnum",
    "--rw=write --numjobs=2 --nrfiles=2 --filename_format=x.$filenum.of.$jobnum",
    "--rw=write --filename=one --numjobs=2",
    "--rw=write --filename=one:two",
    "--rw=write --unlink=1",
    "--rw=read --offset=16k",
    "--rw=write --directory=p:q --numjobs=5",
    "--rw=randwrite --create_only=1 --numjobs=2 --runtime=60 --time_based",
    "--rw=randread --directory=p:q --numjobs=2 --nrfiles=1",
)


@pytest.fixture(autouse=True)
def _in_a_place_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def mounted_ext4(make_loop_device: Callable[..., Path], tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "mounted"
    place.mkdir()
    device = make_loop_device(64 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    subprocess.run(["mount", device, place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def fio(*words: str) -> int:
    return run(["fio", "--name=a", *SMALL, *words])


def sizes(directory: Path) -> dict[str, int]:
    return {str(path.relative_to(directory)): path.stat().st_size for path in directory.rglob("*") if path.is_file()}


@pytest.mark.needs_tool("fio")
@pytest.mark.parametrize("words", LEFT)
def test_the_files_that_fio_leaves_are_left(tmp_path: Path, words: str) -> None:
    for place in ("theirs/p", "theirs/q", "here/p", "here/q"):
        (tmp_path / place).mkdir(parents=True)
    command = ["fio", "--name=a", *SMALL, *words.split()]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path / "theirs")
    for _ in range(2):
        assert fio(*words.split()) == 0
        assert sizes(Path()) == sizes(tmp_path / "theirs")


def test_what_drivelab_made_is_written_again_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert fio("--rw=write", "--size=128k", "--eta=auto") == 0
    assert "a.0.0: made, and left there at the end (128 KiB)" in capsys.readouterr().err
    file = Path("a.0.0")
    inode, before = file.stat().st_ino, file.read_bytes()
    assert fio("--rw=randwrite") == 0
    assert "left there" not in capsys.readouterr().err
    after = file.read_bytes()
    assert file.stat().st_ino == inode
    assert after[:65536] != before[:65536]
    assert after[65536:] == before[65536:]


def test_what_one_command_wrote_the_next_one_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert fio("--rw=write", "--verify=crc32c", "--do_verify=0") == 0
    assert fio("--rw=write", "--verify=crc32c", "--verify_only") == 0
    with Path("a.0.0").open("r+b") as file:
        file.seek(20480)
        file.write(b"\xff" * 100)
    assert fio("--rw=write", "--verify=crc32c", "--verify_only") != 0
    assert "at byte 20" in capsys.readouterr().err


def test_what_is_to_be_checked_is_not_replaced_by_what_is_larger(capsys: pytest.CaptureFixture[str]) -> None:
    assert fio("--rw=write", "--verify=crc32c") == 0
    before = Path("a.0.0").read_bytes()
    assert fio("--rw=write", "--verify=crc32c", "--verify_only", "--size=128k") == EXIT_USAGE
    assert "a.0.0 has 65536 B, and 131072 B are to be checked" in " ".join(capsys.readouterr().err.split())
    assert Path("a.0.0").read_bytes() == before


def test_what_of_jobs_at_the_same_time_was_memory_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert fio("--rw=randwrite", "--filename=one:two", "--size=8m") == 0
    told = capsys.readouterr().err
    assert told.count("not to be trusted: memory answered") == 1


@pytest.mark.parametrize(
    ("size", "words"),
    [(65536, "--rw=write"), (65536, "--rw=randrw"), (4096, "--rw=read"), (65536, "--rw=write --size=128k --numjobs=2")],
)
def test_a_file_of_somebody_else_is_written_or_replaced_with_consent_alone(
    capsys: pytest.CaptureFixture[str], size: int, words: str
) -> None:
    file = Path("a.0.0")
    file.write_bytes(mine := os.urandom(size))
    assert fio(*words.split()) == EXIT_REFUSED
    assert "error[C220]" in (told := capsys.readouterr().err)
    assert "--overwrite-file" in told
    assert file.read_bytes() == mine
    assert list(sizes(Path())) == ["a.0.0"]
    assert run(["fio", "--overwrite-file", "--name=a", *SMALL, *words.split()]) == 0
    assert file.stat().st_size >= size
    assert file.read_bytes() != mine


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4", "losetup")
def test_a_file_that_is_too_small_makes_room_for_a_larger_one(
    mounted_ext4: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = f"--directory={mounted_ext4}"
    assert fio("--rw=write", place, "--size=30m", "--bs=1m", "--end_fsync=1") == 0
    assert fio("--rw=write", place, "--size=40m", "--bs=1m", "--end_fsync=1") == 0
    assert sizes(mounted_ext4)["a.0.0"] == 40 * 2**20
    assert fio("--rw=read", place, "--size=80m", "--bs=1m") == EXIT_USAGE
    assert "error[P705]" in capsys.readouterr().err
    assert sizes(mounted_ext4)["a.0.0"] == 40 * 2**20


def test_a_file_that_its_owner_changed_is_his(capsys: pytest.CaptureFixture[str]) -> None:
    assert fio("--rw=write") == 0
    with Path("a.0.0").open("ab") as file:
        file.write(b"mine")
    assert fio("--rw=write") == EXIT_REFUSED
    assert "error[C220]" in capsys.readouterr().err


@pytest.mark.needs_root
@pytest.mark.needs_tool("losetup")
def test_the_file_of_a_loop_device_is_not_written_even_with_consent(
    make_loop_device: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_loop_device(2**20)
    (image,) = (path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size == 2**20)
    words = ["fio", "--overwrite-file", "--name=a", *SMALL, f"--filename={image}", "--rw=write"]
    assert run(words) == EXIT_REFUSED
    assert "error[C204]" in capsys.readouterr().err


def test_a_name_that_was_taken_meanwhile_stays_with_who_took_it(tmp_path: Path) -> None:
    (tmp_path / "here" / "aside").mkdir()
    made_in = HeldDirectory.open(tmp_path / "here" / "aside")
    Path("small").write_bytes(b"x")
    files = UserFiles(made_in, Consent(overwrite_files=True))
    new, larger = files.open("new", 4096), files.open("small", 4096)
    assert isinstance(new, HeldFile)
    assert isinstance(larger, HeldFile)
    for file in (new, larger):
        os.write(file.descriptor, b"ours")
    Path("new").write_bytes(b"somebody's")
    Path("small").unlink()
    Path("small").write_bytes(b"somebody's")
    assert files.leave(new).endswith("new is not left behind: File exists")
    assert "another program has put a file in its place" in files.leave(larger)
    files.close()
    assert {path.name: path.read_bytes() for path in Path().glob("*[lw]")} == dict.fromkeys(
        ("new", "small"), b"somebody's"
    )


def test_without_consent_nothing_is_opened_for_replacement(tmp_path: Path) -> None:
    (tmp_path / "here" / "aside").mkdir()
    Path("small").write_bytes(b"x")
    files = UserFiles(HeldDirectory.open(tmp_path / "here" / "aside"), Consent())
    with pytest.raises(DrivelabError, match="its contents would be destroyed"):
        files.open("small", 4096)


def killed(*words: str) -> None:
    command = [sys.executable, "-m", "drivelab", "fio", "--name=a", *SMALL, *words, "--time_based", "--runtime=60"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not any(name.startswith("drivelab-data-") for name in os.listdir()):
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(1)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_killed_run_leaves_what_was_there_and_nothing_else() -> None:
    Path("there").write_bytes(os.urandom(65536))
    assert fio("--rw=write") == 0
    killed("--filename=there:a.0.0:new", "--rw=randrw", "--overwrite-file")
    assert run(["restore"]) == 0
    assert sizes(Path()) == {"there": 65536, "a.0.0": 65536}


def test_a_run_that_goes_on_takes_and_leaves_no_files_of_the_users(tmp_path: Path) -> None:
    killed("--rw=randrw")
    (directory,) = (tmp_path / "runs").iterdir()
    stored = open_run(directory)
    assert [step["keeps_file"] for step in stored.record.plan["steps"]] == [True]
    assert [step.keeps_file for step in plan_resumption(stored).left] == [False]
