"""The command ``drivelab report``: writes the report of runs again, from what they stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from drivelab.answers.followed import followed_answer
from drivelab.answers.result_set import result_set_of
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.cli.check_screen import print_in_full, print_screen
from drivelab.cli.followed_result import followed_joint, print_followed
from drivelab.cli.price_option import PriceOption
from drivelab.cli.report_output import (
    chosen_format,
    chosen_pictures,
    destination,
    named_place,
    write_report,
)
from drivelab.cli.report_sources import MATCHING, followed_source, matching_pages, split_sources, with_pages
from drivelab.cli.run_results import print_results, print_text
from drivelab.joint_report import is_of_experiment, joint_report
from drivelab.model.errors import DrivelabError
from drivelab.model.names import counted
from drivelab.model.price import parse_priced
from drivelab.model.result_set import ResultSet
from drivelab.model.run_answer import RunAnswer
from drivelab.model.stored_experiment import EXPLAIN
from drivelab.reference.load import PREFIX, load_reference, reference_names
from drivelab.report.formats import SUFFIXES, Format, PictureFormat
from drivelab.report.in_short import simulated_sentences
from drivelab.report.joint import Joint
from drivelab.report.sentences.run import plain_text
from drivelab.report.sentences.traced import are_explained
from drivelab.report.tables.drives_beside import KEY as DRIVES_BESIDE
from drivelab.report.tables.table_terminal import TerminalTable
from drivelab.report.terminal.explanation_difference import parts_lines
from drivelab.report.terminal.plots import TextPlots
from drivelab.report.terminal.wrapped import without_trailing_blanks
from drivelab.store.followed import StoredFollowed
from drivelab.store.read import StoredRun
from drivelab.streams import make_console

if TYPE_CHECKING:
    from rich.console import Console

# more is in the report
_SENTENCES_MAX = 3
# of a table; the report has the others
_ROWS_MAX = 24
# of several runs, and of pages
_LINES_MAX = 60
_FORMATS = ", ".join(SUFFIXES)


def command(
    run: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help=f"Directories or names of runs; published pages: {', '.join(reference_names())}",
        ),
    ],
    format_name: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help=f"{_FORMATS}; else by the name of the file, else html."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File to write, or - for stdout; else a page goes to the run's directory, all others to stdout.",
        ),
    ] = None,
    with_reference: Annotated[
        str | None,
        typer.Option(
            "--with-reference",
            metavar="[PAGE]",
            help="Put published numbers beside those of the runs; without PAGE those of the same workloads.",
        ),
    ] = None,
    price: PriceOption = None,
    figures: Annotated[
        str | None,
        typer.Option("--figures", metavar="KIND", help="Pictures beside a Markdown file: svg (default), png or none."),
    ] = None,
    brief: Annotated[
        bool, typer.Option("--brief", help="Markdown in 60 lines: the answer, one picture, the main tables, warnings.")
    ] = False,
    text: Annotated[bool, typer.Option("--text", help="Print the answer here instead of writing a report.")] = False,
    details: Annotated[bool, typer.Option("--details", help="With --text: all tables and findings.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: what was written, and where.")] = False,
) -> int:
    """Write the report of runs: one page that opens offline and holds all its data, or Markdown, CSV, JSON, a card.

    Several runs make one report: what they have in common is compared, what
    differs between them is named, and each is told by itself.
    """
    others = {"--json": as_json, "--format": format_name is not None, "--out": out is not None, "--brief": brief}
    others |= {"--figures": figures is not None, "--price": price is not None}
    _require_alone(others, text=text, details=details)
    place = named_place(out, format_name)
    chosen = chosen_format(format_name, place, is_brief=brief)
    asked = _Asked(chosen, place, chosen_pictures(figures, chosen, is_brief=brief), brief, as_json)
    program = followed_source(named := with_pages(run))
    if program is not None:
        _require_no_numbers({"--with-reference": with_reference is not None, "--price": price is not None})
        return _report_program(program, asked, text=text, details=details)
    runs, pages = split_sources(named)
    answers = [answer_of_run(stored, SHOWN_METRICS) for stored in runs]
    if with_reference is not None:
        pages = _with_pages(with_reference, pages, [*map(result_set_of, runs, answers)])
    if text:
        _print_text(runs, pages, answers, details=details)
        return 0
    published, prices = [load_reference(page) for page in pages], dict(map(parse_priced, price or ()))
    joint = partial(joint_report, runs, published, answers, prices)
    return _write(asked, [stored.directory for stored in runs], pages, joint)


@dataclass(frozen=True, slots=True)
class _Asked:
    """How the report is to be written."""

    format_name: Format
    place: Path | None
    pictures: PictureFormat | None
    is_brief: bool
    as_json: bool


def _write(asked: _Asked, directories: Sequence[Path], pages: Sequence[str], joint: Callable[[], Joint]) -> int:
    path = destination(asked.format_name, asked.place, directories, pages)
    if asked.as_json and path is None:
        what = f"--json says where a file is, and {asked.format_name} goes to stdout"
        raise DrivelabError("U004", what, where="drivelab report", do="name a file: --out")
    written = write_report(joint(), asked.format_name, path, asked.pictures, is_brief=asked.is_brief)
    told = _json(directories, pages, written, asked.format_name) if asked.as_json else "\n".join(map(str, written))
    print(told, end="\n" if written else "")
    return 0


def _report_program(program: StoredFollowed, asked: _Asked, *, text: bool, details: bool) -> int:
    found = followed_answer(program.record, program.calls(), program.events())
    if text:
        print_followed(found, program.directory, None, details=details)
        return 0
    return _write(asked, [program.directory], [], partial(followed_joint, found))


def _require_no_numbers(others: dict[str, bool]) -> None:
    given = next((name for name, is_given in others.items() if is_given), None)
    if given:
        what = f"{given} is for numbers of a workload, and a program was followed"
        raise DrivelabError("U004", what, where="drivelab report", do="leave one of them out")


def _print_text(
    runs: Sequence[StoredRun], pages: Sequence[str], answers: Sequence[RunAnswer], *, details: bool
) -> None:
    """Print the answer of one run, with all of it or what has room, or that of several together."""
    if len(runs) != 1 or pages:
        print_joint(joint_report(runs, [load_reference(page) for page in pages], answers), details=details)
    elif runs[0].record.experiment.get("name") == EXPLAIN and runs[0].traced_trials:
        from drivelab.cli.explain_result import show_explanations

        show_explanations(runs[0], "", as_json=False, details=details)
    elif is_of_experiment(runs[0]):
        (print_results if details else print_text)(runs[0], answers[0])
    else:
        from drivelab.report.gather import gather

        content = gather(runs[0])
        # a screen of its own has a check; a workload, or a replay, is told whole
        is_check = bool(runs[0].record.verdict)
        print_screen(content, runs[0].directory) if is_check and not details else print_in_full(content)


def _require_alone(others: dict[str, bool], *, text: bool, details: bool) -> None:
    if details and not text:
        raise DrivelabError("U004", "--details is for --text", where="drivelab report", do="add --text")
    given = next((name for name, is_given in others.items() if is_given), None)
    if given and text:
        raise DrivelabError("U004", f"--text and {given} exclude each other", where="drivelab report")


def _with_pages(asked: str, pages: Sequence[str], sets: Sequence[ResultSet]) -> list[str]:
    """The pages that were named as arguments, and those beside them."""
    if asked != MATCHING:
        _, more = split_sources([f"{PREFIX}{asked.removeprefix(PREFIX)}"])
    else:
        more = matching_pages([*sets, *map(load_reference, pages)])
    return list(dict.fromkeys([*pages, *more]))


def _json(directories: Sequence[Path], pages: Sequence[str], files: Sequence[Path], format_name: Format) -> str:
    facts: dict[str, object] = {"schema": 1}
    if len(directories) == 1 and not pages:
        facts["run"] = str(directories[0])
    else:
        facts["runs"] = [*map(str, directories), *(f"{PREFIX}{page}" for page in pages)]
    if format_name != "html":
        facts["format"] = format_name
    facts["report"] = str(files[0])
    if len(files) > 1:
        facts["files"] = [str(file) for file in files]
    return json.dumps(facts)


def print_joint(joint: Joint, *, details: bool = False) -> None:
    """Print what several runs, or published numbers, come to.

    Parameters
    ----------
    details : bool
        Whether all of it is printed, and not at most 60 lines.
    """
    console = make_console()
    with console.capture() as captured:
        _print_joint(joint, console)
    lines = without_trailing_blanks(captured.get()).rstrip("\n").split("\n")
    if len(lines) > _LINES_MAX and not details:
        # as many parts as there is room for, and of the first that has none its beginning where it is long
        end = max((at for at, line in enumerate(lines[: _LINES_MAX - 1]) if not line), default=0)
        shown = lines[: end if end > _LINES_MAX // 2 else _LINES_MAX - 1]
        lines = [*shown, f"... {counted(len(lines) - len(shown), 'more line')}: --details"]
    console.file.write("\n".join([*lines, ""]))


def _print_joint(joint: Joint, console: Console) -> None:
    from rich.text import Text

    console.print(Text(joint.question, style="bold"))
    # that no hardware was measured is said behind the answer, however long that is
    told = dict.fromkeys((*joint.sentences[:_SENTENCES_MAX], *simulated_sentences(joint.result_sets)))
    for sentence in told:
        console.print(Text(plain_text(sentence)))
    console.print()
    for note in joint.notes:
        console.print(Text.assemble(("note: ", "yellow"), plain_text(note)))
    if joint.notes:
        console.print()
    plain = not console.encoding.startswith("utf")
    explained = joint.part_differences if are_explained(joint) else ()
    for one in explained:
        console.print(Text(plain_text(f"{one.new} against {one.base}"), style="bold"))
        console.print(Text("\n".join([*parts_lines(one, console.width, plain=plain), ""])))
    leading = () if explained else joint.leading_tables
    for table in leading:
        console.print(TerminalTable(table, plain=plain, rows_max=_ROWS_MAX))
        console.print()
    # where the table has drives as columns, or is that of a page's numbers, a picture would show them once more
    is_page = len(joint.result_sets) == 1 and not joint.runs
    shown = [table for table in leading if any(column.is_number for column in table.columns)]
    if not explained and not any(is_page or table.key.startswith(DRIVES_BESIDE) for table in shown):
        console.print(TextPlots(result_sets=joint.drive_sets, plain=plain), end="")
    more = len(joint.tables) - len(explained or leading)
    if more > 0:
        console.print(Text(f"{more} more table{'s' if more > 1 else ''} in the report: --format markdown", style="dim"))
