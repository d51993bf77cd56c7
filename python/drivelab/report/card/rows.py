"""The bars of a card: what the workload is about on each drive and at each level, or the parts of a latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.level_words import level_text
from drivelab.model.metric import metric_of
from drivelab.model.phase import WINDOW_ROUNDS
from drivelab.model.rounds import TrackedSeries
from drivelab.model.run_answer import LevelEffect
from drivelab.model.trace import ExplanationDifference
from drivelab.model.units import format_duration_ns
from drivelab.model.verdict import verdicts_in
from drivelab.report.content import ReportContent
from drivelab.report.figures.commit_scale import TITLE, Place, commit_scales
from drivelab.report.figures.part_style import answered, part_title
from drivelab.report.numerals import count_text, latency_text, number_text, span_beside, value_writer
from drivelab.report.parts_of_text import capitalised
from drivelab.report.sentences.bursts import READS
from drivelab.report.sentences.memory import way_names, ways_of_writing
from drivelab.report.sentences.overall import overall_sentences
from drivelab.report.sentences.pauses import paused_rates
from drivelab.report.sentences.rounds import series_words
from drivelab.report.tables.bursts import in_order, lasts_words, then_words
from drivelab.report.tables.number import ratio_text

ROWS_MAX = 7


@dataclass(frozen=True, slots=True)
class Row:
    """A number with its name: as text, and to be drawn; a published one is drawn hollow."""

    name: str
    text: str
    span: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    is_published: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """Numbers of one kind below each other, and what they are."""

    title: str
    rows: tuple[Row, ...]


def rows_of_parts(content: ReportContent) -> Rows | None:
    """The parts of the typical operation of what was traced first; None without an explanation."""
    found = answered(content.traced)
    if not found:
        return None
    explanation = found[0].explanation
    title = (
        f"{found[0].label}: {latency_text(explanation.typical_ns)}, the mean of the middle fifth "
        f"of all operations, {count_text(explanation.typical_count)} of them"
    )
    rows = [
        Row(part_title(one.part), latency_text(one.typical_ns), "", one.typical_ns)
        for one in explanation.parts
        if one.typical_ns > 0
    ]
    return Rows(title, tuple(rows[:ROWS_MAX]))


def rows_of_differences(difference: ExplanationDifference) -> Rows:
    """The parts of an operation that take longest, each on both sides."""
    longest = sorted(difference.parts[1:], key=lambda one: -max(one.base_ns, one.new_ns))[: ROWS_MAX // 2]
    rows = [
        Row(f"{part_title(one.part)}, {name}", latency_text(mean_ns), "", mean_ns)
        for one in longest
        for name, mean_ns in ((difference.base, one.base_ns), (difference.new, one.new_ns))
    ]
    what = f"{difference.label}: " if difference.label else ""
    return Rows(capitalised(f"{what}mean time of its longest parts"), tuple(rows))


def rows_of_commits(content: ReportContent, drive: str) -> Rows | None:
    """How often programs would commit, one among published drives; None where a need has a limit, or is no program."""
    scales = list(commit_scales(content.verdict, drive))
    if not scales or len(scales) < len(verdicts_in(content.verdict)):
        return None
    if len(scales) == 1:
        places = scales[0].places
        title = f"{scales[0].program.title}: {TITLE[:1].lower()}{TITLE[1:]}"
        return Rows(title, tuple(_commits(place, place.name) for place in places))
    own = [(scale.program.title, place) for scale in scales for place in scale.places if not place.is_published]
    return Rows("Commits a second by one client", tuple(_commits(place, name) for name, place in own[:ROWS_MAX]))


def _commits(place: Place, name: str) -> Row:
    text, span = number_text(place.rate), "published" if place.is_published else ""
    if place.low and place.high:
        span = span_beside(text, number_text(place.low), number_text(place.high))
    return Row(name, text, span, place.rate, place.low, place.high, place.is_published)


def numbers_of_bursts(content: ReportContent) -> tuple[Row, ...]:
    """How fast reads of a single target are, for how long, and how fast then; nothing of several targets."""
    buckets = content.answer.buckets
    if len({target for target, _ in buckets}) != 1:
        return ()
    rows = []
    for _, one in in_order(buckets):
        reads, (base, span) = READS[one.token], then_words(one)
        if one.burst_per_s:
            lasts = f"for {lasts_words(one)}" if lasts_words(one) else ""
            rows.append(Row(f"{reads} reads, fast", one.rate_text(one.burst_per_s), lasts))
        if base:
            rows.append(Row(f"{reads} reads, then", base, span))
    return tuple(rows)


def rows_of_bursts(content: ReportContent) -> Rows | None:
    """How many random reads a second several targets give while a burst lasts, and then."""
    known = [(target, one) for target, one in content.answer.buckets if one.burst_per_s]
    rows = []
    for target, one in known:
        if one.token != "I/Os":
            continue
        rows.append(Row(target, one.rate_text(one.burst_per_s), "", one.burst_per_s))
        base, span = then_words(one)
        if base:
            rows.append(Row(f"{target}, then", base, span, one.base_per_s, *(one.base_range_per_s or (None, None))))
    return Rows("Random reads", tuple(rows[:ROWS_MAX])) if rows else None


def rows_of_overall(content: ReportContent, sentences: Sequence[str]) -> Rows | None:
    """How fast each level is over all workloads, beside the first of them; None where no sentence tells that."""
    overall = content.answer.overall
    for factor in dict.fromkeys(one.factor for one in overall):
        told = next(overall_sentences(overall, factor), "")
        if told and any(told in sentence for sentence in sentences):
            effects = [one for one in overall if one.factor == factor]
            first = effects[0].baseline
            beside_first = [one for one in effects if one.baseline == first and one.ratio.value]
            rows = [Row(level_text(factor, first), "1x", "", 1.0), *(_ratio(one) for one in beside_first)]
            title = f"Speed over all {effects[0].combination_count} workloads, as a multiple of {rows[0].name}"
            return Rows(title, tuple(rows[:ROWS_MAX]))
    return None


def _ratio(effect: LevelEffect) -> Row:
    value, low, high = effect.ratio.value or 0.0, effect.ratio.low, effect.ratio.high
    span = "" if low is None or high is None else span_beside(*map(ratio_text, (value, low, high)))
    return Row(level_text(effect.factor, effect.level), ratio_text(value), span, value, low, high)


def rows_of_ways(content: ReportContent) -> Rows | None:
    """Several ways to write the same, at the first of their levels, those too that memory took; None without any."""
    every = content.answer.combinations
    places = ways_of_writing(every)
    if not places or len({ways[0].target for ways in places}) > 1:
        return None
    common, names = way_names(places[0], every)
    write = value_writer(THROUGHPUT)
    rows = []
    for name, one in zip(names, places[0], strict=True):
        found = one.metrics[THROUGHPUT]
        low, high = found.ends
        text = write(found.value)
        span = "" if low is None or high is None else span_beside(text, write(low), write(high))
        rows.append(Row(f"{name}, not the drive's" if one.invalid_trials else name, text, span, found.value, low, high))
    words = metric_of(THROUGHPUT).words
    return Rows(f"{common}: {words}" if common else capitalised(words), tuple(rows[:ROWS_MAX]))


def rows_of_pauses(content: ReportContent) -> Rows | None:
    """What is asked of pauses: the rate between the longest of them and without any; None where there are none."""
    rates = list(paused_rates(content.answer))
    rows = []
    for one in rates:
        name = f"{one.target} " if len(rates) > 1 else ""
        pause = format_duration_ns(one.pause_ns)
        rows.append(Row(f"{name}between pauses of {pause}", number_text(one.between_per_s), "", one.between_per_s))
        low, high = one.without.ends
        text = number_text(one.without.value)
        span = "" if low is None or high is None else span_beside(text, number_text(low), number_text(high))
        rows.append(Row(f"{name}without a pause", text, span, one.without.value, low, high))
    return Rows("IOPS while it is at work", tuple(rows[:ROWS_MAX])) if rows else None


def rows_of_rounds(content: ReportContent) -> Rows | None:
    """What the rounds of a run track in their window, a row for each target; None without a window."""
    found: dict[str, list[tuple[str, TrackedSeries]]] = {}
    judged = [one for one in reversed(content.answer.rounds) if one.tracked]
    for phase in dict.fromkeys(one.phase for one in judged):
        for one in (one for one in content.answer.rounds if one.phase == phase):
            for series in one.tracked:
                if series.window is not None and series.metric == judged[0].tracked[0].metric:
                    found.setdefault(series_words(series), []).append((one.target, series))
    most = max(map(len, found.values()), default=0)
    shown = list(found.items())[: max(1, ROWS_MAX // max(1, most))]
    if not shown:
        return None
    title = f"{metric_of(judged[0].tracked[0].metric).words}, mean of {WINDOW_ROUNDS} rounds"
    if len(shown) == 1:
        words, members = shown[0]
        return Rows(f"{capitalised(title)}: {words}", tuple(_round(*one) for one in members))
    named = [
        (f"{target}: {words}" if most > 1 else words, series) for words, members in shown for target, series in members
    ]
    return Rows(capitalised(title), tuple(_round(*one) for one in named))


def _round(name: str, series: TrackedSeries) -> Row:
    """A mean over the window between its lowest and its highest round, and whether it was steady."""
    assert series.window is not None
    known = [value for value in series.values[-WINDOW_ROUNDS:] if value is not None]
    value, low, high = series.window.average, min(known), max(known)
    write = value_writer(series.metric)
    name = name if series.window.is_steady else f"{name}, not steady"
    return Row(name, write(value), span_beside(write(value), write(low), write(high)), value, low, high)
