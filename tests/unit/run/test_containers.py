"""Which processes a container has, by its name or id, from control groups and from what engines keep on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.run.following.containers import processes_of_container

WEB, LOG = "a1b2" + "0" * 60, "a1b3" + "f" * 60
GROUPS = {
    # Docker with systemd's groups, and with its own
    10: f"0::/system.slice/docker-{WEB}.scope\n",
    11: f"0::/system.slice/docker-{WEB}.scope/init\n",
    12: f"5:memory:/docker/{LOG}\n4:cpu:/docker/{LOG}\n0::/\n",
    # Podman, with its watcher beside it
    20: f"0::/machine.slice/libpod-{'c' * 64}.scope/container\n",
    21: f"0::/machine.slice/libpod-conmon-{'c' * 64}.scope\n",
    # kubernetes on containerd and on CRI-O
    30: f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-pod1.slice/cri-containerd-{'d' * 64}.scope\n",
    31: f"0::/kubepods.slice/kubepods-pod2.slice/crio-{'e' * 64}.scope\n",
    # LXC, systemd-nspawn and a plain service
    40: "0::/lxc.payload.mail/system.slice/postfix.service\n",
    41: "0::/machine.slice/machine-build.scope/payload\n",
    42: "0::/system.slice/postgresql.service\n",
    50: "0::/user.slice\n",
}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine on which containers of all engines run."""
    for pid, text in GROUPS.items():
        (tmp_path / "proc" / str(pid)).mkdir(parents=True)
        (tmp_path / "proc" / str(pid) / "cgroup").write_text(text)
    for identity, name in ((WEB, "/web"), (LOG, "/log")):
        place = tmp_path / "var/lib/docker/containers" / identity
        place.mkdir(parents=True)
        (place / "config.v2.json").write_text(json.dumps({"ID": identity, "Name": name}))
    place = tmp_path / "var/lib/docker/containers" / ("9" * 64)
    place.mkdir()
    (place / "config.v2.json").write_text("half of a fi")
    place = tmp_path / "var/lib/containers/storage/overlay-containers"
    place.mkdir(parents=True)
    (place / "containers.json").write_text(json.dumps([{"id": "c" * 64, "names": ["db", "database"]}]))
    place = tmp_path / "var/log/containers"
    place.mkdir(parents=True)
    (place / f"etcd-node1_kube-system_etcd-{'d' * 64}.log").touch()
    place = tmp_path / "var/lib/nerdctl/1935db59/names/default"
    place.mkdir(parents=True)
    (place / "cache").write_text("e" * 64)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "pids"),
    [
        ("web", [10, 11]),
        (WEB, [10, 11]),
        (WEB[:12], [10, 11]),
        ("log", [12]),
        ("database", [20]),
        ("c" * 12, [20]),
        ("etcd", [30]),
        ("etcd-node1", [30]),
        ("etcd-node1/etcd", [30]),
        ("cache", [31]),
        ("mail", [40]),
        ("build", [41]),
        ("postgresql.service", [42]),
    ],
)
def test_a_container_is_found_by_what_people_call_it(machine: Path, name: str, pids: list[int]) -> None:
    assert processes_of_container(name, proc=machine / "proc", root=machine) == pids


@pytest.mark.parametrize("name", ["nothing", "a1", "conmon", ""])
def test_what_is_no_container_is_refused(machine: Path, name: str) -> None:
    with pytest.raises(DrivelabError, match="has a process") as caught:
        processes_of_container(name, proc=machine / "proc", root=machine)
    assert caught.value.code == "R442"


def test_the_beginning_of_two_ids_is_refused(machine: Path) -> None:
    (machine / "proc" / "13").mkdir()
    (machine / "proc" / "13" / "cgroup").write_text(f"0::/docker/{WEB[:5]}{'7' * 59}\n")
    with pytest.raises(DrivelabError, match="2 containers are called a1b20"):
        processes_of_container("a1b20", proc=machine / "proc", root=machine)
