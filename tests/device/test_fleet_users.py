"""Hosts of a fleet whose user is not root, with sudo and without, and those that have addresses of version 6 alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from device.fleets import SIMULATED, Fleet, assert_measured_once
from device.namespaces import Network, change_network
from device.own_view import USER, in_view, with_shell_of_user

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.needs_tool("ip", "nsenter", "ssh", "sshd", "ssh-keygen", "losetup", "sudo"),
    pytest.mark.timeout(900),
]

PATIENT = ("--join-within", "10min")
TRIALS = 2
PORT = 2222
# what sudo allows the user of each host; the first is told by its test
SUDOERS = {0: "", 1: f"{USER} ALL=(ALL) ALL\n", 2: "root ALL=(ALL) ALL\n"}
WITHOUT_SUDO = 3
ADDRESS, LINK_LOCAL = "fd86:3::{}", "fe80::86:{}"


class Lodgings(Network):
    """Hosts with accounts of their own, and addresses of version 6 at another port."""

    def __init__(self, folder: Path, count: int, opened: Path) -> None:
        self._opened = opened
        folder.chmod(0o755)
        for number, text in SUDOERS.items():
            (folder / f"sudoers-{number}").write_text(text)
            (folder / f"sudoers-{number}").chmod(0o440)
        (folder / "passwd").write_text(with_shell_of_user(folder))
        (folder / "few").mkdir()
        for name in ("sh", "env"):
            (folder / "few" / name).symlink_to(shutil.which(name) or name)
        super().__init__(folder, count)
        key = (folder / "host_key.pub").read_text()
        (folder / "known_hosts").write_text(f"* {key}")

    def inside(self, number: int | None, command: list[str]) -> list[str]:
        """A command as it is started on a host, which has its own accounts; None is whoever asks."""
        if number is None:
            return super().inside(number, command)
        files = {"/etc/passwd": self.folder / "passwd"}
        if number in SUDOERS:
            files["/etc/sudoers"] = self.folder / f"sudoers-{number}"
        return super().inside(number, in_view(command, self._opened, files))

    def sshd_lines(self, number: int) -> str:
        """Where it listens besides; and the programs that a login finds."""
        link_local = f"[{LINK_LOCAL.format(number + 10)}%cable]"
        lines = [f"ListenAddress {place}:{PORT}" for place in (f"[{ADDRESS.format(number + 10)}]", link_local)]
        return "\n".join([*lines, *([f"SetEnv PATH={self.folder}/few"] if number == WITHOUT_SUDO else [])])

    def _make_namespaces(self) -> None:
        super()._make_namespaces()
        own = "address add {}/64 dev {} nodad\naddress add {}/64 dev {} nodad"
        change_network(own.format(ADDRESS.format(1), "bridge", LINK_LOCAL.format(1), "bridge"), namespace=self.asking)
        for number in range(self._count):
            last = number + 10
            words = own.format(ADDRESS.format(last), "cable", LINK_LOCAL.format(last), "cable")
            change_network(words, namespace=self.namespace(number))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lodgings]:
    opened = tmp_path_factory.getbasetemp()
    opened.chmod(0o755)
    made = Lodgings(tmp_path_factory.mktemp("lodgings"), 5, opened)
    yield made
    made.close()


@pytest.fixture
def fleet(network: Lodgings, tmp_path: Path) -> Iterator[Fleet]:
    tmp_path.chmod(0o755)
    made = Fleet(network, tmp_path)
    yield made
    made.close()


def test_a_user_measures_directories_and_by_sudo_drives_and_who_may_not_is_told(
    network: Lodgings, fleet: Fleet, make_loop_device: Callable[..., Path]
) -> None:
    by_sudo, of_root = make_loop_device(direct=True), make_loop_device(direct=True)
    fleet.small.write_text(fleet.small.read_text() + 'file_size = "1 MiB"\n')
    measured = fleet.add(0, drives=[by_sudo.name], user=USER, sudo=True)
    # as docs/how-to/measure-many-hosts.md writes it
    allowed = f"{USER} ALL=(root) NOPASSWD: {measured.folder}/drivelab fleet worker - --json\n"
    (network.folder / "sudoers-0").write_text(allowed)
    for number in (1, 2, 3):
        fleet.add(number, targets=[SIMULATED], user=USER, sudo=True)
    own = fleet.add(4, drives=[of_root.name], user=USER)
    own.targets = [str(own.folder / "scratch")]
    for path in (own.folder, own.folder / "scratch"):
        shutil.chown(path, USER, "nogroup")
    answer = fleet.run(*PATIENT)
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert_measured_once(measured, TRIALS)
    password = "let sudo ask for none there: a line with NOPASSWD in its /etc/sudoers.d"
    assert {name: host["reason"] for name, host in fleet.stored()["hosts"].items() if host["reason"]} == {
        "host1": f"sudo: a password is required (exit code 1); {password}",
        # it asks before it says that it would refuse
        "host2": f"sudo: a password is required (exit code 1); {password}",
        "host3": "sh: 1: sudo: not found (exit code 127); "
        'install sudo there, or leave out sudo = true and log in as root: user = "root"',
    }
    drive, directory = (item for item in fleet.items().values() if item["host"] == "host4")
    assert (drive["state"], directory["state"]) == ("failed", "complete"), directory["reason"]
    assert drive["reason"].startswith(f"T102: no permission to read {of_root}: needs root")
    assert_measured_once(own, TRIALS)
    fleet.wait_until_idle()
    assert {host.name: left for host in fleet.hosts.values() if (left := host.left_over())} == {}


@pytest.mark.parametrize("address", [ADDRESS, LINK_LOCAL + "%bridge"])
def test_a_host_is_reached_by_an_address_of_version_6_at_a_port_of_its_own(
    network: Lodgings, fleet: Fleet, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(network, "called", lambda number: address.format(number + 10))
    host = fleet.add(0, targets=[SIMULATED], port=PORT)
    answer = fleet.run(*PATIENT)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert_measured_once(host, TRIALS)
