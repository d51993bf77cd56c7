"""Burst credit on drives that QEMU throttles, as clouds do: its leaky bucket knows nothing of this program.

``.venv/bin/python -m pytest tests/prove/throttled_drives.py -s``, as root, prints what was found: six minutes.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from drivelab.analyse.token_bucket import bucket_of_workload, done_in
from drivelab.inventory.target import resolve_target
from drivelab.model.token_bucket import TokenBucket
from drivelab.model.workload import Access, BlockSizeShare, Limits, TargetRange, Workload
from drivelab.run.measure import measure
from mounted import is_anything_mounted_below

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.needs_root,
    pytest.mark.needs_tool("losetup", "qemu-storage-daemon"),
]
_SIZE = 256 * 2**20
_START_S = 60
_RUNTIME_NS = 90_000_000_000
_BLOCK = 4096


@contextmanager
def throttled(directory: Path, limits: Mapping[str, int]) -> Iterator[Path]:
    """A loop device over a file that QEMU's storage daemon shows, and throttles."""
    content, shown = directory / "content", directory / "shown"
    content.write_bytes(bytes(_SIZE))
    shown.touch()
    group = {"qom-type": "throttle-group", "id": "group", "limits": limits}
    file = {"driver": "file", "node-name": "file", "filename": str(content)}
    node = {"driver": "throttle", "node-name": "node", "throttle-group": "group", "file": "file"}
    export = {"type": "fuse", "id": "export", "node-name": "node", "mountpoint": str(shown)}
    daemon = ["setpriv", "--pdeathsig", "TERM", "--", "qemu-storage-daemon", "--object", json.dumps(group)]
    daemon += ["--blockdev", json.dumps(file), "--blockdev", json.dumps(node), "--export", json.dumps(export)]
    before = shown.stat().st_dev
    with subprocess.Popen(daemon, start_new_session=True) as running:
        loop = ""
        try:
            deadline = time.monotonic() + _START_S
            while shown.stat().st_dev == before:
                assert running.poll() is None, "qemu-storage-daemon ended"
                assert time.monotonic() < deadline
                time.sleep(0.05)
            show = ["losetup", "--find", "--show", "--read-only", "--direct-io=on", str(shown)]
            loop = subprocess.check_output(show, text=True).strip()
            yield Path(loop)
        finally:
            if loop:
                subprocess.run(["losetup", "--detach", loop], check=True)
            running.terminate()
    assert not is_anything_mounted_below(directory)


def seen_of(device: Path) -> TokenBucket | None:
    """What a trial that watches for the end of a burst sees of random reads."""
    workload = Workload(
        target=TargetRange(path=str(device), size_bytes=_SIZE),
        block_sizes=(BlockSizeShare(bytes=_BLOCK),),
        access=Access(kind="random"),
        queue_depth=32,
        direct=True,
        limits=Limits(runtime_ns=_RUNTIME_NS),
        interval_ns=200_000_000,
        watches_burst=True,
    )
    measured = measure("trial", workload, resolve_target(str(device)))
    assert measured.intervals is not None
    return bucket_of_workload(done_in(measured.intervals), _BLOCK)


@pytest.mark.parametrize(("base", "burst", "seconds"), [(100, 1000, 8), (60, 600, 8), (300, 3000, 10), (500, 2000, 6)])
def test_a_bucket_of_qemus_is_found(base: int, burst: int, seconds: int, tmp_path: Path) -> None:
    limits = {"iops-total": base, "iops-total-max": burst, "iops-total-max-length": seconds}
    with throttled(tmp_path, limits) as device:
        found = seen_of(device)
    assert found is not None
    # the bucket holds the burst rate times its length, and leaks at the base rate (QEMU, docs/throttle.txt)
    lasts_s = burst * seconds / (burst - base)
    told = f"{found.verdict}, base {found.base_per_s}, burst {found.burst_per_s} for {found.lasts_s} s"
    print(f"\n  {base} and {burst} for {lasts_s:.2f} s: {told}", end="")
    assert found.is_bucket
    assert found.base_per_s == pytest.approx(base, rel=0.05)
    assert found.burst_per_s == pytest.approx(burst, rel=0.05)
    assert found.lasts_s == pytest.approx(lasts_s, rel=0.05)


@pytest.mark.parametrize("rate", [200, 2000])
def test_a_constant_limit_is_no_bucket(rate: int, tmp_path: Path) -> None:
    with throttled(tmp_path, {"iops-total": rate}) as device:
        found = seen_of(device)
    print(f"\n  {rate} always: {found.verdict if found else None}", end="")
    assert found is not None
    assert not found.is_bucket
