"""What a security policy or a limit forbids: the error that says so, or the way around it."""

from __future__ import annotations

import json
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MIB = 2**20
FORBIDDING = """
import ctypes, struct
numbers = json.loads(sys.argv[1])
# load the number of the system call; for each forbidden one answer "not permitted"; allow the rest
code = struct.pack("HBBI", 0x20, 0, 0, 0)
for number in numbers:
    code += struct.pack("HBBI", 0x15, 0, 1, number) + struct.pack("HBBI", 0x06, 0, 0, 0x00050001)
code += struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
buffer = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.c_char_p(program)) == 0, ctypes.get_errno()
try:
    summary = json.loads(_engine.run(sys.argv[2], _engine.StopFlag()).summary)
    print(json.dumps([summary["backend"], summary["operations"]]), flush=True)
except _engine.EngineError as error:
    print(json.dumps(error.args), flush=True)
"""
URING_SETUP = 425
AIO_SETUP = {"x86_64": 206, "aarch64": 0}


@pytest.fixture
def without(start_child, workload_text) -> Callable[..., Any]:
    """Runs a workload in a process that may not use some system calls: what it printed."""

    def run(forbidden: list[int], backend: str, path: Path, **changes: Any) -> Any:
        text = workload_text(backend, path, **changes)
        output, complaint = start_child(FORBIDDING, json.dumps(forbidden), text).communicate()
        assert output, complaint
        return json.loads(output)

    return run


@pytest.mark.provokes("E310")
def test_io_uring_that_a_security_policy_forbids(without, data_file):
    code, what, _where, do = without([URING_SETUP], "uring", data_file)
    assert code == "E310"
    assert "security policy" in what
    assert "--backend aio" in do


@pytest.mark.provokes("E311")
def test_asynchronous_io_that_a_security_policy_forbids(without, data_file):
    code, what, _where, do = without([AIO_SETUP[platform.machine()]], "aio", data_file)
    assert code == "E311"
    assert "security policy" in what
    assert "--backend sync" in do


def test_the_choice_falls_back_to_what_is_allowed_and_says_why(without, data_file):
    changes: dict[str, Any] = {"queue_depth": 8, "limits": {"count": 100}}
    aio = AIO_SETUP[platform.machine()]
    chosen, operations = without([], "auto", data_file, **changes)
    assert (chosen["name"], operations["read"]["count"]) == ("uring", 100)
    chosen, operations = without([URING_SETUP], "auto", data_file, **changes)
    assert (chosen["name"], operations["read"]["count"]) == ("aio", 100)
    assert "io_uring cannot be used: forbidden by a security policy" in chosen["reason"]
    chosen, operations = without([URING_SETUP, aio], "auto", data_file, **changes)
    assert (chosen["name"], operations["read"]["count"]) == ("sync", 100)
    assert "asynchronous I/O cannot be used" in chosen["reason"]


def test_the_choice_never_falls_on_what_cannot_do_the_workload(without, data_file):
    trims: dict[str, Any] = {"queue_depth": 8, "operation": "trim", "limits": {"count": 10}}
    chosen, operations = without([URING_SETUP], "auto", data_file, **trims)
    assert (chosen["name"], operations["trim"]["count"]) == ("sync", 10)
    assert "a discard is a call" in chosen["reason"]
    ranges: dict[str, Any] = {"queue_depth": 8, "operation": "write", "limits": {"count": 10}}
    ranges["durability"] = {"method": "sync_file_range"}
    chosen, operations = without([URING_SETUP], "auto", data_file, **ranges)
    assert (chosen["name"], operations["write"]["count"]) == ("sync", 10)
    assert "no sync_file_range" in chosen["reason"]
    code, *_ = without([URING_SETUP], "auto", data_file, polled_submission=True, limits={"count": 10})
    assert code == "E310"


WITHOUT_LOCKED_MEMORY = """
import resource
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
print(_engine.run(sys.argv[1], _engine.StopFlag()).summary, flush=True)
"""


@pytest.mark.needs_root
def test_a_ring_does_without_registered_buffers_where_memory_may_not_be_locked(start_child, workload_text):
    # a directory that everybody may enter: the ones of pytest belong to root alone
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o777)
        path = Path(directory) / "data"
        path.write_bytes(bytes(MIB))
        path.chmod(0o666)
        common: dict[str, Any] = {"queue_depth": 32, "access": {"kind": "sequential"}, "limits": {"count": 256}}
        for changes in ({"operation": "write"}, {"verify": True}):
            text = workload_text("uring", path, **common, **changes)
            output, complaint = start_child(WITHOUT_LOCKED_MEMORY, text).communicate()
            assert output, complaint
            summary = json.loads(output)
            assert (summary["stopped_by"], summary["errors"]) == ("count", [])
