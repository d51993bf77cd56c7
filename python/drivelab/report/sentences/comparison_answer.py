"""The answer of a comparison in one plain sentence: what became faster or slower, by how much, in which workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from drivelab.model.apart import MAY_DIFFER
from drivelab.model.comparison import Comparison, MetricComparison
from drivelab.model.judged_metric import LATENCY, RATE, RESPONSE, THROUGHPUT
from drivelab.model.level_words import level_phrase
from drivelab.model.metric import metric_of
from drivelab.model.units import format_percent
from drivelab.report.sentences.comparison import (
    SAME_WITHIN,
    amount_words,
    constant_levels,
    limits_words,
    looks_words,
    size_of_change,
    summary_sentence,
)
from drivelab.report.sentences.effect_words import ratio_change

_NAME_LENGTH_MAX = 24
_WORKLOAD_WORDS_MAX = 8
_AS_FOUND = "as-found"
_UNNAMED = frozenset((LATENCY, RESPONSE, THROUGHPUT, RATE))
# how long and where a trial of many was measured
_OF_A_TRIAL = ("length of ", "range of ")
# what differs beside what is compared, or because of it
_BESIDE = frozenset(
    (
        "drivelab",
        "engine",
        "experiment",
        "scale",
        "measured by",
        "file system of the target",
        "mount options of the target",
    )
)


def answers(comparison: Comparison) -> tuple[str, ...]:
    """The answer in at most 30 words, then how many numbers have which verdict where these are several."""
    summary = summary_sentence(comparison)
    if not comparison.is_anything_compared:
        return (summary,)
    verdicts = {row.verdict for row in comparison.rows if row.is_judged}
    is_told = len(verdicts) == 1 and verdicts <= {"equivalent", "no difference shown"}
    return (_answer(comparison), summary)[: 1 if is_told else 2]


def answers_with_limits(comparison: Comparison) -> tuple[str, ...]:
    """The same, and behind the answer what limits it: ``--quick`` on one side, and targets that are left out."""
    answer, *more = answers(comparison)
    return (answer, *limits_words(comparison), *more)


def side_names(comparison: Comparison) -> tuple[str, str]:
    """What people call BASE and NEW: what they differ in, else the names of the runs where these are short."""
    targets = {(row.target_base, row.target_new) for row in comparison.rows}
    if len(targets) == 1:
        (pair,) = targets
        if _are_names(*pair):
            return pair
    for one in comparison.differences:
        is_beside = one.what in _BESIDE or one.what.startswith(_OF_A_TRIAL)
        if not is_beside and len(one.base) == len(one.new) == 1 and _are_names(one.base[0], one.new[0]):
            prefix = f"{one.what} " if one.base[0][:1].isdigit() or one.new[0][:1].isdigit() else ""
            return f"{prefix}{one.base[0]}", f"{prefix}{one.new[0]}"
    if len(comparison.base) == len(comparison.new) == 1 and _are_names(comparison.base[0].name, comparison.new[0].name):
        return comparison.base[0].name, comparison.new[0].name
    return "BASE", "NEW"


def _are_names(base: str, new: str) -> bool:
    return base != new and all(name and len(name) <= _NAME_LENGTH_MAX for name in (base, new))


def _answer(comparison: Comparison) -> str:
    base, new = side_names(comparison)
    judged = [row for row in comparison.rows if row.is_judged and row.verdict != "not comparable"]
    changed = [row for row in judged if row.verdict in ("slower", "faster")]
    if len(changed) == 1:
        others = f"; the only one of {len(judged)} numbers that changed" if len(judged) > 1 else ""
        return f"{_change(changed[0], comparison, base, new)}{others}."
    if changed:
        return _changed(changed, len(judged), base, new)
    seen = [row for row in judged if row.verdict == "seen only" and row.slowdown]
    if seen and len(seen) == len(judged):
        return _seen(seen, comparison, base, new)
    numbers = "the number that was judged" if len(judged) == 1 else f"{len(judged)} judged numbers"
    if all(row.verdict == "equivalent" for row in judged):
        return f"{new} and {base} are equivalent within {format_percent(comparison.margin)} in {numbers}."
    return f"No difference between {new} and {base} was shown in {numbers}; that is no proof that there is none."


def _changed(changed: Sequence[MetricComparison], count: int, base: str, new: str) -> str:
    """``xfs was 5 to 65 % faster than ext4 in 6 of 7 numbers``, and how many became slower, by how much."""
    told = []
    for verdict in ("slower", "faster"):
        rows = sorted((row for row in changed if row.verdict == verdict), key=size_of_change)
        if rows:
            told.append((_span([_amount(row) for row in (rows[0], rows[-1])]), verdict, len(rows)))
    (span, verdict, number), *others = told
    more = "".join(f", and {span} {verdict} in {number}" for span, verdict, number in others)
    where = f"{number} of {count}" if number < count else "both" if count == 2 else f"all {count}"
    return f"{new} was {span} {verdict} than {base} in {where} numbers{more}."


def _amount(row: MetricComparison) -> str:
    """How much slower or faster, as `_change` says it, without the word."""
    bare = replace(row.ratio, low=None, high=None)
    return ratio_change(bare, is_more_slower=row.is_more_worse).rpartition(" ")[0]


def _span(ends: Sequence[str]) -> str:
    """``2.3 to 1 400 times``: a unit is said once, and so is what is the same."""
    ends = list(dict.fromkeys(ends))
    units = {end.rpartition(" ")[2] for end in ends}
    return " to ".join([*(end.rpartition(" ")[0] if len(units) == 1 else end for end in ends[:-1]), ends[-1]])


def _seen(seen: Sequence[MetricComparison], comparison: Comparison, base: str, new: str) -> str:
    """What too few runs show: which way the numbers look and how far; no one of them is the answer."""
    most = max(map(size_of_change, seen)) - 1
    if not most and len(seen) > 1:
        return f"All {len(seen)} numbers are the same in {base} and {new}."
    if most < SAME_WITHIN:
        return f"None of {len(seen)} numbers differs by more than {format_percent(most)} between {base} and {new}."
    why = seen[0].why[0] if seen[0].why else ""
    looks = {how: [row for row in seen if looks_words(row) == how] for how in ("better", "worse", "alike")}
    if looks["better"] and looks["worse"]:
        told = [_looked(how, rows) for how, rows in looks.items() if rows]
        told[0] = told[0].replace(" ", " looked ", 1)
        counts = f"{', '.join(told[:-1])} and {told[-1]}"
        can = f"Whether {new} is better than {base} can't be told{f' from {why}' if why else ''}"
        return f"{can}: of {len(seen)} numbers {counts}."
    because = f"; {why}, so {MAY_DIFFER}" if why else ""
    if len(seen) == 1:
        return f"{_change(seen[0], comparison, base, new, verb='looked')}{because}."
    how = "better" if looks["better"] else "worse"
    sizes = sorted(map(size_of_change, looks[how]))
    span = _span([amount_words(size, 2) for size in (sizes[0], sizes[-1])])
    where = f"all {len(seen)} numbers" if len(sizes) == len(seen) else f"{len(sizes)} of {len(seen)} numbers"
    return f"{new} looked {how} than {base} in {where} ({span}){because}."


def _looked(how: str, rows: Sequence[MetricComparison]) -> str:
    """``11 better (up to 1.3 times)``, ``1 worse (3 %)``, ``1 alike``."""
    if how == "alike":
        return f"{len(rows)} alike"
    up_to = "up to " if len(rows) > 1 else ""
    return f"{len(rows)} {how} ({up_to}{amount_words(max(map(size_of_change, rows)), 2)})"


def _workload(row: MetricComparison, constant: Mapping[str, str]) -> str:
    """The workload and the levels that tell it from the others, as many as there is room for."""
    words = row.label.split(" ")
    if len(words) > _WORKLOAD_WORDS_MAX:
        return f"{' '.join(words[:_WORKLOAD_WORDS_MAX])}…"
    for name, level in row.levels.items():
        if constant.get(name) == level or level.startswith(_AS_FOUND):
            continue
        more = level_phrase(name, level).split(" ")
        if len(words) + len(more) > _WORKLOAD_WORDS_MAX:
            break
        words = [*words[:-1], f"{words[-1]},", *more]
    return " ".join(words)


def _change(row: MetricComparison, comparison: Comparison, base: str, new: str, verb: str = "was") -> str:
    """``xfs was 2.7 times faster (1.6 to 7) than ext4 for 512 B appends``."""
    workload = _workload(row, constant_levels(comparison.rows))
    by = "" if row.metric in _UNNAMED else f", by {metric_of(row.metric).title}"
    if size_of_change(row) < 1 + SAME_WITHIN:
        return f"{new} {verb} as fast as {base} for {workload}{by}"
    return f"{new} {verb} {ratio_change(row.ratio, is_more_slower=row.is_more_worse)} than {base} for {workload}{by}"
