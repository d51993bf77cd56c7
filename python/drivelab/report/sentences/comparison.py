"""The words of a comparison, the same in a terminal, in Markdown and on the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from drivelab.model.comparison import ComparedRun, Comparison, DistributionShift, MetricComparison, SideDifference
from drivelab.model.level_words import level_phrase
from drivelab.model.metric import metric_of
from drivelab.model.names import counted, in_brackets
from drivelab.model.units import format_percent, format_quantity
from drivelab.report.numerals import number_text
from drivelab.report.sentences.effect_words import command_words, ratio_change, ratio_words

_FACTOR_FROM = 2.0
# beyond this nobody wants to know by how much: nothing useful would have been found
_FACTOR_MAX = 10.0
_END_MAX = 1000.0
_MISSING_NAMED_MAX = 2
# what a row is called that has the usual level of every factor
_NOTHING_CHANGED = ""
# closer to 1 a ratio is not called a change
SAME_WITHIN = 0.005
_SUMMARY_ORDER = (
    "slower by more",
    "slower",
    "not comparable",
    "without",
    "faster by more",
    "faster",
    "equivalent",
)
_HOW_TO_READ = (
    "Ratio is {} over {}, of geometric means over runs: a latency above 1 is slower, a throughput faster. "
    "One number of each combination is judged, the one that the workload is about. Slower and faster: not by chance, "
    "corrected for all judged numbers (Holm); by more than the margin goes by the ratio, perhaps by less means that "
    "its interval begins within it. "
    "Equivalent: the 90 % interval lies within the margin. No difference shown: neither of these; it does not mean "
    "that there is none. Seen only: too few runs, or told beside the judged number."
)


def how_to_read(base: str = "BASE", new: str = "NEW") -> str:
    """What ratios and verdicts mean; `base` and `new` are what the table calls the sides."""
    return _HOW_TO_READ.format(new, base)


def sides_words(comparison: Comparison, *, is_whole: bool = True) -> tuple[str, str]:
    """Which runs BASE and NEW are: all names, or of several runs the first and how many more there are."""
    base, new = (
        _side_words(name, runs, is_whole=is_whole)
        for name, runs in (("BASE", comparison.base), ("NEW", comparison.new))
    )
    return base, new


def _side_words(name: str, runs: Sequence[ComparedRun], *, is_whole: bool) -> str:
    first, *others = runs
    if is_whole and others:
        return f"{name}, {len(runs)} runs: {', '.join(run.name for run in runs)}"
    more = f" and {counted(len(others), 'more run')}" if others else ""
    return f"{name}: {first.name}{more}"


def looks_change(row: MetricComparison, *, is_in_times: bool = False) -> str:
    """How NEW looks and how far: ``26 % slower``, ``1.26x slower``; nothing where the numbers mean different things.

    In times where latencies and rates stand below each other, of which one change has two percentages.
    """
    if row.verdict == "not comparable":
        return "-"
    if looks_words(row) == "alike":
        return "alike"
    if is_in_times:
        return f"{number_text(size_of_change(row))}x {looks_words(row)}"
    return ratio_change(replace(row.ratio, low=None, high=None), is_more_slower=row.is_more_worse)


def looks_words(row: MetricComparison) -> str:
    """How NEW looks beside BASE where nothing was judged: ``faster``, ``slower``, ``alike``."""
    if size_of_change(row) < 1 + SAME_WITHIN:
        return "alike"
    return "slower" if (row.slowdown or 1.0) > 1 else "faster"


def size_of_change(row: MetricComparison) -> float:
    """How many times better or worse NEW is, whichever it is: at least 1."""
    slowdown = row.slowdown or 1.0
    return max(slowdown, 1 / slowdown)


def verdict_words(row: MetricComparison) -> str:
    """The verdict of a row; of what was only seen which way it looks."""
    return f"looks {looks_words(row)}; {row.verdict_text}" if row.verdict == "seen only" else row.verdict_text


def summary_sentence(comparison: Comparison) -> str:
    """How many numbers have which verdict in one line, the worst first."""
    if not comparison.is_anything_judged:
        seen = next((row for row in comparison.rows if row.verdict == "seen only"), comparison.rows[0])
        why = f" ({seen.why[0]})" if seen.why else ""
        return f"Nothing is judged{why}: the ratios are what was seen, and no answer. Measure at least 5 runs a side."
    few = [row for row in comparison.rows if row.is_judged and row.verdict == "seen only"]
    worse, judged = comparison.regressions, [row for row in comparison.rows if row.is_judged and row not in few]
    found = Counter(map(_summary_words, judged))
    open_ends = Counter(_summary_words(row) for row in judged if _is_across_margin(row))
    parts = [
        f"{found[words]} {words}{_perhaps(words, open_ends[words], found[words])}"
        for words in sorted(found, key=_place)
    ]
    better = sorted((row for row in judged if row.verdict == "faster"), key=lambda row: row.slowdown or 1.0)
    # the answer above has the only one
    is_several = sum(row.verdict in ("slower", "faster") for row in judged) > 1
    named = (("Worst", worse), ("Best", better)) if is_several else ()
    constant = constant_levels(comparison.rows)
    ends = [f" {word}: {_row_change(rows[0], constant)}." for word, rows in named if rows]
    numbers = "1 judged number" if len(judged) == 1 else f"{len(judged)} judged numbers"
    reasons = in_brackets(dict.fromkeys(row.why[0] for row in few if row.why))
    seen_only = f" Seen only{reasons}: {len(few)}." if few else ""
    return f"{numbers}: {', '.join(parts)}.{''.join(ends)}{seen_only}"


def _summary_words(row: MetricComparison) -> str:
    """The verdict of a row among those of all; of what changed, on which side of the margin its ratio lies."""
    if row.verdict in ("slower", "faster"):
        return f"{row.verdict} by {'more' if row.is_beyond_margin else 'less'} than {format_percent(row.margin)}"
    return "without a difference shown" if row.verdict == "no difference shown" else row.verdict_text


def _is_across_margin(row: MetricComparison) -> bool:
    """Whether a change may lie on the other side of the margin than its ratio does: its interval holds the margin."""
    ends = [end for end in (row.ratio.low, row.ratio.high) if end is not None]
    beyond = {max(end, 1 / end) > 1 + row.margin for end in ends}
    return row.verdict in ("slower", "faster") and len(beyond) > 1


def _perhaps(words: str, count: int, total: int) -> str:
    """That the interval of some of them reaches across the margin: `` (1 of them perhaps by less)``."""
    if not count:
        return ""
    which = "" if count == total else f"{count} of them "
    return f" ({which}perhaps by {'less' if ' more ' in words else 'more'})"


def _place(words: str) -> int:
    """The worst first."""
    return next(place for place, begin in enumerate(_SUMMARY_ORDER) if words.startswith(begin))


def _row_change(row: MetricComparison, constant: Mapping[str, str]) -> str:
    """What changed, and by how much: ``small write, median latency 50 % slower (43 to 58)``."""
    change = ratio_change(row.ratio, is_more_slower=row.is_more_worse)
    return f"{row_words(row, constant)}, {metric_of(row.metric).title} {change}"


def interval_words(row: MetricComparison) -> str:
    """The 95 % interval of the ratio; empty without one."""
    ratio = row.ratio
    return "" if ratio.low is None or ratio.high is None else f"{_end_words(ratio.low)} to {_end_words(ratio.high)}"


def _end_words(value: float) -> str:
    """An end of an interval; where it is so far off that it says nothing, that it is."""
    if value > _END_MAX:
        return f"> {_END_MAX:.0f}"
    return f"< {1 / _END_MAX:g}" if value < 1 / _END_MAX else ratio_words(value)


def value_words(row: MetricComparison) -> tuple[str, str]:
    """The numbers of BASE and of NEW, of which the ratio is made."""
    per_s = "/s" if row.unit == "1/s" else ""
    base, new = (
        "-" if side is None else f"{format_quantity(side.value, row.unit)}{per_s}" for side in (row.base, row.new)
    )
    return base, new


def repeats_words(row: MetricComparison) -> str:
    """How many repeats stand behind a row: ``5 each``, ``15 in 3 runs and 5``."""
    sides = [side for side in (row.base, row.new) if side is not None]
    counts = [
        f"{one.repeat_count} in {one.run_count} runs" if one.run_count > 1 else str(one.repeat_count) for one in sides
    ]
    return f"{counts[0]} each" if len(counts) > 1 and len(set(counts)) == 1 else " and ".join(counts)


def row_words(row: MetricComparison, constant: Mapping[str, str]) -> str:
    """A combination: its workload and the levels that are not the same in all rows; targets where they differ."""
    return ", ".join(filter(None, (row.label, level_words(row, constant))))


def level_words(
    row: MetricComparison, constant: Mapping[str, str], write: Callable[[str, str], str] = level_phrase
) -> str:
    """The levels that tell a combination from others of its workload, each as `write` does; empty where none does."""
    told = (write(name, level) for name, level in row.levels.items() if constant.get(name) != level)
    return ", ".join(told) or constant.get(_NOTHING_CHANGED, "")


def distribution_words(one: DistributionShift) -> str:
    """Whose latencies: ``4 KiB appended + fdatasync, ext4, write``."""
    return ", ".join([one.label, *(level_phrase(*one_level) for one_level in one.levels.items()), one.operation])


def constant_levels(rows: Sequence[MetricComparison]) -> dict[str, str]:
    """Levels that all rows have."""
    if not rows:
        return {}
    return {name: level for name, level in rows[0].levels.items() if all(row.levels.get(name) == level for row in rows)}


def usual_levels(rows: Sequence[MetricComparison]) -> dict[str, str]:
    """Levels that need no telling: those of all rows; where one setting at a time was changed, those of most rows."""
    names = dict.fromkeys(name for row in rows for name in row.levels)
    most = {name: Counter(row.levels.get(name, "") for row in rows).most_common(1)[0][0] for name in names}
    changed = [sum(level != most[name] for name, level in row.levels.items()) for row in rows]
    is_of_one = len({row.workload for row in rows}) == 1
    varied = [name for name in names if len({row.levels.get(name, "") for row in rows}) > 1]
    is_one_at_a_time = is_of_one and len(varied) > 1 and len(rows) > len(varied) and max(changed) == 1
    return {**most, _NOTHING_CHANGED: "baseline"} if is_one_at_a_time else constant_levels(rows)


def target_words(row: MetricComparison) -> str:
    """Where it was measured."""
    return row.target_new if row.target_base == row.target_new else f"{row.target_base} -> {row.target_new}"


def difference_words(one: SideDifference) -> str:
    """One fact that differs: ``kernel: 6.12.1 in BASE, 6.18.2 in NEW``."""
    return f"{one.what}: {' and '.join(one.base)} in BASE, {' and '.join(one.new)} in NEW"


def commands_words(row: MetricComparison) -> str:
    """Which device commands per operation changed; empty when none did."""
    return ", ".join(command_words(change) for change in row.commands if change.is_changed)


def remarks(comparison: Comparison) -> Iterator[str]:
    """What else there is to say: what limits it, commands that changed, what could have been found, what is missing."""
    if comparison.part_differences:
        yield "The numbers in the table were measured without tracing."
    yield from comparison.notes
    changed: dict[str, list[str]] = {}
    constant = constant_levels(comparison.rows)
    for row in comparison.rows:
        if words := commands_words(row):
            changed.setdefault(words, []).append(row_words(row, constant))
    for words, rows in changed.items():
        named = ", ".join(dict.fromkeys(rows))
        yield f"The drive counted other commands per operation, those of other programs included: {words} ({named})."
    if found := detection_sentence(comparison):
        yield found
    yield from _by_chance(comparison)
    sides = (
        ("BASE", "NEW", comparison.only_base, comparison.left_out_base),
        ("NEW", "BASE", comparison.only_new, comparison.left_out_new),
    )
    for name, other, only, left_out in sides:
        # that a whole target is left out is told beside the answer
        missing = [one for one in only if not one.endswith(tuple(f", {target}" for target in left_out))]
        if missing:
            more = len(missing) - _MISSING_NAMED_MAX
            listed = "; ".join(missing[:_MISSING_NAMED_MAX]) + (f"; and {more} more" if more > 0 else "")
            yield f"{name} has {counted(len(missing), 'combination')} that {other} lacks: {listed}."


def _by_chance(comparison: Comparison) -> Iterator[str]:
    """That an interval without 1 is no difference where many numbers were looked at."""
    tested = [row for row in comparison.rows if row.adjusted_p_value is not None]
    alone = [row for row in tested if row.verdict == "no difference shown" and not _holds_one(row)]
    if alone:
        rows = "1 interval leaves" if len(alone) == 1 else f"{len(alone)} intervals leave"
        of = counted(len(tested), "number")
        yield f"{rows} out 1, and no difference is shown: of {of} one in twenty does so by chance."


def _holds_one(row: MetricComparison) -> bool:
    return row.ratio.low is not None and row.ratio.high is not None and row.ratio.low <= 1 <= row.ratio.high


def detection_sentence(comparison: Comparison) -> str:
    """How small a difference these runs would have shown; empty where there is no interval at all."""
    by_metric: dict[str, list[float]] = {}
    for row in comparison.rows:
        if row.detectable_ratio is not None:
            by_metric.setdefault(metric_of(row.metric).title, []).append(row.detectable_ratio)
    if not by_metric:
        return ""
    parts = [
        f"{' to '.join(dict.fromkeys([_size(min(of)), _size(max(of))]))} in {name}" for name, of in by_metric.items()
    ]
    return f"With these runs a difference of {', '.join(parts)} would have been found 4 times out of 5."


def _size(ratio: float) -> str:
    if ratio > _FACTOR_MAX:
        return f"no less than a factor of {_FACTOR_MAX:.0f}"
    return f"{format_percent(ratio - 1)}" if ratio < _FACTOR_FROM else f"a factor of {ratio_words(ratio)}"


def reasons(comparison: Comparison) -> dict[str, list[str]]:
    """Why rows are not comparable, each reason once, with the combinations that it holds for."""
    found: dict[str, list[str]] = {}
    constant = constant_levels(comparison.rows)
    for row in comparison.rows:
        if row.verdict == "not comparable":
            for why in row.why:
                found.setdefault(why, []).append(row_words(row, constant))
    return {why: list(dict.fromkeys(rows)) for why, rows in found.items()}
