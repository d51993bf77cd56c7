"""The answer in sentences: the verdict where a need was judged, otherwise what the trials say in plain words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.model.estimate import Estimate
from drivelab.model.finding import trials_of
from drivelab.model.programs import PROGRAMS
from drivelab.model.units import format_quantity
from drivelab.model.verdict import COMMITS, ONLY_READ, easier_words, verdicts_in
from drivelab.report.content import TrialContent
from drivelab.report.headline import busy_words
from drivelab.report.numerals import latency_text, number_text, round_latency_text
from drivelab.report.outcome_words import OF_A_LIMIT, WORDS
from drivelab.report.parts_of_text import FIRST_WORDS_MAX, capitalised, first_in_few_words
from drivelab.report.reported_findings import ReportedFinding, ended

NOT_MEASURED = "not measured"
NOT_COMPLETE = "Not complete"
# how often a program would commit
_RATE_WITH_RANGE = re.compile(
    r" about (\S[^()]*?) times a second here with one client"
    r"(?: \(range: ([^()]*)\)|, ([^()]*?) \([^()]*\) on burst credit)"
)


def _short_rate(found: re.Match[str]) -> str:
    """`` 729 a second (661 to 743) with one client``, `` 300 a second with one client, 729 on burst credit``."""
    rate, span, first = found.groups()
    if first:
        return f" {rate} a second with one client, {first} on burst credit"
    return f" {rate} a second ({span}) with one client"


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One threshold and what was measured against it, as text."""

    text: str
    trial: str
    metric: str
    limit: str
    measured: str
    interval: str
    margin: str
    outcome: str
    force: str
    source: str
    why: str
    reach: str = ""
    may_not_last: str = ""
    easier: str = ""
    lasting: str = ""

    @property
    def told(self) -> str:
        """What was measured; of a rate that fell what is left of it first."""
        return (
            f"{self.lasting} in the long run, {self.measured} over the whole trial" if self.lasting else self.measured
        )

    @property
    def word(self) -> str:
        """The outcome in words."""
        return {"pass": "met", "fail": "not met"}.get(self.outcome, "undecided")


