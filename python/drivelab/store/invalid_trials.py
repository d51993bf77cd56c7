"""Which trials of a stored run do not describe their drive, and why."""

from __future__ import annotations

from collections import Counter

from drivelab.model.errors import DrivelabError
from drivelab.model.finding import trials_of
from drivelab.store.cells import findings_in
from drivelab.store.read import StoredRun
from drivelab.store.selection import trial_columns


def why_invalid(run: StoredRun) -> dict[str, tuple[str, str]]:
    """Of each trial that does not describe its drive the code of the finding that says so, and the advice of that."""
    table = trial_columns(run, lambda column: column.name in ("trial", "findings_json"))
    rows = zip(table["trial"].to_pylist(), table["findings_json"].to_pylist(), strict=True)
    every = ((trial, one) for trial, text in rows for one in findings_in(text, trial) if one.severity == "invalid")
    return {trial: (one.code, one.advice) for trial, one in every}


def doubt_of(run: StoredRun) -> tuple[str, bool]:
    """Why a run is not to be trusted, with what to do about it, and whether none of its trials is.

    Returns
    -------
    (str, bool)
        Empty where all of it describes its drive.
    """
    try:
        invalid, total = why_invalid(run), len(run.trial_names)
    except DrivelabError as error:
        return f"it cannot be read ({error.code}: {error.what})", True
    told = [
        f"{trials_of(count, total, 'do not')} describe the drive ({code})" + (f": {do}" if do else "")
        for (code, do), count in Counter(invalid.values()).most_common()
    ]
    told += [one.text for one in run.findings if one.severity == "invalid" and not one.trial]
    return "; ".join(dict.fromkeys(told)), len(invalid) == total > 0
