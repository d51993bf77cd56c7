"""A job file as an experiment, as what `drivelab import` shows, and as the pages tell it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from drivelab.cli.import_job import described, show
from drivelab.experiments.load import load_experiment
from drivelab.interop.fio.as_experiment import as_experiment, to_toml
from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.workload_pattern import WorkloadPattern
from fio_options import PAGE, option_page

JOB_FILES = Path(__file__).parent / "fio_jobs"


@pytest.mark.parametrize("name", ["two_phases", "mixed_sizes"])
def test_the_file_of_an_experiment_is_read_back_as_it_was(name: str, tmp_path: Path) -> None:
    experiment = as_experiment(translate_file(JOB_FILES / f"{name}.fio", Environment()))
    assert Experiment.model_validate(tomllib.loads(to_toml(experiment))) == experiment
    path = tmp_path / "mine.toml"
    path.write_text(to_toml(experiment))
    assert load_experiment(str(path)) == experiment


def test_jobs_at_the_same_time_are_together_and_checks_follow(tmp_path: Path) -> None:
    path = tmp_path / "x Y.fio"
    path.write_text(
        '[global]\nsize=1m\n[Same "name"]\nrw=write\nverify=md5\n[Same "name"]\nrw=read\n'
        "[c]\nstonewall\nfilename=/a:/b\nioengine=libaio\niodepth=4\n"
    )
    experiment = as_experiment(translate_file(path, Environment()))
    assert experiment.name == "x-y"
    assert [(each.name, each.together, each.operation) for each in experiment.workloads] == [
        ("same-name", "group-1", "write"),
        ("same-name-2", "group-1", "read"),
        ("same-name-verify", "", "read"),
        ("c", "group-2", "read"),
        ("c-2", "group-2", "read"),
    ]
    assert experiment.workloads[2].verify
    assert Experiment.model_validate(tomllib.loads(to_toml(experiment))) == experiment


def test_what_is_not_as_in_fio_stands_in_the_description() -> None:
    experiment = as_experiment(translate_file(JOB_FILES / "two_phases.fio", Environment()))
    assert "line 31: prioclass=1: not honoured: start drivelab with ionice" in experiment.description.splitlines()


def test_import_shows_jobs_options_and_the_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert show(JOB_FILES / "two_phases.fio") == 0
    shown = capsys.readouterr().out
    assert "3 jobs of fio, in 2 groups" in shown
    assert "group 2 (at the same time)\n  reader: random read, 4 KiB, depth 16, direct, 2 jobs, backend aio" in shown
    assert "destroys: nothing" in shown
    assert "two_phases.fio:31: prioclass=1: not honoured: start drivelab with ionice" in shown
    begin = shown.index("format = 1")
    toml = shown[begin : shown.index("run the job file itself")]
    assert Experiment.model_validate(tomllib.loads(toml)).name == "two-phases"


def test_import_shows_the_order_of_each_operation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "jobs.fio"
    job.write_text("[a]\nrw=randrw\nrwmixread=30\npercentage_random=9,90\nsize=1m\n[b]\nrw=rw\nsize=1m\n")
    show(job)
    shown = capsys.readouterr().out
    assert "a: 30 % read (9 % random), 70 % write (90 % random), 4 KiB" in shown
    assert "b: 50 % read (sequential), 50 % write (sequential), 4 KiB" in shown


def test_import_tells_what_it_would_destroy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").write_bytes(b"precious")
    job = tmp_path / "jobs.fio"
    job.write_text(f"[a]\nrw=write\nsize=1m\nfilename={tmp_path}/data\n[b]\nrw=write\nsize=1m\nfilename=/dev/nosuch\n")
    with job.open("a") as file:
        file.write("[c]\nstonewall\nrw=write\nsize=2m\nfilename=/dev/nosuch\n")
    show(job, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["destroys"] == [f"what is in {tmp_path}/data (a)", "what is on /dev/nosuch (b, c)"]
    assert [job["name"] for job in document["jobs"]] == ["a", "b", "c"]
    assert document["jobs"][0]["resolved"]["bs"] == "4096"
    # a file that is too small is made afresh, as in fio
    assert WorkloadPattern.from_json(document["jobs"][0]["pattern"]).file_state == "preallocated"
    assert {note["option"]: note["effect"] for note in document["notes"]}["rw"] == "honoured"


@pytest.mark.provokes("U038")
def test_the_experiment_is_written_to_a_new_file_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "mine.toml"
    show(JOB_FILES / "two_phases.fio", output=output)
    assert f"drivelab plan {output} TARGET" in capsys.readouterr().out
    before = output.read_text()
    assert load_experiment(str(output)).name == "two-phases"
    for place in (output, tmp_path / "no" / "where.toml"):
        with pytest.raises(DrivelabError) as caught:
            show(JOB_FILES / "two_phases.fio", output=place)
        assert caught.value.code == "U038"
    assert output.read_text() == before


def test_a_pattern_is_described_in_one_line() -> None:
    pattern = WorkloadPattern(
        read_fraction=0.7, access={"kind": "hot_cold"}, block_size=8192, queue_depth=2, count=5, durability="fsync",
        sync_every_writes="end", pacing={"kind": "poisson", "rate_per_s": 50},
    )  # fmt: skip
    assert described(pattern) == (
        "hot cold 70 % read, 30 % write, 8 KiB, depth 2, buffered, fsync at the end, "
        "50 a second, poisson, at most 5 I/Os"
    )
    tree = WorkloadPattern(operation="make_directory", file_count=9)
    assert described(tree) == "make directory, 9 files"


def test_the_page_of_options_is_made_of_the_list() -> None:
    is_up_to_date = PAGE.read_text() == option_page()
    assert is_up_to_date, "make docs"