@dataclass(frozen=True, slots=True)
class VerdictBlock:
    """One need, judged."""

    need: str
    title: str
    outcome: str
    sentence: str
    why: str
    checks: tuple[CheckLine, ...]
    caveats: tuple[str, ...]
    # undecided however long is measured: by the program's own time, as it was found on other computers
    is_open_by_own_time: bool = False

    @property
    def named(self) -> str:
        """What is fit or not, in a list: ``etcd``, ``etcd (below what is recommended)``."""
        is_below = self.outcome == "pass" and any(check.outcome == "fail" for check in self.checks)
        return f"{self.title} (below what is recommended)" if is_below else self.title

    @property
    def short_sentence(self) -> str:
        """Its sentence, with the range of a rate beside the rate: ``commit 1 460 a second (399 to 7 630)``."""
        return _RATE_WITH_RANGE.sub(_short_rate, self.sentence)

    @property
    def may_be_told_by_more(self) -> bool:
        """Whether it is undecided and a longer measurement could decide it: not what may not last, or has no number."""
        if self.outcome != "undecided" or self.is_open_by_own_time:
            return False
        is_open = [one for one in self.checks if one.outcome == "undecided"]
        if not is_open:
            # what only reads were allowed for is asked for in other words
            return self.why != NOT_MEASURED and not self.why.startswith(ONLY_READ)
        return any(one.measured != NOT_MEASURED and not one.may_not_last for one in is_open)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a busy reader reads first.

    Attributes
    ----------
    outcome : str
        pass, fail, undecided, no_limit; empty when nothing was judged.
    sentence : str
        The answer in one sentence; may be empty.
    sentences : tuple of str
        What the trials say, when nothing was judged.
    trust : str
        How many findings limit the numbers; empty when none does.
    is_complete : bool
        Whether the run came to its end.
    """

    outcome: str
    sentence: str
    verdicts: tuple[VerdictBlock, ...]
    sentences: tuple[str, ...]
    trust: str
    is_complete: bool = True

    @property
    def told(self) -> tuple[str, ...]:
        """All sentences, where no badge stands beside the first: ``No, PostgreSQL: 120 commits a second``."""
        is_one = self.is_complete and len(self.verdicts) == 1 and self.outcome in OF_A_LIMIT
        word = WORDS[self.outcome] if is_one and self.sentence else ""
        # earlier versions stored it in the sentence
        first = self.sentence if self.sentence.startswith(word) else f"{word}, {self.sentence}"
        return tuple(filter(None, (first, *self.sentences)))


def answer_of(
    verdict: Mapping[str, Any] | None,
    trials: Sequence[TrialContent],
    findings: Sequence[ReportedFinding],
    of_run: Sequence[str] = (),
    missing: str = "",
) -> Answer:
    """The answer of a run.

    Parameters
    ----------
    verdict : mapping or None
        As stored: one need, or several under ``verdicts``.
    trials : sequence of TrialContent
        Where nothing was judged they tell.
    of_run : sequence of str
        What the trials of an experiment come to together, in sentences; told instead of single trials.
    missing : str
        How far a run came that is not complete; told first.
    """
    known = {text for finding in findings for text, _ in finding.says}
    blocks: tuple[VerdictBlock, ...] = ()
    outcome = sentence = ""
    if verdict:
        blocks = tuple(_block(one, known) for one in verdicts_in(verdict))
        outcome, sentence = str(verdict.get("outcome", "")), str(verdict.get("sentence", ""))
    sentences = () if blocks else tuple(of_run) or tuple(_plain_sentences(trials))
    if missing:
        told = list(filter(None, (sentence, *sentences)))
        sentence, sentences = ": ".join([f"{NOT_COMPLETE} ({missing})", *told[:1]]), tuple(told[1:])
        if len(sentence.split()) > FIRST_WORDS_MAX:
            sentence, sentences = f"{NOT_COMPLETE}: {missing}.", tuple(told)
    if sentence or sentences:
        first, *rest = first_in_few_words(tuple(filter(None, (sentence, *sentences))))
        sentence, sentences = (first, tuple(rest)) if sentence else ("", (first, *rest))
    return Answer(outcome, sentence, blocks, sentences, _trust(findings, trials), not missing)


def surer_words(verdicts: Sequence[VerdictBlock], command_line: str, *, is_busy: bool, is_simulated: bool) -> str:
    """What to do about verdicts that are undecided; empty where nothing but another drive helps."""
    by_own_time = next((one.title for one in verdicts if one.is_open_by_own_time), "")
    if by_own_time and not is_busy:
        here = "" if is_simulated else f"; measure {by_own_time} itself here"
        return f"no check can tell: {by_own_time}'s own time is too uncertain{here}"
    told = (("when the machine is quiet", is_busy), ("without --quick", "--quick" in command_line.split()))
    ways = [way for way, helps in told if helps]
    is_open = by_own_time or any(one.may_be_told_by_more for one in verdicts)
    # a quiet machine may move the range of a forecast off the limit, and makes it no narrower
    left = f"; {by_own_time}'s own time may leave it open" if by_own_time else ""
    return f"to be sure: check again {' and '.join(ways)}{left}" if ways and is_open else ""


def thresholds_of(verdict: Mapping[str, Any] | None) -> dict[str, list[tuple[float, str]]]:
    """Latencies that needs ask for, by the trial that measures them, for the figures."""
    found: dict[str, list[tuple[float, str]]] = {}
    for one in verdicts_in(verdict):
        for check in one.get("checks", ()):
            threshold = check["threshold"]
            if threshold["unit"] == "ns" and threshold["direction"] == "at_most":
                entry = (
                    float(threshold["limit"]),
                    f"{one.get('title', '')}: {asked_words(threshold, 'this')}",
                )
                if entry not in found.setdefault(threshold["trial"], []):
                    found[threshold["trial"]].append(entry)
    return found


def _block(verdict: Mapping[str, Any], known: Collection[str]) -> VerdictBlock:
    """One need; caveats that are told as findings anyway are left out."""
    return VerdictBlock(
        need=str(verdict.get("need", "")),
        title=str(verdict.get("title", "")),
        outcome=str(verdict.get("outcome", "undecided")),
        sentence=str(verdict.get("sentence", "")),
        why=str(verdict.get("why", "")),
        checks=tuple(_check_line(check) for check in verdict.get("checks", ())),
        caveats=tuple(str(text) for text in verdict.get("caveats", ()) if ended(str(text)) not in known),
        is_open_by_own_time=_is_open_by_own_time(verdict),
    )


def _is_open_by_own_time(verdict: Mapping[str, Any]) -> bool:
    """Whether a limit of commits lies in the range that the program's own time alone leaves, with exact writes."""
    program, told = PROGRAMS.get(str(verdict.get("need", ""))), verdict.get("forecast")
    if verdict.get("outcome") != "undecided" or program is None or not told:
        return False
    write_ns = told["log_latency"]["value"]
    commits = told["commits_per_s"]["value"] * (write_ns + told["own_time_ns"])
    # earlier versions knew only what was found on other computers
    least_ns, most_ns = told.get("own_time_range_ns") or (program.own.low_ns, program.own.high_ns)
    low, high = (commits / (write_ns + own_ns) for own_ns in (most_ns, least_ns))
    open_limits = [
        one["threshold"]["limit"]
        for one in verdict.get("checks", ())
        if one["outcome"] == "undecided" and one["threshold"]["metric"] == COMMITS and not one.get("may_not_last")
    ]
    return any(low < limit < high for limit in open_limits)


