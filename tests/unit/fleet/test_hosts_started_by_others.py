"""Hosts that Slurm or Kubernetes start: the command lines, a made-up srun, and the manifest's own command."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from drivelab.cli.fleet_options import reach_of
from drivelab.cli.fleet_worker import own_name
from drivelab.fleet.certificates import write_keys
from drivelab.fleet.manifest import daemonset
from drivelab.fleet.slurm import srun_words
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_hosts import HostEntry
from fleet_of_simulated_hosts import free_port

DRIVELAB = [sys.executable, "-m", "drivelab"]
# starts the command here, once, as the node that is asked for, and notes both
SRUN = r"""#!/bin/sh
for word; do
  case $word in --nodelist=*) SLURMD_NODENAME=${word#--nodelist=} ;; esac
done
export SLURMD_NODENAME
while [ "$1" != -- ]; do shift; done
shift
echo "$$ $SLURMD_NODENAME" >> "$(dirname "$0")/started"
exec "$@"
"""


def environment(folder: Path, *before: Path) -> Mapping[str, str]:
    """A place of its own for what a command keeps, and what is found first."""
    path = os.pathsep.join([*map(str, before), os.environ["PATH"]])
    code = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "PATH": path, "PYTHONPATH": code, "DRIVELAB_RUNS": str(folder / "runs")}


@pytest.fixture
def hosts_file(tmp_path: Path) -> Path:
    """Two hosts, both of them this machine."""
    file = tmp_path / "hosts.toml"
    command = json.dumps(shlex.join(DRIVELAB))
    file.write_text(f'format = 1\n[defaults]\ndrivelab = {command}\n[hosts]\nlocalhost = {{}}\n"127.0.0.1" = {{}}\n')
    return file


def test_srun_starts_a_host_on_each_node_and_none_is_left(tmp_path: Path, hosts_file: Path) -> None:
    script = tmp_path / "bin" / "srun"
    script.parent.mkdir()
    script.write_text(SRUN)
    script.chmod(0o755)
    command = [*DRIVELAB, "fleet", "drives", "--slurm", "--hosts", str(hosts_file), "--json"]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path, script.parent))
    assert answer.returncode == 0, answer.stderr
    assert set(json.loads(answer.stdout)["hosts"]) == {"localhost", "127.0.0.1"}
    started = [line.split() for line in (script.parent / "started").read_text().splitlines()]
    assert sorted(node for _, node in started) == ["127.0.0.1", "localhost"]
    assert not [number for number, _ in started if Path(f"/proc/{number}").exists()]


def test_srun_is_asked_for_one_node_alone_and_hands_over_what_stands_in_the_entry() -> None:
    entry = HostEntry(address="node7.cluster", sudo=True, drivelab="/opt/dl/bin/drivelab")
    words = srun_words(entry, "node7", 60)
    assert words[:2] == ["srun", "--nodelist=node7.cluster"]
    assert {"--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--exclusive"} <= set(words)
    assert words[words.index("--") + 1 :] == [*("sudo", "-n", "/opt/dl/bin/drivelab", "fleet", "worker", "-", "--json")]


@pytest.mark.provokes("F909")
def test_a_missing_srun_is_the_reason_of_each_host(tmp_path: Path, hosts_file: Path) -> None:
    command = [*DRIVELAB, "fleet", "drives", "--slurm", "--hosts", str(hosts_file), "--json"]
    empty = {**environment(tmp_path), "PATH": str(tmp_path)}
    answer = subprocess.run(command, capture_output=True, text=True, env=empty)
    assert answer.returncode == 1
    reasons = json.loads(answer.stdout)["not_asked"]
    assert reasons == dict.fromkeys(
        ("localhost", "127.0.0.1"), "F909: srun cannot be started: No such file or directory"
    )


def test_who_starts_hosts_is_said_once() -> None:
    with pytest.raises(DrivelabError, match="exclude each other") as caught:
        reach_of(None, "tls://10.0.0.1:8786", Path("keys"), True)
    assert caught.value.code == "U004"


def test_a_host_in_slurm_is_called_as_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "node7")
    assert own_name() == "node7"
    monkeypatch.delenv("SLURMD_NODENAME")
    assert own_name() == os.uname().nodename.partition(".")[0]


def pod_of(manifest: str) -> dict[str, Any]:
    """What a pod of a DaemonSet is made of."""
    parsed = yaml.safe_load(manifest)
    assert (parsed["apiVersion"], parsed["kind"]) == ("apps/v1", "DaemonSet")
    assert parsed["spec"]["selector"]["matchLabels"] == parsed["spec"]["template"]["metadata"]["labels"]
    pod: dict[str, Any] = parsed["spec"]["template"]["spec"]
    return pod


def test_a_pod_sees_the_drives_of_its_node_and_the_keys_that_only_root_may_read() -> None:
    pod = pod_of(daemonset("tls://10.0.0.1:8786", ["n1", "n2"], image="here/drivelab:1.0", namespace="bench"))
    required = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    [term] = required["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1", "n2"]}]
    [container] = pod["containers"]
    assert container["securityContext"] == {"privileged": True, "runAsUser": 0}
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert mounted.keys() == volumes.keys()
    assert volumes["keys"]["secret"] == {"secretName": "drivelab-fleet-keys", "defaultMode": 0o400}
    assert volumes["dev"]["hostPath"]["path"] == mounted["dev"] == "/dev"


def test_the_command_of_a_pod_joins_who_waits_for_it(tmp_path: Path, hosts_file: Path) -> None:
    keys = tmp_path / "keys"
    write_keys(keys)
    address = f"tls://127.0.0.1:{free_port()}"
    made = subprocess.run(
        [*DRIVELAB, "fleet", "manifest", address, "--hosts", str(hosts_file), "--image", "drivelab"],
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        check=True,
    )
    [container] = pod_of(made.stdout)["containers"]
    known = {"$(NODE_NAME)": "localhost", "/keys": str(keys)}
    arguments = [known.get(word, word) for word in container["args"]]
    pod = subprocess.Popen([*DRIVELAB, *arguments], env=environment(tmp_path), stderr=subprocess.PIPE, text=True)
    asking = ["fleet", "drives", "--scheduler", address, "--keys", str(keys), "--hosts", str(hosts_file)]
    try:
        answer = subprocess.run(
            [*DRIVELAB, *asking, "--host", "localhost", "--json"],
            capture_output=True,
            text=True,
            env=environment(tmp_path),
        )
        _, said = pod.communicate(timeout=60)
    finally:
        pod.kill()
    assert answer.returncode == 0, answer.stderr
    assert set(json.loads(answer.stdout)["hosts"]) == {"localhost"}
    assert said.splitlines() == ["joined", "those who ask are gone"]


def test_a_manifest_and_an_installation_need_nothing_that_carries_messages() -> None:
    modules = "drivelab.cli.fleet_manifest, drivelab.cli.fleet_install"
    told = f"import sys, {modules}; print([name for name in ('dask', 'distributed') if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


@pytest.mark.provokes("F911")
@pytest.mark.parametrize(("image", "namespace"), [('x"\n- evil', "default"), ("drivelab", "Not A Name")])
def test_a_name_that_would_change_the_manifest_is_refused(image: str, namespace: str) -> None:
    with pytest.raises(DrivelabError, match="is no name of") as caught:
        daemonset("tls://10.0.0.1:8786", ["n1"], image=image, namespace=namespace)
    assert caught.value.code == "F911"
