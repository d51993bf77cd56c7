"""Hosts that Slurm starts, on a real cluster: each node is a network namespace with a slurmd of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from device.fleets import SIMULATED, Fleet, assert_measured_once
from device.namespaces import until
from device.own_view import USER, as_user, in_view
from device.slurm import Cluster

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.needs_tool(
        *("ip", "nsenter", "ssh", "sshd", "ssh-keygen", "losetup", "setpriv", "sudo"),
        *("munged", "slurmctld", "slurmd", "srun"),
    ),
    pytest.mark.timeout(900),
]

NODES = 2
VARIED_TRIALS = 4
MakeLoopDevice = Callable[..., Path]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("slurm"), NODES, f"{USER} ALL=(ALL) NOPASSWD: ALL\n")
    yield made
    made.close()


@pytest.fixture
def fleet(cluster: Cluster, tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(cluster, tmp_path)
    made.environment |= cluster.environment
    yield made
    made.close()


def patient(cluster: Cluster) -> tuple[str, ...]:
    return ("--slurm", "--listen", cluster.address, "--join-within", "10min")


def assert_put_back(fleet: Fleet, device: Path) -> None:
    """Whatever the host has changed is as it was, and its drive is nobody's."""
    fleet.wait_until_idle()
    assert [host.left_over() for host in fleet.hosts.values()] == [[]]
    assert "[none]" in Path(f"/sys/block/{device.name}/queue/scheduler").read_text()
    os.close(os.open(device, os.O_RDWR | os.O_EXCL))


def test_a_node_that_is_drained_and_one_without_drivelab_are_told_and_no_job_is_left(
    cluster: Cluster, fleet: Fleet
) -> None:
    fleet.add(0, targets=[SIMULATED])
    fleet.add(1, targets=[SIMULATED], command="/nowhere/drivelab")
    hosts = fleet.run_words()[3]
    cluster.slurm("scontrol", "update", f"nodename={cluster.called(0)}", "state=drain", "reason=disk swap")
    asking = fleet.start("drives", "--hosts", hosts, *patient(cluster))
    waits = r"host0: job \d+ waits in Slurm's queue \(ReqNodeNotAvail, .*node0\), and node0 is drained \(disk swap\)\n"
    fails = (
        r"host1: slurmstepd\S*: error: execve\(\): /nowhere/drivelab: No such file or directory \(exit code 2\); "
        r'say where drivelab is there: drivelab = "/PATH/drivelab"\n'
    )
    for told in (waits, fails):
        fleet.wait_until(lambda told=told: re.search(told, fleet.said()), told)  # type: ignore[misc]
    asking.send_signal(signal.SIGINT)
    assert asking.wait() == 130, fleet.said()
    until(lambda: not cluster.slurm("squeue", "--noheader"), "no job is left")
    cluster.slurm("scontrol", "update", f"nodename={cluster.called(0)}", "state=resume")


def test_a_step_of_a_user_measures_a_drive_by_sudo_and_puts_all_back_when_slurm_ends_it(
    cluster: Cluster, fleet: Fleet, make_loop_device: MakeLoopDevice, tmp_path_factory: pytest.TempPathFactory
) -> None:
    device = make_loop_device(direct=True)
    host = fleet.add(0, drives=[device.name], sudo=True)
    fleet.vary(per_s=25)
    let_user_ask(fleet, tmp_path_factory.getbasetemp())
    asking = fleet.start(*fleet.run_words(*patient(cluster)))
    scheduler = Path(f"/sys/block/{device.name}/queue/scheduler")
    fleet.wait_until(lambda: "[mq-deadline]" in scheduler.read_text(), "a setting is changed")
    cluster.slurm("scancel", f"--nodelist={cluster.called(0)}")
    assert asking.wait() == 1, fleet.said()
    assert_put_back(fleet, device)
    (item,) = fleet.items().values()
    assert item["state"] == "cut_off"
    assert item["reason"].startswith("Slurm took the node back: CANCELLED AT "), item

    erasable = str(fleet.folder / "erasable.txt")
    asking = fleet.start("resume", "--erase-list", erasable, *patient(cluster))
    fleet.wait_until(lambda: ": measuring" in fleet.said(), "it goes on")
    # nor does it end when the slurmd does that started it
    cluster.kill_slurmd(0)
    assert asking.wait() == 0, fleet.said()
    assert_measured_once(host, VARIED_TRIALS)
    assert_put_back(fleet, device)
    cluster.start_slurmd(0)
    until(lambda: not cluster.slurm("squeue", "--noheader"), "no job is left")


def let_user_ask(fleet: Fleet, opened: Path) -> None:
    """Have who asks be a user who is not root; what hosts keep stays root's."""
    for path in (opened, fleet.folder):
        path.chmod(0o755)
    for name in ("runs", "state"):
        (fleet.folder / name).mkdir()
        shutil.chown(fleet.folder / name, USER, "nogroup")
    fleet.starting = lambda words: in_view(as_user(words), opened, {})
