"""Makes a report of stored runs and published pages: reads, analyses, and brings together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from drivelab.answers.explanations import explanation_differences
from drivelab.answers.flush_model import flush_fits
from drivelab.answers.prices import with_prices
from drivelab.answers.result_set import result_set_of
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.answers.traced_answer import TracedAnswer
from drivelab.model.price import Price
from drivelab.model.result_set import ResultSet
from drivelab.model.run_answer import RunAnswer
from drivelab.report.content import ReportContent
from drivelab.report.figures.part_differences import part_differences
from drivelab.report.gather import gather
from drivelab.report.joint import Joint
from drivelab.report.joint_of import NOTHING_IN_COMMON, joint_of
from drivelab.report.sentences.flush_model import flush_sentences
from drivelab.report.sentences.traced import are_explained, told_differences
from drivelab.report.tables.factorial import factorial_tables
from drivelab.report.tables.flush_model import flush_model_tables
from drivelab.report.tables.grid import own_tables
from drivelab.report.tables.iozone_shape import KEY as SURFACES
from drivelab.report.tables.iozone_shape import surface_tables
from drivelab.report.tables.part_differences import part_differences_tables
from drivelab.report.tables.phases import KEY as PHASES
from drivelab.report.tables.phases import phases_tables
from drivelab.report.tables.table import Table, numbered
from drivelab.store.read import StoredRun


def joint_report(
    runs: Sequence[StoredRun],
    references: Sequence[ResultSet] = (),
    answers: Sequence[RunAnswer | None] = (),
    prices: Mapping[str, Price] | None = None,
    traced: Sequence[TracedAnswer] = (),
) -> Joint:
    """The report of one run or several, with published pages beside them.

    Parameters
    ----------
    runs : sequence of StoredRun
        Finished or not; none for a report of nothing but published pages.
    answers : sequence of RunAnswer or None, optional
        What the runs come to, in their order, where that is known already.
    prices : mapping of str to Price, optional
        What drives cost, by serial, model or name; a run may have been given some.
    traced : sequence of TracedAnswer, optional
        What the traced passes of the runs come to, in their order, where that may be known already.

    Raises
    ------
    DrivelabError
        U016: a price for a drive that is in none of them. S506: a table of a run cannot be read.
    """
    known = [*answers, *[None] * (len(runs) - len(answers))]
    found = [answer or answer_of_run(run, SHOWN_METRICS) for run, answer in zip(runs, known, strict=True)]
    passes = traced or [TracedAnswer(run, one) for run, one in zip(runs, found, strict=True)]
    contents = [_content(run, one, its) for run, one, its in zip(runs, found, passes, strict=True)]
    sets = [result_set_of(run, one) for run, one in zip(runs, found, strict=True)]
    priced = with_prices([*sets, *references], prices or {})
    joint = _with_models(_with_part_differences(joint_of(contents, priced), runs), runs, found)
    return _with_asked_tables(joint, found)


def _content(run: StoredRun, answer: RunAnswer, traced: TracedAnswer) -> ReportContent:
    # trials of a check belong to no plan: they are told one by one, where no sentence was stored of them
    told = answer if is_of_experiment(run) else RunAnswer(told=answer.told)
    return replace(gather(run, told, traced.explanations), level_differences=traced.level_differences)


def _with_part_differences(joint: Joint, runs: Sequence[StoredRun]) -> Joint:
    """The report with the part of the latency that differs between the first traced run and each other.

    Of runs that were made to be explained that is what the report is about.
    """
    traced = [run for run in runs if run.traced_trials]
    found = tuple(one for run in traced[1:] for one in explanation_differences(traced[0], run))
    if not found:
        return joint
    figure = part_differences(found)
    told, tables, figures = told_differences(found), part_differences_tables(found), (figure,) if figure else ()
    if are_explained(joint):
        own = tuple(one for one in joint.sentences if one != NOTHING_IN_COMMON)
        sentences, tables, figures = (*told, *own), (*tables, *joint.tables), (*figures, *joint.figures)
    else:
        sentences, tables, figures = (*joint.sentences, *told), (*joint.tables, *tables), (*joint.figures, *figures)
    return replace(joint, sentences=sentences, tables=tables, figures=figures, part_differences=found)


def _with_asked_tables(joint: Joint, answers: Sequence[RunAnswer]) -> Joint:
    """The report with the tables that experiments hold, and those that they name: their phases, and surfaces."""
    asked = [content.experiment.get("tables", ()) for content in joint.runs]
    views = [view for content in joint.runs for view in content.experiment.get("views", ())]
    tables: list[Table] = [*own_tables(views, joint.result_sets)]
    phases: list[Table] = []
    for content, answer, names in zip(joint.runs, answers, asked, strict=True):
        if PHASES in names:
            phases += phases_tables(answer, content.name if len(answers) > 1 else "")
    if any(SURFACES in names for names in asked):
        tables += surface_tables(joint.result_sets)
    # of several runs the phases of each stand behind what puts them beside each other
    first, last = ([], phases) if len(answers) > 1 else (phases, [])
    made = (*tables, *first, *joint.tables, *last)
    return replace(joint, tables=numbered(made)) if len(made) > len(joint.tables) else joint


def _with_models(joint: Joint, runs: Sequence[StoredRun], answers: Sequence[RunAnswer]) -> Joint:
    """The report with what commands cost each drive, and with the factorials of its runs."""
    tables = list(flush_model_tables(flush_fits(joint.result_sets)))
    for run, answer in zip(runs, answers, strict=True):
        tables += factorial_tables(answer, run.name if len(runs) > 1 else "")
    measured = flush_fits([one for one in joint.result_sets if not one.is_reference])
    sentences = (*joint.sentences, *flush_sentences(measured))
    return replace(joint, sentences=sentences, tables=numbered((*joint.tables, *tables)))


def is_of_experiment(run: StoredRun) -> bool:
    """Whether a run carried out the plan of an experiment, so that its trials belong together."""
    # a check stores a plan too: a list of trials that have no workload and no level in common
    return "steps" in run.record.plan
