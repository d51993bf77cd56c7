"""The answer of a check on one screen: verdict, what a durable write costs, reads beside writes, what limits them.

Everything else that a check stored is in its page, and in the long text of `terminal.text`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from drivelab.model.estimate import Estimate
from drivelab.model.finding import FOREIGN_WORK
from drivelab.model.judged_metric import LARGE_BLOCK_BYTES, RATE, THROUGHPUT
from drivelab.model.metric import metric_of
from drivelab.model.names import in_brackets
from drivelab.model.programs import PROGRAMS
from drivelab.model.units import format_bytes, format_duration_ns
from drivelab.model.verdict import verdicts_in
from drivelab.report.answer import NOT_MEASURED, CheckLine, VerdictBlock, answer_of, surer_words
from drivelab.report.check_table import (
    durable_trials,
    footnotes,
    lasting_words,
    marks_of,
    rate_trials,
    region_words,
    shape_of,
    short_label,
    that_fit,
    whose_words,
)
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.headline import (
    busy_words,
    failed_words,
    headline_facts,
    simulated_texts,
    what_was_cut_off,
)
from drivelab.report.numerals import latency_text, number_text, rate_text, span_beside, typeset, value_writer
from drivelab.report.outcome_words import SHORT_WORDS
from drivelab.report.parts_of_text import clauses_within, first_in_few_words, parts_within
from drivelab.report.reported_findings import ReportedFinding, ended
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.one_line_rows import kept_columns, one_line_rows
from drivelab.report.terminal.text import OUTCOME_STYLES
from drivelab.report.terminal.wrapped import WIDTH, line_count, one_line, wrapped

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

# needs and warnings at most, and whether there are empty lines: as much of it as there is room for
_ROOM = (
    *((needs_max, 3, True) for needs_max in (5, 4, 3, 2)),
    *((2, warnings_max, False) for warnings_max in (3, 2, 1)),
    *((1, warnings_max, False) for warnings_max in (1, 0)),
)
_WORD_WIDTH = 5
_SENTENCE_LENGTH_MAX, _BURST_LENGTH_MAX = 4 * 70, 75
# of 25 where the console tells what else there is and where the page lies
_LINES_MAX, _WITHOUT_LIMIT_MAX = 23, 1
# a drive that is faster again has shown another cause
_VIRTUAL, _BURSTS = "virtual-drive", ("speed-changed", "burst-ended", "burst-possible")
# only of a program that commits can a rate be asked for
_NO_LIMIT = "No limit is published for it; {} makes this a yes or a no."
_OWN_LIMITS = ("--for ./FILE.toml with one of yours", "--at-least RATE")
_ORDER = ("fail", "undecided", "pass")
_STYLES = {"invalid": "bold red", "warning": "bold yellow"}


def render_check_screen(content: ReportContent, *, plain: bool = False, width: int = WIDTH) -> RenderableType:
    """The answer of a check, to be printed by a console in at most 25 lines of 80 columns.

    Parameters
    ----------
    width : int
        Columns that the console has; what has no room in them is left to the page, a whole column of a table.
    """
    from rich.console import Group
    from rich.text import Text

    # needs give way first, then what is between the parts, then warnings, then what is said of the only need
    for needs_max, warnings_max, has_gaps in _ROOM:
        parts = _parts(content, needs_max, warnings_max, plain=plain, width=min(width, WIDTH))
        if not has_gaps:
            parts = [one for one in parts if not isinstance(one, Text) or one.plain]
        if line_count(Group(*parts)) <= _LINES_MAX:
            break
    return Group(*parts)


def _parts(
    content: ReportContent, needs_max: int, warnings_max: int, *, plain: bool, width: int
) -> list[RenderableType]:
    from rich.text import Text

    trials = content.trials
    durable, others = durable_trials(trials), rate_trials(trials)
    failed = failed_words(content.record, content.all_trial_count)
    missing = what_was_cut_off(content.record, content.all_trial_count)
    busy = busy_words(trials)
    # what is told beside the verdict is not told again
    is_simulated = bool(simulated_texts(content))
    told = {"interrupted" if missing else "", FOREIGN_WORK if busy else "", _VIRTUAL if is_simulated else "", *_BURSTS}
    left = [one for one in content.findings if one.severity in _STYLES and one.code not in told]
    warned = that_fit(footnotes(left, [*durable, *others], content.finding_lines), warnings_max, others)
    answer = answer_of(content.verdict, trials, content.findings)
    write = _Writer(plain, warned, warnings_max, trials, width)
    parts: list[RenderableType] = [write.head(content)]
    parts += [write.told("!", grave) for grave in (f"not complete: {missing}" if missing else "", failed) if grave]
    if len(answer.verdicts) == 1:
        parts += write.need(answer.verdicts[0], _SENTENCE_LENGTH_MAX // (1 if needs_max > 1 else 2))
    else:
        parts += write.needs(answer.sentence, answer.verdicts, needs_max)
    if busy:
        parts.append(write.told("!", busy))
    for burst in [one for code in _BURSTS for one in content.findings if one.code == code][:1]:
        if any(burst.text.rstrip(".").partition("; ")[0] in one.sentence for one in answer.verdicts[:1]):
            parts.append(write.told("undecided", burst.advice.rstrip(".")))
        else:
            # where there is little room, what it is like and what to do
            text = burst.text if warnings_max else ended(parts_within(burst.text, _BURST_LENGTH_MAX))
            parts.append(write.told("!", f"{text} {burst.advice}"))
    is_disturbed = bool(busy) or any(one.code == FOREIGN_WORK for one in warned)
    command_line = content.record.command_line
    surer = surer_words(answer.verdicts, command_line, is_busy=is_disturbed, is_simulated=is_simulated)
    # where no number is a drive's, no further check of the same place helps
    elsewhere = next((one.advice for one in content.findings if one.severity == "invalid" and not one.trials), "")
    if surer := elsewhere.rstrip(".") if surer and elsewhere else surer:
        parts.append(write.told("undecided", surer))
    parts += [Text(), *write.durable(durable, content.verdict or {})] if durable else []
    parts += [Text(), *write.reads_beside_writes(others)] if others else []
    parts += [Text(), *write.warnings()] if warned else []
    return parts


class _Writer:
    """Writes the parts of the screen with one choice of characters and marks."""

    def __init__(
        self,
        plain: bool,
        notes: Sequence[ReportedFinding],
        notes_max: int,
        trials: Sequence[TrialContent],
        width: int,
    ) -> None:
        self._plain = plain
        self._width = width
        self._notes, self._notes_max = notes, notes_max
        self._labels = {trial.name: short_label(trial) for trial in trials}

    def _clean(self, text: str) -> str:
        return terminal_text(text, self._plain)

    def head(self, content: ReportContent) -> RenderableType:
        """What was checked: the target, and as much of what it lies on as there is room for."""
        from rich.text import Text

        facts = dict(headline_facts(content))
        target = one_line(facts.get("target", content.title), self._width, self._plain)
        where = ", ".join(filter(None, (facts.get("file system", ""), facts.get("drive", ""))))
        beside = self._clean(parts_within(where, self._width - len(target) - 3))
        text = Text(target, style="bold")
        return (
            text.append(f"   {beside}", style="not bold dim") if len(target) + len(beside) < self._width - 2 else text
        )

    def need(self, block: VerdictBlock, length_max: int) -> Iterator[RenderableType]:
        """One need: the verdict, and each limit that it does not tell of; without any, how to have one."""
        said = clauses_within(block.sentence or block.title, length_max)
        first, *others = first_in_few_words((said,)) if block.outcome == "no_limit" else (said,)
        yield self.told(block.outcome, first)
        for text in others:
            yield self.told("", ended(text))
        if block.outcome == "no_limit":
            yield self.told("", _NO_LIMIT.format(_OWN_LIMITS[block.need in PROGRAMS]))
        told = next((one for one in block.checks if one.force == "required" and one.outcome == block.outcome), None)
        for check in block.checks:
            if check is not told:
                # what was measured may be harder than what is asked for, and a miss then proves nothing
                criterion = self._criterion(f"{check.force}, {check.word}", check)
                yield self.told("", "; ".join(filter(None, (criterion, check.easier))))

    def needs(self, sentence: str, blocks: Sequence[VerdictBlock], most: int) -> Iterator[RenderableType]:
        """Several needs: a line each with its criterion, failures first; those that are met and find no room in one."""
        from rich.text import Text

        if not blocks:
            yield Text(self._clean(sentence), style="bold")
        without = [one for one in blocks if one.outcome == "no_limit"][:_WITHOUT_LIMIT_MAX]
        judged = sorted((one for one in blocks if one.outcome in _ORDER), key=lambda one: _ORDER.index(one.outcome))
        # every failure, and what is undecided at least once, with number and limit
        fails, is_open = (sum(one.outcome == outcome for one in judged) for outcome in ("fail", "undecided"))
        count = max(1, most - len(without), fails + bool(is_open))
        for block in judged[:count]:
            yield self.told(block.outcome, self._in_a_line(block))
        for outcome in ("undecided", "pass"):
            if also := [block.named for block in judged[count:] if block.outcome == outcome]:
                is_first = all(one.outcome != outcome for one in judged[:count])
                yield self.told(outcome, f"{'' if is_first else 'also '}{', '.join(also)}")
        for block in without:
            yield self.told(block.outcome, self._in_a_line(block))

    def _in_a_line(self, block: VerdictBlock) -> str:
        """A need, what was measured for it, and the limit."""
        decisive = next((one for one in block.checks if one.force == "required" and one.outcome == block.outcome), None)
        if decisive is not None:
            return self._criterion(block.named, decisive)
        return parts_within(block.short_sentence or block.title, self._width - _WORD_WIDTH)

    def _criterion(self, first: str, check: CheckLine) -> str:
        """``etcd: p99 of 2300 B appended 1.2 ms (0.9–1.5), asks at most 10 ms``; in one line, or more."""
        if check.measured == NOT_MEASURED:
            return f"{first}: not measured; asked: {check.text}"
        metric = metric_of(check.metric)
        label = self._labels.get(check.trial, check.trial)
        measured, interval = (
            text.replace(" a second", "/s").replace("at least ", "≥\u00a0") for text in (check.measured, check.interval)
        )
        what = f"{metric.head} of {label}" if metric.quantity == "latency" else label
        ends = interval.split(" to ")
        span = span_beside(measured, *ends) if len(ends) == 2 else interval
        asked = check.limit.replace("≤", "at\u00a0most").replace("≥", "at\u00a0least").replace(" a second", "/s")
        if check.lasting and check.outcome != "undecided":
            return f"{first}: {label} {check.told.replace(' a second', '/s')}, asks {asked}"
        if check.reach:
            seen = typeset(check.reach).replace(" took at most ", " ≤\u00a0")
            return f"{first}: {label}, {seen}, asks {metric.head} {check.limit}"
        passing = parts_within(check.may_not_last, self._width - _WORD_WIDTH)
        measured += f" ({span})" if span else ""
        return f"{first}: {what} {measured}, asks {asked}{f'; but {passing}' if passing else ''}"

    def told(self, outcome: str, text: str) -> Text:
        """A word and what it is about, in as many lines as that takes."""
        from rich.text import Text

        word, style = SHORT_WORDS.get(outcome, outcome), OUTCOME_STYLES.get(outcome, "bold")
        lines = wrapped(typeset(text), self._width - _WORD_WIDTH, self._plain)
        return Text.assemble((f"{word:<{_WORD_WIDTH}}", style), f"\n{' ' * _WORD_WIDTH}".join(lines))

    def durable(self, trials: Sequence[TrialContent], verdict: Mapping[str, Any]) -> Iterator[RenderableType]:
        """What a durable write costs: its latency, how often a second, and how many commands each takes."""
        from rich.text import Text

        names, shared = _shortened([trial.label for trial in trials])
        first = shared.split(" + ")[0].strip("+ ") or "durable write"
        heads = (first, "median", "", "p99", "", "/s", "writes\nper op", "flushes\nper op")
        rows: list[tuple[str | Text, ...]] = []
        told = result = ""
        for trial, short in zip(trials, names, strict=True):
            p50, p99 = self._latency(trial.estimate("p50")), self._latency(trial.estimate("p99"))
            rate = trial.estimate("iops")
            often = number_text(rate.value) if rate and rate.value is not None else "?"
            if lasting := lasting_words(trial, RATE):
                often = " ".join(text.removesuffix("/s") for text in lasting)
            if (trial.workload.get("pacing") or {}).get("think_ns"):
                # it pauses as its program does: what counts is how often that commits
                often, told, result = _commits(trial.name, verdict)
            name = Text.assemble(self._clean(short), (self._marks(trial), "yellow"))
            commands = (_count(trial.estimate(f"device_{noun}_per_operation")) for noun in ("writes", "flushes"))
            rows.append((name, *p50, *p99, self._clean(often), *map(self._clean, commands)))
        # how often a second is nearly one over the median, and an interval is not in any other column
        kept = kept_columns(heads, rows, self._width, (5, 2, 4, 7, 6, 3))
        yield one_line_rows(heads, rows, kept, (2, 4))
        if told:
            yield Text(self._clean(f"* {told}" if 5 in kept else f"commits/s: {result} = {told}"), style="dim")

    def reads_beside_writes(self, trials: Sequence[TrialContent]) -> Iterator[RenderableType]:
        """Reads and writes of one size and depth beside each other, as rates, and which row wrote a file first."""
        from rich.text import Text

        shapes: dict[tuple[int, int, str], dict[str, TrialContent]] = {}
        for trial in trials:
            shapes.setdefault(shape_of(trial), {})[trial.operation] = trial
        names = {shape: f"{shape[2]} {format_bytes(shape[0])}, QD{shape[1]}" for shape in shapes}
        rows: list[tuple[str | Text, ...]] = []
        for shape, by_operation in shapes.items():
            cells = [self._rate(by_operation.get(operation), shape[2]) for operation in ("read", "write")]
            rows.append((names[shape], *cells[0], *cells[1]))
        is_there = {operation for by_operation in shapes.values() for operation in by_operation}
        read, write = (word if word in is_there else "" for word in ("read", "write"))
        heads = (region_words(trials), read, "", "", write, "", "")
        kept = kept_columns(heads, rows, self._width, (2, 5))
        if not {2, 5} <= set(kept):
            # a word is shortened before an interval is left out
            heads = (heads[0].replace(" to ", "\nto "), *heads[1:])
            rows = [(str(name).replace("sequential", "seq."), *cells) for name, *cells in rows]
            kept = kept_columns(heads, rows, self._width, (2, 5))
        yield one_line_rows(heads, rows, kept, (2, 3, 5, 6))
        first, over = (shapes.get((LARGE_BLOCK_BYTES, depth, "sequential"), {}).get("write") for depth in (8, 1))
        if first and over and first.workload.get("file_state") == "preallocated" and _is_faster(over, first):
            yield Text("QD8 wrote a new file, QD1 over what was there", style="dim")

    def _latency(self, estimate: Estimate | None) -> tuple[str, Text]:
        return self._number(estimate, latency_text)

    def _rate(self, trial: TrialContent | None, order: str) -> tuple[str, Text, Text]:
        """A rate, its interval, and the marks of its warnings, which stay where the interval has no room."""
        from rich.text import Text

        if trial is None:
            return "", Text(), Text()
        metric = RATE if order == "random" else THROUGHPUT
        marks = Text(self._marks(trial).strip(), "yellow")
        if told := lasting_words(trial, metric):
            return told[0], Text(told[1], "dim"), marks
        return *self._number(trial.estimate(metric), value_writer(metric)), marks

    def _number(self, estimate: Estimate | None, write: Callable[[float], str]) -> tuple[str, Text]:
        """A number with its unit, and its interval without it."""
        from rich.text import Text

        if estimate is None:
            return "", Text()
        if estimate.value is None:
            # the largest of too few is no bound
            bound, seen = estimate.low, estimate.observed
            told = f"≥ {write(bound)}" if bound is not None else "?" if seen is None else f"seen {write(seen)}"
            return self._clean(told), Text()
        value = self._clean(write(estimate.value))
        if estimate.low is None or estimate.high is None:
            # of a few independent I/Os one end alone is known, or none
            end = "unsure" if estimate.low is None else f"≥ {write(estimate.low)}"
            return value, Text(self._clean(end), style="dim")
        span = span_beside(write(estimate.value), write(estimate.low), write(estimate.high))
        return value, Text(self._clean(span), style="dim")

    def _marks(self, trial: TrialContent) -> str:
        return marks_of(trial, self._notes)

    def warnings(self) -> Iterator[RenderableType]:
        """The gravest findings, a line each; of what has no room the kinds, since details number them anew."""
        from rich.text import Text

        for one in self._notes[: self._notes_max]:
            sign = one.mark if one.number else one.sign
            room, where = self._width - len(sign) - 1, self._clean(whose_words(one, self._labels))
            # what is wrong comes first; the mark tells where
            where = where if 2 * len(where) <= room else ""
            text = f"not to be trusted: {one.text}" if one.severity == "invalid" else one.text
            said = one_line(text, room - len(where), self._plain)
            yield Text.assemble((sign, _STYLES[one.severity]), f" {said}{where}")
        if left_out := self._notes[self._notes_max :]:
            void = " ".join(one.mark for one in left_out if one.number and one.severity == "invalid")
            if void:
                yield Text(f"{void} not to be trusted: not the drive's numbers", style=_STYLES["invalid"])
            left_out = [one for one in left_out if one.mark not in void.split()]
        if left_out and (self._notes_max or not void):
            marks = " ".join(one.mark for one in left_out if one.number) or left_out[0].sign
            yield Text(f"{marks}{in_brackets(dict.fromkeys(one.code for one in left_out))}: --details", style="dim")


def _is_faster(one: TrialContent, other: TrialContent) -> bool:
    """Whether a throughput lies beyond another one's interval."""
    ours, theirs = (each.estimate(THROUGHPUT) for each in (one, other))
    if ours is None or theirs is None or ours.value is None or theirs.value is None:
        return False
    return ours.value > (theirs.high or theirs.value)


