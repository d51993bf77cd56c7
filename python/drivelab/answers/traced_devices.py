"""What the devices of a run's traced passes are called, which their events know by numbers."""

from __future__ import annotations

from drivelab.answers.explanations import target_facts
from drivelab.model.trace import TraceConduct
from drivelab.store.cells import cell_value
from drivelab.store.read import StoredRun


def traced_devices(run: StoredRun) -> dict[str, dict[str, str]]:
    """By traced trial the names of its layers and drives by ``major:minor``, as far as they are known.

    Raises
    ------
    DrivelabError
        S506: a trial cannot be read.
    """
    rows = run.trials.select(["trial", "target", "context_json"]).to_pylist()
    found = {}
    for row in rows:
        if row["trial"] in run.traced_trials:
            context = cell_value("context_json", row["context_json"], row["trial"])
            conduct = TraceConduct.from_json({"source": "", "reason": "", **(context.get("trace") or {})})
            found[row["trial"]] = conduct.names_of_devices(target_facts(run, row["target"]))
    return found
