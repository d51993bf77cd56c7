"""The answer of a comparison in one plain sentence: what became faster or slower, by how much, in which workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drivelab.model.apart import MAY_DIFFER
from drivelab.model.comparison import Comparison, MetricComparison
from drivelab.model.judged_metric import LATENCY, RATE, RESPONSE, THROUGHPUT
from drivelab.model.level_words import level_phrase
from drivelab.model.metric import metric_of
from drivelab.model.units import format_percent
from drivelab.report.sentences.comparison import SAME_WITHIN, constant_levels, scale_words, summary_sentence
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
    """The answer in at most 30 words, then how many numbers have which verdict."""
    summary = summary_sentence(comparison)
    return (_answer(comparison), summary) if comparison.is_anything_compared else (summary,)


def answers_with_scale(comparison: Comparison) -> tuple[str, ...]:
    """The same, and behind the answer that one side was made with ``--quick``, where that is so."""
    answer, *more = answers(comparison)
    return tuple(filter(None, (answer, scale_words(comparison), *more)))


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
    if changed:
        first = max(changed, key=lambda row: (row.is_regression, _size(row)))
        more = f"; {len(changed) - 1} more of {len(judged)} numbers changed" if len(changed) > 1 else ""
        return f"{_change(first, comparison, base, new)}{more}."
    seen = [row for row in judged if row.verdict == "seen only" and row.slowdown]
    if seen and len(seen) == len(judged):
        first = max(seen, key=_size)
        worse = [row for row in seen if (row.slowdown or 1.0) > 1]
        if (most := max(map(_size, seen)) - 1) < SAME_WITHIN:
            return f"None of {len(seen)} numbers differs by more than {format_percent(most)} between {base} and {new}."
        if 0 < len(worse) < len(seen):
            return _both_ways(seen, worse, base, new)
        why = f"; {first.why[0]}, so {MAY_DIFFER}" if first.why else ""
        return f"{_change(first, comparison, base, new, verb='looked')}{why}."
    numbers = "the number that was judged" if len(judged) == 1 else f"{len(judged)} judged numbers"
    if all(row.verdict == "equivalent" for row in judged):
        return f"{new} and {base} are equivalent within {format_percent(comparison.margin)} in {numbers}."
    return f"No difference between {new} and {base} was shown in {numbers}; that is no proof that there is none."


def _both_ways(seen: Sequence[MetricComparison], worse: Sequence[MetricComparison], base: str, new: str) -> str:
    """Numbers that look better and worse, and none stands out from the scatter: no one of them is the answer."""
    better = [row for row in seen if row not in worse]
    told = [
        f"{len(rows)} looked {how} (up to {max(map(_size, rows)):.2g} times)"
        for rows, how in ((better, "better"), (worse, "worse"))
    ]
    why = f" from {seen[0].why[0]}" if seen[0].why else ""
    return f"Whether {new} is better than {base} can't be told{why}: of {len(seen)} numbers {' and '.join(told)}."


def _size(row: MetricComparison) -> float:
    slowdown = row.slowdown or 1.0
    return max(slowdown, 1 / slowdown)


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
    if _size(row) < 1 + SAME_WITHIN:
        return f"{new} {verb} as fast as {base} for {workload}{by}"
    return f"{new} {verb} {ratio_change(row.ratio, is_more_slower=row.is_more_worse)} than {base} for {workload}{by}"