def _commits(trial: str, verdict: Mapping[str, Any]) -> tuple[str, str, str]:
    """How often a second the program behind a trial would commit, how that is made of the latency, and its range."""
    for one in verdicts_in(verdict):
        program, told = PROGRAMS.get(one.get("need", "")), one.get("forecast")
        if program is not None and told and program.write.trial == trial:
            write_ns, own_ns, per_s = told["log_latency"]["value"], told["own_time_ns"], told["commits_per_s"]["value"]
            left = told.get("lasting_commits_per_s")
            write, own, others = map(format_duration_ns, (write_ns, own_ns, 1e9 / per_s - write_ns - own_ns))
            beside = f" + {others} of other syncs" if program.background is not None else ""
            text = f"1 s / ({write} mean write + {own} of {program.title}'s own{beside})"
            ends = [told["commits_per_s"].get(end) for end in ("low", "high")]
            span = "" if None in ends else " to ".join(map(number_text, ends))
            often = f"{number_text(left)} at first {number_text(per_s)}" if left else number_text(per_s)
            return f"{often}*", text, f"{often} ({span})" if span and not left else often
    return "", "", ""


def _shortened(labels: Sequence[str]) -> tuple[list[str], str]:
    """Labels without the words at their end that all of them share, and these words."""
    words = [label.split() for label in labels]
    shared: list[str] = []
    while len(words) > 1 and all(len(each) > 2 for each in words) and len({each[-1] for each in words}) == 1:
        shared.insert(0, words[0][-1])
        words = [each[:-1] for each in words]
    return [" ".join(each) for each in words], " ".join(shared)


def _count(estimate: Estimate | None) -> str:
    """Commands of a kind that the drive executed for one operation; where only bounds are known, these."""
    if estimate is None:
        return ""
    if estimate.value is None:
        low, high = estimate.low, estimate.high
        return "" if low is None or high is None else f"{rate_text(low)}–{rate_text(high)}"
    text = rate_text(estimate.value)
    return text.rstrip("0").rstrip(".") if "." in text else text
