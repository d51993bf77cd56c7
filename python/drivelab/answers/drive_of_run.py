"""Which drive a run was made on: by its serial or WWN, whatever its path was, by the path where it has neither."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from drivelab.answers.measured_on import as_text
from drivelab.store.run_record import RunRecord

_SCRATCH = "scratch:"


def is_on(target: str, record: RunRecord) -> bool:
    """Whether a run was made on what was typed: a label, the word that it was made with, a path to it, or its drive."""
    path = os.path.realpath(target)
    labels = [as_text(one.get("label")) for one in record.targets]
    facts = [one.get("facts_before") or {} for one in record.targets]
    words = [as_text(one.get("text")) for one in facts]
    # at a path another drive may be mounted now
    made_for_it = [word for word in words if word.startswith(_SCRATCH)]
    paths = [label for label in labels if label.startswith("/")]
    # the device of a scratch drive is whichever was free
    paths += [as_text(one.get("path")) for one in facts if not is_scratch(one)]
    is_beneath = target.removeprefix("/dev/") in [drive.get("name") for drive in _drives(facts_before(record))]
    return is_beneath or target in (*labels, *made_for_it) or path in [os.path.realpath(one) for one in paths if one]


def is_scratch(facts: Mapping[str, Any]) -> bool:
    """Whether a target is a file that was made for the run: planned, or as the loop device that it was then."""
    return facts.get("kind") == "scratch" or as_text(facts.get("text")).startswith(_SCRATCH)


def drive_names(record: RunRecord) -> frozenset[str]:
    """Serials and WWN of the one drive beneath the one target of a run; none where there are several, or nobody knows.

    A scratch drive is none: it lies on whatever drive there was room on.
    """
    return _names_of_drives(facts_before(record))


def _names_of_drives(facts: Mapping[str, Any]) -> frozenset[str]:
    """The same of the facts of a target."""
    drives = _drives(facts)
    if len(drives) != 1:
        return frozenset()
    found = (*(drives[0].get("serials") or ()), drives[0].get("wwn"))
    return frozenset(as_text(name) for name in found if name)


def _drives(facts: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return () if is_scratch(facts) else facts.get("drives") or ()


def facts_before(record: RunRecord) -> Mapping[str, Any]:
    """The facts of the one target of a run; none where it has several."""
    return record.targets[0].get("facts_before") or {} if len(record.targets) == 1 else {}


def is_same_drive(facts: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether it is one model, or a drive with the same serial or WWN."""
    if facts.get("simulated") or others.get("simulated"):
        return bool(facts.get("simulated") == others.get("simulated"))
    return bool(_names_of_drives(facts) & _names_of_drives(others))
