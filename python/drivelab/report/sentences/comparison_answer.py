"""The answer of a comparison in one plain sentence: what became faster or slower, by how much, in which workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from drivelab.model.apart import MAY_DIFFER
from drivelab.model.comparison import Comparison, MetricComparison
from drivelab.model.judged_metric import LATENCY, RATE, RESPONSE, THROUGHPUT
from drivelab.model.level_words import level_phrase
from drivelab.model.metric import metric_of
from drivelab.model.names import in_number, names_in_words, of_all
from drivelab.model.units import format_percent, format_quantity
from drivelab.report.numerals import THIN_SPACE, number_text
from drivelab.report.parts_of_text import FIRST_WORDS_MAX, capitalised
from drivelab.report.sentences.comparison import (
    SAME_WITHIN,
    constant_levels,
    looks_words,
    size_of_change,
    summary_sentence,
)
from drivelab.report.sentences.effect_words import TIMES_FROM, ratio_change, than_words, times_words

_NAME_LENGTH_MAX = 24
_WORKLOAD_WORDS_MAX = 8
# what a number of a simulation differs by in its last digits
_NOTHING = 5e-4
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
    if not comparison.is_anything_compared:
        return (_nothing(comparison),)
    verdicts = {row.verdict for row in comparison.rows if row.is_judged}
    is_told = len(verdicts) == 1 and verdicts <= {"equivalent", "no difference shown"}
    return (_answer(comparison), summary_sentence(comparison))[: 1 if is_told else 2]


def answers_with_limits(comparison: Comparison) -> tuple[str, ...]:
    """The same, and behind the answer what limits it: ``--quick`` on one side, and targets that are left out."""
    answer, *more = answers(comparison)
    return (answer, *limits_words(comparison), *more)


def limits_words(comparison: Comparison) -> list[str]:
    """What to know before any number: ``--quick`` on one side, which targets stand beside others or are left out."""
    if not comparison.is_anything_compared:
        return []
    told = [_scale_words(comparison), _pairs_words(comparison)]
    for side, other, targets in (("BASE", "NEW", comparison.left_out_base), ("NEW", "BASE", comparison.left_out_new)):
        if targets:
            are = in_number(len(targets), "are")
            told.append(f"{', '.join(targets)} of {side} {are} left out: {other} has nothing to compare with.")
    return [one for one in told if one]


def _scale_words(comparison: Comparison) -> str:
    """That one side was made with ``--quick`` and the other was not; empty where both are alike."""
    found = {
        name: sum(run.is_quick for run in runs) / len(runs)
        for name, runs in (("BASE", comparison.base), ("NEW", comparison.new))
    }
    quick = [name for name, share in found.items() if share]
    if len(set(found.values())) == 1:
        return ""
    which = f"Only {quick[0]}" if len(quick) == 1 and found[quick[0]] == 1 else "Some runs, and not all,"
    return f"{which} used --quick: shorter trials may be the whole difference."


def _pairs_words(comparison: Comparison) -> str:
    """Which targets of different names are compared; empty where the answer names them."""
    pairs = dict.fromkeys((row.target_base, row.target_new) for row in comparison.rows)
    others = [(base, new) for base, new in pairs if base != new]
    if not others or [*pairs] == [side_names(comparison)]:
        return ""
    (base, new), *more = others
    return f"{new} of NEW is compared with {base} of BASE{''.join(f', {two} with {one}' for one, two in more)}."


def side_names(comparison: Comparison) -> tuple[str, str]:
    """What people call BASE and NEW: what they differ in, else the names of the runs where these are short.

    Where two programs measured it is the programs: of another one's result a drive's name is all that is known,
    so that nobody can say that it was another drive.
    """
    for one in comparison.differences:
        if one.what == "measured by" and len(one.base) == len(one.new) == 1:
            return one.base[0], one.new[0]
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


def _nothing(comparison: Comparison) -> str:
    """Why nothing could be compared, with the drives where they are others and there is room."""
    why = "{} and {} have no combination of workload and levels in common"
    if comparison.left_out_base and comparison.left_out_new:
        why = "{} and {} have no drive in common, and drivelab report puts all drives beside each other"
    if number := len(comparison.rows):
        numbers = "the only number means" if number == 1 else f"{_all_numbers(number)} mean"
        why = f"{numbers} different things in {{}} and {{}}"
        reasons = {row.why[:1] for row in comparison.rows if row.verdict == "not comparable"}
        named = (
            f"Nothing could be compared: {next(iter(reasons))[0]}." if len(reasons) == 1 and () not in reasons else ""
        )
        if 0 < len(named.split()) <= FIRST_WORDS_MAX:
            return named
    told = [
        (f"BASE (on {names_in_words(one.base)})", f"NEW (on {names_in_words(one.new)})")
        for one in comparison.differences
        if one.what == "drive"
    ]
    sentences = [f"Nothing could be compared: {why.format(*sides)}." for sides in (*told, ("BASE", "NEW"))]
    return next((one for one in sentences if len(one.split()) <= FIRST_WORDS_MAX), sentences[-1])


def _answer(comparison: Comparison) -> str:
    base, new = side_names(comparison)
    judged = [row for row in comparison.rows if row.is_judged and row.verdict != "not comparable"]
    changed = [row for row in judged if row.verdict in ("slower", "faster")]
    if len(changed) == 1:
        others = _unchanged([row for row in judged if row is not changed[0]], comparison.margin)
        return f"{_change(changed[0], comparison, base, new)}{others}."
    if changed:
        count = sum(row.verdict != "seen only" for row in judged)
        return _changed(changed, count, base, new, _burst_words(comparison))
    seen = [row for row in judged if row.verdict == "seen only" and row.slowdown]
    if seen and len(seen) == len(judged):
        return _seen(seen, comparison, base, new)
    judged = [row for row in judged if row.verdict != "seen only"]
    numbers = "the number that was judged" if len(judged) == 1 else f"{len(judged)} judged numbers"
    if all(row.verdict == "equivalent" for row in judged):
        return f"{new} and {base} are equivalent within {format_percent(comparison.margin)} in {numbers}."
    return f"No difference between {new} and {base} was shown in {numbers}; that is no proof that there is none."


def _unchanged(others: Sequence[MetricComparison], margin: float) -> str:
    """What became of the numbers beside the only one that changed; what is within the margin may differ a little."""
    if others and all(row.verdict == "equivalent" for row in others):
        which = "the other number is" if len(others) == 1 else f"the other {len(others)} numbers are"
        return f"; {which} equivalent within {format_percent(margin)}"
    return f"; the only one of {len(others) + 1} numbers where a change was shown" if others else ""


def _changed(changed: Sequence[MetricComparison], count: int, base: str, new: str, limit: str) -> str:
    """``xfs was 5 to 65 % faster than ext4 in 6 of 7 numbers``, and how many became slower, by how much."""
    told = []
    for verdict in ("slower", "faster"):
        rows = sorted((row for row in changed if row.verdict == verdict), key=size_of_change)
        if rows:
            told.append((_span_of_changes(rows, verdict), len(rows)))
    (change, number), *others = told
    more = "".join(f", and {change} in {number}" for change, number in others)
    return f"{new} was {change} {than_words(change)} {base} in {of_all(number, count)} numbers{more}{limit}."


def _burst_words(comparison: Comparison) -> str:
    """That the numbers of a drive may be those of a burst, where the other drive's are not."""
    found = []
    for pair in dict.fromkeys((row.target_base, row.target_new) for row in comparison.rows):
        rates = [comparison.perhaps_bursts.get(target) for target in pair]
        for rate, whose, other in zip(rates, (f"{pair[0]}'s", "its"), reversed(rates), strict=True):
            if rate is not None and other is None:
                found.append(f"; {whose} {format_quantity(rate, '1/s')}/s may be a burst")
    return found[0] if found else ""


