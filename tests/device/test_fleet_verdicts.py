"""What a fleet over real ssh says of a need, and how one goes on whose hosts are reached otherwise by now."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from device.fleets import SIMULATED, Fleet, no_space
from device.namespaces import Network

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.needs_tool("ip", "nsenter", "ssh", "sshd", "ssh-keygen", "losetup"),
    pytest.mark.timeout(900),
]

PATIENT = ("--join-within", "10min")


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    made = Network(tmp_path_factory.mktemp("network"), 2)
    yield made
    made.close()


@pytest.fixture
def fleet(network: Network, tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(network, tmp_path)
    yield made
    made.close()


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_a_check_of_what_is_only_read_says_what_would_decide_it(
    fleet: Fleet, make_loop_device: Callable[..., Path]
) -> None:
    device = make_loop_device(direct=True)
    # what was never written is answered from nowhere
    device.write_bytes(random.Random(1).randbytes(1 << 20) * 64)
    fleet.add(0, targets=[SIMULATED])
    fleet.add(1, drives=[device.name])
    hosts = fleet.run_words()[3]
    answer = fleet.ask("check", "--quick", "--for", "etcd", "--hosts", hosts, *PATIENT)
    assert answer.returncode == 4, answer.stdout + answer.stderr
    told = one_line(answer.stdout)
    assert told.startswith("check: none of 2 targets on 2 hosts is fit for etcd; 2 undecided. ")
    assert f"- host1/{device.name}: undecided: only read: " in told
    assert f"writes need --erase-list with the line host1:{device.name} (or a directory)" in told
    assert "- host0/sim-disk-7200: undecided: " in told
    assert fleet.ask("status").returncode == 4


def test_a_host_without_room_goes_on_where_its_entry_says_by_now(fleet: Fleet) -> None:
    full = fleet.add(0, targets=[SIMULATED])
    other = fleet.add(1, targets=[SIMULATED])
    elsewhere = full.folder / "elsewhere"
    with no_space(full.runs):
        answer = fleet.run(*PATIENT)
        assert answer.returncode == 1, answer.stdout + answer.stderr
        assert fleet.items()["host0/sim-disk-7200"]["reason"].startswith("S502: no room left")
        program = full.folder / "drivelab-elsewhere"
        program.write_text((full.folder / "drivelab").read_text().replace(str(full.runs), str(elsewhere)))
        program.chmod(0o755)
        full.command, other.targets = str(program), [SIMULATED, "sim:nvme-tlc"]
        fleet.run_words()
        answer = fleet.resume(*PATIENT)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    file = fleet.folder / "hosts.toml"
    assert f"host0: drivelab as {file} says now\n" in answer.stderr
    assert f"drives, targets and tags of host1 stay as the fleet began, and not as {file} says now" in answer.stderr
    assert sorted(fleet.items()) == ["host0/sim-disk-7200", "host1/sim-disk-7200"]
    assert list(elsewhere.glob("fleets/*/*/*/*/run.json"))
