"""Command lines of fio: their words, the jobs they come to, and the real fio's reading of the same."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from drivelab.interop.fio.command_line import CommandLine, placed, read_command_line, with_places
from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment, Translation
from drivelab.model.errors import DrivelabError

# as their authors print them, devices and directories aside
PASTED = {
    "Ars Technica": "--name=random-write --ioengine=posixaio --rw=randwrite --bs=4k --size=4g --numjobs=1 --iodepth=1 "
    "--runtime=60 --time_based --end_fsync=1",
    "DigitalOcean": "--filename=/mnt/volume/fio.test --direct=1 --rw=randwrite --ioengine=libaio --bs=4K --iodepth=128 "
    "--name=rand-w --runtime=120s",
    "Google Cloud": "--name=write_throughput --directory=/mnt/disk --numjobs=16 --size=10G --time_based --runtime=5m "
    "--ramp_time=2s --ioengine=libaio --direct=1 --verify=0 --bs=1M --iodepth=64 --rw=write --group_reporting=1 "
    "--iodepth_batch_submit=64 --iodepth_batch_complete_max=64",
    "AWS": "--directory=/mnt/p_iops_vol0 --ioengine=psync --name fio_test_file --direct=1 --rw=randwrite --bs=16k "
    "--size=1G --numjobs=16 --time_based --runtime=180 --group_reporting --norandommap",
    "Oracle": "--filename=/dev/sdx --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=256 --runtime=120 "
    "--numjobs=4 --time_based --group_reporting --name=iops-test-job --eta-newline=1 --readonly",
    "gtod_reduce": "--randrepeat=1 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=test "
    "--filename=random_read_write.fio --bs=4k --iodepth=64 --size=4G --readwrite=randrw --rwmixread=75",
}
GIB = 2**30
EXPECTED = {
    "Ars Technica": (("write",), "posixaio", 4096, 1, 1, 60, 4 * GIB),
    "DigitalOcean": (("write",), "aio", 4096, 128, 1, 120, 0),
    "Google Cloud": (("write",), "aio", 2**20, 64, 16, 300, 10 * GIB),
    "AWS": (("write",), "sync", 16384, 1, 16, 180, GIB),
    "Oracle": (("read",), "aio", 4096, 256, 4, 120, 64 * GIB),
    "gtod_reduce": (("read", "write"), "aio", 4096, 64, 1, 0, 4 * GIB),
}
ENVIRONMENT = Environment(size_of=lambda path: 64 * GIB if path == "/dev/sdx" else None)


def translated(asked: CommandLine, folder: Path, *, strict: bool = False) -> Translation:
    text, places = asked.as_job_file()
    path = folder / "command.fio"
    path.write_text(text)
    return placed(translate_file(path, ENVIRONMENT, strict=strict), places)


@pytest.mark.parametrize("origin", PASTED)
def test_what_people_paste_is_understood_as_it_is(origin: str, tmp_path: Path) -> None:
    translation = translated(read_command_line(PASTED[origin].split()), tmp_path, strict=True)
    (job,) = translation.jobs
    pattern = job.pattern
    found = (pattern.operation_names, pattern.backend, pattern.sizes[0].bytes, pattern.queue_depth, pattern.job_count)
    assert (*found, pattern.runtime // 10**9, pattern.range_size) == EXPECTED[origin]


@pytest.mark.needs_tool("fio")
@pytest.mark.parametrize("origin", PASTED)
def test_the_command_line_is_shown_as_fio_shows_that_of_a_job_file(origin: str, tmp_path: Path) -> None:
    asked = read_command_line(PASTED[origin].split())
    path = tmp_path / "jobs.fio"
    path.write_text(asked.as_job_file()[0])
    shown = subprocess.run(["fio", "--showcmd", str(path)], capture_output=True, text=True, check=True).stdout
    ours = asked.as_words(ENVIRONMENT)
    assert ours.split() == shown.split()
    again = read_command_line(shlex.split(ours)[1:])
    assert again.as_words(ENVIRONMENT) == ours
    assert [job.pattern for job in translated(again, tmp_path).jobs] == [
        job.pattern for job in translated(asked, tmp_path).jobs
    ]
    assert subprocess.run(["fio", "--parse-only", *shlex.split(ours)[1:]], check=False, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("--bs=4k --name=a --size=1m --name=b --size=2m", "fio --bs=4k --name=a --size=1m --name=b --size=2m"),
        ("-name=a -rw=randread -bs 8k -size 1m", "fio --name=a --rw=randread --bs=8k --size=1m"),
        ("--name a --size 1m --time_based --runtime 1", "fio --name=a --size=1m --time_based --runtime=1"),
        ("--name=a --size=1m --iodepth_batch_s=4", "fio --name=a --size=1m --iodepth_batch=4"),
        ("--name=global --bs=8k --name=a --size=1m", "fio --bs=8k --name=a --size=1m"),
        ("--name=a --size=1m --name=b --size=2m --section=b", "fio --name=b --size=2m"),
        ("--name=a --size=1m --max-jobs=4 --eta=never", "fio --name=a --size=1m"),
    ],
)
def test_words_are_read_as_fio_reads_them(words: str, shown: str) -> None:
    assert read_command_line(words.split()).as_words(ENVIRONMENT) == shown


def test_options_before_a_job_hold_for_a_job_file_that_says_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "part.inc").write_text("rw=randread\n")
    (tmp_path / "one.fio").write_text("[global]\nbs=8k\n[x]\ninclude part.inc\n[y]\nrw=write\n")
    (tmp_path / "two.fio").write_text("[z]\nsize=2m\n")
    files = [str(tmp_path / f"{name}.fio") for name in ("one", "two")]
    translation = translated(read_command_line(["--bs=4k", "--size=1m", *files]), tmp_path)
    found = [(job.name, job.pattern.block_size, job.pattern.bytes, job.group) for job in translation.jobs]
    assert found == [("x", 8192, 2**20, 1), ("y", 8192, 2**20, 1), ("z", 4096, 2**21, 2)]
    places = [(Path(job.path).name, job.line) for job in translation.jobs]
    assert places == [("one.fio", 3), ("one.fio", 5), ("two.fio", 1)]
    only = read_command_line(["--size=1m", "--section=y", *files[:1]])
    assert [job.name for job in translated(only, tmp_path).jobs] == ["y"]


def test_a_line_of_the_job_file_is_a_word_of_the_command_line(tmp_path: Path) -> None:
    asked = read_command_line(["--name=a", "--size=1m", "--prio=3", "--nice=4"])
    notes = {note.option: (note.path, note.line) for note in translated(asked, tmp_path).notes}
    assert notes["nice"] == ("command line", 4)
    places = asked.as_job_file()[1]
    assert with_places("prio (/x/a.fio:3), b:2", "/x/a.fio", places) == "prio (command line:3), b:2"
    assert with_places("/x/a.fio", "/x/a.fio", places) == "command line"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--name=a --siize=1m", "--siize is no option"),
        ("--name=a --log=1", "--log may be"),
        ("--name=a --size", "--size needs a value"),
        ("--name=a --client=host", "--client: drivelab does nothing of that kind"),
        ("--section=global --name=a", "no section with a job"),
    ],
)
def test_words_that_fio_would_refuse_are_refused_and_counted(words: str, why: str) -> None:
    with pytest.raises(DrivelabError, match=re.escape(why)) as caught:
        read_command_line(words.split())
    assert (caught.value.code, caught.value.where.split(":")[0]) == ("U006", "command line")


def test_a_value_that_would_end_a_line_of_a_job_file_is_refused() -> None:
    with pytest.raises(DrivelabError, match="ends a value"):
        read_command_line(["--name=a", "--filename=/srv/a;b", "--size=1m"]).as_job_file()


@pytest.mark.provokes("U037")
def test_a_section_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    path = tmp_path / "jobs.fio"
    path.write_text("[x]\nrw=read\n[y]\nrw=write\n")
    with pytest.raises(DrivelabError, match="no job is called nope: there are x and y") as caught:
        read_command_line(["--section=nope", str(path)])
    assert caught.value.code == "U037"
