"""Findings as a reader meets them: each said once, with every trial and every number that it touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from drivelab.model.finding import Finding, gravity, kind_of
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.metric import DEVICE_BYTES, FLUSHES, FUA_WRITES, WRITES
from drivelab.report.parts_of_text import capitalised

_SIGNS = {"invalid": "x", "warning": "!", "note": "i"}
FINDING_WORDS = {"invalid": "Not to be trusted", "warning": "Warning", "note": "Note"}
_QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
_LATENCIES = ("p50", "p99", "p999", "max")
# the numbers that a kind of finding is about; a kind that is not here is about the trial as a whole
_TOUCHED: dict[str, tuple[str, ...]] = {
    "drift": ("p50",),
    "level-moves": ("p50",),
    "flush-count-unexpected": (FLUSHES,),
    "flushes-missing": (FLUSHES,),
    "no-flush-sent": (FLUSHES,),
    "latency-implausible": ("p50",),
    "merged-requests": (RATE,),
    "queue-depth-not-reached": (RATE,),
    "generator-saturated": (RATE,),
}
# code, unit and advice
_Kind = tuple[str, str, str]
METRICS = frozenset((*_LATENCIES, RATE, THROUGHPUT, WRITES, FUA_WRITES, FLUSHES, DEVICE_BYTES))


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """One finding with its number on the page.

    Attributes
    ----------
    severity, code, advice : str
        As found.
    says : tuple of (text, trials)
        What is said, and of which trials; several of a kind say it with their own numbers.
    metrics : mapping of str to frozenset of str
        The numbers it touches, by trial; empty when it is about the whole trial.
    trial_count : int
        How many trials have it: more than are named where many do.
    """

    number: int
    severity: str
    code: str
    advice: str
    says: tuple[tuple[str, tuple[str, ...]], ...]
    metrics: Mapping[str, frozenset[str]] = field(default_factory=dict)
    trial_count: int = 0

    @property
    def text(self) -> str:
        """What it says, or says first."""
        return self.says[0][0]

    @property
    def trials(self) -> tuple[str, ...]:
        """Names of the trials it touches; empty for the run as a whole."""
        return tuple(dict.fromkeys(trial for _, trials in self.says for trial in trials))

    @property
    def word(self) -> str:
        """How much it weighs, in words."""
        return FINDING_WORDS[self.severity]

    @property
    def mark(self) -> str:
        """What stands at the numbers it touches."""
        return f"{self.sign}{self.number}"

    @property
    def sign(self) -> str:
        """How much it weighs, in one character."""
        return _SIGNS[self.severity]


def reported(findings: Sequence[Finding], of_shown: Sequence[Finding] = ()) -> tuple[ReportedFinding, ...]:
    """The findings in the order of their weight, those of a kind together.

    Parameters
    ----------
    findings : sequence of Finding
        Those of the run; one may stand for many trials.
    of_shown : sequence of Finding
        Those of the trials that are shown one by one: with them, what stands
        for many is marked at each of these trials too.
    """
    kinds: dict[_Kind, list[Finding]] = {}
    counts: dict[_Kind, int] = {}
    for finding in findings:
        kinds.setdefault(_kind(finding), []).append(finding)
        counts[_kind(finding)] = counts.get(_kind(finding), 0) + finding.trial_count
    for finding in of_shown:
        if counts.get(_kind(finding)):
            kinds[_kind(finding)].append(finding)
    # a warning of some trials and a note of others are one warning
    worst = {kind: min(members, key=gravity) for kind, members in kinds.items()}
    ordered = sorted(kinds.items(), key=lambda one: gravity(worst[one[0]]))
    return tuple(
        ReportedFinding(
            number,
            worst[kind].severity if worst[kind].severity in FINDING_WORDS else "note",
            kind[0],
            sentence(kind[2]),
            _says(members),
            _metrics(members),
            counts[kind] or len({finding.trial for finding in members} - {""}),
        )
        for number, (kind, members) in enumerate(ordered, start=1)
    )


def _kind(finding: Finding) -> _Kind:
    return *kind_of(finding), finding.advice


def _says(findings: Sequence[Finding]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    said: dict[str, dict[str, None]] = {}
    for finding in findings:
        trials = said.setdefault(ended(finding.text), {})
        if finding.trial:
            trials[finding.trial] = None
    return tuple((text, tuple(trials)) for text, trials in said.items())


def _metrics(findings: Sequence[Finding]) -> dict[str, frozenset[str]]:
    metrics: dict[str, frozenset[str]] = {}
    for finding in findings:
        metrics[finding.trial] = metrics.get(finding.trial, frozenset()) | touched_metrics(finding)
    return metrics


def touched_metrics(finding: Finding) -> frozenset[str]:
    """The numbers of the table that a finding is about.

    The evidence may name them (``metric``, ``metrics``), or a quantile, which
    touches itself and all above it; otherwise the kind of finding decides.
    """
    evidence = finding.evidence
    named = evidence.get("metric", evidence.get("metrics", ()))
    names = {named} if isinstance(named, str) else {str(name) for name in named}
    found = {name.rsplit("_latency_ns_", maxsplit=1)[-1] for name in names} & METRICS
    if isinstance(evidence.get("quantile"), int | float):
        found |= {name for name, at in _QUANTILES.items() if at >= evidence["quantile"]}
    return frozenset(found or _TOUCHED.get(finding.code, ()))


def ended(text: str) -> str:
    """The text with a point at its end."""
    text = text.strip()
    return text if not text or text[-1] in ".!?" else f"{text}."


def sentence(text: str) -> str:
    """The text as a sentence of its own."""
    text = ended(text)
    return capitalised(text)