def _check_line(check: Mapping[str, Any]) -> CheckLine:
    threshold = check["threshold"]
    estimate = Estimate(**check["estimate"]) if check.get("estimate") else None
    sign = {"at_most": "≤", "at_least": "≥"}[threshold["direction"]]
    ratio, why = check.get("margin_ratio"), str(check.get("why", ""))
    easier = easier_words(str(threshold.get("asked_less", "")))
    return CheckLine(
        text=asked_words(threshold, limit_words(threshold["limit"], threshold["unit"])),
        trial=str(threshold["trial"]),
        metric=str(threshold["metric"]),
        limit=f"{sign}\u00a0{limit_words(threshold['limit'], threshold['unit'])}",
        measured=estimate_words(estimate),
        interval=interval_words(estimate),
        margin=f"{number_text(ratio, 2)}×" if ratio and check["outcome"] != "undecided" else "–",
        outcome=str(check["outcome"]),
        force=str(threshold["force"]),
        source=str(threshold["source"]),
        why=why,
        reach=str(check.get("reach", "")),
        may_not_last=str(check.get("may_not_last", "")),
        lasting=quantity_words(check["lasting_per_s"], threshold["unit"]) if check.get("lasting_per_s") else "",
        easier=easier if threshold.get("asked_less") and why.endswith(easier) else "",
    )


def quantity_words(value: float, unit: str) -> str:
    """What was measured, in its unit: ``933 µs``, ``488 a second``."""
    if unit == "ns":
        return latency_text(value)
    if unit == "1/s":
        return f"{number_text(value)} a second"
    return format_quantity(value, unit)


def asked_words(threshold: Mapping[str, Any], number: str) -> str:
    """What is asked, with a number where the text has a place for it."""
    return str(threshold["text"]).replace("{value}", number.removesuffix(" a second"))


def limit_words(value: float, unit: str) -> str:
    """A limit in its unit: ``10 ms``."""
    return round_latency_text(value) if unit == "ns" else quantity_words(value, unit)


def estimate_words(estimate: Estimate | None) -> str:
    """What was measured, or the bound that is known of it."""
    if estimate is None:
        return NOT_MEASURED
    if estimate.value is None:
        return "no data" if estimate.low is None else f"at least {quantity_words(estimate.low, estimate.unit)}"
    return quantity_words(estimate.value, estimate.unit)


def interval_words(estimate: Estimate | None) -> str:
    """The interval, or the one end that is known; empty where none is."""
    if estimate is None or estimate.value is None or (estimate.low is None and estimate.high is None):
        return ""
    low, high = ("" if end is None else quantity_words(end, estimate.unit) for end in (estimate.low, estimate.high))
    if not low or not high:
        return f"at least {low}" if low else f"at most {high}"
    return f"{low} to {high}"


def _plain_sentences(trials: Sequence[TrialContent]) -> list[str]:
    """Per kind of trial, between which medians it lies; nothing is ranked that was not compared."""
    groups: dict[str, list[TrialContent]] = {}
    for trial in trials:
        groups.setdefault(trial.group, []).append(trial)
    sentences = []
    for group, members in groups.items():
        known = [(e.value, t.label) for t in members if (e := t.estimate("p50")) and e.value is not None]
        if not known:
            continue
        (low, fastest), (high, slowest) = min(known), max(known)
        if len(known) == 1:
            sentences.append(f"{group}: a median of {latency_text(low)} ({fastest}).")
        else:
            sentences.append(
                f"{group}: medians from {latency_text(low)} ({fastest}) to {latency_text(high)} ({slowest})."
            )
    return sentences


def _trust(findings: Sequence[ReportedFinding], trials: Sequence[TrialContent]) -> str:
    invalid, found = sum(trial.is_invalid for trial in trials), sum(one.severity == "invalid" for one in findings)
    warnings = sum(finding.severity == "warning" for finding in findings)
    parts = []
    if invalid:
        parts.append(f"{trials_of(invalid, len(trials), 'do not')} describe the drive")
    elif found:
        # it is of no trial
        parts.append(f"{found} {'result does' if found == 1 else 'results do'} not describe the drive")
    if warnings:
        parts.append(f"{warnings} {'finding limits' if warnings == 1 else 'findings limit'} what the numbers mean")
    return "; ".join(filter(None, (capitalised(busy_words(trials)), " and ".join(parts))))
