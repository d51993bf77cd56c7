"""What two levels, runs or drives differ by in the commands that the drive was given for each operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from drivelab.model.run_answer import CommandChange

# commands per operation differ between blocks by less than this when the levels do not
COMMANDS_CHANGE_MIN = 0.05

Bounds = tuple[float, float]


def command_changes(
    baseline: Sequence[Mapping[str, Bounds]], level: Sequence[Mapping[str, Bounds]]
) -> tuple[CommandChange, ...]:
    """Device commands per operation with the baseline and with the level: medians over the trials of each.

    Parameters
    ----------
    baseline, level : sequence of mapping of str to (float, float)
        Commands of each trial; a metric that some trial lacks is left out.

    Returns
    -------
    tuple of CommandChange
        Changed is what differs by more than `COMMANDS_CHANGE_MIN` per operation
        and as a share, bounds taken at their nearest.
    """
    names = [name for name in baseline[0] if all(name in trial for trial in (*baseline, *level))] if baseline else []
    found = []
    for name in names:
        before, after = (
            (median(trial[name][0] for trial in trials), median(trial[name][1] for trial in trials))
            for trials in (baseline, level)
        )
        apart = max(after[0] - before[1], before[0] - after[1])
        least = COMMANDS_CHANGE_MIN * max(1.0, before[0])
        found.append(CommandChange(name, before, after, apart > least))
    return tuple(found)
