"""What a job file says of a recording becomes the command that issues it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment
from drivelab.model.errors import DrivelabError


@pytest.mark.parametrize(
    ("lines", "command"),
    [
        ("read_iolog=log\ndirect=1", "drivelab replay log /dev/sdx"),
        ("read_iolog=a log\nreplay_no_stall=1\niodepth=8", "drivelab replay 'a log' /dev/sdx --as-fast-as-possible"),
        (
            "read_iolog=log\nreplay_redirect=/dev/sdy\nreplay_time_scale=200\nreplay_scale=4",
            "drivelab replay log /dev/sdy --speed 2",
        ),
    ],
)
def test_a_job_that_reads_a_recording_is_told_the_command_for_it(tmp_path: Path, lines: str, command: str) -> None:
    path = tmp_path / "jobs.fio"
    path.write_text(f"[job]\nfilename=/dev/sdx\n{lines}\n")
    with pytest.raises(DrivelabError) as caught:
        translate_file(path, Environment(size_of=lambda _path: 2**30))
    assert caught.value.do.startswith(command)
    assert ("--buffered" in caught.value.do) == ("direct=1" not in lines)
    assert ("--queue-depth 8" in caught.value.do) == ("iodepth=8" in lines)
    assert ("--scale-to-target" in caught.value.do) == ("replay_scale" in lines)


def test_a_recording_is_played_once_and_not_for_each_of_numjobs(tmp_path: Path) -> None:
    path = tmp_path / "jobs.fio"
    path.write_text("[job]\nfilename=/dev/sdx\nread_iolog=log\nnumjobs=4\n")
    with pytest.raises(DrivelabError) as caught:
        translate_file(path, Environment(size_of=lambda _path: 2**30))
    assert "plays it once, and not for each of numjobs=4" in caught.value.what
