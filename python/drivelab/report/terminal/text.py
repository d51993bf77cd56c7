"""The answer in a terminal of 80 columns: the verdict, the numbers with their intervals, what limits them.

Colour is left to the terminal: none when the output is piped or ``NO_COLOR`` is set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from drivelab.model.finding import Finding
from drivelab.model.histogram import Histogram
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.metric import DEVICE_BYTES, FLUSHES, PER_OPERATION, WRITES, metric_of
from drivelab.model.names import names_in_words
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.verdict import Fitness, Verdict
from drivelab.report.answer import CheckLine, VerdictBlock, answer_of
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.headline import what_is_missing
from drivelab.report.numerals import (
    DisplayUnit,
    column_unit,
    count_text,
    round_latency_text,
    shown_number,
)
from drivelab.report.outcome_words import WORDS
from drivelab.report.reported_findings import ReportedFinding, reported, sentence
from drivelab.report.terminal.clean_text import terminal_text as _text
from drivelab.report.terminal.fitting_table import FittingTable
from drivelab.report.terminal.plots import TextPlots
from drivelab.report.terminal.shapes import BLOCKS, PLAIN_BLOCKS, TextAxis
from drivelab.streams import make_console

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

WIDTH_AT_MOST = 100
_LABEL_WIDTH = 24
# with their notes; of more the verdict, which is said first, has left the screen
_TRIALS_ON_A_SCREEN = 5
OUTCOME_STYLES = {"pass": "bold green", "fail": "bold red", "undecided": "bold yellow"}
_STYLES = {"invalid": "bold red", "warning": "bold yellow", "note": "bold cyan"}
# the latencies are of the kind that a trial shows
_DURABLE_COLUMNS = ("p50", "p99", "p999", WRITES, FLUSHES, DEVICE_BYTES)
_COLUMNS = (RATE, THROUGHPUT, "p50", "p99")


def text_console(file: IO[str] | None = None) -> Console:
    """A console for results: as wide as the terminal, at most 100 columns, and 80 when there is none."""
    console = make_console(file, markup=False, emoji=False, soft_wrap=False)
    console.width = min(console.width, WIDTH_AT_MOST)
    return console


def render_check(
    question: str,
    summaries: Sequence[TrialSummary],
    findings: Sequence[Finding],
    judged: Fitness | Verdict | None,
    histograms: Mapping[str, Histogram] | None = None,
    *,
    trials: Sequence[TrialContent] = (),
    plain: bool = False,
) -> RenderableType:
    """The answer of a check, to be printed by a console.

    Parameters
    ----------
    histograms : mapping of trial name to Histogram, optional
        Drawn as small pictures beside the numbers.
    trials : sequence of TrialContent, optional
        The same as they were stored: drawn over the size of their I/Os.
    """
    told = [TrialContent(s.name, s.label, s.operation, estimates=s.estimates) for s in summaries]
    verdict = judged.to_json() if judged else None
    plots = TextPlots(trials=trials, plain=plain)
    return _render(question, told, reported(findings), verdict, histograms or {}, plots, plain)


def render_content(content: ReportContent, *, plain: bool = False) -> RenderableType:
    """The answer of a stored run, to be printed by a console."""
    from rich.console import Group
    from rich.text import Text

    histograms = {trial.name: trial.histogram for trial in content.trials}
    plots = TextPlots(content.answer, content.trials, plain=plain)
    missing = what_is_missing(content.record, content.all_trial_count)
    of_run = [content.record.answer] if content.record.answer else []
    told = _render(
        content.question, content.trials, content.findings, content.verdict, histograms, plots, plain, of_run
    )
    return Group(Text(f"not complete: {missing}", style="bold red"), told) if missing else told


def _render(
    question: str,
    trials: Sequence[TrialContent],
    findings: Sequence[ReportedFinding],
    verdict: Mapping[str, Any] | None,
    histograms: Mapping[str, Histogram],
    plots: TextPlots,
    plain: bool,
    of_run: Sequence[str] = (),
) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(_text(question, plain), style="bold")]
    answer = answer_of(verdict, trials, findings, of_run)
    if answer.sentence:
        parts.append(_verdict_line(answer.outcome if answer.verdicts else "", answer.sentence, plain))
    parts += [Text(_text(sentence, plain)) for sentence in answer.sentences]
    for block in answer.verdicts:
        parts += _need_lines(block, plain, is_only_one=len(answer.verdicts) == 1)
    parts += [Text(), *_tables(trials, findings, histograms, plain), Text(), plots]
    if findings:
        parts += [_findings_list(findings, {trial.name: trial.label for trial in trials}, plain)]
    if answer.verdicts and len(trials) > _TRIALS_ON_A_SCREEN:
        parts += [Text(), _verdict_line(answer.outcome, answer.sentence, plain)]
    return Group(*parts)


def _tables(
    trials: Sequence[TrialContent],
    findings: Sequence[ReportedFinding],
    histograms: Mapping[str, Histogram],
    plain: bool,
) -> list[RenderableType]:
    """Tables of the numbers, one for each kind of trial; below each number its 95 % interval."""
    from rich.text import Text

    groups: dict[str, list[TrialContent]] = {}
    for part in (part for trial in trials for part in trial.parts):
        groups.setdefault(part.group, []).append(part)
    units = {
        "ns": column_unit([shown_number(e) for trial in trials if (e := trial.estimate("p50"))], "ns"),
        "B/s": DisplayUnit("MB/s", 1e6),
        "B": DisplayUnit("KiB", 2**10),
        "1/s": DisplayUnit("1/s", 1),
        "1": DisplayUnit("", 1),
    }
    axis = TextAxis(histograms, _LABEL_WIDTH) if histograms else None
    parts: list[RenderableType] = []
    for group, members in groups.items():
        parts += [Text()] if parts else []
        columns = _DURABLE_COLUMNS if any(trial.is_durable for trial in members) else _COLUMNS
        make = partial(_table, group, members, findings=findings, units=units, axis=axis, histograms=histograms)
        parts.append(FittingTable(columns, partial(make, plain=plain)))
    if axis:
        ends = f"{round_latency_text(axis.low_ns)} to {round_latency_text(axis.high_ns)}"
        parts += [Text(), Text(_text(f"Pictures: share of I/Os by latency, {ends}, log scale.", plain), style="dim")]
    return parts


def _findings_list(findings: Sequence[ReportedFinding], labels: Mapping[str, str], plain: bool) -> RenderableType:
    """The findings, each kind once; their marks stand at the numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings:
        style = _STYLES[finding.severity]
        line = Text.assemble((f"{finding.word}: ", style), _text(finding.text, plain))
        if finding.advice:
            line.append(f" {_text(finding.advice, plain)}", style="dim")
        if len(finding.trials) == 1:
            line.append(f" ({_text(labels.get(finding.trials[0], finding.trials[0]), plain)})", style="dim")
        elif len(finding.says) == 1 and finding.trials:
            line.append(f" The same holds for {finding.trial_count} trials, marked {finding.mark}.", style="dim")
        elif finding.trials and finding.severity == "note":
            line.append(f" Much the same holds for {finding.trial_count} trials, marked {finding.mark}.", style="dim")
        elif finding.trials:
            # each with its own numbers, and whose these are
            names = [names_in_words([labels.get(trial, trial) for trial in trials]) for _, trials in finding.says]
            line = Text.assemble(
                (f"{finding.word}", style), f" of {finding.trial_count} trials, marked {finding.mark}:"
            )
            told = zip(names, finding.says, strict=True)
            line.append("".join(_text(f"\n{name}: {text}", plain) for name, (text, _) in told))
            line.append(f"\n{_text(sentence(finding.advice), plain)}" if finding.advice else "", style="dim")
        table.add_row(Text(finding.mark, style=style), line)
    return table


