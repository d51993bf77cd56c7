"""What fio wrote with verify, checked by drivelab: it is right where it is as fio left it, and damage is told."""

from __future__ import annotations

import errno
import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from device.program import Drivelab
from drivelab.store.read import open_run

pytestmark = [pytest.mark.needs_tool("fio")]

BLOCK_BYTES = 8192
# within the second part of a block, behind its header
DAMAGED_BYTE = 2 * BLOCK_BYTES + 4096 + 700


def options(kind: str, *more: str) -> Sequence[str]:
    return ["--name=job", "--rw=write", f"--bs={BLOCK_BYTES}", "--size=64k", f"--verify={kind}", *more]


def written_by_fio(folder: Path, kind: str, *more: str) -> Path:
    command = ["fio", *options(kind, "--do_verify=0", *more)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return folder / "job.0.0"


def damage(file: Path, place: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(place)
        byte = opened.read(1)[0]
        opened.seek(place)
        opened.write(bytes([byte ^ 1]))


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("crc32c", ()),
        ("crc32c-intel", ("--verify_interval=4k",)),
        ("crc32", ("--verify_interval=512",)),
        ("md5", ()),
        ("sha256", ()),
        ("xxhash", ()),
    ],
)
def test_damaged_data_are_found_where_they_are(
    drivelab: Drivelab, tmp_path: Path, kind: str, more: tuple[str, ...]
) -> None:
    file = written_by_fio(tmp_path, kind, *more)
    command = ["fio", *options(kind, "--verify_only", "--eta=never", *more), f"--directory={tmp_path}", "--strict"]
    intact = drivelab.run(*command)
    assert intact.returncode == 0, intact.stderr
    damage(file, DAMAGED_BYTE)
    damaged = drivelab.run(*command)
    assert damaged.returncode != 0
    told = " ".join(damaged.stderr.split())
    assert f"what was read at byte {2 * BLOCK_BYTES} is not what was written there" in told
    by_fio = subprocess.run(command[:-2], capture_output=True, text=True, cwd=tmp_path)
    assert "verify failed at file" in by_fio.stdout + by_fio.stderr
    assert ": err=84" in damaged.stdout


def test_a_job_that_failed_is_in_the_results_with_its_error_and_the_next_one_runs(
    drivelab: Drivelab, tmp_path: Path
) -> None:
    damage(written_by_fio(tmp_path, "crc32c"), DAMAGED_BYTE)
    check = (*options("crc32c", "--verify_only"), "--name=next", "--stonewall", "--rw=read", "--filename=job.0.0")
    words = [f"--directory={tmp_path}", "--verify_fatal=1", *check, "--output-format=json", "--eta=never"]
    ours = drivelab.run("fio", *words)
    theirs = subprocess.run(["fio", *words], capture_output=True, text=True, cwd=tmp_path)
    assert ours.returncode == theirs.returncode == 1
    told = [
        [
            (job["jobname"], job["error"], job["read"]["total_ios"] > 1)
            for job in json.loads(text[text.index("{") :])["jobs"]
        ]
        for text in (ours.stdout, theirs.stdout)
    ]
    assert told[0] == told[1]
    assert told[0][0] == ("job", errno.EILSEQ, True)


@pytest.mark.parametrize("kind", ["meta", "sha512", "crc16"])
def test_a_block_in_the_place_of_another_is_found_by_its_header(drivelab: Drivelab, tmp_path: Path, kind: str) -> None:
    file = written_by_fio(tmp_path, kind)
    command = ["fio", *options(kind, "--verify_only", "--eta=never"), f"--directory={tmp_path}"]
    intact = drivelab.run(*command)
    assert intact.returncode == 0, intact.stderr
    assert ("only the headers are checked" in intact.stderr) == (kind != "meta")
    data = file.read_bytes()
    file.write_bytes(data[:BLOCK_BYTES] + data[:BLOCK_BYTES] + data[2 * BLOCK_BYTES :])
    misplaced = drivelab.run(*command)
    assert misplaced.returncode != 0
    assert f"at byte {BLOCK_BYTES}" in misplaced.stderr


PARTS = (
    ("--rw=randwrite", "--size=64m", "--runtime=300ms"),
    ("--rw=randwrite", "--size=64m", "--runtime=300ms", "--ramp_time=200ms", "--ioengine=libaio", "--iodepth=8"),
    ("--rw=write", "--size=64m", "--runtime=300ms", "--thinktime=100us"),
    ("--rw=randwrite", "--size=4m", "--io_size=512k", "--bs=8k"),
    ("--rw=randwrite", "--size=256k", "--runtime=300ms", "--time_based", "--norandommap"),
    ("--rw=randrw", "--size=4m", "--rwmixread=70"),
    ("--rw=rw", "--size=4m", "--ioengine=libaio", "--iodepth=4"),
    (
        "--rw=randrw",
        "--size=16m",
        "--runtime=300ms",
        "--time_based",
        "--norandommap",
        "--ioengine=io_uring",
        "--iodepth=8",
    ),
    ("--rw=randrw", "--size=4m", "--percentage_random=100,0", "--runtime=300ms", "--time_based"),
)


