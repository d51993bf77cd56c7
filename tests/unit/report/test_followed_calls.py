"""The answer about a followed program: its syncs first, in at most 30 words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drivelab.analyse.followed_calls import CallSummary
from drivelab.model.system_calls import FILE_UNKNOWN
from drivelab.model.trace import PARTS
from drivelab.report.followed_calls import (
    answer,
    calls_table,
    left_out_lines,
    neighbour_words,
    over_words,
    part_meanings,
    processor_words,
    recording_words,
)


def summary(call: str, **parts: int) -> CallSummary:
    return CallSummary(call, 1200, 40.0, 1e6, 5e6, 9e6, {part: parts.get(part, 0) for part in PARTS})


def test_the_answer_is_about_syncs_where_there_are_any_and_has_30_words_at_most() -> None:
    found = answer("etcd", [summary("write", fs_in=9), summary("fdatasync", flush=60, device=20, queue=10, fs_in=10)])
    assert found.startswith("etcd's ")
    assert found.endswith(" at p99: 60 % flush, 20 % device, 10 % software, 10 % queue.")
    assert len(found.split()) <= 30
    refused = answer("etcd", [summary("fsync", flush=1)], "2 events were lost")
    assert refused.endswith("at p99; where it went is not known: 2 events were lost.")
    assert answer("x", []) == "x made no call on this disk."


def test_a_few_calls_that_took_no_time_are_not_what_the_program_was_about() -> None:
    result = replace(summary("write", fs_in=9), count=2, p50_ns=15_000.0)
    load = replace(summary("io_uring read", device=60, fs_in=40), count=200_000, p50_ns=194_000.0)
    assert answer("fio", [load, result]).startswith("fio's 200 000 io_uring read calls".replace(" 000", "\u202f000"))
    # a sync every hundred writes is what a program waits for, though its writes are many
    sync = replace(summary("fsync", flush=9), count=2_000, p50_ns=200_000.0)
    assert answer("log", [load, sync]).startswith("log's 2")


def test_a_table_tells_where_the_time_of_each_call_went() -> None:
    (row,) = calls_table([summary("fsync", flush=90, device=8, between=2)]).rows
    assert row[0].text == "fsync"
    assert row[-1].text == "flush 90 %, device 8 %"


def test_what_was_left_out_is_told() -> None:
    assert list(left_out_lines({"calls that failed": 2}, 1, 3, {})) == [
        "Left out: 2 calls that failed, 1 call without its entry or return.",
        "Lost: 3 events of calls.",
    ]


def test_one_call_that_was_left_out_is_told_as_one() -> None:
    told, which = left_out_lines({"calls that failed": 1, FILE_UNKNOWN: 1}, 0, 0, {"pread64": 1})
    assert told == (
        "Left out: 1 call that failed, 1 read or write whose file could not be told, since it was closed or its thread "
        "had ended before that was looked up."
    )
    assert which == "Those whose file could not be told: 1 pread64."


def test_a_row_says_of_how_many_calls_it_is_and_no_median_of_a_few_of_them() -> None:
    def cells(unknown: int) -> list[str]:
        (row,) = calls_table([replace(summary("pwrite64", fs_in=9), of_unknown_files=unknown)]).rows
        return [cell.text.replace("\u00a0", " ").replace("\u202f", " ") for cell in row]

    # what a program does while it starts
    assert cells(11)[1:6] == ["1 200", "40.0", "1.00 ms", "5.00 ms", "9.00 ms"]
    assert cells(300)[1:6] == ["1 200 of 1 500", "40.0", "1.00 ms", "5.00 ms", "9.00 ms"]
    assert cells(1201)[1:6] == ["1 200 of 2 401", "≥ 40.0", "unknown", "unknown", "≥ 9.00 ms"]
    told = answer("storm", [replace(summary("pwrite64", fs_in=9), of_unknown_files=1201)]).replace("\u202f", " ")
    assert told.startswith("storm's 1 200 of 2 401 pwrite64 calls whose file is known took 1.00")


def test_another_program_at_the_drive_is_told_as_the_cause() -> None:
    assert neighbour_words("dd", 0.19) == ""
    told = "dd uses the same drive: its requests were there 81 % of the time spent waiting for syncs."
    assert neighbour_words("dd", 0.812) == told


def test_waiting_for_a_processor_is_told_from_a_tenth_of_the_time_or_a_third_of_the_software() -> None:
    assert processor_words(99_000_000, 1_000_000_000, 900_000_000) == ""
    # what a thread that sleeps in each I/O always waits
    assert processor_words(20_000_000, 1_000_000_000, 60_000_000) == ""
    assert processor_words(99_000_000, 1_000_000_000, 300_000_000)
    told = processor_words(711_000_000, 3_540_000_000, 3_000_000_000).replace("\u00a0", " ")
    assert told == (
        "The machine is busy: the program's threads waited 711 ms of 3.54 s for a processor, which counts as software."
    )


def test_how_many_calls_took_longer_than_asked_is_told_with_their_share_of_the_time() -> None:
    latency = np.array([1_000_000] * 96 + [6_000_000] * 4)
    told = over_words(latency, 5_000_000).replace("\u00a0", " ")
    assert told == "4 of 100 calls took longer than 5.00 ms: 20 % of the time."
    assert over_words(latency, 9_000_000).startswith("0 of 100 calls took longer than 9.00")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            "io_uring read",
            "io_uring: until the kernel has posted the completion, and not until the program looks for it.",
        ),
        ("aio write", "aio: until its last bio has ended, and not until the program looks for it."),
    ],
)
def test_what_is_submitted_lasts_until_it_is_done_and_not_until_the_program_looks(call: str, words: str) -> None:
    assert list(part_meanings([summary(call, device=9)])) == [words]


def test_parts_of_software_are_explained_where_the_table_names_them() -> None:
    assert list(part_meanings([summary("fsync", flush=90, device=10)])) == []
    (told,) = part_meanings([summary("fsync", device=50, between=50), summary("write", fs_in=9)])
    assert told == (
        "Software is file system, between and return together; file system: from the call until its first bio; "
        "between: nothing is at the device: journal, wake-ups, hand-over."
    )


def test_what_a_reader_has_to_know_of_the_recording_is_told_and_nothing_else() -> None:
    whole = {"source": "BPF", "threads_not_followed": 0, "calls_of_32_bits": 0, "gaps": 0, "unbegun": 1}
    assert list(recording_words(whole)) == []
    assert list(recording_words({})) == []
    told = recording_words({**whole, "threads_not_followed": 3, "calls_of_32_bits": 1})
    assert list(told) == [
        "3 threads were not followed, since the kernel had no room for more: their calls are missing.",
        "1 call of 32 bits was not recorded.",
    ]
    (told_of_source,) = recording_words({"source": "trace events", "why_not_bpf": "the kernel takes no programs: No"})
    assert told_of_source == (
        "Calls were recorded by trace events, which cost the program more than BPF: the kernel takes no programs: No."
    )
