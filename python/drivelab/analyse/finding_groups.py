"""Findings told once: thousands of trials that all have the same one are one sentence and a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from drivelab.analyse.findings import importance
from drivelab.model.finding import Finding, kind_of
from drivelab.model.merged_texts import MergedTexts

# a kind that more trials have is told once for all of them
MEMBERS_MAX = 20
NAMES_MAX = 100
_Key = tuple[str, str, str, str]


@dataclass(slots=True)
class _Group:
    """The findings of one kind: a few as they are, of the others only how many, and between which values."""

    members: list[Finding] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    trial_count: int = 0
    last_trial: str = ""
    lowest: dict[str, float] = field(default_factory=dict)
    highest: dict[str, float] = field(default_factory=dict)
    texts: MergedTexts = field(default_factory=MergedTexts)


class FindingGroups:
    """Takes findings one after the other, and keeps a bounded number of each kind.

    Notes
    -----
    A kind is what has the same code, severity, advice, and unit of a limit. Up to `MEMBERS_MAX`
    findings of a kind stay as they are. Of more, the first stands for all: with
    ranges for the numbers in its text, the number of trials, the names of the first `NAMES_MAX`, and as
    ``lowest`` and ``highest`` the ends of every number in the evidence.
    Findings about the run as a whole are not grouped. A trial's findings must
    come one behind the other, for trials are counted where the name changes.
    """

    def __init__(self) -> None:
        self._of_run: list[Finding] = []
        self._groups: dict[_Key, _Group] = {}

    def add(self, finding: Finding) -> None:
        """Take one finding."""
        if not finding.trial:
            self._of_run.append(finding)
            return
        group = self._groups.setdefault((finding.severity, *kind_of(finding), finding.advice), _Group())
        if len(group.members) <= MEMBERS_MAX:
            group.members.append(finding)
        group.texts.add(finding.text)
        if finding.trial != group.last_trial:
            group.last_trial = finding.trial
            group.trial_count += 1
            if len(group.names) < NAMES_MAX:
                group.names.append(finding.trial)
        for name, value in finding.evidence.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                group.lowest[name] = min(value, group.lowest.get(name, value))
                group.highest[name] = max(value, group.highest.get(name, value))

    def findings(self) -> list[Finding]:
        """What is to be told, the gravest first."""
        told = [*self._of_run, *(finding for group in self._groups.values() for finding in _told(group))]
        return sorted(told, key=importance)


def group_findings(findings: Iterable[Finding]) -> list[Finding]:
    """The findings with every kind that many trials have told once; see `FindingGroups`."""
    groups = FindingGroups()
    for finding in findings:
        groups.add(finding)
    return groups.findings()


def _told(group: _Group) -> list[Finding]:
    if len(group.members) <= MEMBERS_MAX:
        return group.members
    first = group.members[0]
    evidence = {**first.evidence, "lowest": group.lowest, "highest": group.highest}
    # where the texts differ in words only the first is known
    text = group.texts.text() or first.text
    return [replace(first, text=text, evidence=evidence, trials=tuple(group.names), trial_count=group.trial_count)]