@pytest.mark.parametrize("words", PARTS, ids=" ".join)
def test_what_was_written_of_a_part_is_read_back_and_nothing_else(
    drivelab: Drivelab, tmp_path: Path, words: tuple[str, ...]
) -> None:
    command = ["fio", "--name=job", "--bs=4k", "--verify=crc32c", *words, f"--directory={tmp_path}", "--eta=never"]
    done = drivelab.run(*command, "--output-format=json")
    assert done.returncode == 0, done.stderr
    assert "nothing is read back" not in done.stderr
    (directory,) = (each for each in drivelab.runs.iterdir() if each.is_dir())
    rows = sorted(open_run(directory).trials.to_pylist(), key=lambda row: str(row["trial"]))
    writes, reads = (json.loads(row["engine_json"])["all_phases"] for row in rows)
    # a block that was not written has no header: reading one would fail
    assert 0 < writes["write"]["count"] == reads["read"]["count"]
    assert ("read" in writes) == ("rw" in words[0].removeprefix("--rw="))
    assert "write" not in reads
    # one result, as fio has it
    (job,) = json.loads(done.stdout)["jobs"]
    # what was written in a ramp, or was outstanding when time was over, is not counted, and read back all the same
    assert job["read"]["total_ios"] >= job["write"]["total_ios"] > 0
    assert "no data on the drive" not in done.stderr


def test_a_mix_in_a_new_file_is_not_called_damaged(drivelab: Drivelab, tmp_path: Path) -> None:
    words = ["--name=job", "--rw=randrw", "--size=1m", "--verify=md5", f"--directory={tmp_path}", "--eta=never"]
    done = drivelab.run("fio", *words)
    assert done.returncode == 0, done.stderr
    assert subprocess.run(["fio", *words], capture_output=True, cwd=tmp_path).returncode == 0


KINDS = (
    ("meta",),
    ("crc32", "--verify_interval=512"),
    ("crc32c", "--verify_offset=200"),
    ("crc32c-intel", "--buffer_compress_percentage=50"),
    ("md5", "--verify_interval=1k", "--verify_offset=300"),
    ("sha256", "--verify_interval=1k"),
    ("xxhash", "--verify_pattern=0xdeadbeef"),
    ("pattern", '--verify_pattern=0xdeadbeef%o"text"-12'),
    ("pattern", "--verify_pattern=0xfff0x1"),
    ("", "--verify_pattern=%o", "--verify_interval=4k"),
    ("meta", '--verify_pattern="ab"%o', "--verify_offset=64"),
)


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_what_one_program_wrote_is_right_to_the_other(
    drivelab: Drivelab, make_loop_device: Callable[..., Path], kind: tuple[str, ...]
) -> None:
    device = make_loop_device(2**20)
    words = ["--name=job", f"--bs={BLOCK_BYTES}", "--size=64k", f"--filename={device}", *kind[1:]]
    words += [f"--verify={kind[0]}"] if kind[0] else []
    consent = ["--erase", device.name, "--strict", "--eta=never"]
    fio = ["fio", "--thread", "--verify_state_save=0", "--verify_fatal=1", *words]
    written = drivelab.run("fio", *words, "--rw=write", *consent)
    assert written.returncode == 0, written.stderr
    for order in ("--rw=write", "--rw=read"):
        found = subprocess.run([*fio, order, "--verify_only"], capture_output=True, text=True)
        assert found.returncode == 0, found.stdout + found.stderr
    subprocess.run([*fio, "--rw=randwrite", "--do_verify=0"], check=True, capture_output=True)
    check = ["fio", *words, "--rw=read", "--verify_only", *consent]
    intact = drivelab.run(*check)
    assert intact.returncode == 0, intact.stderr
    # in front of a header that lies farther on, or within it
    damage(device, 3 * BLOCK_BYTES)
    damaged = drivelab.run(*check)
    assert f"at byte {3 * BLOCK_BYTES}" in damaged.stderr
    assert subprocess.run([*fio, "--rw=read"], capture_output=True).returncode != 0


def test_what_a_sum_of_fio_does_not_cover_is_not_checked_by_drivelab_either(drivelab: Drivelab, tmp_path: Path) -> None:
    file = written_by_fio(tmp_path, "meta")
    damage(file, DAMAGED_BYTE)
    found = drivelab.run("fio", *options("meta", "--verify_only", "--eta=never"), f"--directory={tmp_path}")
    assert found.returncode == 0, found.stderr


def test_a_buffer_pattern_is_what_fio_writes(
    drivelab: Drivelab, make_loop_device: Callable[..., Path], tmp_path: Path
) -> None:
    device = make_loop_device(2**20)
    (tmp_path / "bytes").write_bytes(b"of a file")
    pattern = f"--buffer_pattern=0xabc'{tmp_path / 'bytes'}'\"text\"258"
    words = ["--name=job", "--rw=write", "--bs=3000", "--size=63000", pattern, f"--filename={device}"]
    assert drivelab.run("fio", *words, "--erase", device.name, "--strict").returncode == 0
    ours = device.read_bytes()
    assert ours[:20] == b"\x0a\xbcof a filetext\x02\x01\x0a\xbcof"[:20]
    subprocess.run(["fio", *words], check=True, capture_output=True)
    assert device.read_bytes() == ours
