"""Findings for a terminal: each kind on one line, with how many trials have it and between what its numbers lie."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from drivelab.model.finding import (
    FOREIGN_WORK,
    OTHERS_BYTES,
    OTHERS_REQUESTS,
    VOLUME_CODES,
    Finding,
    gravity,
    kind_of,
    severity_order,
    trials_of,
)
from drivelab.model.merged_texts import merged_texts
from drivelab.model.names import names_in_words
from drivelab.model.units import format_duration_ns

# where the reason of short trials stands, if there is one
_WHY = "{why}"
_NAME_WIDTH_MAX = 40
_ALL = "all trials on "
_DETAILS = re.compile(r" \([^()]*\)|less than (?=1 %)")
_VIRTUAL = "virtual-drive"
_OF_DRIVES = re.compile(r"(?P<names>.*?) (?:is|are) (?P<kind>virtual|simulated)(?: \(.*?\))?: (?P<rest>.*)")
_PROCESSORS = "other_processor_share"
# what follows from used processors stands behind them
_PRESSURE = "cpu_pressure_some_share"
# what was over when a trial began
_BEFORE = "other_bytes_share"
_SIGNS_OF_OTHERS = {
    OTHERS_REQUESTS: "{} of all requests were others'",
    OTHERS_BYTES["read"]: "others read {} of what they moved",
    OTHERS_BYTES["write"]: "others wrote {} of what they moved",
    "cpu_steal_share": "the hypervisor took {} of the processors",
    _PROCESSORS: "others used {} processors",
    _PRESSURE: "tasks waited for a processor {} of the time",
    _BEFORE: "others used the drive just before, with {} of its rate",
}


@dataclass(frozen=True, slots=True)
class FindingLine:
    """One kind of finding: how much it weighs, what it says, and where it holds.

    `of` is how many trials have it; empty where all have it, and where the text says it.
    """

    severity: str
    text: str
    where: str = ""
    code: str = ""
    of: str = ""

    @property
    def is_of_models(self) -> bool:
        """Whether it says no more than that drives are simulated."""
        said = _OF_DRIVES.match(self.text) if self.code == _VIRTUAL else None
        return said is not None and said["kind"] == "simulated"


Range = tuple[float, float]


def finding_lines(
    findings: Sequence[Finding], trial_count: int, *, is_quick: bool = False, targets: Mapping[str, str] | None = None
) -> tuple[FindingLine, ...]:
    """The findings of a run, the gravest first, every kind once.

    Parameters
    ----------
    findings : sequence of Finding
        One may stand for many trials.
    is_quick : bool
        Whether the run was scaled down, which makes its trials short.
    targets : mapping of str to str, optional
        Which target each trial was of, by its name: what only one of several has is said of that one.
    """
    kinds: dict[tuple[tuple[str, str], str], list[Finding]] = {}
    for finding in _of_all_drives(findings):
        # those of the run as a whole are sentences of their own
        kinds.setdefault((kind_of(finding), "" if finding.trial else finding.text), []).append(finding)
    ordered = sorted((sorted(members, key=gravity) for members in kinds.values()), key=lambda one: gravity(one[0]))
    known = targets or {}
    lines = [_line(members, trial_count, known, is_quick=is_quick) for members in ordered]
    return tuple(sorted(lines, key=lambda line: severity_order(line.severity)))


def _of_all_drives(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, those that say the same of several drives as one of all of them."""
    kept: dict[tuple[str, str], Finding] = {}
    named: dict[tuple[str, str], list[str]] = {}
    for number, finding in enumerate(findings):
        said = _OF_DRIVES.match(finding.text) if finding.code == _VIRTUAL else None
        key = (said["kind"], said["rest"]) if said else ("", str(number))
        kept.setdefault(key, finding)
        named.setdefault(key, []).extend([said["names"]] if said else [])
    return [
        replace(finding, text=f"{names_in_words(names)} are {kind}: {rest}")
        # several targets may be on one drive
        if len(names := list(dict.fromkeys(named[kind, rest]))) > 1
        else finding
        for (kind, rest), finding in kept.items()
    ]


def _line(members: Sequence[Finding], trial_count: int, targets: Mapping[str, str], *, is_quick: bool) -> FindingLine:
    first = members[0]
    count = len({one.trial for one in members if not one.trial_count} - {""})
    count += sum(one.trial_count for one in members)
    is_of_all = count in (0, trial_count)
    if first.code in VOLUME_CODES and count and targets.get(first.trial):
        # whichever trials have shown it: of the others nobody knows
        where = f" [{targets[first.trial]}]" if len(set(targets.values())) > 1 else ""
        return FindingLine(first.severity, first.text, where, first.code)
    if count < 2:
        of = "" if is_of_all else trials_of(count, trial_count)
        return FindingLine(first.severity, first.text, _where_one(first.trial), first.code, of)
    of = _of_trials(members, count, targets) or f"{count} of {trial_count} trials"
    write = _WRITERS.get(first.code)
    text = write(of, _ranges(members)) if write is not None else ""
    if text:
        why = ", because of --quick" if is_quick and first.code == "short-measurement" else ""
        # what was asked for is no alarm
        return FindingLine("note" if why else first.severity, text.replace(_WHY, why), code=first.code)
    # of what stands for many trials only the first text is known
    texts = [one.text for one in members]
    # what stands in brackets not all of them have
    merged = merged_texts(texts) or merged_texts(_DETAILS.sub("", text) for text in texts)
    merged = "" if any(one.trial_count for one in members) else merged
    if of.startswith(_ALL):
        where = f" [{of.removeprefix(_ALL)}]"
    else:
        where = f" [in {of}]" if merged else f" [in {of}, the first is {_short_name(first.trial)}]"
    return FindingLine(first.severity, merged or first.text, where, first.code, "" if is_of_all else of)


