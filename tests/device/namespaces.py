"""Hosts that are network namespaces of this machine: an address, a cable to a bridge, and an sshd each."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from system_packages import find_program

ADDRESS = "10.86.3.{}"
# what is waited for longer never comes: 20 hosts that start beside other tests have taken more than a minute
_PATIENCE_S = 300
_SSHD = """
Port 22
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
MaxStartups 100
"""
_SSH = """#!/bin/sh
exec {ssh} -F none -i {folder}/user_key -o IdentitiesOnly=yes -o UserKnownHostsFile={folder}/known_hosts "$@"
"""
# without it every sshd says that it cannot separate privileges; it stays, since other networks may need it
_RUN_SSHD = Path("/run/sshd")


class Network:
    """A namespace of whoever asks, and one for each host; nothing of it reaches the network of this machine.

    Attributes
    ----------
    folder : Path
        Keys and logs; ``folder / "bin"`` has the ``ssh`` of whoever asks.
    address : str
        Of whoever asks.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self._count = folder, count
        self._prefix = f"dl{os.getpid()}"
        self.asking = f"{self._prefix}-a"
        self.address = ADDRESS.format(1)
        self._sshds: dict[int, subprocess.Popen[bytes]] = {}
        _RUN_SSHD.mkdir(exist_ok=True)
        try:
            self._make_namespaces()
            self._make_keys()
            for number in range(count):
                self.start_sshd(number)
            for number in range(count):
                until(lambda number=number: self._listens(number), "an sshd listens")  # type: ignore[misc]
        except BaseException:
            self.close()
            raise

    def namespace(self, number: int) -> str:
        """The name of a host's namespace."""
        return f"{self._prefix}-{number}"

    def host_address(self, number: int) -> str:
        """The address of a host."""
        return ADDRESS.format(number + 10)

    def called(self, number: int) -> str:
        """What the ``address`` of a host says."""
        return self.host_address(number)

    def sshd_lines(self, _number: int) -> str:
        """What else the configuration of a host's sshd says."""
        return ""

    def start_sshd(self, number: int) -> None:
        """Let a host be reached."""
        config = self.folder / f"sshd-{number}.conf"
        lines = _SSHD.format(address=self.host_address(number), folder=self.folder)
        config.write_text(lines + self.sshd_lines(number))
        command = [find_program("sshd") or "sshd", "-D", "-e", "-f", str(config)]
        with (self.folder / f"sshd-{number}.log").open("ab") as log:
            self._sshds[number] = subprocess.Popen(self.inside(number, command), stderr=log, start_new_session=True)

    def stop_sshd(self, number: int) -> None:
        """Let nobody reach a host any more; who has is not touched."""
        sshd = self._sshds.pop(number)
        sshd.kill()
        sshd.wait()

    def set_cable(self, number: int, state: str) -> None:
        """Pull the cable of a host out (``down``), so that no packet says so, or plug it in again (``up``)."""
        change_network(f"link set c{number} {state}", namespace=self.asking)

    def inside(self, number: int | None, command: list[str]) -> list[str]:
        """A command as it is started on a host; None is whoever asks."""
        name = self.asking if number is None else self.namespace(number)
        return ["nsenter", f"--net=/run/netns/{name}", *command]

    def processes(self, number: int) -> list[int]:
        """Processes of a host."""
        answer = subprocess.run(["ip", "netns", "pids", self.namespace(number)], capture_output=True, text=True)
        return [int(word) for word in answer.stdout.split()]

    def close(self) -> None:
        """End every process inside, and remove everything."""
        names = [self.asking, *map(self.namespace, range(self._count))]
        for name in names:
            found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout
            for word in found.split():
                try:
                    os.kill(int(word), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for sshd in self._sshds.values():
            sshd.wait()
        there = {path.name for path in Path("/run/netns").glob(f"{self._prefix}-*")}
        change_network("\n".join(f"netns del {name}" for name in names if name in there))

    def _make_namespaces(self) -> None:
        change_network(
            "\n".join(f"netns add {name}" for name in [self.asking, *map(self.namespace, range(self._count))])
        )
        lines = ["link set lo up", "link add bridge type bridge", "link set bridge up"]
        lines.append(f"address add {self.address}/24 dev bridge")
        for number in range(self._count):
            lines.append(f"link add c{number} type veth peer name cable netns {self.namespace(number)}")
            lines.append(f"link set c{number} master bridge up")
        change_network("\n".join(lines), namespace=self.asking)
        for number in range(self._count):
            own = f"link set lo up\naddress add {self.host_address(number)}/24 dev cable\nlink set cable up"
            change_network(own, namespace=self.namespace(number))

    def _make_keys(self) -> None:
        for name in ("host_key", "user_key"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(self.folder / name)]
            subprocess.run(command, check=True)
        key = (self.folder / "host_key.pub").read_text()
        lines = [f"{self.host_address(number)} {key}" for number in range(self._count)]
        (self.folder / "known_hosts").write_text("".join(lines))
        script = self.folder / "bin" / "ssh"
        script.parent.mkdir()
        script.write_text(_SSH.format(ssh=find_program("ssh"), folder=self.folder))
        script.chmod(0o755)

    def _listens(self, number: int) -> bool:
        return "Server listening" in (self.folder / f"sshd-{number}.log").read_text()


def until(is_so: Callable[[], object], what: str) -> None:
    """Return once something is so, or fail."""
    deadline = time.monotonic() + _PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, f"within {_PATIENCE_S} s it was never so that {what}"
        time.sleep(0.02)


def change_network(lines: str, *, namespace: str | None = None) -> None:
    """Have ip do what lines say, in a namespace."""
    command = ["ip", *(["-n", namespace] if namespace else []), "-batch", "-"]
    answer = subprocess.run(command, input=lines, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
