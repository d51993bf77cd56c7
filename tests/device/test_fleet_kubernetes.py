"""Hosts that kubectl starts as pods: a real kubectl, a stand-in for the API, and a network namespace for each node."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from device.fleets import SIMULATED, Fleet, Host, assert_measured_once
from device.namespaces import Network, until
from stand_in_cluster.api import StandInCluster
from system_packages import find_program

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.needs_tool(
        *("ip", "nsenter", "ssh", "sshd", "ssh-keygen", "losetup"),
        "kubectl",
    ),
    pytest.mark.timeout(900),
]

NODES = 2
VARIED_TRIALS = 4
IMAGE = "registry/drivelab:1.0"
WAITING = {"name": "drivelab", "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}
MakeLoopDevice = Callable[..., Path]
# what a container sees of its node but for devices, which are this machine's
_CONTAINER = """
mount -t tmpfs tmpfs /var/lib
mkdir /var/lib/drivelab
mount --bind "$0" /var/lib/drivelab
exec "$@"
"""


class Nodes(Network):
    """Nodes by their numbers, and the API where whoever asks is."""

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__(folder, count)
        try:
            kubectl = Path(os.path.realpath(find_program("kubectl") or "kubectl"))
            names = [self.called(number) for number in range(count)]
            self.cluster = StandInCluster(kubectl, names, self._container, self._listening())
        except BaseException:
            super().close()
            raise

    def called(self, number: int) -> str:
        """What Kubernetes calls a node."""
        return f"node{number}"

    def kept(self, number: int) -> Path:
        """What is /var/lib/drivelab on a node."""
        return self.folder / self.called(number)

    def close(self) -> None:
        """End all pods, and remove everything."""
        self.cluster.close()
        super().close()

    def _container(self, pod: Mapping[str, Any]) -> list[str]:
        """The container of a pod as a command of this machine."""
        number = int(pod["spec"]["nodeName"].removeprefix("node"))
        self.kept(number).mkdir(exist_ok=True)
        [container] = pod["spec"]["containers"]
        assert {one["mountPath"] for one in container["volumeMounts"]} >= {"/dev", "/run/udev", "/var/lib/drivelab"}
        kept = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", _CONTAINER, str(self.kept(number))]
        # the image finds drivelab by itself
        code = f"PYTHONPATH={os.pathsep.join(path for path in sys.path if path)}"
        environment = [f"{one['name']}={one['value']}" for one in container["env"]]
        return self.inside(number, [*kept, "env", code, *environment, *container["command"]])

    def _listening(self) -> socket.socket:
        """A socket in the namespace of whoever asks; it stays there, whoever uses it."""
        made: list[socket.socket] = []

        def make() -> None:
            with Path(f"/run/netns/{self.asking}").open() as namespace:
                assert ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0) == 0
            made.append(socket.create_server((self.address, 0)))

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        return made[0]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    made = Nodes(tmp_path_factory.mktemp("kubernetes"), NODES)
    yield made
    made.close()


@pytest.fixture
def fleet(nodes: Nodes, tmp_path: Path) -> Iterator[Fleet]:
    nodes.cluster.pods.waiting.clear()
    made = Fleet(nodes, tmp_path)
    made.environment |= {"KUBECONFIG": str(nodes.cluster.write_config(tmp_path / "kubeconfig")), "HOME": str(tmp_path)}
    yield made
    made.close()


def pods(nodes: Nodes) -> tuple[str, ...]:
    return ("--kubernetes", IMAGE, "--listen", nodes.address, "--join-within", "10min")


def add(nodes: Nodes, fleet: Fleet, number: int, **meant: Any) -> Host:
    """A host whose pod keeps what it keeps in the place for that of its node."""
    host = fleet.add(number, command=f"{sys.executable} -m drivelab", **meant)
    host.environment["DRIVELAB_RUNS"] = str(nodes.kept(number) / "runs")
    return host


def assert_put_back(nodes: Nodes, fleet: Fleet, device: Path) -> None:
    """Whatever the host has changed is as it was, and its drive and its pod are nobody's."""
    fleet.wait_until_idle()
    assert not list(nodes.folder.glob("node*/state/drivelab/journals/*"))
    assert "[none]" in Path(f"/sys/block/{device.name}/queue/scheduler").read_text()
    os.close(os.open(device, os.O_RDWR | os.O_EXCL))
    until(lambda: not nodes.cluster.pods.by_name, "no pod is left")


def test_an_image_that_cannot_be_pulled_and_a_missing_drivelab_are_told_and_no_pod_is_left(
    nodes: Nodes, fleet: Fleet
) -> None:
    fleet.add(0, targets=[SIMULATED])
    fleet.add(1, targets=[SIMULATED], command="/nowhere/drivelab")
    hosts = fleet.run_words()[3]
    nodes.cluster.pods.waiting["node0"] = {"phase": "Pending", "containerStatuses": [WAITING]}
    asking = fleet.start("drives", "--hosts", hosts, *pods(nodes))
    waits = (
        r"host0: pod drivelab-node0-[0-9a-f]{8} waits: ErrImagePull \(not found\); "
        r"name an image that the node can pull: --kubernetes IMAGE\n"
    )
    fails = r"host1: .*/nowhere/drivelab.*No such file or directory \(exit code 127\); say where drivelab is there: "
    for told in (waits, fails):
        fleet.wait_until(lambda told=told: re.search(told, fleet.said()), told)  # type: ignore[misc]
    asking.send_signal(signal.SIGINT)
    assert asking.wait() == 130, fleet.said()
    until(lambda: not nodes.cluster.pods.by_name, "no pod is left")


def test_a_pod_measures_a_drive_and_puts_all_back_when_it_is_evicted_and_at_ctrl_c(
    nodes: Nodes, fleet: Fleet, make_loop_device: MakeLoopDevice
) -> None:
    device = make_loop_device(direct=True)
    host = add(nodes, fleet, 0, drives=[device.name])
    fleet.vary(per_s=25)
    scheduler = Path(f"/sys/block/{device.name}/queue/scheduler")
    asking = fleet.start(*fleet.run_words(*pods(nodes)))
    fleet.wait_until(lambda: "[mq-deadline]" in scheduler.read_text(), "a setting is changed")
    [pod] = nodes.cluster.pods.by_name
    nodes.cluster.pods.evict(pod, "The node was low on resource: memory.")
    assert asking.wait() == 1, fleet.said()
    assert_put_back(nodes, fleet, device)
    [item] = fleet.items().values()
    taken = f"Kubernetes took the node back: Evicted (The node was low on resource: memory.); pod {pod}"
    assert (item["state"], item["reason"]) == ("cut_off", taken)

    again = ("resume", "--erase-list", str(fleet.folder / "erasable.txt"), *pods(nodes))
    asking = fleet.start(*again)
    fleet.wait_until(lambda: ": measuring" in fleet.said(), "it goes on")
    asking.send_signal(signal.SIGINT)
    assert asking.wait() == 130, fleet.said()
    assert_put_back(nodes, fleet, device)

    # whoever else asks for the same node, and what others have left there, are in nobody's way
    asking = fleet.start(*again)
    fleet.wait_until(lambda: nodes.cluster.pods.by_name, "there is a pod")
    hosts = fleet.folder / "hosts.toml"
    other = fleet.ask("drives", "--hosts", str(hosts), *pods(nodes))
    assert other.returncode == 0, other.stderr
    assert asking.wait() == 0, fleet.said()
    assert_measured_once(host, VARIED_TRIALS)
    assert_put_back(nodes, fleet, device)
