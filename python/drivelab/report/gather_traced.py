"""Gathers what a report tells of the traced passes of a stored run: explanations with labels, and their rows."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.level_words import level_phrase
from drivelab.model.names import names_apart
from drivelab.model.trace import Explanation
from drivelab.report.content import TracedCombination
from drivelab.store import layout
from drivelab.store.read import StoredRun
from drivelab.store.record_batches import StoredRecords


def traced_combinations(
    run: StoredRun, explanations: Sequence[Explanation], short_labels: Sequence[str] = ()
) -> tuple[TracedCombination, ...]:
    """What was traced, each with a label of its own; no row of it is read yet.

    Parameters
    ----------
    short_labels : sequence of str
        What each changed, in a design in which each changes one thing; otherwise empty.

    Raises
    ------
    DrivelabError
        S506: a table of the run is damaged.
    """
    labels = labels_told_apart(explanations, short_labels)
    return tuple(
        TracedCombination(
            explanation,
            label,
            _rows(run, layout.OPERATIONS, explanation.trials),
            _rows(run, layout.EVENTS, explanation.trials),
        )
        for explanation, label in zip(explanations, labels, strict=True)
    )


def labels_told_apart(explanations: Sequence[Explanation], short_labels: Sequence[str] = ()) -> list[str]:
    """The label of each, with what differs between them: levels, targets, and the trial where nothing else does."""
    names = list(dict.fromkeys(name for one in explanations for name in one.levels))
    varying = [name for name in names if len({one.levels.get(name, "") for one in explanations}) > 1]
    has_targets = len({one.target for one in explanations}) > 1
    found = []
    for number, one in enumerate(explanations):
        levels = [level_phrase(name, one.levels[name]) for name in varying if name in one.levels]
        place = [f"on {one.target}"] if has_targets else []
        short = short_labels[number] if short_labels else ""
        words = [short] if short else [one.label or one.workload or one.trial, *levels]
        found.append(", ".join([*words, *place]))
    return names_apart(found, [f", {one.trial}" for one in explanations])


def _rows(run: StoredRun, folder: str, trials: Sequence[str]) -> tuple[StoredRecords, ...]:
    paths = [run.folder(folder) / layout.ios_name(trial) for trial in trials]
    return tuple(StoredRecords(path, folder) for path in paths if path.exists())
