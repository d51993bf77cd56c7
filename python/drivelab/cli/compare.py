"""The command ``drivelab compare``: whether NEW is faster or slower than BASE, and whether one can tell at all."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from drivelab.cli.failure import print_message
from drivelab.model.errors import EXIT_FAILED, EXIT_NOT_TRUSTED, EXIT_OK, DrivelabError
from drivelab.store.find_run import runs_at
from drivelab.store.layout import HISTOGRAMS, TRIALS
from drivelab.store.read import StoredRun, open_run
from drivelab.store.remote.bring import bring

if TYPE_CHECKING:
    from drivelab.model.comparison import Comparison


class Format(StrEnum):
    """How a comparison is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


# by the ending of the file's name; any other is a text
_FORMATS = {".html": Format.HTML, ".htm": Format.HTML, ".md": Format.MARKDOWN, ".json": Format.JSON}


class FailOn(StrEnum):
    """What makes the command fail."""

    REGRESSION = "regression"
    DIFFERENCE = "difference"
    NOT_COMPARABLE = "not-comparable"
    UNDECIDED = "undecided"


def command(
    base: Annotated[
        str | None, typer.Argument(metavar="[BASE]", help="A run, its name, or a directory of runs.")
    ] = None,
    new: Annotated[str | None, typer.Argument(metavar="[NEW]", help="A run, its name, or a directory of runs.")] = None,
    more_base: Annotated[
        list[str] | None, typer.Option("--base", metavar="RUN", help="A run of BASE; may be repeated.")
    ] = None,
    more_new: Annotated[
        list[str] | None, typer.Option("--new", metavar="RUN", help="A run of NEW; may be repeated.")
    ] = None,
    fail_on: Annotated[
        list[FailOn] | None, typer.Option("--fail-on", help="Exit with 1 when there is such a number; may be repeated.")
    ] = None,
    margin: Annotated[str, typer.Option(metavar="SHARE", help="What still counts as the same.")] = "5%",
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Judge this metric instead; may be repeated.")
    ] = None,
    format_: Annotated[
        Format | None, typer.Option("--format", help="How to write it. [default: by the ending of --out, else text]")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="File to write; else standard output.")] = None,
    details: Annotated[
        bool, typer.Option("--details", help="All numbers, remarks and differences, beyond one screen.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> int:
    """Compare runs: what became slower or faster, what stayed the same, and what cannot be compared.

    Combinations of workload and levels are found on both sides and compared:
    the median latency or the throughput, p99 and IOPS, each as the ratio of NEW
    to BASE with its 95 % interval. Only the first is judged, and that takes 3
    runs a side, or 5 to find more than large differences; run them alternately.

    Exit code 1: there is what --fail-on names. A regression is slower beyond
    noise and beyond the margin. 4: nothing could be compared; with --fail-on also
    where nothing could be judged, since a side has fewer than 3 runs.
    """
    if as_json and format_ not in (None, Format.JSON):
        raise DrivelabError("U004", f"--json and --format {format_} exclude each other", where="drivelab compare")
    chosen = Format.JSON if as_json else format_ or _FORMATS.get(out.suffix.lower() if out else "", Format.TEXT)
    if chosen is Format.HTML and out is None:
        raise DrivelabError("U014", "a page is written to a file", where="--format html")
    share = _parse_margin(margin)
    named = {"BASE": (base, more_base), "NEW": (new, more_new)}
    sides = [_runs_of_side(side, [*([one] if one else []), *(more or ())]) for side, (one, more) in named.items()]
    from drivelab.answers.comparison import compare_runs

    more = chosen is not Format.TEXT
    comparison = compare_runs(sides[0], sides[1], share, tuple(metric or ()), with_distributions=more)
    _write_comparison(comparison, chosen, out, is_whole=details or out is not None)
    return exit_code(comparison, tuple(fail_on or ()))


def _parse_margin(text: str) -> float:
    """A share such as ``5%`` or ``0.05``."""
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        raise DrivelabError("U011", f"'{text}' is not a share", where="--margin") from None
    share = number / 100 if text.strip().endswith("%") else number
    if not 0 < share < 1:
        raise DrivelabError("U011", f"a margin of {text} is not between 0 % and 100 %", where="--margin")
    return share


def _runs_of_side(side: str, names: Sequence[str]) -> list[StoredRun]:
    if not names:
        do = f"drivelab compare BASE NEW, or --{side.lower()} RUN for each run of a side"
        raise DrivelabError("U006", f"no run of {side} is named", where="drivelab compare", do=do)
    return [run for name in names for run in runs_of(name)]


def runs_of(name: str) -> list[StoredRun]:
    """The run of that name, or all runs in the directory of that name."""
    directories = runs_at(name)
    # all at once: each by itself would wait for the network
    bring(directories, TRIALS, HISTOGRAMS)
    return [open_run(one) for one in directories]


def _write_comparison(comparison: Comparison, chosen: Format, out: Path | None, *, is_whole: bool = True) -> None:
    """Write the comparison to a file, or to standard output; as a text whole, or as one screen."""
    if out is not None:
        from drivelab.store.durable import typed_file

        out = typed_file(out)
    if chosen is Format.HTML and out is not None:
        from drivelab.report.comparison_joint import joint_of_comparison
        from drivelab.report.html import write_html_report

        joint = joint_of_comparison(comparison)
        page = write_html_report(joint, out)
        _print_written(joint.sentences[0], page)
        return
    text = _text_of(comparison, chosen, is_file=out is not None, is_whole=is_whole)
    if out is None:
        sys.stdout.write(text)
        return
    from drivelab.report.report_file import report_file

    with report_file(out) as aside:
        aside.write_text(text, encoding="utf-8")
    from drivelab.report.sentences.comparison_answer import answers

    _print_written(answers(comparison)[0], out)


def _print_written(answer: str, out: Path) -> None:
    """The answer, and below it the file that has the rest."""
    from drivelab.report.terminal.clean_text import terminal_text

    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    print(f"{terminal_text(answer, plain)}\n{out}")


def _text_of(comparison: Comparison, chosen: Format, *, is_file: bool, is_whole: bool) -> str:
    if chosen is Format.JSON:
        return json.dumps(comparison.to_json(), indent=2) + "\n"
    # a terminal that knows few characters gets few
    plain = not is_file and not (sys.stdout.encoding or "").lower().startswith("utf")
    if chosen is Format.MARKDOWN:
        from drivelab.report.markdown.comparison import comparison_markdown
        from drivelab.report.terminal.clean_text import terminal_text

        text = comparison_markdown(comparison)
        return terminal_text(text, plain) if plain else text
    from drivelab.report.terminal.comparison import comparison_text

    return comparison_text(comparison, plain=plain, is_whole=is_whole)


def exit_code(comparison: Comparison, fail_on: tuple[FailOn, ...]) -> int:
    """What the shell is told; on stderr, why, and what could not be decided."""
    rows = comparison.rows
    missing = len(comparison.only_base) + len(comparison.only_new)
    counts = {
        FailOn.REGRESSION: len(comparison.regressions),
        FailOn.DIFFERENCE: sum(row.verdict in ("slower", "faster") and row.is_beyond_margin for row in rows),
        FailOn.NOT_COMPARABLE: comparison.counts["not comparable"] + missing,
        # where nothing was judged that is told, and has a code of its own
        FailOn.UNDECIDED: sum(row.is_undecided for row in rows) if comparison.is_anything_judged else 0,
    }
    hit = [f"{one} ({counts[one]})" for one in dict.fromkeys(fail_on) if counts[one]]
    is_judged = comparison.is_anything_judged or not comparison.is_anything_compared
    if fail_on and not is_judged:
        print_message(_nothing_judged(comparison))
    elif fail_on and counts[FailOn.UNDECIDED] and FailOn.UNDECIDED not in fail_on:
        print_message(_undecided(comparison))
    if hit:
        print_message(f"failed on: {', '.join(hit)}")
        return EXIT_FAILED
    if not comparison.is_anything_compared or (fail_on and not is_judged):
        return EXIT_NOT_TRUSTED
    return EXIT_OK


def _nothing_judged(comparison: Comparison) -> str:
    """That there is no verdict at all, why, and how to get one."""
    seen = [row for row in comparison.rows if row.is_judged and row.verdict == "seen only"]
    reasons = "; ".join(dict.fromkeys(row.why[0] for row in seen if row.why))
    have = "1 number has" if len(seen) == 1 else f"{len(seen)} numbers have"
    return (
        f"nothing was judged: {have} a ratio and no interval ({reasons}), so neither a "
        "regression nor its absence is shown; measure at least 5 runs a side, alternately, and name them with "
        "--base RUN and --new RUN"
    )


def _undecided(comparison: Comparison) -> str:
    undecided = [row for row in comparison.rows if row.is_undecided]
    judged = sum(row.is_judged for row in comparison.rows)
    return (
        f"undecided: {len(undecided)} of {judged} judged numbers show neither a difference nor that there is none; "
        "measure more runs a side, 5 at least, or fail on them too: --fail-on undecided"
    )
