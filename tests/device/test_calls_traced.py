"""The calls of processes as the kernel records them, by BPF and by trace events: every call of every thread, once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.compute as pc
import pytest

from drivelab.model.system_calls import call_numbers
from drivelab.run.following import calls_by_bpf, calls_trace
from drivelab.run.following.recorded_calls import CallsTrace, RecordedCalls
from drivelab.run.tracing.disk import TracedDisk
from drivelab.run.tracing.tracefs import TraceUnavailableError

pytestmark = [pytest.mark.needs_root]

READS = 300
THREADS, CHILDREN = 4, 5
PREAD, READ = (call_numbers(os.uname().machine)[name] for name in ("pread64", "read"))
# its threads and children read, some of them as the first thing that they do; the parent waits in a call meanwhile
PROGRAM = """
import os, sys, threading
print(flush=True)
sys.stdin.readline()
def read(descriptor):
    for at in range(int(sys.argv[2])):
        os.pread(descriptor, 1, at)
descriptor = os.open(sys.argv[1], os.O_RDONLY)
threads = [threading.Thread(target=read, args=[descriptor]) for _ in range(int(sys.argv[3]))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
for _ in range(int(sys.argv[4])):
    if os.fork() == 0:
        open("/proc/self/comm", "w").write("reader")
        read(descriptor)
        os._exit(0)
    os.wait()
print(flush=True)
sys.stdin.readline()
"""


# a program of 64 bits that asks for its number as one of 32 bits does: getpid is there what writev is here
OF_32_BITS = """
import ctypes, mmap, sys
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
# mov eax, 20; int 0x80; ret
code.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))
asked = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
print(flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    asked()
print(flush=True)
sys.stdin.readline()
"""
# a thread that is not the first one becomes another program, which reads
BECOMES_ANOTHER = """
import os, signal, sys, threading
print(flush=True)
sys.stdin.readline()
reads = '''
import os, sys
descriptor = os.open(sys.argv[1], os.O_RDONLY)
for at in range(int(sys.argv[2])):
    os.pread(descriptor, 1, at)
print(flush=True)
sys.stdin.readline()
'''
words = [sys.executable, "-c", reads, *sys.argv[1:]]
threading.Thread(target=os.execv, args=[sys.executable, words]).start()
signal.pause()
"""


# one reads what is in memory, and then waits in a read for what another thread of it writes once it sees it there
SLEEPS = f"""
import os, sys, threading
print(flush=True)
sys.stdin.readline()
descriptor = os.open(sys.argv[1], os.O_RDONLY)
source, sink = os.pipe()
def read():
    for at in range(int(sys.argv[2])):
        os.pread(descriptor, 1, at)
    os.read(source, 1)
thread = threading.Thread(target=read)
thread.start()
while open(f"/proc/self/task/{{thread.native_id}}/syscall").read().split()[:2] != ["{READ}", hex(source)]:
    pass
os.write(sink, b"x")
thread.join()
print(flush=True)
sys.stdin.readline()
"""


def refused(*_: object, **__: object) -> Iterator[CallsTrace]:
    raise TraceUnavailableError("not here")


def recorded(
    tmp_path: Path, look: Callable[[CallsTrace], object] = lambda _: None, code: str = PROGRAM
) -> RecordedCalls:
    """What is recorded of the program, which is looked at before it begins to read and when it has done so."""
    path = tmp_path / "data"
    path.write_bytes(bytes(READS))
    words = [sys.executable, "-c", code, str(path), str(READS), str(THREADS), str(CHILDREN)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdout.readline()
        with calls_trace.calls_traced([program.pid], TracedDisk("none", 0, ())) as trace:
            look(trace)
            program.stdin.write("\n")
            program.stdin.flush()
            program.stdout.readline()
            # one that was waited for may have its last steps before it
            while trace.threads() != [program.pid]:
                time.sleep(0.01)
            look(trace)
            found = trace.stop()
        program.communicate("\n")
    return found


@pytest.mark.provokes("R431")
def test_in_a_pid_namespace_of_its_own_no_stranger_is_taken_for_the_program() -> None:
    script = (
        "from drivelab.run.following.calls_trace import calls_traced\n"
        "from drivelab.run.tracing.disk import TracedDisk\n"
        "with calls_traced([1], TracedDisk('none', 0, ())): pass\n"
    )
    words = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", script]
    told = subprocess.run(words, capture_output=True, text=True, check=False).stderr
    assert "R431" in told
    assert "pid namespace of its own" in told
    assert "--pid=host" in told


@pytest.mark.parametrize("source", ["BPF", "trace events"])
def test_every_call_of_every_thread_and_child_is_recorded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    if source != "BPF":
        monkeypatch.setattr(calls_trace, "traced_by_bpf", refused)
    found = recorded(tmp_path)
    assert (found.facts["source"], found.lost_events) == (source, 0)
    assert found.facts.get("why_not_bpf") == (None if source == "BPF" else "not here")
    reads = found.calls.filter([number == PREAD for number in found.calls["number"].to_pylist()])
    assert sorted(Counter(reads["thread"].to_pylist()).values()) == [READS] * (THREADS + CHILDREN)
    if source == "BPF":
        # those of threads have one process, and each child is its own
        assert len(set(found.processes.values())) == 1 + CHILDREN
        assert set(found.forks["child"].to_pylist()) <= set(found.processes)
    assert set(found.forks["child"].to_pylist()) == set(reads["thread"].to_pylist())
    assert Counter(reads["argument_3"].to_pylist()) == dict.fromkeys(range(READS), THREADS + CHILDREN)
    assert set(reads["argument_2"].to_pylist()) == set(reads["result"].to_pylist()) == {1}
    starts, ends = reads["start_ns"].to_pylist(), reads["end_ns"].to_pylist()
    assert starts == sorted(starts)
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    # it was in a call when it was first followed, and is in another one now
    assert (found.facts["unbegun"], found.facts["unfinished"]) == (1, 1)
    if source == "BPF":
        # what each was called when it ended; trace events know what it was called at some switch
        names = Counter(found.names[thread] for thread in found.forks["child"].to_pylist())
        assert (names["reader"], names.total()) == (CHILDREN, THREADS + CHILDREN)


@pytest.mark.parametrize("source", ["BPF", "trace events"])
def test_a_call_that_sleeps_is_told_from_those_that_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    if source != "BPF":
        monkeypatch.setattr(calls_trace, "traced_by_bpf", refused)
    found = recorded(tmp_path, code=SLEEPS)
    (thread,) = found.forks["child"].to_pylist()
    calls = found.calls.filter(pc.equal(found.calls["thread"], thread))
    (waited,) = calls.filter(pc.equal(calls["number"], READ))["has_slept"].to_pylist()
    reads = Counter(calls.filter(pc.equal(calls["number"], PREAD))["has_slept"].to_pylist())
    assert reads.total() == READS
    # trace events do not tell it, nor does a kernel without a description of its types
    if source == "BPF" and Path("/sys/kernel/btf/vmlinux").exists():
        assert waited is True
        assert reads[False] > 0.95 * READS
    else:
        assert (waited, *reads) == (None, None)


def test_a_thread_that_becomes_another_program_is_followed_by_its_new_number(tmp_path: Path) -> None:
    found = recorded(tmp_path, code=BECOMES_ANOTHER)
    reads = found.calls.filter(pc.equal(found.calls["number"], PREAD))
    # the loader of programs reads more at once
    reads = reads.filter(pc.equal(reads["argument_2"], 1))
    assert reads.num_rows == READS
    assert reads["thread"].unique().to_pylist() != found.forks["child"].to_pylist()
    assert found.lost_events == 0


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="calls of 32 bits are told apart on x86-64")
def test_calls_of_32_bits_are_counted_and_taken_for_no_others(tmp_path: Path) -> None:
    found = recorded(tmp_path, code=OF_32_BITS)
    assert found.facts["calls_of_32_bits"] == READS
    assert call_numbers("x86_64")["writev"] not in found.calls["number"].to_pylist()


def test_threads_that_are_too_many_are_counted_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_by_bpf, "_threads_max", lambda: 1)
    found = recorded(tmp_path)
    assert (found.facts["source"], found.lost_events) == ("BPF", 0)
    assert found.facts["threads_not_followed"] == THREADS + CHILDREN
    assert PREAD not in found.calls["number"].to_pylist()


def test_what_has_no_room_is_lost_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_by_bpf, "ROOM_BYTES", 0)
    monkeypatch.setattr(calls_by_bpf, "buffer_bytes", lambda _cpus: 1)
    found = recorded(tmp_path)
    assert found.calls.num_rows == 0
    assert found.lost_events > 0
    assert found.facts["gaps"] > 0


def test_where_memory_is_full_what_is_left_out_is_counted_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls_by_bpf, "ROOM_BYTES", 72 * 1600)
    found = recorded(tmp_path)
    kept = found.calls["number"].to_pylist().count(PREAD)
    # an eighth is for calls that tell more than reads
    assert kept <= 1400
    assert kept + found.lost_events == READS * (THREADS + CHILDREN)
    until_ns = found.facts["recorded_until_ns"]
    assert found.calls["end_ns"][0].as_py() < until_ns <= time.monotonic_ns()
    # each thread reads one byte after another: of those that returned before, none is missing
    places = defaultdict(list)
    for read in found.calls.filter(pc.equal(found.calls["number"], PREAD)).to_pylist():
        if read["end_ns"] < until_ns:
            places[read["thread"]].append(read["argument_3"])
    assert all(of_thread == list(range(len(of_thread))) for of_thread in places.values())
    assert (found.facts["gaps"], found.forks.num_rows) == (1, THREADS + CHILDREN)


def test_the_newest_calls_are_those_since_the_look_before(tmp_path: Path) -> None:
    looks: list[int] = []

    def look(trace: CallsTrace) -> None:
        looks.append(trace.newest().num_rows)
        while len(looks) > 1 and sum(looks) < READS * (THREADS + CHILDREN):
            looks.append(trace.newest().num_rows)

    found = recorded(tmp_path, look)
    assert looks[0] == 0
    assert sum(looks) <= found.calls.num_rows
