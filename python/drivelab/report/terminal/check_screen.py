"""The answer of a check on one screen: verdict, what a durable write costs, reads beside writes, what limits them.

Everything else that a check stored is in its page, and in the long text of `terminal.text`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.units import format_bytes
from drivelab.report.answer import CheckLine, VerdictBlock, answer_of
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.headline import headline_facts
from drivelab.report.numerals import latency_text, number_text, rate_text, span_beside, value_writer
from drivelab.report.parts_of_text import clauses_within, parts_within
from drivelab.report.reported_findings import ReportedFinding
from drivelab.report.terminal.clean_text import terminal_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

WARNINGS_MAX = 3
_WIDTH = 80
_SENTENCE_LENGTH_MAX = 3 * 70
# needs that are told in a line each; failures are told all
_NEEDS_MAX = 3
_OUTCOMES = {
    "pass": ("Yes", "bold green"),
    "fail": ("No", "bold red"),
    "undecided": ("?", "bold yellow"),
    "no_limit": ("-", "bold"),
}
_STYLES = {"invalid": "bold red", "warning": "bold yellow"}


def render_check_screen(content: ReportContent, *, plain: bool = False) -> RenderableType:
    """The answer of a check, to be printed by a console of 80 columns in at most 25 lines.

    Parameters
    ----------
    content : ReportContent
        The check as it was stored.
    plain : bool
        Only characters of ASCII; pass ``not console.encoding.startswith("utf")``.
    """
    from rich.console import Group
    from rich.text import Text

    trials = content.trials
    warned = [one for one in content.findings if one.severity in _STYLES and _is_shown(one, trials)]
    answer = answer_of(content.verdict, trials, content.findings)
    room = WARNINGS_MAX if len(needs_in_lines(answer.verdicts)) < _NEEDS_MAX - 1 else WARNINGS_MAX - 1
    write = _Writer(plain, warned[:room], trials)
    parts: list[RenderableType] = [write.head(content), Text()]
    if len(answer.verdicts) == 1:
        parts += write.need(answer.verdicts[0])
    else:
        parts += write.needs(answer.sentence, answer.verdicts)
    durable = [trial for trial in trials if trial.is_durable]
    others = [trial for trial in trials if not trial.is_durable]
    parts += [Text(), write.durable(durable)] if durable else []
    parts += [Text(), write.reads_beside_writes(others)] if others else []
    parts += [Text(), *write.warnings(warned)] if warned else []
    return Group(*parts)


def _is_shown(finding: ReportedFinding, trials: Sequence[TrialContent]) -> bool:
    """Whether it is about the run, or about a trial that is shown."""
    return not finding.trials or not {trial.name for trial in trials}.isdisjoint(finding.trials)


class _Writer:
    """Writes the parts of the screen with one choice of characters and marks."""

    def __init__(self, plain: bool, marked: Sequence[ReportedFinding], trials: Sequence[TrialContent]) -> None:
        self._plain = plain
        self._marked = marked
        names = {trial.name for trial in trials}
        # what holds for the run, or for each trial, is said once and stands at no number
        self._of_all = [one for one in marked if not one.trials or names <= set(one.trials)]

    def _clean(self, text: str) -> str:
        return terminal_text(text, self._plain)

    def head(self, content: ReportContent) -> RenderableType:
        """What was checked, and when."""
        from rich.text import Text

        facts = dict(headline_facts(content))
        target = facts.get("target", content.title)
        where = [facts.get("file system", ""), facts.get("drive", "")]
        text = Text(self._clean(target), style="bold")
        text.append(self._clean(f"   {', '.join(part for part in where if part)}"), style="not bold dim")
        text.truncate(_WIDTH, overflow="ellipsis")
        return text

    def need(self, block: VerdictBlock) -> Iterator[RenderableType]:
        """One need: the verdict, and each limit that is only recommended."""
        yield self._verdict(block.outcome, block.sentence or block.title)
        for check in block.checks:
            if check.force != "required":
                yield self._limit(f"{check.force}: {check.text}", check)

    def needs(self, sentence: str, blocks: Sequence[VerdictBlock]) -> Iterator[RenderableType]:
        """Several needs: one sentence, then a line for some of those that are not simply met, failures first."""
        from rich.text import Text

        if sentence:
            yield Text(self._clean(sentence), style="bold")
        for block in needs_in_lines(blocks):
            word, style = _OUTCOMES.get(block.outcome, (block.outcome, "bold"))
            yield self._line((f"{word:<3}", style), _in_a_line(block))

    def _line(self, first: tuple[str, str], text: str, last: str = "") -> Text:
        """One line, however long the text: as many of its parts as there is room for."""
        from rich.text import Text

        room = _WIDTH - len(first[0]) - 1 - len(last)
        line = Text.assemble(first, " ", f"{parts_within(self._clean(text), room)}{last}")
        line.truncate(_WIDTH, overflow="ellipsis")
        return line

    def _verdict(self, outcome: str, sentence: str) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        word, style = _OUTCOMES.get(outcome, (outcome, "bold"))
        said = clauses_within(self._clean(sentence), _SENTENCE_LENGTH_MAX)
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column()
        table.add_row(Text(word, style=style), Text(said))
        return table

    def _limit(self, text: str, check: CheckLine) -> Text:
        return self._line(("   ", ""), f"{check.word}: {check.measured} ({text})")

    def durable(self, trials: Sequence[TrialContent]) -> Table:
        """What a durable write costs: its latency, how often a second, and how many commands each takes."""
        from rich.text import Text

        names, shared = _shortened([trial.label for trial in trials])
        heads = (
            shared.split(" + ")[0].strip("+ ") or "durable write",
            "typical",
            "",
            "slowest 1 %",
            "",
            "a second",
            "writes",
            "flushes",
        )
        rows: list[tuple[str | Text, ...]] = []
        for trial, short in zip(trials, names, strict=True):
            p50, p99 = self._latency(trial.estimate("p50")), self._latency(trial.estimate("p99"))
            rate = trial.estimate("iops")
            often = number_text(rate.value) if rate and rate.value is not None else "?"
            if (trial.workload.get("pacing") or {}).get("think_ns"):
                # it pauses as its program does: the verdict tells how often that commits
                often = ""
            name = Text.assemble(self._clean(short), (self._marks(trial), "yellow"))
            commands = (_count(trial.estimate(f"device_{noun}_per_operation")) for noun in ("writes", "flushes"))
            rows.append((name, *p50, *p99, self._clean(often), *map(self._clean, commands)))
        return _fitted(heads, rows, (2, 4))

    def reads_beside_writes(self, trials: Sequence[TrialContent]) -> Table:
        """Reads and writes of one size and depth beside each other, as rates."""
        shapes: dict[tuple[int, int, str], dict[str, TrialContent]] = {}
        for trial in trials:
            shapes.setdefault(_shape(trial), {})[trial.operation] = trial
        names = {shape: f"{shape[2]} {format_bytes(shape[0])} x {shape[1]}" for shape in shapes}
        rows: list[tuple[str | Text, ...]] = []
        for shape, by_operation in sorted(shapes.items(), key=lambda row: (-row[0][0], -row[0][1])):
            cells = [self._rate(by_operation.get(operation), shape[2]) for operation in ("read", "write")]
            rows.append((names[shape], *cells[0], *cells[1]))
        return _fitted(("", "reads", "", "writes", ""), rows, (2, 4))

    def _latency(self, estimate: Estimate | None) -> tuple[str, Text]:
        return self._number(estimate, latency_text)

    def _rate(self, trial: TrialContent | None, order: str) -> tuple[str, Text]:
        from rich.text import Text

        if trial is None:
            return "", Text()
        metric = RATE if order == "random" else THROUGHPUT
        value, interval = self._number(trial.estimate(metric), value_writer(metric))
        return value, Text.assemble(interval, (self._marks(trial), "yellow"))

    def _number(self, estimate: Estimate | None, write: Callable[[float], str]) -> tuple[str, Text]:
        """A number with its unit, and its interval without it."""
        from rich.text import Text

        if estimate is None:
            return "", Text()
        if estimate.value is None:
            seen = estimate.observed if estimate.observed is not None else estimate.low
            return ("?" if seen is None else self._clean(f"≥ {write(seen)}")), Text()
        value = self._clean(write(estimate.value))
        if estimate.low is None or estimate.high is None:
            return value, Text("?", style="dim")
        span = span_beside(write(estimate.value), write(estimate.low), write(estimate.high))
        return value, Text(self._clean(span), style="dim")

    def _marks(self, trial: TrialContent) -> str:
        return "".join(f" {one.mark}" for one in self._marked if one not in self._of_all and trial.name in one.trials)

    def warnings(self, found: Sequence[ReportedFinding]) -> Iterator[RenderableType]:
        """The gravest findings, a line each."""
        from rich.text import Text

        for one in self._marked:
            sign = one.sign if one in self._of_all else one.mark
            where = " (all trials)" if one in self._of_all and one.trials else ""
            yield self._line((sign, _STYLES[one.severity]), one.text, where)
        if len(found) > len(self._marked):
            yield Text(f"  and {len(found) - len(self._marked)} more: --details", style="dim")


def _fitted(heads: Sequence[str], rows: Sequence[Sequence[str | Text]], intervals: Sequence[int]) -> Table:
    """A table on one line a row: where there is no room, the first intervals are left to the page."""
    from rich.table import Table

    kept = list(range(len(heads)))
    left_out = list(intervals)
    while left_out and _width([[row[place] for place in kept] for row in (heads, *rows)]) > _WIDTH:
        kept.remove(left_out.pop(0))
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for place in kept:
        is_left = place == 0 or place in intervals
        table.add_column(heads[place], justify="left" if is_left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(row[place] for place in kept))
    return table


def _width(lines: Iterable[Sequence[str | Text]]) -> int:
    """Characters of the columns, and a gap behind each but the last."""
    columns = zip(*lines, strict=True)
    return sum(max(map(len, column)) + 1 for column in columns) - 1


def needs_in_lines(blocks: Sequence[VerdictBlock]) -> list[VerdictBlock]:
    """The needs that get a line of their own: those that failed, and as many of the others as there is room for."""
    order = ("fail", "undecided", "no_limit")
    found = sorted((one for one in blocks if one.outcome in order), key=lambda one: order.index(one.outcome))
    return found[: max(_NEEDS_MAX, sum(one.outcome == "fail" for one in found))]


def _in_a_line(block: VerdictBlock) -> str:
    """A need, what was measured for it, and the limit."""
    decisive = next((one for one in block.checks if one.force == "required" and one.outcome == block.outcome), None)
    if decisive is None:
        return block.sentence or block.title
    interval = f" ({decisive.interval})" if decisive.interval else ""
    return f"{block.title}: {decisive.measured}{interval}, asked {decisive.limit}"


def _shortened(labels: Sequence[str]) -> tuple[list[str], str]:
    """Labels without the words at their end that all of them share, and these words."""
    words = [label.split() for label in labels]
    shared: list[str] = []
    while len(words) > 1 and all(len(each) > 2 for each in words) and len({each[-1] for each in words}) == 1:
        shared.insert(0, words[0][-1])
        words = [each[:-1] for each in words]
    return [" ".join(each) for each in words], " ".join(shared)


def _count(estimate: Estimate | None) -> str:
    """Commands of a kind that the drive executed for one operation."""
    if estimate is None or estimate.value is None:
        return ""
    text = rate_text(estimate.value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _shape(trial: TrialContent) -> tuple[int, int, str]:
    """Size, depth and order of a trial's I/O."""
    depth = int(trial.workload.get("queue_depth") or 1)
    order = str((trial.workload.get("access") or {}).get("kind", ""))
    return trial.block_size_bytes or 0, depth, order
