"""The small plots of a terminal: combinations as bars, latency over size, effects, and several runs side by side.

They are lines of text, at most as wide as asked, of Unicode blocks or of ASCII;
nothing hangs on colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from drivelab.model.level_words import level_text
from drivelab.model.metric import metric_of
from drivelab.model.result_set import Observation, ResultSet
from drivelab.model.run_answer import CombinationResult, LevelEffect, RunAnswer
from drivelab.model.units import format_bytes
from drivelab.report.combination_labels import NOT_APPLICABLE, combination_labels
from drivelab.report.content import TrialContent
from drivelab.report.judged_order import judged_order
from drivelab.report.terminal.bars import Bar, BarGroup, bar_plot
from drivelab.report.terminal.curve import curve_plot
from drivelab.report.terminal.effects import effects_plot
from drivelab.report.terminal.scale import TextPlot
from drivelab.report.terminal.size_series import panels_of_answer, panels_of_trials

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

# the page has the others
CURVES_MAX = 2
PLOTS_MAX = 6
WIDTH_MAX = 120
# factors whose levels are how many I/Os are outstanding
_DEPTH_FACTORS = ("queue_depth", "job_count")


class TextPlots:
    """Plots for a console of rich, drawn for its width when it prints them.

    Parameters
    ----------
    answer : RunAnswer, optional
        What the trials of a run come to.
    trials : sequence of TrialContent, optional
        Those of a check, which has no combinations.
    """

    def __init__(
        self,
        answer: RunAnswer | None = None,
        trials: Sequence[TrialContent] = (),
        result_sets: Sequence[ResultSet] = (),
        *,
        plain: bool = False,
    ) -> None:
        self._answer = answer
        self._trials = trials
        self._sets = result_sets
        self._plain = plain

    def plots(self, width: int) -> list[TextPlot]:
        """The plots as lines, the most telling one first; at most `PLOTS_MAX`."""
        width = min(width, WIDTH_MAX)
        found = run_plots(self._sets, width, plain=self._plain)
        if not found and self._answer is not None:
            found = answer_plots(self._answer, width, plain=self._plain)
        if not found:
            found = _trial_plots(self._trials, width, plain=self._plain)
        return found[:PLOTS_MAX]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the plots, an empty line after each."""
        from rich.text import Text

        for plot in self.plots(options.max_width):
            yield Text(plot.title, style="bold")
            yield from (Text(line, no_wrap=True, overflow="crop") for line in plot.lines)
            yield Text()


def answer_plots(answer: RunAnswer, width: int, *, plain: bool = False) -> list[TextPlot]:
    """The plots of a run: effects, latency over size, and bars of the combinations of which neither tells."""
    effects: dict[tuple[str, str], list[LevelEffect]] = {}
    for effect in answer.effects:
        effects.setdefault((effect.target, effect.workload), []).append(effect)
    plots: list[TextPlot | None] = []
    plots += [effects_plot(members, answer, width, plain=plain) for members in effects.values()]
    plots += [curve_plot(panel, width, plain=plain) for panel in panels_of_answer(answer)[:CURVES_MAX]]
    told = {workload for _, workload in effects}
    plots += [bar_plot(group, width, plain=plain) for group in _groups(answer, told)]
    return [plot for plot in plots if plot is not None]


def _trial_plots(trials: Sequence[TrialContent], width: int, *, plain: bool = False) -> list[TextPlot]:
    """The plots of trials that stand alone: latency over size where they differ in it."""
    found = [curve_plot(panel, width, span="95 % interval", plain=plain) for panel in panels_of_trials(trials)]
    return [plot for plot in found if plot is not None]


def _groups(answer: RunAnswer, told: set[str]) -> Iterator[BarGroup]:
    """The bars of each workload that differs in more than the size of its I/Os."""
    by_workload: dict[str, list[CombinationResult]] = {}
    for one in answer.combinations:
        if one.workload not in told:
            by_workload.setdefault(one.workload, []).append(one)
    for members in by_workload.values():
        metric = members[0].judged_metric
        is_drawn_over_size = (
            metric_of(metric).quantity == "latency" and len({one.block_size_bytes for one in members}) > 1
        )
        if len(members) > 1 and not is_drawn_over_size:
            yield _group(members, metric)


def _group(members: Sequence[CombinationResult], metric: str) -> BarGroup:
    labels = combination_labels(members)
    targets = list(dict.fromkeys(one.target for one in members))
    names, rows = labels.names, labels.rows
    if len(targets) > 1:
        names = ("target", *names)
        rows = tuple((one.target, *row) for one, row in zip(members, rows, strict=True))
    repeats = max(one.trial_count for one in members)
    where = "" if len(targets) > 1 else f" on {targets[0]}"
    return BarGroup(
        title=f"{members[0].label}{where}: {metric_of(metric).words}",
        unit=next((one.metrics[metric].unit for one in members if metric in one.metrics), "ns"),
        bars=tuple(_bar(one, row, metric) for one, row in zip(members, rows, strict=True)),
        heads=names,
        span=f"range of {repeats} repeats" if repeats > 1 else "95 % interval",
    )


def _bar(one: CombinationResult, labels: tuple[str, ...], metric: str) -> Bar:
    found = one.metrics.get(metric)
    mark = "!" if one.invalid_trials else ""
    if found is None:
        low, high = one.bounds.get(metric, (None, None))
        return Bar(labels, None, low, high, mark)
    low, high = found.ends
    return Bar(labels, found.value, low, high, mark or ("~" if found.is_seen else ""))


