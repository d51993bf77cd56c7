"""What a drive moves in a trial, with a file system and perhaps with neighbours, made from how these are built.

ext4 commits its journal every 5 s and xfs its log every 30 s: blocks of metadata that somebody changed, a descriptor
and a commit. A sync call that must, commits at once. A neighbour reads or writes what it likes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from simulated_trials import counted, drive, evidence, filesystem, latencies, measured, target, workload

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.model.workload import BlockSizeShare, Durability

KIB = 1024
BLOCK = 4 * KIB
INTERVAL_S = 0.1


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial without neighbours.

    Attributes
    ----------
    operation : str
        read or write.
    filesystem : str
        raw, ext4 or xfs.
    state : str
        Of the file: overwrite, preallocated or append.
    durability : str
        none, fdatasync, o_dsync or fsync.
    block : int
        Bytes of one I/O.
    per_s : float
        I/Os in a second.
    seconds : float
        How long.
    """

    operation: str
    filesystem: str
    state: str
    durability: str
    block: int
    per_s: float
    seconds: float

    @property
    def count(self) -> int:
        """I/Os of the trial."""
        return round(self.per_s * self.seconds)

    @property
    def issued(self) -> int:
        """Bytes of the trial."""
        return self.count * self.block


def any_trial(random: np.random.Generator, operation: str) -> Trial:
    """A trial as people make them, that takes 2 to 12 s and moves some MB at least."""
    on = str(random.choice(["raw", "ext4", "xfs"]))
    block = int(random.choice([4 * KIB, 16 * KIB, 128 * KIB]))
    state = "overwrite"
    durability = "none"
    if operation == "write":
        state = "overwrite" if on == "raw" else str(random.choice(["overwrite", "preallocated", "append"]))
        durability = str(random.choice(["none", "none", "fdatasync", "o_dsync", "fsync"]))
    fast = 60_000 if durability == "none" else 4_000
    per_s = min(np.exp(random.uniform(np.log(1_500), np.log(fast))), 1.5e9 / block)
    return Trial(operation, on, state, durability, block, float(per_s), float(random.uniform(2, 12)))


def own_bytes(random: np.random.Generator, trial: Trial) -> tuple[int, int]:
    """Bytes read and written of the trial and of what its file system does for it."""
    read = trial.issued if trial.operation == "read" else 0
    written = trial.issued if trial.operation == "write" else 0
    if trial.filesystem == "raw":
        return read, written
    # an inode, an extent tree and bitmaps that are not in memory yet
    read += BLOCK * int(random.integers(0, 12))
    every_s, blocks = (5, random.integers(3, 12)) if trial.filesystem == "ext4" else (30, random.integers(1, 16))
    commits = int(trial.seconds // every_s) + int(random.random() < trial.seconds % every_s / every_s)
    written += commits * int(blocks) * BLOCK
    if trial.operation == "read":
        return read, written
    if trial.state == "append" or (trial.state == "preallocated" and trial.durability != "none"):
        commits_at_once = trial.count if trial.durability != "none" else 0
    else:
        # the time stamp moves once in a tick of 4 ms
        commits_at_once = min(trial.count, round(250 * trial.seconds)) if trial.durability == "fsync" else 0
    a_commit = int(random.integers(3, 6)) * BLOCK if trial.filesystem == "ext4" else int(random.integers(1, 9)) * 512
    written += commits_at_once * a_commit
    if trial.state == "preallocated" and trial.durability == "none":
        # leaves of the extent tree of 340 extents, in each commit and once more in place
        written += min(trial.count // 340, 60) * 2 * BLOCK
    return read, written


def with_neighbours(
    trial: Trial,
    own: tuple[int, int],
    reads: float = 0.0,
    writes: float = 0.0,
    other_programs: dict[str, Any] | None = None,
) -> TrialEvidence:
    """The trial as the kernel counted it, beside neighbours that move a part of what it issued."""
    read, written = own[0] + reads * trial.issued, own[1] + writes * trial.issued
    asked = workload(
        trial.operation,
        block_sizes=(BlockSizeShare(bytes=trial.block),),
        durability=Durability(method=trial.durability),
        file_state=trial.state,
    )
    all_phases = {trial.operation: {"count": trial.count, "bytes": trial.issued, "errors": 0, "short": 0}}
    devices = counted(bytes_read=round(read), bytes_written=round(written))
    made = measured(
        asked,
        {trial.operation: latencies(200)},
        intervals=round(trial.seconds / INTERVAL_S),
        devices=[devices],
        all_phases=all_phases,
        context={"other_programs": other_programs},
    )
    on = None if trial.filesystem == "raw" else filesystem(trial.filesystem)
    return evidence(made, target(on, [drive()]))


def neighbour_share(random: np.random.Generator) -> float:
    """From a twentieth of the trial's bytes to all of them."""
    return float(np.exp(random.uniform(np.log(0.05), 0)))


def programs_of(random: np.random.Generator, trial: Trial, reads: float = 0.0, writes: float = 0.0) -> dict[str, Any]:
    """What a computer's processes count: the neighbours, a logger, and one that copies to another drive.

    The kernel counts a page when it is dirtied: what a neighbour wrote through the page cache is counted a little
    before or after the drive writes it.
    """
    logged = int(random.integers(0, 40)) * BLOCK
    copied = int(random.choice([0.0, 0.3, 3.0]) * trial.issued)
    counted_early = float(random.uniform(0.9, 1.1)) if random.random() < 0.5 else 1.0
    written = round(writes * trial.issued * counted_early)
    programs = [("neighbour", reads * trial.issued, written), ("logger", 0, logged), ("copies", copied, copied)]
    return {
        "bytes_read": round(sum(one[1] for one in programs)),
        "bytes_written": round(sum(one[2] for one in programs)),
        "bytes_written_elsewhere": copied,
        "busiest": [
            {"name": name, "processors": 0.1, "bytes_read": round(read), "bytes_written": round(wrote)}
            for name, read, wrote in programs
            if max(read, wrote) > 64 * KIB
        ],
    }