def _verdict_line(outcome: str, sentence: str, plain: bool) -> RenderableType:
    from rich.text import Text

    style = OUTCOME_STYLES.get(outcome, "bold")
    word = f"{WORDS[outcome]}  " if outcome in WORDS else ""
    return Text.assemble((word, style), _text(sentence, plain))


def _need_lines(block: VerdictBlock, plain: bool, *, is_only_one: bool) -> list[RenderableType]:
    """One need: its checks when it is the only one, otherwise a line."""
    from rich.padding import Padding
    from rich.text import Text

    if not is_only_one:
        return [Padding(_verdict_line(block.outcome, block.sentence or block.title, plain), (0, 0, 0, 2))]
    lines = [Text(_text(block.why, plain))] if block.why and block.why not in block.sentence else []
    found: list[RenderableType] = [*lines, *(_check_text(check, plain) for check in block.checks)]
    return [*found, *(Padding(Text(_text(caveat, plain)), (0, 0, 0, 2)) for caveat in block.caveats)]


def _check_text(check: CheckLine, plain: bool) -> RenderableType:
    from rich.padding import Padding
    from rich.text import Text

    style = {"pass": "green", "fail": "red"}.get(check.outcome, "yellow")
    interval = f" ({check.interval})" if check.interval else ""
    force = "" if check.force == "required" else f" [{check.force}]"
    sentence = _text(f"{check.text}{force}: {check.measured}{interval}, asked {check.limit}: ", plain)
    source = _text(f"  {check.source}", plain)
    return Padding(Text.assemble(sentence, (check.word, style), (source, "dim")), (0, 0, 0, 2))


