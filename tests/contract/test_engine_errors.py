"""Every error of the engine, made to happen for real, as the rest of drivelab sees it."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from drivelab import _engine
from drivelab.model.errors import KINDS, DrivelabError
from drivelab.model.workload import Workload
from drivelab.run.engine import run_workload
from mounted import device_on

from .conftest import DIRECT_BACKENDS, ONE_AT_A_TIME

MIB = 2**20
BLKROSET = 0x125D
NOBODY = 65534
WRITES = ({"operation": "write"},)


def refusal_of(backend: str, path: Path | str, **changes: Any) -> DrivelabError:
    """The error that a workload ends with."""
    target = {"path": str(path)} | changes.pop("target", {})
    workload = Workload.model_validate({"target": target, "backend": backend, "limits": {"count": 10}} | changes)
    with pytest.raises(DrivelabError) as caught:
        run_workload(workload)
    error = caught.value
    assert error.what
    assert error.where
    assert error.do
    return error


@contextmanager
def mounted(filesystem: str, directory: Path, options: str = "defaults") -> Iterator[Path]:
    """A file system in memory, mounted while the block lasts."""
    directory.mkdir()
    subprocess.run(["mount", "-t", filesystem, "-o", options, filesystem, str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


@pytest.mark.provokes("E301")
@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"pin_cpus": (100_000,)}, "processor 100000"),
        ({"file_state": "append", "operations": WRITES}, "sequential"),
        ({"interval_ns": 10**12}, "interval_ns"),
        ({"access": {"kind": "strided"}}, "stride"),
        ({"pacing": {"kind": "fixed"}}, "rate_per_s"),
    ],
)
def test_a_workload_that_makes_no_sense(changes, complaint, backend, data_file):
    error = refusal_of(backend, data_file, **changes)
    assert (error.code, error.exit_code) == ("E301", 2)
    assert complaint in error.what


@pytest.mark.provokes("E302")
def test_a_target_that_does_not_exist(data_backend, tmp_path):
    for name in ("missing", "missing/below", "data/below"):
        (tmp_path / "data").touch()
        error = refusal_of(data_backend, tmp_path / name, operations=WRITES)
        assert error.code == "E302"
        assert name in error.where
    assert not (tmp_path / "missing").exists()


AS_NOBODY = """
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
for text in sys.argv[1:]:
    try:
        _engine.run(text, _engine.StopFlag())
    except _engine.EngineError as error:
        print(error.args[0], flush=True)
