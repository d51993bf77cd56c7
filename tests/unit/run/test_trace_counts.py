"""What the lines of a block trace mean."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drivelab.run.trace_counts import classify, count_requests, lost_events, parse_trace
from drivelab.run.tracing.tracefs import TraceUnavailableError

HEADER = "# tracer: nop\n#\n#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION\n"


def line(rwbs: str, size: int, *, task: str = "drivelab-job-0", pid: int = 4242, tgid: str | None = None) -> str:
    shown = "" if tgid is None else f"({tgid:>7}) "
    return (
        f"    {task}-{pid}   {shown}[001] .....  4045.410316: block_rq_issue: "
        f"254,0 {rwbs} {size} () 332464128 + 8 be,0,4 [{task}]\n"
    )


def counts_of(*lines: str):  # type: ignore[no-untyped-def]
    return count_requests("sda", parse_trace([HEADER, *lines]))


@pytest.mark.parametrize(
    ("rwbs", "kind", "is_fua", "is_metadata"),
    [
        ("R", "read", False, False),
        ("RA", "read", False, False),
        ("WS", "write", False, False),
        ("WFS", "write", True, False),
        ("WSM", "write", False, True),
        ("WFSM", "write", True, True),
        ("FWFSM", "write", True, True),
        ("FF", "flush", False, False),
        ("FFS", "flush", False, False),
        ("FN", "flush", False, False),
        ("DS", "discard", False, False),
        ("N", "other", False, False),
    ],
)
def test_the_letters_of_a_request_name_its_kind(rwbs: str, kind: str, is_fua: bool, is_metadata: bool) -> None:
    assert classify(rwbs) == (kind, is_fua, is_metadata)


def test_one_append_on_a_journalling_file_system() -> None:
    journal = {"task": "jbd2/sda1-8", "pid": 300}
    counts = counts_of(
        line("WS", 4096),
        line("WSM", 8192, **journal),
        line("FF", 0, task="kworker/1:1H", pid=43),
        line("WFSM", 4096, **journal),
    )
    assert (counts.data_writes, counts.metadata_writes, counts.fua_writes, counts.flushes) == (3, 2, 1, 1)
    assert counts.bytes_written == 16384
    assert counts.foreign_requests == 0


def test_a_flush_that_has_not_been_taken_apart_carries_no_data() -> None:
    assert counts_of(line("FWS", 0), line("FF", 0)).data_writes == 0


def test_requests_of_other_programs_stand_apart() -> None:
    counts = counts_of(line("WS", 4096), line("WS", 4096, task="postgres", pid=77), line("R", 512, task="a b", pid=78))
    assert counts.data_writes == 1
    assert (counts.foreign_requests, counts.foreign) == (2, {"postgres": 1, "a b": 1})


def test_a_second_drivelab_is_another_program() -> None:
    own = str(os.getpid())
    counts = counts_of(line("WS", 4096, tgid=own), line("WS", 4096, tgid="1"))
    assert (counts.data_writes, counts.foreign_requests) == (1, 1)


def test_without_thread_groups_our_threads_are_known_by_their_name() -> None:
    assert counts_of(line("WS", 4096, tgid="-----")).foreign_requests == 0


def test_lost_events_make_the_counts_unusable() -> None:
    with pytest.raises(TraceUnavailableError, match="35 trace events were lost"):
        counts_of(line("WS", 4096), "CPU:1 [LOST 35 EVENTS]\n")


def test_a_line_of_another_kind_is_not_guessed_at() -> None:
    with pytest.raises(TraceUnavailableError, match="cannot be understood"):
        counts_of("some other format\n")


def test_events_dropped_by_the_buffer_are_summed_over_processors(tmp_path: Path) -> None:
    for number, dropped in enumerate((0, 3)):
        directory = tmp_path / "per_cpu" / f"cpu{number}"
        directory.mkdir(parents=True)
        text = (
            f"entries: 5\noverrun: {number}\ncommit overrun: 0\nbytes: 9\ndropped events: {dropped}\nread events: 1\n"
        )
        (directory / "stats").write_text(text)
    assert lost_events(tmp_path) == 4
