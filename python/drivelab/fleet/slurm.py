"""How a host is started by Slurm: one srun for each node, which ends its node's step alone; and what srun says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.fleet.ssh import worker_words
from drivelab.fleet.starter import Ending, Starter, answer_of
from drivelab.model.fleet_hosts import HostEntry

# a node that others compute on measures them, too
_OPTIONS = ("--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--exclusive", "--job-name=drivelab")
_QUEUED = re.compile(r"srun: job (\d+) queued and waiting for resources")
_TAKEN = re.compile(r"\*\*\* (?:STEP|JOB) \S+ ON \S+ (CANCELLED AT .+) \*\*\*|srun: error: (Node failure on .+)")


@dataclass(frozen=True, slots=True)
class SlurmStarter(Starter):
    """srun, as it starts one step.

    Attributes
    ----------
    node : str
        Its name.
    """

    node: str

    def is_queued(self, line: str) -> bool:
        """Whether srun says that its job has to wait."""
        return _QUEUED.match(line) is not None

    async def why_it_waits(self, said: Sequence[str]) -> str:
        """Why a job waits in Slurm's queue, as Slurm says; empty where none waits."""
        job = next((match[1] for line in said if (match := _QUEUED.match(line))), None)
        if job is None:
            return ""
        reason = await _first_line("squeue", "--noheader", f"--jobs={job}", "--format= (%r)")
        state = await _first_line(
            "sinfo", "--noheader", f"--nodes={self.node}", f"--format=, and {self.node} is %T (%E)"
        )
        return f"job {job} waits in Slurm's queue{reason}{state.removesuffix(' (none)')}"

    async def ended(self, _code: int, said: Sequence[str]) -> Ending:
        """Why Slurm took the node back before its step had ended, if it did."""
        found = next((match for line in said if (match := _TAKEN.search(line))), None)
        if found is None:
            return Ending()
        do = "; give it longer: SLURM_TIMELIMIT" if "TIME LIMIT" in found[0] else ""
        return Ending(f"Slurm took the node back: {found[1] or found[2]}{do}")


def slurm_starter(entry: HostEntry, name: str, _join_s: int) -> SlurmStarter:
    """What starts a host as a step: srun hands its standard input, the end of it, and signals on to the one task.

    Parameters
    ----------
    entry : HostEntry
        What of its node is meant; its address, where it has one, is the name of the node.
    name : str
        What it is called.
    """
    node = entry.address or name
    return SlurmStarter(["srun", f"--nodelist={node}", *_OPTIONS, "--", *worker_words(entry)], node)


async def _first_line(*words: str) -> str:
    """The first line that a command of Slurm prints; empty where it cannot say anything."""
    output, _ = await answer_of(*words)
    return output.partition("\n")[0].rstrip()
