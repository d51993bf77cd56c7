"""What even the shortest form of a report says beside its answer: where, what limits it, its picture, and by whom."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.report.figures.figure import Figure
from drivelab.report.figures.latency_overview import KEY as OVERVIEW
from drivelab.report.figures.limit_gauge import KEY as LIMITS
from drivelab.report.figures.of_run import OF_TRACES
from drivelab.report.headline import headline_facts, what_is_missing
from drivelab.report.joint import Joint
from drivelab.report.named_figures import named_figures
from drivelab.report.parts_of_text import parts_within
from drivelab.report.sentences.traced import leads

_NAMES_MAX = 3
# what a line of a card holds
_WARNING_LENGTH_MAX = 100


def hero_of(joint: Joint, of_runs: Sequence[Figure] | None = None) -> Figure | None:
    """The one picture of a report in whatever format; None where nothing can be drawn.

    Of a single run that is the parts of its latency where it was made to be explained, the limits that it
    was held against, or the figure that its experiment names first. Where that is latencies at a glance,
    which every run has, and of several runs, it is the first figure that is drawn from combinations.

    Parameters
    ----------
    joint : Joint
        The report.
    of_runs : sequence of Figure, optional
        The figures of each run by itself, where they are known already.
    """
    if of_runs is None:
        of_runs = [one.figure for one in named_figures(joint) if one.run is not None]
    figures, run = (*joint.figures, *of_runs), joint.only_run
    wanted: tuple[str, ...] = ()
    if run is not None:
        named = tuple(key for key in run.experiment.get("figures", ())[:1] if key != OVERVIEW)
        wanted = (*(OF_TRACES if leads(run) else ()), LIMITS, *named)
    asked = (figure for key in wanted for figure in figures if figure.key == key)
    return next(asked, next(iter(figures), None))


def where_words(joint: Joint) -> str:
    """Drives, hosts and dates, each as long as they are few; serial numbers are left out."""
    sets = [one for one in joint.result_sets if not one.is_reference] or joint.result_sets
    drives = [drive.name for one in sets for drive in one.drives]
    hosts = [machine.name for one in sets for machine in one.machines]
    dates = [one.measured[:10] for one in sets]
    return " · ".join(text for text in map(_named, (drives, hosts, dates)) if text)


def _named(names: Sequence[str]) -> str:
    known = list(dict.fromkeys(filter(None, names)))
    more = f" and {len(known) - _NAMES_MAX} more" if len(known) > _NAMES_MAX else ""
    return f"{', '.join(known[:_NAMES_MAX])}{more}"


def warnings_of(joint: Joint) -> list[str]:
    """That a run is not complete, then findings, the gravest first, then what differs between the runs."""
    missing = [what_is_missing(run.record, run.trial_count) for run in joint.runs]
    found = [one for run in joint.runs for one in run.findings if one.severity in ("invalid", "warning")]
    # "invalid" comes before "warning", and of each run the gravest first
    findings = [
        f"{one.word}: {parts_within(one.text, _WARNING_LENGTH_MAX)}"
        for one in sorted(found, key=lambda one: one.severity)
    ]
    told = [*(f"Not complete: {text}" for text in missing if text), *findings, *joint.notes]
    return list(dict.fromkeys(told))


def source_words(joint: Joint) -> str:
    """Who measured, and who published."""
    told = []
    for run in joint.runs:
        imported = dict(headline_facts(run)).get("imported from", "")
        told.append(f"measured by {imported or f'drivelab {run.record.drivelab_version}'}".strip())
    told += [f"published: {one.source}" for one in joint.result_sets if one.is_reference]
    return "; ".join(dict.fromkeys(told))
