"""Hosts that are not started over ssh: the command lines, a made-up srun, and who waits for hosts of others."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.fleet_options import reach_of
from drivelab.cli.fleet_worker import own_name
from drivelab.fleet.certificates import write_keys
from drivelab.fleet.slurm import slurm_starter
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
    words = slurm_starter(entry, "node7", 60).words
    assert words[:2] == ["srun", "--nodelist=node7.cluster"]
    assert {"--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--exclusive"} <= set(words)
    assert words[words.index("--") + 1 :] == [*("sudo", "-n", "/opt/dl/bin/drivelab", "fleet", "worker", "-", "--json")]


@pytest.mark.provokes("F909")
@pytest.mark.parametrize(("option", "command"), [(("--slurm",), "srun"), (("--kubernetes", "drivelab"), "kubectl")])
def test_a_missing_command_is_the_reason_of_each_host(
    tmp_path: Path, hosts_file: Path, option: Sequence[str], command: str
) -> None:
    asking = [*DRIVELAB, "fleet", "drives", *option, "--hosts", str(hosts_file), "--json"]
    empty = {**environment(tmp_path), "PATH": str(tmp_path)}
    answer = subprocess.run(asking, capture_output=True, text=True, env=empty)
    assert answer.returncode == 1
    reasons = json.loads(answer.stdout)["not_asked"]
    assert reasons == dict.fromkeys(
        ("localhost", "127.0.0.1"), f"F909: {command} cannot be started: No such file or directory"
    )


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"slurm": True, "scheduler": "tls://10.0.0.1:8786", "keys": Path("keys")}, "--slurm and --scheduler"),
        ({"slurm": True, "kubernetes": "drivelab"}, "--slurm and --kubernetes"),
        (
            {"kubernetes": "drivelab", "scheduler": "tls://10.0.0.1:8786", "keys": Path("keys")},
            "--kubernetes and --scheduler",
        ),
    ],
)
def test_who_starts_hosts_is_said_once(given: Mapping[str, Any], named: str) -> None:
    with pytest.raises(DrivelabError, match=f"{named} exclude each other") as caught:
        reach_of(**given)
    assert caught.value.code == "U004"


def test_a_host_in_slurm_is_called_as_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "node7")
    assert own_name() == "node7"
    monkeypatch.delenv("SLURMD_NODENAME")
    assert own_name() == os.uname().nodename.partition(".")[0]


def test_a_host_of_others_joins_who_waits_for_it(tmp_path: Path, hosts_file: Path) -> None:
    keys = tmp_path / "keys"
    write_keys(keys)
    address = f"tls://127.0.0.1:{free_port()}"
    words = ["fleet", "worker", address, "--keys", str(keys), "--name", "localhost", "--join-within", "24h"]
    worker = subprocess.Popen([*DRIVELAB, *words], env=environment(tmp_path), stderr=subprocess.PIPE, text=True)
    asking = ["fleet", "drives", "--scheduler", address, "--keys", str(keys), "--hosts", str(hosts_file)]
    try:
        answer = subprocess.run(
            [*DRIVELAB, *asking, "--host", "localhost", "--json"],
            capture_output=True,
            text=True,
            env=environment(tmp_path),
        )
        _, said = worker.communicate(timeout=60)
    finally:
        worker.kill()
    assert answer.returncode == 0, answer.stderr
    assert set(json.loads(answer.stdout)["hosts"]) == {"localhost"}
    assert said.splitlines() == ["joined", "those who ask are gone"]


def test_an_installation_needs_nothing_that_carries_messages() -> None:
    carriers = "[name for name in ('dask', 'distributed') if name in sys.modules]"
    told = f"import sys, drivelab.cli.fleet_install; print({carriers})"
    answer = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"