def run_plots(sets: Sequence[ResultSet], width: int, *, plain: bool = False) -> list[TextPlot]:
    """What runs and published pages have in common: a plot for each kind of I/O, a row for each run and drive.

    Parameters
    ----------
    sets : sequence of ResultSet
        The runs in their order, then published pages; of a single one all is drawn that has two rows.
    """
    kinds: dict[tuple[object, ...], list[tuple[ResultSet, Observation]]] = {}
    members_of: dict[tuple[object, ...], list[tuple[ResultSet, Observation]]] = {}
    for results in sets:
        for seen in results.observations:
            members_of.setdefault((_operation(seen), seen.block_size_bytes, seen.title), []).append((results, seen))
    for key, sweep in members_of.items():
        is_sweep = len({results.key for results, seen in sweep if _sweeps_depth(seen)}) >= min(2, len(sets))
        for results, seen in sweep:
            # a sweep of depths is one plot; otherwise only what has the same depth stands in one
            kind = (*key, "sweep") if is_sweep and _sweeps_depth(seen) else (*key[:2], seen.queue_depth)
            kinds.setdefault(kind, []).append((results, seen))
    plots: list[TextPlot | None] = []
    for members in kinds.values():
        metric = _common_metric(members, at_least=min(2, len(sets)))
        if metric:
            chosen = [(results, seen) for results, seen in members if seen.metric == metric]
            plots.append(bar_plot(_run_group(chosen, metric, sets), width, plain=plain))
    return [plot for plot in plots if plot is not None]


def _sweeps_depth(seen: Observation) -> bool:
    return any(name in seen.levels for name in _DEPTH_FACTORS)


def _operation(seen: Observation) -> str:
    """What was done, in the words of all: a durable write is one whoever measured it, and however."""
    return "durable write" if seen.is_durable else seen.operation.replace("_", " ")


def _common_metric(members: Sequence[tuple[ResultSet, Observation]], *, at_least: int) -> str:
    """The metric that most of the runs have, of several the one that is judged; empty where too few share one."""
    order = judged_order([seen for _, seen in members])
    having = {metric: {results.key for results, seen in members if seen.metric == metric} for metric in order}
    best = max(order, key=lambda metric: (len(having[metric]), -order.index(metric)))
    return best if len(having[best]) >= at_least else ""


def _drive_names(members: Sequence[Observation]) -> dict[tuple[str, str], str]:
    """What each drive of each machine is called: one model in several machines is told apart by them."""
    machines: dict[str, set[str]] = {}
    for seen in members:
        machines.setdefault(seen.drive, set()).add(seen.machine)
    return {
        (seen.drive, seen.machine): f"{seen.drive} on {seen.machine}" if len(machines[seen.drive]) > 1 else seen.drive
        for seen in members
    }


def _run_group(members: Sequence[tuple[ResultSet, Observation]], metric: str, sets: Sequence[ResultSet]) -> BarGroup:
    first = members[0][1]
    factors = list(dict.fromkeys(name for _, seen in members for name in seen.levels))
    varying = [name for name in factors if len({seen.levels.get(name, "") for _, seen in members}) > 1]
    pairs = {(results.key, seen.drive) for results, seen in members}
    drives = {drive for _, drive in pairs}
    # where no drive was measured by two runs, the drive says which run it was
    has_drives, has_runs = len(drives) > 1, len(drives) == 1 or len(pairs) > len(drives)
    names = _drive_names([seen for _, seen in members])
    has_drives = has_drives or len(names) > 1
    # what pages call by other words is one workload; several of one run are several
    of_each = {pair: {seen.title for results, seen in members if (results.key, seen.drive) == pair} for pair in pairs}
    has_titles = any(len(titles) > 1 for titles in of_each.values())
    # those of one combination together, so that runs stand below each other
    groups: dict[tuple[str, ...], list[tuple[ResultSet, Observation]]] = {}
    for results, seen in members:
        levels = tuple(
            level_text(name, seen.levels[name]) if name in seen.levels else NOT_APPLICABLE for name in varying
        )
        levels = (seen.title, *levels) if has_titles else levels
        groups.setdefault(levels, []).append((results, seen))
    bars = [
        Bar(
            (*levels, *([names[seen.drive, seen.machine]] if has_drives else []), *([results.key] if has_runs else [])),
            seen.estimate.value,
            seen.estimate.low,
            seen.estimate.high,
            "!" if seen.invalid_trials else "",
        )
        for levels, rows in groups.items()
        for results, seen in rows
    ]
    heads = [*([""] if has_titles else []), *(name.replace("_", " ") for name in varying)]
    size = format_bytes(first.block_size_bytes) if first.block_size_bytes else "mixed sizes"
    titles = list(dict.fromkeys(seen.title for _, seen in members))
    what = titles[0] if len(titles) == 1 else f"{_operation(first)}, {size}"
    if len(titles) == 1:
        what = ", ".join((what, *_what_is_open(members, sets)))
    return BarGroup(
        title=f"{what}: {metric_of(metric).words}",
        unit=first.estimate.unit,
        bars=tuple(bars),
        heads=(*heads, *(["drive"] if has_drives else []), *(["run"] if has_runs else [])),
        span="range of the repeats, or 95 % interval",
    )


def _what_is_open(members: Sequence[tuple[ResultSet, Observation]], sets: Sequence[ResultSet]) -> Iterator[str]:
    """Size and depth of a plot, where there are others of the same title."""
    first = members[0][1]
    alike = [seen for results in sets for seen in results.observations if seen.title == first.title]
    if first.block_size_bytes and len({seen.block_size_bytes for seen in alike}) > 1:
        yield format_bytes(first.block_size_bytes)
    depths = {seen.queue_depth for _, seen in members}
    others = {seen.queue_depth for seen in alike if seen.block_size_bytes == first.block_size_bytes}
    if len(depths) == 1 and None not in depths and len(others) > 1:
        yield f"{first.queue_depth} outstanding"