def _table(
    group: str,
    trials: Sequence[TrialContent],
    columns: Sequence[str],
    findings: Sequence[ReportedFinding],
    units: Mapping[str, DisplayUnit],
    histograms: Mapping[str, Histogram],
    axis: TextAxis | None,
    plain: bool,
) -> Table:
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    def cells(column: str) -> list[Text]:
        return [_number(trial, column, units, marks[trial.name], plain) for trial in trials]

    marks = {trial.name: _marks(trial, columns, findings) for trial in trials}
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", collapse_padding=True)
    table.add_column(Text(group, style="bold"), min_width=_LABEL_WIDTH, max_width=_LABEL_WIDTH + 12)
    numbers = [cells(column) for column in columns]
    for column, found in zip(columns, numbers, strict=True):
        heading = Text(_text(_heading(column, units), plain))
        width = max(cell_len(line) for text in (heading, *found) for line in text.plain.split("\n"))
        table.add_column(heading, justify="right", no_wrap=True, min_width=width)
    for number, trial in enumerate(trials):
        histogram = histograms.get(trial.name)
        blocks = PLAIN_BLOCKS if plain else BLOCKS
        picture = axis.draw(histogram, blocks) if axis and histogram and trial.is_main else ""
        label = Text.assemble(
            _text(f"{trial.label}{_counted(trial)}", plain),
            (marks[trial.name].get("", ""), "yellow"),
            (f"\n{picture}", "cyan"),
        )
        table.add_row(label, *(column[number] for column in numbers))
    return table


def _counted(trial: TrialContent) -> str:
    """How many operations stand behind the numbers: ``, n 5 149``."""
    known = trial.estimate("p50") or trial.estimate(RATE)
    return f", n\u00a0{count_text(known.sample_count)}" if known and known.sample_count else ""


def _heading(metric: str, units: Mapping[str, DisplayUnit]) -> str:
    """The head of a column, below it its unit."""
    of = metric_of(metric)
    unit = units[of.unit].name
    head = f"{of.head}\n/op" if of.band == PER_OPERATION else of.head
    return f"{head}\n[{unit}]" if unit else head


def _number(
    trial: TrialContent, metric: str, units: Mapping[str, DisplayUnit], marks: Mapping[str, str], plain: bool
) -> Text:
    from rich.text import Text

    estimate = trial.estimate(metric)
    if estimate is None:
        return Text("")
    value, interval = trial.numbers(metric, units[estimate.unit])
    return Text.assemble(_text(value, plain), (marks.get(metric, ""), "yellow"), ("\n" + _text(interval, plain), "dim"))


def _marks(trial: TrialContent, columns: Sequence[str], findings: Sequence[ReportedFinding]) -> dict[str, str]:
    """Marks by metric; those that belong to no number shown stand at the trial's name, under an empty metric."""
    marks: dict[str, str] = {}
    for finding in findings:
        if trial.name in finding.trials:
            shown = [one for one in columns if one in finding.metrics[trial.name] and trial.estimate(one)]
            for metric in shown or [""]:
                marks[metric] = f"{marks.get(metric, '')} {finding.mark}"
    return marks
