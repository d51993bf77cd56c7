"""What is one result of ``drivelab fio``: jobs of a section, of several files, of a group, and what they read back."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.main import run

pytestmark = pytest.mark.needs_tool("fio")
GROUP = """[global]
group_reporting
size=256k
bs=4k
[a]
rw=write
[b]
rw=read
numjobs=2
[c]
new_group
rw=randread
[d]
stonewall
rw=randwrite
verify=crc32c
[e]
stonewall
startdelay=1
rw=read
[f]
group_reporting=0
rw=read
"""


@pytest.fixture(autouse=True)
def _in_a_place_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def printed(tmp_path: Path, *words: str) -> tuple[str, str]:
    """What fio and drivelab print of the same command line, each in a directory of its own."""
    found = []
    for program in ("fio", "drivelab"):
        for place in ("p", "q"):
            (tmp_path / program / place).mkdir(parents=True)
        os.chdir(tmp_path / program)
        command = ["fio", *words, "--output=printed", "--eta=never"]
        if program == "fio":
            subprocess.run(command, check=True, capture_output=True)
        else:
            assert run(command) == 0
        found.append(Path("printed").read_text())
    return found[0], found[1]


def documents(tmp_path: Path, *words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same as JSON."""
    theirs, ours = printed(tmp_path, *words, "--output-format=json")
    return json.loads(theirs), json.loads(ours)


def counts(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            job["jobname"],
            job["groupid"],
            *(job[each][key] for each in ("read", "write") for key in ("total_ios", "io_bytes")),
        )
        for job in document["jobs"]
    ]


@pytest.mark.parametrize(
    "words", ["--filename=one:two", "--directory=p:q --numjobs=2 --group_reporting", "--numjobs=3 --group_reporting"]
)
def test_a_job_on_several_files_is_one_result(tmp_path: Path, words: str) -> None:
    asked = ["--name=a", "--bs=4k", "--size=64k", *words.split(), "--rw=randwrite", "--ioengine=libaio", "--iodepth=4"]
    theirs, ours = documents(tmp_path, *asked)
    assert counts(ours) == counts(theirs)


@pytest.mark.parametrize(
    "words",
    [
        "--numjobs=3 --rw=randwrite",
        "--numjobs=3 --filename=shared --rw=read --group_reporting=0",
        # at distances that are not their size
        "--numjobs=3 --filename=shared --filesize=1m --offset_increment=96k --rw=write",
        "--numjobs=2 --rw=write --verify=crc32c",
        "--numjobs=2 --rw=randrw --nrfiles=2 --unified_rw_reporting=both",
    ],
)
def test_each_job_has_a_result_unless_its_group_has_one(tmp_path: Path, words: str) -> None:
    asked = ["--name=a", "--bs=4k", "--size=64k", "--ioengine=psync", "--thread", *words.split()]
    theirs, ours = documents(tmp_path, *asked)
    assert len(ours["jobs"]) == len(theirs["jobs"]) > 1
    if "randrw" not in words:
        assert counts(ours) == counts(theirs)
    for job in ours["jobs"]:
        for direction in ("read", "write"):
            found = job[direction]
            moved, latency = found["total_ios"], found["clat_ns"]
            assert found["io_bytes"] == 4096 * moved
            assert latency["N"] == moved
            assert (latency["min"] > 0) == (latency["mean"] > 0) == (found["iops"] > 0) == (moved > 0)
        assert {**job["job options"], "numjobs": "2"} == {**theirs["jobs"][0]["job options"], "numjobs": "2"}
        assert set(job) - {"drivelab_job_count"} == set(theirs["jobs"][0])


@pytest.mark.parametrize(
    "asked",
    [
        ["--name=a", "--size=64k", "--rw=write", "--numjobs=2 * 1"],
        ["--name=a", "--size=64k", "--rw=write", "--numjobs=2", "--group_reporting"],
        ["../group.fio"],
    ],
)
def test_how_many_jobs_a_result_tells_of_is_printed(tmp_path: Path, asked: list[str]) -> None:
    (tmp_path / "group.fio").write_text(GROUP)
    heads = re.compile(r"^(\w+: \(groupid=\d+, jobs=.*\)): err", re.MULTILINE)
    theirs, ours = map(heads.findall, printed(tmp_path, *asked))
    assert ours == theirs


def test_a_group_that_reports_as_one_is_one_result_in_the_order_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "group.fio").write_text(GROUP)
    theirs, ours = documents(tmp_path, "../group.fio")
    assert counts(ours) == counts(theirs)
    assert [disk["name"] for disk in ours["disk_util"]] == [disk["name"] for disk in theirs["disk_util"]]


def test_reads_of_a_mix_are_counted_beside_what_it_read_back(tmp_path: Path) -> None:
    asked = ["--name=a", "--bs=4k", "--size=1m", "--rw=randrw", "--verify=crc32c"]
    for document in documents(tmp_path, *asked):
        (job,) = document["jobs"]
        # half of the 256 blocks are read, the others written, and those are read back
        assert job["read"]["total_ios"] == 256
        assert job["read"]["runtime"] >= 1


def test_what_several_jobs_wrote_to_one_file_is_read_back_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--name=a", "--bs=4k", "--size=64k", "--rw=randwrite", "--numjobs=3", "--filename=x", "--verify=crc32c"]
    assert run(["fio", *words, "--output-format=json"]) == 0
    printed, told = capsys.readouterr()
    jobs = json.loads(printed)["jobs"]
    assert [(job["write"]["total_ios"], job["read"]["total_ios"]) for job in jobs] == [(16, 16), (16, 0), (16, 0)]
    assert "what all jobs wrote is read back once" in told
    with Path("x").open("r+b") as file:
        file.seek(15 * 4096 + 300)
        file.write(b"damaged")
    assert run(["fio", "--name=a", "--bs=4k", "--size=64k", "--rw=read", "--filename=x", "--verify=crc32c"]) != 0


def test_which_of_several_files_is_damaged_is_not_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fio", "--name=a", "--bs=4k", "--size=64k", "--numjobs=2", "--verify=crc32c"]
    assert run([*words, "--rw=write"]) == 0
    with Path("a.1.0").open("r+b") as file:
        file.seek(20580)
        file.write(b"damaged")
    capsys.readouterr()
    assert run([*words, "--rw=read"]) != 0
    told = " ".join(capsys.readouterr().err.split())
    assert "what was read at byte 20480" in told
    assert "a.0.0, or another of the 2 files" in told


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (
            "--rw=randrw --numjobs=2",
            "nothing is read back afterwards: not all is written; as in fio what is read among",
        ),
        ("--rw=randrw", "what was written twice is read twice; as in fio what is read among writes is not checked"),
        ("--rw=write --loops=2", "what several passes wrote is read back once, behind the last"),
        ("--rw=randwrite --bsrange=4k-16k", "all is read back in blocks of 16384 B"),
    ],
)
def test_what_is_read_back_otherwise_than_by_fio_is_told(
    capsys: pytest.CaptureFixture[str], words: str, what: str
) -> None:
    assert run(["fio", "--parse-only", "--name=a", "--size=1m", "--verify=crc32c", *words.split()]) == 0
    assert what in capsys.readouterr().err
