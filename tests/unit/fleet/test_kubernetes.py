"""Hosts as pods: what kubectl itself makes of our words, and what is said where that does not go well.

The kubectl is a real one, and what it says are its own words: 1.20 of Debian 12 and 1.32 were tried, and say the
same. Behind it is a stand-in for a cluster, which answers as the API does.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from device.namespaces import until
from drivelab.fleet.certificates import Keys
from drivelab.fleet.host import Joining
from drivelab.fleet.kubernetes import PodStarter, pod_starter
from drivelab.fleet.start_failures import advised
from drivelab.fleet.starter import Ending
from drivelab.fleet.starting import start_host
from drivelab.model.fleet_hosts import HostEntry
from own_loop import in_own_loop
from stand_in_cluster.api import StandInCluster
from stand_in_cluster.pods import Refused
from system_packages import find_program

pytestmark = pytest.mark.needs_tool("kubectl")
IMAGE = "registry/drivelab:1.0"
JOINING = Joining("tls://127.0.0.1:1", "fir", Keys("a", "c", "k"), 30, 60)
DRIVELAB = [sys.executable, "-m", "drivelab"]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInCluster]:
    """A cluster of the nodes fir, oak, localhost and 127.0.0.1, whose containers are processes of this machine."""
    kubectl = Path(os.path.realpath(find_program("kubectl") or "kubectl"))
    nodes = ("fir", "oak", "localhost", "127.0.0.1")
    made = StandInCluster(
        kubectl,
        nodes,
        lambda pod: list(pod["spec"]["containers"][0]["command"]),
        socket.create_server(("127.0.0.1", 0)),
    )
    monkeypatch.setenv("KUBECONFIG", str(made.write_config(tmp_path / "kubeconfig")))
    monkeypatch.setenv("HOME", str(tmp_path))
    yield made
    made.close()


def starter_for(drivelab: str = "true", image: str = IMAGE, node: str = "fir") -> PodStarter:
    return pod_starter(image, HostEntry(drivelab=drivelab), node, 60)


def shell(script: str) -> str:
    """A command for ``drivelab`` of hosts.toml that does something else."""
    return f"sh -c {json.dumps(script)}"


def ended(starter: PodStarter) -> str:
    """Why a host is said to have ended."""

    async def work() -> str:
        started = await start_host(starter, JOINING)
        try:
            return await started.ended()
        finally:
            await started.let_go(0)

    return in_own_loop(work())


def ending_after(starter: PodStarter, happens: Callable[[str], object]) -> tuple[str, Ending]:
    """What is said, and known, of the end of a host to which something happens once it has read whom to join."""

    async def work() -> tuple[str, Ending]:
        started = await start_host(starter, JOINING)
        try:
            await asyncio.to_thread(until, lambda: "reading" in started.said, "the host has said something")
            happens(starter.pod)
            why = await started.ended()
        finally:
            await started.let_go(0)
        assert started.ending is not None
        return why, started.ending

    return in_own_loop(work())


def pod_made_of(starter: PodStarter) -> dict[str, Any]:
    """The pod that kubectl would make of exactly these words."""
    dry = [*starter.words, "--rm=false", "--attach=false", "--dry-run=client", "--output=json"]
    made: dict[str, Any] = json.loads(subprocess.run(dry, capture_output=True, text=True, check=True).stdout)
    return made


@pytest.mark.usefixtures("cluster")
def test_a_pod_is_on_its_node_and_sees_its_drives_and_reads_from_its_standard_input() -> None:
    entry = HostEntry(address="node7.cluster", sudo=True, user="lab", port=22, drivelab="/opt/dl/bin/drivelab -x")
    starter = pod_starter(IMAGE, entry, "Fir", 60)
    pod = pod_made_of(starter)
    assert (pod["apiVersion"], pod["kind"], pod["metadata"]["name"]) == ("v1", "Pod", starter.pod)
    assert pod["metadata"]["labels"]["app.kubernetes.io/name"] == "drivelab-fleet"
    spec = pod["spec"]
    assert {key: spec[key] for key in spec.keys() - {"containers", "volumes", "dnsPolicy"}} == {
        "nodeName": "node7.cluster",
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 300,
        "hostNetwork": True,
        "hostPID": True,
        "automountServiceAccountToken": False,
        "tolerations": [{"operator": "Exists"}],
    }
    [container] = spec["containers"]
    assert container["image"] == IMAGE
    assert container["command"] == ["/opt/dl/bin/drivelab", "-x", "fleet", "worker", "-", "--json"]
    assert (container["stdin"], container["stdinOnce"], "tty" in container) == (True, True, False)
    assert container["securityContext"] == {"privileged": True, "runAsUser": 0}
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"]}
    assert sorted(paths.values()) == ["/dev", "/run/udev", "/var/lib/drivelab"]
    assert {one["name"]: one["mountPath"] for one in container["volumeMounts"]} == paths
    kept = {one["name"]: one["value"] for one in container["env"]}
    assert kept == {"DRIVELAB_RUNS": "/var/lib/drivelab/runs", "XDG_STATE_HOME": "/var/lib/drivelab/state"}


@pytest.mark.parametrize("node", ["fir", "Fir_7", "node-7.rack-2.example.org", "n" * 64, "fe80::1%eth0", "1"])
def test_names_of_pods_are_valid_and_no_two_starts_share_one(node: str) -> None:
    names = {starter_for(node=node).pod for _ in range(50)}
    assert len(names) == 50
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name) for name in names)
    assert {name.rpartition("-")[0] for name in names} == {names.pop().rpartition("-")[0]}


def test_keys_go_over_standard_input_and_stand_in_no_word() -> None:
    words = " ".join(starter_for().words)
    told = JOINING.to_line({}).decode()
    assert not [word for word in json.loads(told)["keys"].values() if f'"{word}"' in words]


FORBIDDEN = (
    'pods "drivelab-fir" is forbidden: User "lab" cannot create resource "pods" in API group "" '
    'in the namespace "bench"'
)
SECURITY = (
    'pods "drivelab-fir" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true, '
    'hostPID=true), hostPath volumes (volumes "dev", "udev", "kept"), privileged (container "drivelab" must not set '
    "securityContext.privileged=true)"
)


@pytest.mark.parametrize(
    ("refused", "told", "do"),
    [
        (
            Refused(403, "Forbidden", FORBIDDEN),
            f"Error from server (Forbidden): {FORBIDDEN}",
            "have an administrator allow it: docs/how-to/measure-many-hosts.md, Kubernetes",
        ),
        (
            Refused(403, "Forbidden", SECURITY),
            f"Error from server (Forbidden): {SECURITY}",
            "allow privileged pods there: kubectl label namespace NAME pod-security.kubernetes.io/enforce=privileged",
        ),
        (
            Refused(404, "NotFound", 'namespaces "bench" not found'),
            'Error from server (NotFound): namespaces "bench" not found',
            "name one that there is: kubectl config set-context --current --namespace NAME",
        ),
        (
            Refused(401, "Unauthorized", "Unauthorized"),
            "error: You must be logged in to the server (Unauthorized)",
            "log in, and try: kubectl get pods",
        ),
    ],
    ids=["rights", "pod security", "namespace", "login"],
)
def test_a_pod_that_the_api_refuses_is_told_as_kubectl_tells_it(
    cluster: StandInCluster, refused: Refused, told: str, do: str
) -> None:
    cluster.refusals["POST", "pods"] = refused
    # nothing was made, so nothing is said of what may be left
    cluster.refusals["DELETE", "pods"] = refused
    assert ended(starter_for()) == f"{told} (exit code 1); {do}"


@pytest.mark.usefixtures("cluster")
def test_an_image_that_is_no_name_of_one_is_told() -> None:
    told = 'error: Invalid image name "a b": invalid reference format (exit code 1); '
    assert ended(starter_for(image="a b")) == told + "name an image, as in --kubernetes registry/drivelab:1.0"


def test_a_cluster_that_cannot_be_reached_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    clusters = [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}]
    contexts = [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
    config = {"clusters": clusters, "contexts": contexts, "users": [{"name": "u", "user": {}}], "current-context": "c"}
    (tmp_path / "config").write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **config}))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ended(starter_for()) == (
        f"The connection to the server 127.0.0.1:{port} was refused - did you specify the right host or port? "
        "(exit code 1); have kubectl reach its cluster (KUBECONFIG), and try: kubectl get pods"
    )


def waiting_for(reason: str, message: str = "") -> dict[str, Any]:
    """The status of a pod whose container waits."""
    why = {"reason": reason} | ({"message": message} if message else {})
    return {"phase": "Pending", "containerStatuses": [{"name": "drivelab", "state": {"waiting": why}}]}


PULL = "rpc error: code = NotFound desc = failed to pull and unpack image: registry/drivelab:1.0: not found"
TAINT = "0/3 nodes are available: 3 node(s) had untolerated taint {maintenance: true}."
UNSCHEDULED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": TAINT}
CAN_PULL = "; name an image that the node can pull: --kubernetes IMAGE"


@pytest.mark.parametrize(
    ("status", "ready", "told"),
    [
        (waiting_for("ErrImagePull", PULL), "", f": ErrImagePull ({PULL}){CAN_PULL}"),
        (
            waiting_for("ImagePullBackOff", 'Back-off pulling image "registry/drivelab:1.0"'),
            "",
            f': ImagePullBackOff (Back-off pulling image "registry/drivelab:1.0"){CAN_PULL}',
        ),
        (waiting_for("ContainerCreating"), "", ": ContainerCreating"),
        ({"phase": "Pending", "conditions": [UNSCHEDULED]}, "", f": Unschedulable ({TAINT})"),
        ({"phase": "Pending"}, "", ""),
        (
            {"phase": "Pending"},
            "Kubelet stopped posting node status.",
            ": fir is not ready (Kubelet stopped posting node status.)",
        ),
    ],
    ids=["pull", "pull again", "creating", "taint", "unknown", "not ready"],
)
def test_what_a_pod_waits_for_is_told_as_kubernetes_1_31_has_it(
    cluster: StandInCluster, status: Mapping[str, Any], ready: str, told: str
) -> None:
    cluster.nodes["fir"] = ready
    cluster.pods.waiting["fir"] = status
    starter = starter_for()
    cluster.pods.create(pod_made_of(starter))
    assert advised(in_own_loop(starter.why_it_waits([]))) == f"pod {starter.pod} waits{told}"


def test_a_node_that_there_is_not_is_told_while_its_pod_waits(cluster: StandInCluster) -> None:
    cluster.pods.waiting["elm"] = {"phase": "Pending"}
    starter = starter_for(node="elm")
    cluster.pods.create(pod_made_of(starter))
    assert advised(in_own_loop(starter.why_it_waits([]))) == (
        f'pod {starter.pod} waits: Error from server (NotFound): nodes "elm" not found; '
        "name nodes as kubectl get nodes does"
    )


def test_a_pod_that_runs_or_is_not_there_waits_for_nothing(cluster: StandInCluster) -> None:
    starter = starter_for(shell("cat"))
    assert in_own_loop(starter.why_it_waits([])) == ""
    cluster.pods.create(pod_made_of(starter))
    assert in_own_loop(starter.why_it_waits([])) == ""


def test_the_words_of_a_host_and_its_exit_code_come_here_and_its_pod_is_gone(cluster: StandInCluster) -> None:
    error = {"error": {"code": "F908", "what": "another version", "where": "", "do": "install the same"}}
    script = f"read line; echo '{json.dumps(error)}' >&2; exit 1"
    assert ended(starter_for(shell(script))) == "F908: another version; install the same"
    assert ended(starter_for(shell("read line; echo no drivelab >&2; exit 7"))) == "no drivelab (exit code 7)"
    assert not cluster.pods.by_name


def test_what_a_container_has_said_that_ended_before_kubectl_was_attached_to_it_is_told(
    cluster: StandInCluster,
) -> None:
    how = {"exitCode": 7, "reason": "Error"}
    failed = {"phase": "Failed", "containerStatuses": [{"name": "drivelab", "state": {"terminated": how}}]}
    cluster.pods.waiting["fir"], cluster.pods.written["fir"] = failed, b"no Python\n"
    assert ended(starter_for()) == "no Python (exit code 7)"


def test_a_container_that_cannot_start_is_told_as_containerd_1_7_tells_it(cluster: StandInCluster) -> None:
    message = (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
        'unable to start container process: exec: "drivelab": executable file not found in $PATH: unknown'
    )
    how = {"exitCode": 128, "reason": "StartError", "message": message}
    failed = {"phase": "Failed", "containerStatuses": [{"name": "drivelab", "state": {"terminated": how}}]}
    cluster.pods.waiting["fir"] = failed
    assert ended(starter_for()) == (
        f"{message} (exit code 128); name an image with drivelab in it: packaging/Dockerfile makes one"
    )


READS = shell("read line; echo reading >&2; cat > /dev/null")
LOW = "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 777784Ki."


def test_a_pod_that_was_evicted_has_the_reason_of_its_node(cluster: StandInCluster) -> None:
    starter = starter_for(READS)
    why, ending = ending_after(starter, lambda pod: cluster.pods.evict(pod, LOW))
    assert why == ending.taken == f"Kubernetes took the node back: Evicted ({LOW}); pod {starter.pod}"
    assert not ending.left
    assert not cluster.pods.by_name


def test_a_pod_that_was_deleted_under_way_is_told(cluster: StandInCluster) -> None:
    starter = starter_for(READS)
    why, ending = ending_after(starter, cluster.pods.delete)
    assert (why, ending.left) == (f"somebody deleted its pod {starter.pod}, or there is no node fir", "")


def test_a_pod_that_was_deleted_while_it_waited_is_told_also_where_events_may_not_be_read(
    cluster: StandInCluster,
) -> None:
    cluster.refusals["GET", "events"] = Refused(403, "Forbidden", "events is forbidden")
    cluster.pods.waiting["fir"] = {"phase": "Pending"}
    starter = starter_for()

    async def work() -> str:
        started = await start_host(starter, JOINING)
        await asyncio.to_thread(until, lambda: cluster.pods.watched, "kubectl waits for its pod")
        cluster.pods.delete(starter.pod)
        try:
            return await started.ended()
        finally:
            await started.let_go(0)

    assert in_own_loop(work()) == f"somebody deleted its pod {starter.pod}, or there is no node fir"


def test_an_ending_says_which_pod_may_be_left_and_what_removes_it(cluster: StandInCluster) -> None:
    refusal = 'pods "x" is forbidden: User "lab" cannot delete resource "pods"'
    cluster.refusals["DELETE", "pods"] = Refused(403, "Forbidden", refusal)
    starter = starter_for(shell("read line; echo reading >&2; cat > /dev/null; exit 3"))

    async def work() -> Ending | None:
        started = await start_host(starter, JOINING)
        await asyncio.to_thread(until, lambda: "reading" in started.said, "the host has said something")
        started.process.kill()
        await started.let_go(0)
        return started.ending

    ending = in_own_loop(work())
    assert ending is not None
    assert ending.left == (
        f"pod {starter.pod} may be left (Error from server (Forbidden): {refusal}); "
        f"remove it: kubectl delete pod {starter.pod}"
    )


@pytest.mark.parametrize("ending", ["terminate", "kill"])
def test_a_pod_whose_kubectl_was_ended_is_deleted_by_its_name(cluster: StandInCluster, ending: str) -> None:
    starter = starter_for(shell("read line; echo reading >&2; cat > /dev/null; sleep 1000"))

    async def work() -> None:
        started = await start_host(starter, JOINING)
        await asyncio.to_thread(until, lambda: "reading" in started.said, "the host has said something")
        getattr(started.process, ending)()
        await started.let_go(0)

    in_own_loop(work())
    until(lambda: not cluster.pods.by_name, "no pod is left")


def test_kubectl_starts_a_host_on_each_node_and_no_pod_is_left(
    cluster: StandInCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hosts.toml").write_text(
        f"format = 1\n[defaults]\ndrivelab = {json.dumps(' '.join(DRIVELAB))}\nsudo = true\n"
        '[hosts]\nlocalhost = {}\n"127.0.0.1" = {}\n'
    )
    asking = ["fleet", "drives", "--kubernetes", IMAGE, "--hosts", str(tmp_path / "hosts.toml"), "--json"]
    # also of the containers
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    answer = subprocess.run([*DRIVELAB, *asking], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert set(json.loads(answer.stdout)["hosts"]) == {"localhost", "127.0.0.1"}
    assert not cluster.pods.by_name
