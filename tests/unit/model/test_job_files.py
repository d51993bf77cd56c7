"""Which workloads may have several files for each job."""

from typing import Any

import pytest
from pydantic import ValidationError

from drivelab.model.held_target import HeldTarget
from drivelab.model.job_files import JobFiles, name_of_file
from drivelab.model.workload import TargetRange, Workload
from drivelab.model.workload_pattern import WorkloadPattern

FILES: dict[str, Any] = {"count": "16", "job_files": {"count": 4}, "file_size": "1MiB"}


@pytest.mark.parametrize(
    ("keys", "files"),
    [({}, 4), ({"job_count": 3, "own_files": True}, 12), ({"job_count": 3, "share_range": True}, 4)],
)
def test_each_job_has_its_files_or_all_share_them(keys: dict[str, Any], files: int) -> None:
    assert WorkloadPattern.model_validate(FILES | keys).own_file_count == files


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ({"job_count": 3}, "own_files"),
        ({"backend": "mmap"}, "mmap has one file"),
        ({"file_state": "append"}, "not appended to"),
        ({"access": {"kind": "same"}}, "one place"),
        ({"durability": "fsync", "sync_every_writes": 8}, "of one file durable"),
    ],
)
def test_what_several_files_are_not_for_is_refused(keys: dict[str, Any], what: str) -> None:
    with pytest.raises(ValidationError, match=what):
        WorkloadPattern.model_validate(FILES | keys)


def test_files_are_called_as_those_of_fio() -> None:
    assert [name_of_file("job.0.0", number, 2) for number in range(4)] == ["job.0.0", "job.0.1", "job.1.0", "job.1.1"]
    assert [name_of_file("$jobnum/$filenum", number, 2) for number in range(3)] == ["0/0", "0/1", "1/0"]
    assert [name_of_file("job.0.0", number) for number in range(2)] == ["job.0.0", "job.1.0"]
    assert [name_of_file("shared.0", number, 2) for number in range(2)] == ["shared.0", "shared.1"]
    assert [name_of_file("trial.data", number, 2) for number in range(3)] == [
        "trial.data",
        "trial.data.1",
        "trial.data.2",
    ]


def test_a_job_has_its_part_of_the_files_or_all_of_them() -> None:
    held = [HeldTarget(descriptor=number, device=1, inode=number) for number in range(4)]
    target = TargetRange(path="/data/job.0.0", held=held[0], others=tuple(held[1:]))
    own = Workload(target=target, job_count=2, own_files=True, job_files=JobFiles(count=2))
    shared = Workload(target=target, job_count=2, share_range=True, job_files=JobFiles(count=4))
    assert [one.held for one in own.files_of_job(1)] == held[2:]
    assert [one.held for one in shared.files_of_job(1)] == held
    assert [one.held for one in Workload(target=target, job_count=4, own_files=True).files_of_job(2)] == held[2:3]
