"""What a fleet over real ssh says of a need, and how one goes on whose hosts are reached otherwise by now."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from device.fleets import SIMULATED, Fleet
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
