"""What even the shortest form of a report says beside its answer: where, what limits it, its picture, and by whom."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from drivelab.model.finding import FOREIGN_WORK, NOT_MEASURED, TRIAL_FAILED
from drivelab.model.result_set import SIMULATED, ResultSet
from drivelab.report.answer import NOT_COMPLETE
from drivelab.report.figures.commit_scale import KEY as COMMITS
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.latency_overview import KEY as OVERVIEW
from drivelab.report.figures.limit_gauge import KEY as LIMITS
from drivelab.report.figures.of_run import OF_TRACES
from drivelab.report.finding_lines import FindingLine
from drivelab.report.headline import busy_words, headline_facts, simulated_count, what_is_missing, without_code
from drivelab.report.joint import Joint
from drivelab.report.named_figures import named_figures
from drivelab.report.parts_of_text import capitalised, clauses_within, parts_within, shortened
from drivelab.report.reported_findings import FINDING_WORDS
from drivelab.report.sentences.traced import leads

_NAMES_MAX = 3
# what a line of a card holds, with the words before it
WARNING_LENGTH_MAX, _LINE_LENGTH_MAX = 100, 110


def hero_of(joint: Joint, of_runs: Sequence[Figure] | None = None) -> Figure | None:
    """The one picture of a report in whatever format; None where nothing can be drawn.

    Of a single run that is the parts of its latency where it was made to be explained, the limits that it
    was held against, else the scale of published drives, or the figure that its experiment names first.
    Where that is latencies at a glance, which every run has, and of several runs, it is the first figure
    that is drawn from combinations.

    Parameters
    ----------
    of_runs : sequence of Figure, optional
        The figures of each run by itself, where they are known already.
    """
    if of_runs is None:
        of_runs = [one.figure for one in named_figures(joint) if one.run is not None]
    figures, run = (*joint.figures, *of_runs), joint.only_run
    wanted: tuple[str, ...] = ()
    if run is not None:
        named = tuple(key for key in run.experiment.get("figures", ())[:1] if key != OVERVIEW)
        wanted = (*(OF_TRACES if leads(run) else ()), LIMITS, COMMITS, *named)
    asked = (figure for key in wanted for figure in figures if figure.key == key)
    return next(asked, next(iter(figures), None))


def where_words(joint: Joint) -> str:
    """Drives, hosts and dates, each as long as they are few; serial numbers are left out."""
    sets = _own_sets(joint)
    hosts = [machine.name for one in sets for machine in one.machines]
    dates = [one.measured[:10] for one in sets]
    return " · ".join(text for text in (drives_words(joint), _named(hosts), _named(dates)) if text)


def drives_words(joint: Joint) -> str:
    """The drives that were measured."""
    return _named([drive.name for one in _own_sets(joint) for drive in one.drives])


def _own_sets(joint: Joint) -> Sequence[ResultSet]:
    sets = joint.drive_sets
    return [one for one in sets if not one.is_reference] or sets


def _named(names: Sequence[str]) -> str:
    known = list(dict.fromkeys(filter(None, names)))
    more = f" and {len(known) - _NAMES_MAX} more" if len(known) > _NAMES_MAX else ""
    return f"{', '.join(known[:_NAMES_MAX])}{more}"


def warnings_of(joint: Joint, told: Sequence[str] = (), told_apart: Collection[str] = ()) -> list[str]:
    """That a run is not complete or not real, then findings, the gravest first, then what differs between the runs.

    Parameters
    ----------
    told : sequence of str
        Its sentences that stand beside the warnings; what they tell is not told again.
    told_apart : collection of str
        Codes of findings that are told elsewhere.
    """
    missing = [what_is_missing(run.record, run.all_trial_count) for run in joint.runs]
    is_told = any(text.startswith(NOT_COMPLETE) for text in told)
    simulated = [one for one in simulated_sentences(joint.result_sets) if one not in told]
    busy_with = [capitalised(busy_words(run.trials)) for run in joint.runs]
    busy = _of_runs(joint, [[words] if words else [] for words in busy_with])
    lines = [
        [
            (one.severity, _warning(one))
            for one in run.finding_lines
            if one.severity in ("invalid", "warning")
            and not one.is_of_models
            and one.code not in told_apart
            # that the machine was busy says the same of most trials
            and not (words and one.code == FOREIGN_WORK)
        ]
        for run, words in zip(joint.runs, busy_with, strict=True)
    ]
    texts = _of_runs(joint, [[text for _, text in of] for of in lines])
    # "invalid" comes before "warning", then the gravest of each run: where few are shown, none is for one run alone
    places = [(severity, rank) for of in lines for rank, (severity, _) in enumerate(of)]
    findings = [text for _, text in sorted(zip(places, texts, strict=True), key=lambda one: one[0])]
    grave = sum(severity == "invalid" for severity, _ in places)
    findings[grave:grave] = busy
    incomplete = [f"{NOT_COMPLETE}: {text}" for text in missing if text and not is_told]
    return list(dict.fromkeys([*incomplete, *simulated, *findings, *joint.notes]))


def _of_runs(joint: Joint, texts: Sequence[Sequence[str]]) -> list[str]:
    """What is said of each run, in one list; behind what not all of them have stands the drive it is said of."""
    sets = [one for one in joint.result_sets if not one.is_reference]
    if len(texts) < 2 or len(sets) != len(texts):
        return [text for of in texts for text in of]
    names = [_named([drive.name for drive in one.drives]) for one in sets]
    return [
        text if all(text in other for other in texts) else f"{text} [{name}]"
        for of, name in zip(texts, names, strict=True)
        for text in of
    ]


def _warning(one: FindingLine) -> str:
    """What it says first, and of how many trials where others lack it."""
    of = f" ({one.of})" if one.of else ""
    beside = "" if one.code == TRIAL_FAILED else f"{FINDING_WORDS[one.severity]}{of}: "
    room = min(WARNING_LENGTH_MAX, _LINE_LENGTH_MAX - len(beside))
    text = parts_within(clauses_within(one.text, room), room)
    if one.code == TRIAL_FAILED:
        # how many did is told with what the run lacks
        return f"Failed: {without_code(text.removeprefix(NOT_MEASURED))}"
    return f"{beside}{text}"


def simulated_sentences(sets: Sequence[ResultSet]) -> tuple[str, ...]:
    """Which drives are models: what is true of them is true of no hardware."""
    drives = [drive for one in sets for drive in one.drives]
    # a model is the same in each of its runs, which names tell apart
    models = list(dict.fromkeys(shortened(one.label or one.name) for one in drives if one.kind == SIMULATED))
    if not models:
        return ()
    is_all = all(drive.kind == SIMULATED for drive in drives)
    return (
        f"Simulated: {', '.join(models)}; no real drive was measured."
        if is_all
        else f"Simulated: {', '.join(models)}.",
    )


def source_words(joint: Joint) -> str:
    """Who measured or simulated, and who published."""
    told = []
    for run in joint.runs:
        models, count = simulated_count(run), len(run.record.targets)
        how = "measured" if not models else "simulated" if models == count else "measured and simulated"
        imported = dict(headline_facts(run)).get("imported from", "")
        told.append(f"{how} by {imported or f'drivelab {run.record.drivelab_version}'}".strip())
    told += [f"published: {one.source}" for one in joint.result_sets if one.is_reference]
    return "; ".join(dict.fromkeys(told))