def _of_trials(members: Sequence[Finding], count: int, targets: Mapping[str, str]) -> str:
    """``2 of 5 trials on sdb``, ``all trials on sdb`` where only one of several targets has it; else nothing."""
    touched = {targets.get(one.trial, "") for one in members}
    own = list(targets.values()).count(next(iter(touched)))
    is_of_one = len(touched) == 1 and 0 < own < len(targets) and not any(one.trial_count for one in members)
    which = _ALL if count == own else f"{count} of {own} trials on "
    return f"{which}{touched.pop()}" if is_of_one else ""


def _where_one(trial: str) -> str:
    return f" [{_short_name(trial)}]" if trial else ""


def _short_name(trial: str) -> str:
    return trial if len(trial) <= _NAME_WIDTH_MAX else f"{trial[: _NAME_WIDTH_MAX - 3]}..."


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Between what numbers of the evidence lie over all findings of a kind, and how many of these have each."""

    ends: Mapping[str, Range]
    carriers: Mapping[str, int]
    finding_count: int
    # where one finding stands for many trials, how many of them have a number is not known
    has_many: bool

    def of_most(self) -> dict[str, Range]:
        """Those that at least half of the findings have: what only few have is not what the trials have in common."""
        return {name: ends for name, ends in self.ends.items() if 2 * self.carriers[name] >= self.finding_count}


def _ranges(members: Sequence[Finding]) -> _Ranges:
    found: dict[str, Range] = {}
    carriers: Counter[str] = Counter()
    for finding in members:
        evidence = finding.evidence
        lowest, highest = evidence.get("lowest"), evidence.get("highest")
        is_many = isinstance(lowest, Mapping) and isinstance(highest, Mapping)
        low_ends, high_ends = (lowest or {}, highest or {}) if is_many else (evidence, evidence)
        for name, low in low_ends.items():
            high = high_ends.get(name)
            if isinstance(low, int | float) and isinstance(high, int | float) and not isinstance(low, bool):
                carriers[name] += 1
                known = found.get(name, (low, high))
                found[name] = (min(known[0], low), max(known[1], high))
    return _Ranges(found, carriers, len(members), any(one.trial_count for one in members))


def _short(of: str, found: _Ranges) -> str:
    ranges = found.of_most()
    if "measured_ns" not in ranges:
        return ""
    low, high = ranges["measured_ns"]
    return (
        f"{of} were shorter than {format_duration_ns(_rounded_up(high))} "
        f"({_span(format_duration_ns(low), format_duration_ns(high))}){_WHY}: what changes more slowly is not seen"
    )


def _rounded_up(value: float) -> float:
    """The next number above with one digit."""
    size = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return (math.floor(value / size) + 1) * size


def _others(of: str, found: _Ranges) -> str:
    """What disturbed the trials, the strongest sign first: a line that is cut keeps it, however few trials have it."""
    last = (_BEFORE, _PRESSURE)
    ranges = found.of_most() if found.has_many else found.ends
    shown = sorted(_SIGNS_OF_OTHERS.keys() & ranges.keys(), key=lambda name: (name in last, -ranges[name][1]))
    told = {name: _span(*(f"{100 * end:.0f} %" for end in ranges[name])) for name in shown}
    if _PROCESSORS in told and "other_processors" in ranges:
        # runs of earlier versions have more than there are
        count = round(ranges["other_processors"][1] / ranges[_PROCESSORS][1])
        told[_PROCESSORS] = f"{_span(*(f'{min(end, count):.1f}' for end in ranges['other_processors']))} of {count}"
    signs = []
    for name in shown:
        is_of_few = 2 * found.carriers[name] < found.finding_count
        where = f" (in {found.carriers[name]} of them)" if is_of_few else ""
        signs.append(f"{_SIGNS_OF_OTHERS[name].format(told[name])}{where}")
    return f"{of} were not alone: {'; '.join(signs)}" if signs else ""


def _few(of: str, found: _Ranges) -> str:
    ranges = found.of_most()
    if not {"quantile", "operations"} <= ranges.keys():
        return ""
    low, high = ("the median" if at == 0.5 else f"p{round(100 * at, 6):g}" for at in ranges["quantile"])
    least, most = (f"{count:.0f}" for count in ranges["operations"])
    which = f"{low} and above" if low == high else f"{high}, some even of {low}"
    lack = f"{of} have too few I/Os for an upper end of {which}: {_span(least, most)}"
    return f"{lack}; a lower bound stands beside the value"


_WRITERS: dict[str, Callable[[str, _Ranges], str]] = {
    "short-measurement": _short,
    FOREIGN_WORK: _others,
    "too-little-data": _few,
}


def _span(low: str, high: str) -> str:
    """``43 to 377 ms``: the unit once when it is the same."""
    if low == high:
        return low
    number, _, unit = low.rpartition(" ")
    is_same = bool(number) and high.endswith(f" {unit}")
    return f"{number if is_same else low} to {high}"