"""


@pytest.mark.provokes("E303")
def test_a_target_that_this_user_may_not_open(data_backend, tmp_path, workload_text, start_child):
    locked_file, locked_directory = tmp_path / "file", tmp_path / "directory"
    locked_file.write_bytes(bytes(MIB))
    locked_file.chmod(0)
    locked_directory.mkdir(0)
    texts = [
        workload_text(data_backend, locked_file, limits={"count": 1}),
        workload_text(data_backend, locked_file, operation="write", limits={"count": 1}),
        workload_text(data_backend, locked_directory / "new", operation="write", target={"create": True}),
    ]
    output, complaint = start_child(AS_NOBODY, *texts).communicate()
    assert output.split() == ["E303"] * 3, complaint
    locked_directory.chmod(0o700)
    assert list(locked_directory.iterdir()) == []


@pytest.mark.needs_root
@pytest.mark.provokes("E304")
def test_a_file_system_that_refuses_direct_io(direct_backend, tmp_path):
    with mounted("ramfs", tmp_path / "ramfs") as directory:
        target = {"create": True, "size_bytes": MIB}
        error = refusal_of(direct_backend, directory / "new", direct=True, operations=WRITES, target=target)
        assert error.code == "E304"
        assert list(directory.iterdir()) == []


@pytest.mark.needs_root
@pytest.mark.provokes("E305")
def test_a_file_system_that_is_mounted_read_only(data_backend, tmp_path):
    with mounted("tmpfs", tmp_path / "tmpfs", "size=8m") as directory:
        (directory / "data").write_bytes(bytes(MIB))
        subprocess.run(["mount", "-o", "remount,ro", str(directory)], check=True)
        assert refusal_of(data_backend, directory / "data", operations=WRITES).code == "E305"
        made = refusal_of(
            data_backend, directory / "new", operations=WRITES, target={"create": True, "size_bytes": MIB}
        )
        assert made.code == "E305"


@pytest.mark.needs_root
@pytest.mark.provokes("E305")
def test_a_block_device_that_is_read_only(data_backend, make_loop_device, run_engine):
    device = make_loop_device(MIB)
    handle = os.open(device, os.O_RDONLY)
    try:
        fcntl.ioctl(handle, BLKROSET, struct.pack("i", 1))
        for direct in {data_backend in DIRECT_BACKENDS, False}:
            assert refusal_of(data_backend, device, operations=WRITES, direct=direct).code == "E305"
        assert run_engine(data_backend, device, limits={"count": 10}).count("read") == 10
    finally:
        fcntl.ioctl(handle, BLKROSET, struct.pack("i", 0))
        os.close(handle)


@pytest.mark.needs_root
@pytest.mark.provokes("E306")
@pytest.mark.parametrize("file_state", ["overwrite", "preallocated"])
def test_a_file_system_that_is_full_before_the_run(file_state, data_backend, tmp_path):
    with mounted("tmpfs", tmp_path / "tmpfs", "size=4m") as directory:
        present = directory / "present"
        present.write_bytes(b"x" * 1000)
        common: dict[str, Any] = {"operations": WRITES, "file_state": file_state}
        for name in ("new", "present"):
            target = {"create": True, "size_bytes": 8 * MIB}
            assert refusal_of(data_backend, directory / name, target=target, **common).code == "E306"
        assert [path.name for path in directory.iterdir()] == ["present"]
        assert present.read_bytes() == b"x" * 1000


@pytest.mark.needs_root
def test_a_file_system_that_fills_up_midway_ends_the_run_and_keeps_its_data(data_backend, tmp_path, run_engine):
    if data_backend == "mmap":
        return
    with mounted("tmpfs", tmp_path / "tmpfs", "size=4m") as directory:
        path = directory / "log"
        path.write_bytes(b"x" * 1000)
        answer = run_engine(
            data_backend,
            path,
            operation="write",
            file_state="append",
            access={"kind": "sequential"},
            limits={"count": 100_000},
            record_ios=True,
        )
        assert answer.summary["stopped_by"] == "error"
        assert [error["name"] for error in answer.summary["errors"]] == ["ENOSPC"]
        assert answer.count("write") > 900
        assert answer.summary["operations"]["write"]["errors"] == 1
        assert answer.records["result"].to_pylist()[-1] == -28
        assert path.read_bytes()[:1000] == b"x" * 1000
        assert path.stat().st_size >= answer.summary["operations"]["write"]["bytes"]


@pytest.mark.needs_root
def test_a_hole_that_a_full_file_system_cannot_fill_ends_a_run_through_a_mapping(tmp_path, run_engine):
    with mounted("tmpfs", tmp_path / "tmpfs", "size=4m") as directory:
        path = directory / "data"
        path.touch()
        os.truncate(path, 8 * MIB)
        for jobs in (1, 3):
            answer = run_engine(
                "mmap", path, operation="write", access={"kind": "sequential"}, job_count=jobs, record_ios=True
            )
            assert answer.summary["stopped_by"] == "error"
            assert {error["name"] for error in answer.summary["errors"]} == {"ENOSPC"}
            assert answer.count("write") < 2048
        # the process lives, and what has space can be used as before
        small = run_engine("mmap", path, operation="write", limits={"count": 500}, target={"size_bytes": MIB})
        assert small.summary["stopped_by"] == "count"


@pytest.mark.needs_root
def test_what_the_c_library_held_back_and_a_full_file_system_refuses_is_an_error(tmp_path, run_engine):
    with mounted("tmpfs", tmp_path / "tmpfs", "size=1m") as directory:
        path = directory / "log"
        path.write_bytes(b"x" * 4096)
        (directory / "full").write_bytes(bytes(MIB - 8192))
        answer = run_engine(
            "stdio",
            path,
            operation="write",
            file_state="append",
            access={"kind": "sequential"},
            block_sizes=[{"bytes": 100, "weight": 1.0}],
            limits={"count": 60},
        )
        # every fwrite went well: the room ended only when the buffer was written
        assert answer.count("write") in (40, 60)
        assert answer.summary["stopped_by"] == "error"
        assert [(error["operation"], error["name"]) for error in answer.summary["errors"]] == [("write", "ENOSPC")]


@pytest.mark.needs_root
@pytest.mark.needs_tool("mkfs.ext4")
@pytest.mark.provokes("E307")
def test_a_device_that_is_mounted(data_backend, mount_filesystem):
    directory = mount_filesystem("ext4", size_bytes=16 * MIB)
    device = str(device_on(directory))
    before = Path(device).read_bytes()
    error = refusal_of(data_backend, device, operations=WRITES, target={"exclusive": True})
    assert error.code == "E307"
    assert Path(device).read_bytes() == before


@pytest.mark.needs_root
def test_the_target_is_let_go_of_when_the_run_is_over(data_backend, make_loop_device, run_engine):
    device = make_loop_device(MIB)
    depth = 1 if data_backend in ONE_AT_A_TIME else 32
    for _ in range(5):
        direct = data_backend in DIRECT_BACKENDS
        run_engine(data_backend, device, target={"exclusive": True}, queue_depth=depth, direct=direct)
        os.close(os.open(device, os.O_RDWR | os.O_EXCL))


@pytest.mark.provokes("E308")
@pytest.mark.parametrize(
    "changes", [{"block_sizes": ({"bytes": 1000},)}, {"shift_bytes": 10}, {"target": {"offset_bytes": 7}}]
)
def test_an_offset_or_size_that_direct_io_cannot_have(changes, direct_backend, data_file):
    error = refusal_of(direct_backend, data_file, direct=True, **changes)
    assert error.code == "E308"
    assert "multiple" in error.do


@pytest.mark.needs_root
def test_blocks_smaller_than_those_of_the_device_are_refused(direct_backend, make_loop_device, run_engine):
    device = make_loop_device(MIB, sector_size_bytes=4096)
    error = refusal_of(direct_backend, device, direct=True, block_sizes=({"bytes": 512},))
    assert (error.code, "4096" in error.what) == ("E308", True)
    if direct_backend == "sync":
        trims = ({"operation": "trim"},)
        assert refusal_of("sync", device, operations=trims, block_sizes=({"bytes": 512},)).code == "E308"
        assert run_engine("sync", device, operation="trim", limits={"count": 5}).count("trim") == 5


@pytest.mark.provokes("E309")
def test_a_target_smaller_than_asked(backend, data_file):
    size = 2**41 if backend == "null" else 8 * MIB
    changes: dict[str, Any] = {"job_count": 1024, "target": {"size_bytes": 4096}} if backend == "null" else {}
    error = refusal_of(backend, data_file, **({"target": {"size_bytes": size}} | changes))
    assert error.code == "E309"


@pytest.mark.provokes("E312")
def test_buffers_that_do_not_fit_into_memory(backend, tmp_path):
    depth = 1 if backend == "sync" else 4096
    path = tmp_path / "new"
    error = refusal_of(
        backend,
        path,
        operations=WRITES,
        block_sizes=({"bytes": 2**30},),
        queue_depth=depth,
        job_count=1024,
        target={"create": True, "size_bytes": 2**41},
    )
    assert error.code == "E312"
    assert not path.exists()


@pytest.mark.provokes("E313")
def test_what_is_no_target_or_what_a_backend_cannot_do(data_backend, tmp_path, data_file):
    assert refusal_of(data_backend, tmp_path).code == "E313"
    assert refusal_of(data_backend, "/dev/null").code == "E313"
    assert refusal_of("stdio", data_file, operations=({"operation": "trim"},)).code == "E313"
    assert refusal_of("sync", data_file, queue_depth=2).code == "E313"


@pytest.mark.provokes("E314")
def test_a_path_that_leads_in_circles(data_backend, tmp_path):
    path = tmp_path / "circle"
    path.symlink_to(path)
    error = refusal_of(data_backend, path)
    assert error.code == "E314"
    assert "symbolic links" in error.what


@pytest.mark.provokes("E315")
def test_a_code_that_nobody_knows_is_a_defect(monkeypatch, data_file):
    # the crate's own tests make a job panic; from outside no way to do that is known
    def answer(*arguments: Any) -> None:
        raise _engine.EngineError("E399", "slot 7 is taken", "engine", "")

    monkeypatch.setattr(_engine, "run", answer)
    error = refusal_of("null", data_file)
    assert (error.code, error.what) == ("E315", "E399: slot 7 is taken")


def test_every_code_of_the_engine_is_in_the_list_of_errors():
    source = (Path(__file__).parents[2] / "crates/drivelab-engine/src/error.rs").read_text()
    codes = {f"E{number}" for number in range(301, 319)}
    assert all(f'"{code}"' in source and code in KINDS for code in codes)
