"""Brings runs and published numbers together into one report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from drivelab.model.merged_texts import merged_texts
from drivelab.model.names import names_in_words, of_all
from drivelab.model.result_set import ResultSet
from drivelab.model.run_answer import RunAnswer
from drivelab.model.token_bucket import TokenBucket
from drivelab.model.verdict import verdicts_in
from drivelab.report.answer import answer_of
from drivelab.report.content import ReportContent
from drivelab.report.figures.bar_groups import bar_groups
from drivelab.report.figures.demand_intensity import demand_intensity
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.latency_over_size import latency_over_size
from drivelab.report.figures.queue_depth import queue_depth
from drivelab.report.figures.rounds import steady_convergence, steady_window
from drivelab.report.figures.suite_bars import block_throughput, metadata_rates, seeks, total_time
from drivelab.report.figures.surface import surface
from drivelab.report.figures.surface_maps import surface_maps
from drivelab.report.figures.timeline import timeline
from drivelab.report.headline import what_is_missing
from drivelab.report.in_short import simulated_sentences
from drivelab.report.joint import Joint
from drivelab.report.parts_of_text import first_in_few_words, shortened
from drivelab.report.run_differences import run_differences
from drivelab.report.runs_joined import runs_joined
from drivelab.report.runs_table import runs_table
from drivelab.report.sentences.bursts import burst_sentences, perhaps_burst_sentences
from drivelab.report.sentences.contest import Subject
from drivelab.report.sentences.drive_names import DriveOfRun, drives_of_runs
from drivelab.report.sentences.not_compared import not_compared_sentence
from drivelab.report.sentences.own_settings import without_own_settings
from drivelab.report.sentences.run import SENTENCES_MAX, phase_sentences
from drivelab.report.sentences.several_drives import (
    have_runs_in_common,
    is_simulated,
    joint_sentences,
    lead_words,
)
from drivelab.report.sentences.traced import answer_sentences
from drivelab.report.tables.bursts import burst_tables
from drivelab.report.tables.drives_beside import KEY as DRIVES_BESIDE
from drivelab.report.tables.fitness import fitness_sentence, fitness_table
from drivelab.report.tables.published import published_tables
from drivelab.report.tables.rounds import round_tables
from drivelab.report.tables.table import Table
from drivelab.report.told_apart import told_apart, with_targets

MAKERS: tuple[Callable[[Sequence[ResultSet]], Figure | None], ...] = (
    total_time,
    block_throughput,
    metadata_rates,
    seeks,
    latency_over_size,
    queue_depth,
    bar_groups,
    surface,
    surface_maps,
)
_NOTHING_PUBLISHED = "No published drive was measured with the same workload and settings."
_MODELS_BESIDE_DRIVES = (
    "A simulated drive is not held against one that was measured: both are shown, and none is judged."
)
NOTHING_IN_COMMON = "These runs have no workload with the same settings in common: each answers for itself."
_RUNS_TOLD_MAX = 6
# parts of an answer that are of one target each
_PLACED = ("combinations", "rounds", "points", "timeline")
# numbers come before what describes drives and machines; tables that are not named stand between
_AT_A_GLANCE = ("pivot", "drives-beside", "results-by-setting")
_THEN = ("disks", "write-cache-effect", "write-cache-by-host")
_LAST = ("drives", "hardware")


def joint_of(runs: Sequence[ReportContent], result_sets: Sequence[ResultSet]) -> Joint:
    """The report of one run or several, of published numbers, or of both.

    Parameters
    ----------
    runs : sequence of ReportContent
        In the order in which they are told; none for nothing but published numbers.
    result_sets : sequence of ResultSet
        One for each run in the same order, then published pages.

    Returns
    -------
    Joint
        Of one run alone: its own question and answer. Otherwise drives and
        machines of one name that are not the same are told apart, and
        the answer is about all of them together.
    """
    sets = told_apart(result_sets)
    if len(sets) == 1 and runs:
        sets = (with_targets(sets[0]),)
    drives = drives_of_runs(result_sets, sets) if len(sets) > 1 else {}
    by_drive = runs_joined(sets, drives)
    tables, figures = most_telling_first(published_tables(by_drive)), figures_of(by_drive)
    if len(sets) == 1 and runs:
        (run,) = runs
        if run.answer.buckets:
            # its answer has the rates of the drives; a mean over bursts and rests is none to compare them by
            tables = tuple(table for table in tables if not table.key.startswith(DRIVES_BESIDE))
        # of several drives a reader looks for columns, before the rows of each
        tables = tuple(
            replace(table, is_asked=table.is_asked or table.key.startswith(DRIVES_BESIDE)) for table in tables
        )
        tables = (*round_tables(run.answer.rounds), *burst_tables(run.answer.buckets), *tables)
        figures = (*_figures_of_rounds(run), *figures)
        return Joint(run.title, run.question, own_sentences(run), tables, figures, (run,), sets)
    fitness = filter(None, (fitness_table(runs, _names(runs, sets)),))
    phases = _of_phases(runs, sets, drives) if runs else None
    is_joined = sum(not one.is_reference for one in by_drive) < len(runs)
    told = first_in_few_words(_sentences(runs, sets, drives, phases, is_joined=is_joined))
    if phases is not None:
        tables = (*round_tables(phases.rounds), *tables)
        figures = (*filter(None, (steady_convergence(phases.rounds),)), *figures)
    return Joint(
        title=_title(runs, sets),
        question=_question(runs, sets),
        sentences=(*told[:SENTENCES_MAX], *simulated_sentences(sets), *told[SENTENCES_MAX:]),
        tables=(*fitness, *tables, runs_table(runs, sets)) if runs else tables,
        figures=figures,
        runs=tuple(runs),
        result_sets=sets,
        notes=run_differences(runs, sets),
        drives=drives,
    )


def most_telling_first(tables: Sequence[Table]) -> tuple[Table, ...]:
    """The tables as a reader with little time wants them: most drives at a glance, then details, then descriptions."""

    def place(table: Table) -> tuple[int, int, int]:
        for number, key in enumerate(_AT_A_GLANCE):
            if table.key.startswith(key):
                return 0, -len({row[0].text for row in table.rows}), number
        for number, key in enumerate(_THEN):
            if table.key.startswith(key):
                return 1, 0, number
        return (3, 0, _LAST.index(table.key)) if table.key in _LAST else (2, 0, 0)

    return tuple(sorted(tables, key=place))


def own_sentences(run: ReportContent) -> tuple[str, ...]:
    """The answer of a single run."""
    missing = what_is_missing(run.record, run.all_trial_count)
    return answer_of(run.verdict, run.trials, run.findings, answer_sentences(run), missing).told


def _figures_of_rounds(run: ReportContent) -> tuple[Figure, ...]:
    """What the rounds of an experiment with phases look like; none of any other."""
    rounds = run.answer.rounds
    asked = run.experiment.get("figures", ())
    made = (
        steady_convergence(rounds),
        steady_window(rounds),
        demand_intensity(rounds, run.answer.points) if "demand-intensity" in asked else None,
        timeline(run.answer.timeline),
    )
    return tuple(figure for figure in made if figure is not None)


def _title(runs: Sequence[ReportContent], sets: Sequence[ResultSet]) -> str:
    titles = dict.fromkeys(shortened(one.title) for one in sets)
    pages = len(sets) - len(runs)
    if not runs:
        return next(iter(titles)) if len(titles) == 1 else f"{pages} published pages"
    words = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    with_pages = f" beside {'a published page' if pages == 1 else f'{pages} published pages'}" if pages else ""
    return f"{words}{with_pages}"


def _question(runs: Sequence[ReportContent], sets: Sequence[ResultSet]) -> str:
    questions = list(dict.fromkeys(one.question for one in sets if one.question))
    if len(questions) == 1:
        return questions[0]
    if not runs:
        return f"What do these {len(sets)} published pages answer?"
    if len(runs) == len(sets):
        return f"How do these {len(sets)} runs compare?"
    words = "this run" if len(runs) == 1 else f"these {len(runs)} runs"
    return f"How {'does' if len(runs) == 1 else 'do'} {words} compare with published numbers?"


def _sentences(
    runs: Sequence[ReportContent],
    sets: Sequence[ResultSet],
    drives: Mapping[Subject, DriveOfRun],
    phases: RunAnswer | None,
    *,
    is_joined: bool,
) -> tuple[str, ...]:
    """What drives of several runs come to; of published pages alone what these answer.

    Where runs of one question are joined, all of them have the same drives.
    """
    if not runs:
        alone = len(sets) == 1
        return (
            sets[0].answer if alone else tuple(f"{one.key.removeprefix('reference:')}: {one.answer[0]}" for one in sets)
        )
    names, called = _names(runs, sets), _called(runs, sets)
    if phases is not None and (of_phases := phase_sentences(phases)):
        return (*of_phases[:SENTENCES_MAX], *joint_sentences(sets, drives))
    if len(runs) == len(sets) and all(run.answer.buckets for run in runs):
        # a mean over bursts, rests and what follows is none of the rates
        return tuple(burst_sentences(_as_best_known(_together(runs, sets, called), drives)))
    of_each = tuple(_of_each_drive(runs, called, drives))
    if len(runs) == len(sets) and all(len(run.record.targets) > 1 for run in runs) and not have_runs_in_common(sets):
        # what each of them compares is its own answer, and none of the runs'
        own = [(run.name, told) for run in runs for told in own_sentences(run)[:1]]
        if is_joined and (same := merged_texts([told for _, told in own])):
            return (f"In {of_all(len(runs), len(runs))} runs {same}",)
        return (*(() if is_joined else (NOTHING_IN_COMMON,)), *(f"{name}: {told}" for name, told in own))
    bursts = tuple(perhaps_burst_sentences(_together(runs, sets, called)))
    if compared := joint_sentences(sets, drives):
        if fitness := fitness_sentence(runs, names, lead_words(sets, drives)):
            return (fitness, *bursts, *compared)
        if all(verdicts_in(run.verdict) for run in runs):
            return (*of_each, *bursts, *compared)
        if of_each and len(runs) == len(sets) and _is_one_drive(runs, drives):
            # the question is what each run answers; then whether they agree
            return (*bursts, *of_each, *compared)
        # behind how they compare the question itself
        leads = _untold_contests(runs, sets, " ".join(compared))
        return (*leads, compared[0], *bursts, *of_each, *compared[1:])
    alike, settings = without_own_settings(sets)
    if settings and (compared := joint_sentences(alike, drives)):
        return (compared[0], settings, *bursts, *of_each, *compared[1:])
    why = NOTHING_IN_COMMON if len({is_simulated(one) for one in sets}) == 1 else _MODELS_BESIDE_DRIVES
    if untold := not_compared_sentence(sets):
        return (untold, *of_each)
    # a run has its own answer, whatever was published
    return (*of_each, _NOTHING_PUBLISHED) if len(runs) < len(sets) else (why, *of_each)


def _of_phases(
    runs: Sequence[ReportContent], sets: Sequence[ResultSet], drives: Mapping[Subject, DriveOfRun]
) -> RunAnswer | None:
    """Runs of one experiment in phases as if one had measured all drives; None where one drive has several of them."""
    is_asked = len(runs) == len(sets) and all(run.answer.rounds for run in runs)
    is_one = len({run.question for run in runs}) == 1
    others = len({one.identity for one in drives.values()}) == len(drives)
    return _together(runs, sets, _called(runs, sets)) if is_asked and is_one and others else None


def _of_each_drive(
    runs: Sequence[ReportContent], called: Sequence[str], drives: Mapping[Subject, DriveOfRun]
) -> Iterator[str]:
    """What each run answers by itself, behind its name; runs of one drive in one sentence where they say the same.

    A run of several drives names them in its answer.
    """
    of_place = {one.place: one for one in drives.values()}
    by_drive: dict[object, list[int]] = {}
    for place, run in enumerate(runs):
        is_alone = len(run.record.targets) > 1 or place not in of_place
        by_drive.setdefault(place if is_alone else of_place[place].identity, []).append(place)
    for places in list(by_drive.values())[:_RUNS_TOLD_MAX]:
        own = [own_sentences(runs[place]) for place in places]
        if len(runs[places[0]].record.targets) > 1:
            # which of its own drives is ahead is told
            yield from own[0][1:2]
        elif same := merged_texts([told[0] for told in own if told]) if len(places) > 1 else "":
            yield f"{shortened(of_place[places[0]].name)} ({len(places)} runs): {same}"
        else:
            yield from (
                f"{shortened(called[place])}: {told[0]}" for place, told in zip(places, own, strict=True) if told
            )


def _is_one_drive(runs: Sequence[ReportContent], drives: Mapping[Subject, DriveOfRun]) -> bool:
    """Whether all runs were made on one drive and ask the same."""
    is_one = len({one.identity for one in drives.values()}) == 1 == len({run.question for run in runs})
    return is_one and all(len(run.record.targets) == 1 for run in runs)


def _untold_contests(runs: Sequence[ReportContent], sets: Sequence[ResultSet], told: str) -> tuple[str, ...]:
    """Which drive of a run of several is ahead, where the sentences about all runs leave out one of its drives.

    They do where its drives were measured at settings of their own.
    """
    untold = [
        run
        for run, one in zip(runs, sets, strict=False)
        if len(run.record.targets) > 1 and any(each.name not in told for each in one.drives)
    ]
    return tuple(first for run in untold for first in own_sentences(run)[:1])


def _as_best_known(answer: RunAnswer, drives: Mapping[Subject, DriveOfRun]) -> RunAnswer:
    """Without the bursts of which a run saw no end, where another run of that drive saw it, or watched for longer."""
    identities = {name: one.identity for (name, _), one in drives.items()}

    def of(target: str, bucket: TokenBucket) -> tuple[object, str]:
        return identities.get(target, target), bucket.token

    ended = {of(*one) for one in answer.buckets if one[1].verdict != "no end"}
    watched_s: dict[tuple[object, str], float] = {}
    for one in answer.buckets:
        watched_s[of(*one)] = max(one[1].watched_s, watched_s.get(of(*one), 0.0))
    known = tuple(
        one
        for one in answer.buckets
        if one[1].verdict != "no end" or (of(*one) not in ended and one[1].watched_s == watched_s[of(*one)])
    )
    return replace(answer, buckets=known)


def _together(runs: Sequence[ReportContent], sets: Sequence[ResultSet], called: Sequence[str]) -> RunAnswer:
    """What all runs saw of bursts and in phases, as if one had measured all drives; of several it has their names."""
    found = RunAnswer()
    for run, one, name in zip(runs, sets, called, strict=False):
        targets = run.record.targets
        names = {drive.label: drive.name for drive in one.drives} if len(targets) > 1 else {}
        own = {label: names.get(label, label) if names else name for label in _labels(run)}
        answer = run.answer
        placed: dict[str, Any] = {
            part: (*getattr(found, part), *(replace(each, target=own[each.target]) for each in getattr(answer, part)))
            for part in _PLACED
        }
        found = replace(
            found,
            **placed,
            buckets=(*found.buckets, *((own[target], bucket) for target, bucket in answer.buckets)),
            perhaps_bursts={**found.perhaps_bursts, **{own[at]: rate for at, rate in answer.perhaps_bursts.items()}},
            pauses=answer.pauses,
            again=answer.again,
            afterwards=answer.afterwards,
        )
    return found


def _labels(run: ReportContent) -> set[str]:
    """Whatever its answer calls targets."""
    answer = run.answer
    placed = (one.target for one in chain(answer.rows, *(getattr(answer, part) for part in _PLACED)))
    return {*(target for target, _ in answer.buckets), *answer.perhaps_bursts, *placed}


def _called(runs: Sequence[ReportContent], sets: Sequence[ResultSet]) -> list[str]:
    """What sentences call each run: by its drives, which a reader knows, where they tell the runs apart."""
    names = _names(runs, sets)
    return names if len(set(names)) == len(runs) and all(names) else [run.name for run in runs]


def _names(runs: Sequence[ReportContent], sets: Sequence[ResultSet]) -> list[str]:
    """What tables call the drives of each run."""
    return [names_in_words([drive.name for drive in one.drives]) for one in sets[: len(runs)]]


def figures_of(sets: Sequence[ResultSet]) -> tuple[Figure, ...]:
    """The figures that these results can carry, the most telling one first.

    Parameters
    ----------
    sets : sequence of ResultSet
        Of runs and of published pages, in the order in which they are to stand.
    """
    return tuple(figure for make in MAKERS if (figure := make(sets)) is not None)
