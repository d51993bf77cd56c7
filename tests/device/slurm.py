"""A cluster of Slurm whose nodes are network namespaces of this machine, each with a slurmd."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from device.namespaces import Network, until
from device.own_view import in_view
from system_packages import find_program

_CONF = """
ClusterName=drivelab
SlurmctldHost={machine}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ReturnToService=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
_NODE = "NodeName={name} NodeHostname={machine} NodeAddr={address} CPUs=1 State=UNKNOWN\n"


class Cluster(Network):
    """Nodes by their numbers: the namespaces of hosts; whoever asks has the controller of Slurm beside it.

    Attributes
    ----------
    environment : dict of str to str
        What commands of Slurm need to find it.
    """

    def __init__(self, folder: Path, count: int, sudoers: str) -> None:
        super().__init__(folder, count)
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._sudoers = folder / "sudoers"
        self._sudoers.write_text(sudoers)
        self._sudoers.chmod(0o440)
        # whoever asks may be anybody
        folder.chmod(0o755)
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        try:
            self._configure(count)
            self._start_daemons(count)
            until(lambda: self.slurm("sinfo", "--noheader", "--format=%t %D") == f"idle {count}", "all nodes are idle")
        except BaseException:
            self.close()
            raise

    def called(self, number: int) -> str:
        """What Slurm calls a node."""
        return f"node{number}"

    def slurm(self, *words: str) -> str:
        """What a command of Slurm prints."""
        command = self.inside(None, list(words))
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, env=self._surroundings()).stdout.strip()

    def start_slurmd(self, number: int) -> None:
        """Let Slurm reach a node."""
        self._start(f"slurmd{number}", number, ["slurmd", "-D", "-N", self.called(number)])

    def kill_slurmd(self, number: int) -> None:
        """Let Slurm reach a node no more; steps that run there go on."""
        daemon = self._daemons.pop(f"slurmd{number}")
        daemon.kill()
        daemon.wait()

    def close(self) -> None:
        """End all jobs, Slurm, and every process inside, and remove everything."""
        super().close()
        for daemon in self._daemons.values():
            daemon.wait()

    def _surroundings(self) -> dict[str, str]:
        return {**os.environ, **self.environment}

    def _configure(self, count: int) -> None:
        machine = os.uname().nodename.partition(".")[0]
        lines = [_CONF.format(machine=machine, address=self.address, folder=self.folder)]
        for number in range(count):
            (self.folder / self.called(number)).mkdir()
            address = self.host_address(number)
            lines.append(_NODE.format(name=self.called(number), machine=machine, address=address))
        (self.folder / "state").mkdir()
        (self.folder / "slurm.conf").write_text("".join(lines))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)

    def _start_daemons(self, count: int) -> None:
        places = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{option}={self.folder}/munge.{ending}" for option, ending in places.items()]
        self._start("munged", None, ["munged", "--foreground", "--force", "--num-threads=1", *options])
        until((self.folder / "munge.socket").exists, "munged listens")
        self._start("slurmctld", None, ["slurmctld", "-D"])
        for number in range(count):
            self.start_slurmd(number)

    def _start(self, name: str, number: int | None, words: list[str]) -> None:
        program = find_program(words[0]) or words[0]
        command = in_view([program, *words[1:]], self.folder.parent, {"/etc/sudoers": self._sudoers})
        with (self.folder / f"{name}.said").open("ab") as said:
            self._daemons[name] = subprocess.Popen(
                self.inside(number, command), stdout=said, stderr=said, env=self._surroundings(), start_new_session=True
            )
