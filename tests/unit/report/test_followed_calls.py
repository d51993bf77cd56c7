"""The answer about a followed program: the calls that took most of its time first, in at most 30 words."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.analyse.followed_calls import CallSummary, SlowCall
from drivelab.model.system_calls import FILE_UNKNOWN
from drivelab.model.trace import PART_MEANINGS, PARTS
from drivelab.report.followed_calls import (
    answer,
    calls_table,
    over_words,
    part_meanings,
    shown_calls,
    story,
    where,
)
from drivelab.report.followed_remarks import (
    elsewhere_words,
    left_out_lines,
    neighbour_words,
    outside_words,
    processor_words,
    recording_words,
)


def summary(call: str, **parts: int) -> CallSummary:
    time_ns = sum(parts.values())
    return CallSummary(call, 1200, 40.0, 1e6, 5e6, 9e6, time_ns, {part: parts.get(part, 0) for part in PARTS})


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u202f", " ")


def test_the_answer_is_about_the_calls_that_took_most_of_the_time_and_has_30_words_at_most() -> None:
    found = plain(
        answer("etcd", [summary("write", fs_in=9), summary("fdatasync", flush=60, device=20, queue=10, fs_in=10)])
    )
    assert found.startswith("etcd's 1 200 fdatasync calls (92 % of its time in calls) took 1.00 ms at the median, ")
    assert found.endswith(" at p99: 60 % flush, 20 % device, 10 % software, 10 % queue.")
    assert len(re.sub(r"(\d) (?=\d|%|ms)", r"\1", found).split()) <= 30
    refused = answer("etcd", [summary("fsync", flush=1)], "2 events were lost")
    assert refused.endswith("at p99; where it went is not known: 2 events were lost.")
    assert answer("x", []) == "x made no call on this disk."


def test_the_answer_names_who_made_the_calls_and_says_so_where_that_are_several() -> None:
    calls = [replace(summary("fdatasync", flush=9), count=112)]
    assert plain(answer("strace", calls, callers=("sqlite3",))).startswith(
        "sqlite3's 112 fdatasync calls (100 % of the time in calls) took 1.00 ms at the median, 5.00 ms at p99"
    )
    assert plain(answer("python3+etcd", calls, callers=("etcd", "python3"))).startswith(
        "112 fdatasync calls of etcd and 1 other program (100 % of the time in calls) took"
    )
    assert plain(answer("web", calls, callers=("a", "b", "c"))).startswith("112 fdatasync calls of a and 2 other prog")
    assert plain(answer("etcd", calls, callers=("etcd",))).startswith("etcd's 112 fdatasync calls (100 % of its time")


def test_few_calls_have_a_bound_in_place_of_a_p99() -> None:
    few = replace(summary("fdatasync", flush=9), count=3, p99_ns=None, p99_at_least_ns=4e6)
    (row,) = calls_table([few]).rows
    assert [plain(cell.text) for cell in row[3:6]] == ["1.00 ms", "≥ 4.00 ms", "9.00 ms"]
    assert "took 1.00 ms at the median, at most 9.00 ms: 100 % flush." in plain(answer("etcd", [few]))


def test_a_row_of_which_calls_are_missing_is_never_folded() -> None:
    calls = [summary(name, fs_in=9 - place) for place, name in enumerate("abcdefg")]
    assert [one.call for one in shown_calls(calls, 5)] == ["a", "b", "c", "d", "e"]
    calls[5] = replace(calls[5], count=235, of_unknown_files=21)
    assert [one.call for one in shown_calls(calls, 5)] == ["a", "b", "c", "d", "f"]
    assert shown_calls(calls[:3], 5) == calls[:3]


def test_a_sync_that_took_less_than_others_is_not_what_the_program_waited_for() -> None:
    sync = replace(summary("fsync", flush=162), count=1, p50_ns=162e6)
    load = replace(summary("io_uring read", device=8_000, fs_in=38), count=38_415)
    for summaries in ([load, sync], [sync, load]):
        told = plain(answer("fio", summaries))
        assert told.startswith("fio's 38 415 io_uring read calls (98 % of its time in calls) took")
    only = plain(answer("fio", [sync]))
    assert only == "fio's only fsync call (100 % of its time in calls) took 162 ms: 100 % flush."
    both = plain(answer("fio", [replace(sync, count=2, p50_ns=2e3, slowest_ns=161e6, time_ns=162_000_000)]))
    assert both == "fio's 2 fsync calls (100 % of its time in calls) took 1.00 ms and 161 ms: 100 % flush."


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
    told = plain(answer("storm", [replace(summary("pwrite64", fs_in=9), of_unknown_files=1201)]))
    known = "storm's 1 200 of 2 401 pwrite64 calls whose file is known"
    assert told.startswith(f"{known} (100 % of its time in calls) took 1.00")


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
        "The machine is busy: the program waited 711 ms of 3.54 s for a processor, which counts as software."
    )


def test_what_several_threads_waited_together_is_not_set_against_the_time_that_passed() -> None:
    told = plain(processor_words(24_100_000_000, 1_010_000_000, 1_000_000_000, 32))
    assert told == (
        "The machine is busy: in 1.01 s the program's 32 threads together waited 24.1 s for a processor, "
        "which counts as software."
    )


def test_of_a_slow_call_it_is_told_how_long_others_were_at_the_drive_while_nothing_of_it_was() -> None:
    slow = slow_call("dd", between=9)
    assert "others" not in story(replace(slow, others_alone_ns=899_999), "etcd")
    told = plain(story(replace(slow, others_alone_ns=2_000_000), "etcd"))
    assert told.endswith("dd 9.00 ms; others were there for 2.00 ms while nothing of it was")


def test_how_many_calls_took_longer_than_asked_is_told_with_their_share_of_the_time() -> None:
    slow = [replace(summary("fsync", flush=18_000_000), count=3), replace(summary("write", fs_in=6_000_000), count=1)]
    told = plain(over_words(slow, 5_000_000, 100, 120_000_000, ("fsync", 9_000_000)))
    assert told == "4 of 100 calls took longer than 5.00 ms: 20 % of the time."
    whole = plain(answer("etcd", slow, over=told))
    assert whole.startswith(f"{told} Of these, etcd's 3 fsync calls (75 % of their time) took 1.00 ms")
    none = plain(over_words([], 9_000_000, 100, 120_000_000, ("fsync", 8_000_000)))
    assert answer("etcd", [], over=none) == none
    assert none == "0 of 100 calls took longer than 9.00 ms; the slowest, of fsync, took 8.00 ms."
    assert plain(over_words([], 9_000_000, 0, 0, ("", 0))) == "0 of 0 calls took longer than 9.00 ms."


def slow_call(*processes: str, **parts: int) -> SlowCall:
    at_drive_ns = {name: 1_000_000 * (9 - place) for place, name in enumerate(processes)}
    return SlowCall("fsync", "/a", 7, 0, 9_000_000, {part: parts.get(part, 0) for part in PARTS}, at_drive_ns)


def test_who_was_at_the_drive_is_told_of_a_call_that_went_there_and_of_no_other() -> None:
    told = plain(story(slow_call("dd", "find", flush=9), "etcd"))
    assert told == "9.00 ms fsync by etcd of /a: flush 100 %; at the drive meanwhile: dd 9.00 ms and find 8.00 ms"
    assert story(slow_call(flush=9), "etcd").endswith("flush 100 %; nothing was at the drive")
    cached = story(slow_call("dd", "find", fs_in=9), "etcd")
    assert cached.endswith("file system 100 %; nothing of it went to the drive")


@pytest.mark.parametrize(
    ("most", "words"),
    [
        (3, "at the drive meanwhile: a 9.00 ms, b 8.00 ms, c 7.00 ms and 1 more"),
        (1, "at the drive meanwhile: a 9.00 ms and 3 more"),
    ],
)
def test_processes_that_have_no_room_are_counted(most: int, words: str) -> None:
    assert plain(story(slow_call("a", "b", "c", "d", flush=9), "etcd", most)).endswith(words)


def test_layers_are_named_where_the_table_tells_of_them() -> None:
    layers = ["dm-crypt home", "loop0", "md0"]
    one = CallSummary("fsync", 1, 1.0, 9.0, 9.0, 9.0, 100, {"layers": 60, "flush": 40}, layers_ns={"dm-crypt home": 60})
    (told,) = part_meanings([one], layers)
    assert told == "dm-crypt home is a layer between the file system and the drive."
    assert answer("etcd", [one]).endswith(": 60 % dm-crypt home, 40 % flush.")
    both = replace(one, layers_ns={"dm-crypt home": 20, "loop0": 40})
    (told,) = part_meanings([both], layers)
    assert told == "dm-crypt home and loop0 are layers between the file system and the drive."
    assert plain(where(both)) == "loop0 40 %, flush 40 %, dm-crypt home 20 %"
    # of an older recording no title is known
    assert where(replace(one, layers_ns={})) == "layers 60 %, flush 40 %"
    assert list(part_meanings([summary("fsync", flush=9)], ["loop0"])) == []


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
        "between: nothing of the call is at the device: journal, wake-ups, hand-over."
    )


def test_the_documentation_says_of_a_part_what_every_result_says() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "explain.md"
    assert f"| between | {PART_MEANINGS['between']} |" in page.read_text()


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


def test_another_disk_and_reads_outside_of_calls_are_told_from_a_share_on() -> None:
    assert elsewhere_words(50, "/srv/a b/log", 50, 100) == ""
    assert elsewhere_words(4, "/srv/a b/log", 1, 100) == ""
    told = plain(elsewhere_words(5_000_000, "/srv/a b/log", 1_000_000, 100_000_000))
    assert told == (
        "It spent more time on another disk (5.00 ms, here 1.00 ms): follow it there with --path '/srv/a b'."
    )
    assert outside_words(0, 0, 0, 0) == ""
    assert outside_words(3, 4096, 4, 100) == ""
    assert plain(outside_words(1, 4096, 5_000_000, 100_000_000)) == (
        "1 read was sent by its threads outside of these calls (4 KiB, 5.00 ms): "
        "most likely page faults of mapped files."
    )