def _span_of_changes(
    rows: Sequence[MetricComparison], verdict: str, *, is_most_alone: bool = False, is_in_times: bool = False
) -> str:
    """``2.3 to 1 400 times as fast``, ``5 to 65 % slower``; of rows in the order of their changes.

    A latency that grows by half and a rate that falls by a third are one change with two percentages: where both are
    told together, it is in times.
    """
    least, most = rows[-1 if is_most_alone else 0], rows[-1]
    is_large = size_of_change(most) >= TIMES_FROM
    if is_in_times or is_large or (verdict == "slower" and len({row.is_more_worse for row in rows}) > 1):
        unit = times_words(verdict)
        digits = 2 if is_large else 3
        ends = [number_text(size_of_change(row), digits).replace(THIN_SPACE, " ") for row in (least, most)]
    else:
        unit = f"% {verdict}"
        bare = [(replace(row.ratio, low=None, high=None), row.is_more_worse) for row in (least, most)]
        ends = [ratio_change(ratio, is_more_slower=is_worse).removesuffix(f" {unit}") for ratio, is_worse in bare]
    return f"{' to '.join(dict.fromkeys(ends))} {unit}"


def _seen(seen: Sequence[MetricComparison], comparison: Comparison, base: str, new: str) -> str:
    """What too few runs show: which way the numbers look and how far; no one of them is the answer."""
    most = max(map(size_of_change, seen)) - 1
    if most < _NOTHING and len(seen) > 1:
        return f"{capitalised(_all_numbers(len(seen)))} are the same in {base} and {new}."
    if most < SAME_WITHIN:
        none = "The only number does not differ" if len(seen) == 1 else f"None of {len(seen)} numbers differs"
        return f"{none} by more than {format_percent(most)} between {base} and {new}."
    is_same_again = all(run.is_simulated for run in (*comparison.base, *comparison.new))
    why = seen[0].why[0] if seen[0].why and not is_same_again else ""
    burst = _burst_words(comparison)
    looks = {how: [row for row in seen if looks_words(row) == how] for how in ("faster", "slower", "alike")}
    if looks["faster"] and looks["slower"]:
        return _by_pattern(looks, base, new, why, burst) or _counted(looks, base, new, why)
    because = burst or (f"; {why}, so {MAY_DIFFER}" if why else "")
    if len(seen) == 1:
        return f"{_change(seen[0], comparison, base, new, verb='looked')}{because}."
    how = "faster" if looks["faster"] else "slower"
    rows = sorted(looks[how], key=size_of_change)
    change = _span_of_changes(rows, how)
    where = _all_numbers(len(seen)) if len(rows) == len(seen) else f"{len(rows)} of {len(seen)} numbers"
    scatter = ", beyond the scatter of repeats" if all(row.is_beyond_repeats for row in rows) else ""
    return f"{new} looked {change} {than_words(change)} {base} in {where}{scatter}{because}."


