"""What an earlier run found of the burst credit of the drive that is checked now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from drivelab.analyse.findings import burst_credit
from drivelab.analyse.known_burst import KnownBurst
from drivelab.answers.drive_of_run import is_same_drive
from drivelab.model.errors import DrivelabError
from drivelab.model.finding import Finding
from drivelab.model.target import TargetFacts
from drivelab.store.read import StoredRun, open_run


def known_bursts(directories: Iterable[Path], target: TargetFacts) -> tuple[KnownBurst, ...]:
    """The burst credits that the first of the runs on the same drive found, of I/Os and of bytes; none where none did.

    Parameters
    ----------
    directories : iterable of Path
        Of runs, the newest first; what cannot be read tells nothing.
    """
    facts = target.to_json()
    for run in _readable(directories):
        if len(run.record.targets) == 1 and is_same_drive(facts, run.record.targets[0].get("facts_before") or {}):
            found = [one for one in run.findings if one.code == burst_credit.CODE and one.evidence.get("base_per_s")]
            if found:
                return tuple(_known(one, run.name) for one in found)
    return ()


def _known(finding: Finding, run: str) -> KnownBurst:
    text = finding.text.partition(": ")[2].partition("; ")[0]
    return KnownBurst(finding.evidence["token"], float(finding.evidence["base_per_s"]), text, run)


def _readable(directories: Iterable[Path]) -> Iterator[StoredRun]:
    for directory in directories:
        with suppress(DrivelabError):
            yield open_run(directory)
