"""How a host is started by Slurm: one srun for each node, which ends its node's step alone; and what srun says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress

from drivelab.fleet.ssh import worker_words
from drivelab.model.fleet_hosts import HostEntry

# a node that others compute on measures them, too
_OPTIONS = ("--nodes=1", "--ntasks=1", "--ntasks-per-node=1", "--exclusive", "--job-name=drivelab")
_QUEUED = re.compile(r"srun: job (\d+) queued and waiting for resources")
# that a task has ended, and what srun does then: why it has was said before
_ENDINGS = re.compile(r"srun: (error: \S+: task \d+: |Force Terminated |Job step aborted|forcing job termination)")
_TAKEN = re.compile(r"\*\*\* (?:STEP|JOB) \S+ ON \S+ (CANCELLED AT .+) \*\*\*|srun: error: (Node failure on .+)")
_ASK_WITHIN_S = 10


def srun_words(entry: HostEntry, name: str, _connect_s: int) -> list[str]:
    """The command that starts a host: srun hands its standard input, the end of it, and signals on to the one task.

    Parameters
    ----------
    entry : HostEntry
        What of its node is meant; its address, where it has one, is the name of the node.
    name : str
        What it is called.
    """
    return ["srun", f"--nodelist={entry.address or name}", *_OPTIONS, "--", *worker_words(entry)]


def is_queued(line: str) -> bool:
    """Whether srun says that its job has to wait."""
    return _QUEUED.match(line) is not None


def without_endings(said: Sequence[str]) -> list[str]:
    """What was said without the lines in which srun tells that a task has ended, unless there are no others."""
    return [line for line in said if not _ENDINGS.match(line)] or list(said)


def taken_by_slurm(said: Sequence[str]) -> str:
    """Why Slurm took a node back before its step had ended; empty where it did not."""
    found = next((match for line in said if (match := _TAKEN.search(line))), None)
    if found is None:
        return ""
    do = "; give it longer: SLURM_TIMELIMIT" if "TIME LIMIT" in found[0] else ""
    return f"Slurm took the node back: {found[1] or found[2]}{do}"


async def queue_in_words(said: Sequence[str], node: str) -> str:
    """Why a job waits in Slurm's queue, as Slurm says; empty where none waits.

    Parameters
    ----------
    said : sequence of str
        What its srun has said until now.
    node : str
        What it waits for.
    """
    job = next((match[1] for line in said if (match := _QUEUED.match(line))), None)
    if job is None:
        return ""
    reason = await _first_line("squeue", "--noheader", f"--jobs={job}", "--format= (%r)")
    state = await _first_line("sinfo", "--noheader", f"--nodes={node}", f"--format=, and {node} is %T (%E)")
    return f"job {job} waits in Slurm's queue{reason}{state.removesuffix(' (none)')}"


async def _first_line(*words: str) -> str:
    """The first line that a command of Slurm prints; empty where it cannot say anything."""
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError:
        return ""
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _ASK_WITHIN_S)
    except TimeoutError:
        return ""
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return output.decode("utf-8", "replace").partition("\n")[0].rstrip()