def _all_numbers(count: int) -> str:
    return f"{of_all(count, count)} numbers"


def _by_pattern(looks: Mapping[str, Sequence[MetricComparison]], base: str, new: str, why: str, burst: str) -> str:
    """``gp2 looked 6 to 15 times as fast as disk at random I/O, and 36 % slower at sequential I/O``.

    Empty where one kind of I/O is among those that look faster and among those that look slower.
    """
    patterns = {how: list(dict.fromkeys(row.pattern for row in rows)) for how, rows in looks.items()}
    if looks["alike"] or not all(map(all, patterns.values())) or {*patterns["faster"]} & {*patterns["slower"]}:
        return ""
    told: list[str] = []
    for how in ("faster", "slower"):
        rows = sorted(looks[how], key=size_of_change)
        change, kinds = _span_of_changes(rows, how), names_in_words(patterns[how])
        told.append(f"{change} {'' if told else f'{than_words(change)} {base} '}at {kinds}")
    runs = "" if burst or not why else f"From {why}, "
    return f"{runs}{new} looked {', and '.join(told)}{burst}."


def _counted(looks: Mapping[str, Sequence[MetricComparison]], base: str, new: str, why: str) -> str:
    """That some numbers look faster and others slower, and how many of each."""
    told = [_looked(how, rows) for how, rows in looks.items() if rows]
    if any(" times" in one for one in told):
        # one unit in a sentence
        told = [_looked(how, rows, is_in_times=True) for how, rows in looks.items() if rows]
    told[0] = told[0].replace(" ", " looked ", 1)
    counts = f"{', '.join(told[:-1])} and {told[-1]}"
    can = f"Whether {new} is faster than {base} can't be told{f' from {why}' if why else ''}"
    return f"{can}: of {sum(map(len, looks.values()))} numbers {counts}."


def _looked(how: str, rows: Sequence[MetricComparison], *, is_in_times: bool = False) -> str:
    """``11 faster (up to 30 %)``, ``1 slower (3 %)``, ``1 alike``."""
    if how == "alike":
        return f"{len(rows)} alike"
    up_to = "up to " if len(rows) > 1 else ""
    ordered = sorted(rows, key=size_of_change)
    times = _span_of_changes(ordered, how, is_most_alone=True, is_in_times=is_in_times).replace(
        times_words(how), "times"
    )
    return f"{len(rows)} {how} ({up_to}{times.removesuffix(f' {how}')})"


def _workload(row: MetricComparison, constant: Mapping[str, str]) -> str:
    """The workload and the levels that tell it from the others, as many as there is room for."""
    # of two names for one workload that of BASE
    words = row.label.partition(" -> ")[0].split(" ")
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
    """``xfs was 2.7 times as fast (1.6 to 7) as ext4 for 512 B appends``."""
    workload = _workload(row, constant_levels(comparison.rows))
    # a name without a title does not tell what was done
    is_told = row.metric in _UNNAMED and row.label != row.workload
    by = "" if is_told else f", by {metric_of(row.metric).title}"
    if size_of_change(row) < 1 + SAME_WITHIN:
        return f"{new} {verb} as fast as {base} for {workload}{by}"
    change = ratio_change(row.ratio, is_more_slower=row.is_more_worse)
    return f"{new} {verb} {change} {than_words(change)} {base} for {workload}{by}"
