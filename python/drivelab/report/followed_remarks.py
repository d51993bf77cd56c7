"""What is told of a followed program beside its calls: what made it slow, and what was left out."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from drivelab.model.system_calls import FILE_UNKNOWN
from drivelab.model.units import format_bytes
from drivelab.report.numerals import count_text, latency_text

# a thread that sleeps in each I/O waits a little for its processor each time, on an idle machine too
_WAIT_TOLD_FROM = 0.1
# ... a few per cent of the software of its calls; where it is so much of that, and not a moment, it is a cause
_WAIT_OF_SOFTWARE_FROM, _WAIT_TOLD_NS = 0.3, 50_000_000
# from such a share on a neighbour is a cause
_NEIGHBOUR_TOLD_FROM = 0.2
# of the time of following; what is less, as loading a program takes, it did not wait for
_ELSEWHERE_TOLD_FROM = 0.05
# of the time of all calls
_OUTSIDE_TOLD_FROM = 0.05
_PLURALS = re.compile(r"\b(call|read|write)s\b")


def neighbour_words(name: str, share: float) -> str:
    """That another program used the drive while this one waited for it; empty where that is little."""
    if share < _NEIGHBOUR_TOLD_FROM:
        return ""
    there = f"its requests were there {100 * share:.0f} % of the time spent waiting for syncs"
    return f"{name} uses the same drive: {there}."


def processor_words(wait_ns: int, duration_ns: int, software_ns: int, threads: int = 1) -> str:
    """How long the program was ready to run and found no processor; empty where that is little.

    Parameters
    ----------
    wait_ns, duration_ns : int
        How long its threads waited, all together, and how long it was followed.
    software_ns : int
        What of its calls is told as software: the wait is in it.
    threads : int
        How many it has.
    """
    if wait_ns < min(_WAIT_TOLD_FROM * duration_ns, max(_WAIT_OF_SOFTWARE_FROM * software_ns, _WAIT_TOLD_NS)):
        return ""
    wait, duration = latency_text(wait_ns), latency_text(duration_ns)
    waited = f"the program waited {wait} of {duration} for a processor"
    if threads > 1:
        # a sum that may well be more than the time that passed
        waited = f"in {duration} the program's {count_text(threads)} threads together waited {wait} for a processor"
    return f"The machine is busy: {waited}, which counts as software."


def elsewhere_words(elsewhere_ns: int, path: str, calls_ns: int, duration_ns: int) -> str:
    """That the program spent more time on another disk; empty where `elsewhere_option` is.

    Parameters
    ----------
    elsewhere_ns, path, calls_ns, duration_ns
        As `elsewhere_option` takes them.
    """
    option = elsewhere_option(elsewhere_ns, path, calls_ns, duration_ns)
    there, here = latency_text(elsewhere_ns), latency_text(calls_ns)
    return (
        f"It spent more time on another disk ({there}, here {here}): follow it there with {option}." if option else ""
    )


def elsewhere_option(elsewhere_ns: int, path: str, calls_ns: int, duration_ns: int) -> str:
    """How it is followed on another disk, where it spent more time there, and that is not little of all; else empty.

    Parameters
    ----------
    elsewhere_ns, path : int, str
        How long calls on files of that disk took, and the file with most of it.
    calls_ns, duration_ns : int
        How long all calls here took, and how long the program was followed.
    """
    if elsewhere_ns <= calls_ns or elsewhere_ns < _ELSEWHERE_TOLD_FROM * duration_ns:
        return ""
    return f"--path {shlex.quote(os.path.dirname(path))}"


def outside_words(count: int, size_bytes: int, time_ns: int, calls_ns: int) -> str:
    """That the program waited for reads outside of its calls; empty where that is little beside them.

    Parameters
    ----------
    count, size_bytes, time_ns : int
        How many reads, what they read, and how long any of them was on its way.
    calls_ns : int
        How long all calls took.
    """
    if not count or time_ns < _OUTSIDE_TOLD_FROM * calls_ns:
        return ""
    sent = "1 read was" if count == 1 else f"{count_text(count)} reads were"
    told = f"{sent} sent by its threads outside of these calls ({format_bytes(size_bytes)}, {latency_text(time_ns)})"
    return f"{told}: most likely page faults of mapped files."


def recording_words(trace: Mapping[str, Any]) -> Iterator[str]:
    """What of the recording of calls a reader has to know; nothing where all went as it should.

    Parameters
    ----------
    trace : mapping
        What was counted of it, as `FollowedRecord.calls_trace` has it.
    """
    if threads := trace.get("threads_not_followed", 0):
        told = "1 thread was" if threads == 1 else f"{count_text(threads)} threads were"
        yield f"{told} not followed, since the kernel had no room for more: their calls are missing."
    if polled := trace.get("polled_requests", 0):
        taken = "1 request of io_uring was" if polled == 1 else f"{count_text(polled)} requests of io_uring were"
        yield f"{taken} taken from the ring by a polling thread (SQPOLL): waiting for it is not counted in their time."
    if calls := trace.get("calls_of_32_bits", 0):
        told = "1 call of 32 bits was" if calls == 1 else f"{count_text(calls)} calls of 32 bits were"
        yield f"{told} not recorded."
    if why := trace.get("why_not_bpf"):
        yield f"Calls were recorded by trace events, which cost the program more than BPF: {why}."


def _of_one(reason: str) -> str:
    """``call that failed`` for ``calls that failed``."""
    return _PLURALS.sub(r"\1", reason).replace("read and write", "read or write")


def left_out_lines(
    left_out: Mapping[str, int], unfinished: int, lost_events: int, of_unknown_files: Mapping[str, int]
) -> Iterator[str]:
    """What does not count, and why; which calls they were whose file nobody knows; what was lost."""
    told = [f"{count_text(count)} {_of_one(reason) if count == 1 else reason}" for reason, count in left_out.items()]
    if unfinished:
        what = "call without its" if unfinished == 1 else "calls without their"
        told.append(f"{count_text(unfinished)} {what} entry or return")
    if told:
        yield f"Left out: {', '.join(told)}."
    if FILE_UNKNOWN in left_out and of_unknown_files:
        # they may be of this disk
        named = ", ".join(f"{count_text(count)} {call}" for call, count in of_unknown_files.items())
        yield f"Those whose file could not be told: {named}."
    if lost_events:
        yield f"Lost: {count_text(lost_events)} events of calls."
