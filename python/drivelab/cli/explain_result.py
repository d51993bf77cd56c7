"""What ``drivelab explain`` shows: explanations and differences, for people or as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drivelab.answers.explanations import (
    TracedCell,
    difference_of_cells,
    explanation_differences,
    explanation_of_cell,
    traced_cells,
)
from drivelab.answers.traced_answer import TracedAnswer
from drivelab.cli.level_reasons import print_level_reasons
from drivelab.cli.page import write_page
from drivelab.cli.run_results import print_findings
from drivelab.joint_report import joint_report
from drivelab.model.errors import EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.model.finding import FOREIGN_WORK
from drivelab.model.names import counted
from drivelab.model.trace import Explanation, ExplanationDifference
from drivelab.report.gather import finding_lines_of
from drivelab.report.html import FILE_NAME
from drivelab.report.sentences.explanation import has_software
from drivelab.report.terminal.wrapped import WIDTH, wrapped
from drivelab.store.cells import cell_value
from drivelab.store.read import StoredRun
from drivelab.store.remote.bring import place_of
from drivelab.streams import make_console

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
SHOWN_AT_MOST = 4
LINES_MAX = 30
# two places, and a blank line before and after the warnings
_LINES_BEHIND = 4
# why levels matter, above the parts of a combination
_REASON_LINES_MAX = 8
_MAKE_ONE = "make one: drivelab explain TARGET, or drivelab run EXPERIMENT TARGET --trace"


def show_explanations(
    run: StoredRun, trial: str, *, as_json: bool, details: bool = False, writes_report: bool = False
) -> int:
    """Show where the time of a run's operations went; 4 where there is no answer, or a durability alarm.

    Parameters
    ----------
    trial : str
        Only this trial of it; empty for all combinations of factors, their repeats together.
    """
    traced = TracedAnswer(run)
    found = (explanation_of_cell(run, cell_of(run, trial)),) if trial else traced.explanations
    if not found:
        raise _not_traced(run)
    if not as_json:
        # before the report: what was measured is worth seeing also when that cannot be written
        _print(run, found, traced, details=details)
    report = run.directory / FILE_NAME
    if writes_report:
        write_page(joint_report([run], answers=[traced.answer], traced=[traced]), report)
    if as_json:
        print(json.dumps(_document(run, report, found), indent=2))
    else:
        _print_places(run, report)
    return EXIT_OK if all(map(_is_answer, found)) else EXIT_NOT_TRUSTED


def show_difference(runs: Sequence[StoredRun], trials: Sequence[str], *, as_json: bool) -> int:
    """Show which parts differ between two runs, or between two trials of one; 4 where one of them is no answer yet."""
    found: tuple[ExplanationDifference, ...]
    if trials:
        sides = [(runs[0], cell_of(runs[0], trial)) for trial in trials]
        one = difference_of_cells(sides[0], sides[1], names=(trials[0], trials[1]))
        found = () if one is None else (one,)
    else:
        for run in runs:
            if not run.traced_trials:
                raise _not_traced(run)
        found = explanation_differences(runs[0], runs[1])
    print_differences(found, [run.directory for run in runs], trials, as_json=as_json)
    if not as_json:
        _print_warnings(runs)
    return EXIT_NOT_TRUSTED if any(one.unsettled for one in found) else EXIT_OK


def print_differences(
    found: Sequence[ExplanationDifference], directories: Sequence[Path], trials: Sequence[str], *, as_json: bool
) -> None:
    """Print which parts differ."""
    if not found:
        names = " and ".join(trials or [directory.resolve().name for directory in directories])
        what = f"{names} have no operations in common whose traces are whole"
        raise DrivelabError("U022", what, where=", ".join(map(str, directories)))
    if as_json:
        document = {
            "schema": SCHEMA,
            "runs": [str(directory) for directory in directories],
            "trials": list(trials),
            "differences": [one.to_json() for one in found],
        }
        print(json.dumps(document, indent=2))
        return
    _print_differences(found)


def cell_of(run: StoredRun, trial: str) -> TracedCell:
    """One trial as a combination of its own."""
    row = run.trial(trial)
    for cell in traced_cells(run):
        if trial in cell.trials:
            return replace(cell, trials=(trial,))
    if row["is_reference"]:
        what = f"trial {trial} is a measurement of the reference, which only tells whether the target changed meanwhile"
        raise DrivelabError("U020", what, where=str(run.directory), do="name a trial of a combination")
    reason = cell_value("context_json", row["context_json"], trial).get("trace_reason")
    what = f"trial {trial} was not traced" + (f": {reason}" if reason else "")
    raise DrivelabError("U020", what, where=str(run.directory), do=_MAKE_ONE)


def _missing_traces(run: StoredRun) -> dict[str, str]:
    """Why trials have no trace, or an incomplete one, by trial."""
    found = {}
    for trial, text in zip(run.trial_names, run.trials["context_json"].to_pylist(), strict=True):
        reason = cell_value("context_json", text, trial).get("trace_reason")
        if reason:
            found[trial] = str(reason)
    return found


def _not_traced(run: StoredRun) -> DrivelabError:
    missing = _missing_traces(run)
    if missing:
        first = next(iter(missing.values()))
        what = f"none of {counted(len(missing), 'traced pass')} gave an explanation; the first: {first}"
        return DrivelabError("R441", what, where=str(run.directory))
    is_cut_off = run.record.status in ("running", "interrupted")
    what = f"run {run.name} has no traces{', so far: it is not complete' if is_cut_off else ''}"
    do = f"if it was cut off: drivelab resume {shlex.quote(str(run.directory))}" if is_cut_off else _MAKE_ONE
    return DrivelabError("U020", what, where=str(run.directory), do=do)


def _is_answer(explanation: Explanation) -> bool:
    is_safe = explanation.check.verdict != "too_few_flushes"
    return not explanation.refusal and is_safe and not explanation.is_unsettled


def _document(run: StoredRun, report: Path, found: Sequence[Explanation]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "run": str(run.directory),
        "report": str(report) if report.is_file() else None,
        "status": run.record.status or None,
        "explanations": [explanation.to_json() for explanation in found],
        "without_trace": _missing_traces(run),
        "findings": [finding.to_json() for finding in run.findings],
        "failures": dict(run.record.failures),
    }


def _print(run: StoredRun, found: Sequence[Explanation], traced: TracedAnswer, *, details: bool) -> None:
    # imported here: JSON needs no terminal library
    from rich.text import Text

    from drivelab.report.terminal.run_screen import NOT_MEASURED, warning_lines
    from drivelab.report.terminal.waterfall import explanation_in_short, explanation_lines

    console = make_console()
    # the slowest of a counted number of operations are known however short they took
    told = warning_lines(finding_lines_of(run), _is_plain(console), notes=(NOT_MEASURED,))
    warnings = [] if details else list(told)
    missing = _missing_traces(run)
    above = 0
    if len(found) > 1:
        above = print_level_reasons(traced, console, lines_max=0 if details else _REASON_LINES_MAX)
        # and the line about those that are not shown
        above += 2
    busy = wrapped(_busy_words(run, found), WIDTH, _is_plain(console))
    if busy:
        _print_lines(busy)
        above += len(busy) + 1
    write = explanation_lines
    if not details:
        room = LINES_MAX - _LINES_BEHIND - len(warnings) - len(missing) - above
        write = partial(explanation_in_short, lines_max=room)
    shown_at_most = SHOWN_AT_MOST if details else 1
    for explanation in found[:shown_at_most]:
        _print_lines(write(explanation, console.width, plain=_is_plain(console)))
    if len(found) > shown_at_most:
        left_out = len(found) - shown_at_most
        console.print(
            Text(f"{left_out} more combinations: --trial NAME shows one, --json all, and so does the report\n")
        )
    for trial, reason in missing.items():
        console.print(Text(f"{trial} has no explanation: {reason}", style="yellow"))
    if details:
        print_findings(run, console)
        return
    for line in warnings:
        console.print(line)
    console.print()


def _busy_words(run: StoredRun, found: Sequence[Explanation]) -> str:
    """That waiting for a processor is in the software, where others used them and there is software to tell of."""
    seen = [one.evidence for one in run.findings if one.code == FOREIGN_WORK and "other_processors" in one.evidence]
    if not seen or not any(has_software(one) for one in found):
        return ""
    most = max(seen, key=lambda facts: float(facts["other_processors"]))
    count = round(most["other_processors"] / most["other_processor_share"])
    used = f"others used up to {most['other_processors']:.1f} of {counted(count, 'processor')}"
    return f"The machine is busy: {used}, and what an operation waited for one counts as software."


def _print_places(run: StoredRun, report: Path) -> None:
    from rich.text import Text

    console = make_console()
    if report.is_file():
        console.print(Text(f"report: {report}"), soft_wrap=True)
    console.print(Text(f"run:    {place_of(run.directory)}"), soft_wrap=True)


def _print_differences(found: Sequence[ExplanationDifference]) -> None:

    from drivelab.report.terminal.explanation_difference import difference_lines

    console = make_console()
    for difference in found:
        _print_lines(difference_lines(difference, console.width, plain=_is_plain(console)))


def _print_warnings(runs: Sequence[StoredRun]) -> None:
    """The gravest findings: those of all runs once, and of one run with its name."""
    from drivelab.report.terminal.run_screen import warning_lines

    told = [dict.fromkeys(finding_lines_of(run)) for run in runs]
    shared = [line for line in told[0] if all(line in lines for lines in told[1:])]
    of_one = [
        replace(line, where=_of(run))
        for run, lines in zip(runs, told, strict=True)
        for line in lines
        if line not in shared
    ]
    console = make_console()
    for text in warning_lines([*shared, *of_one], _is_plain(console), notes=()):
        console.print(text)


def _of(run: StoredRun) -> str:
    return f" [{run.name}]"


def _print_lines(lines: Sequence[str]) -> None:
    print("\n".join((*lines, "")))


def _is_plain(console: Console) -> bool:
    """Whether the terminal knows few characters."""
    return not console.encoding.startswith("utf")
