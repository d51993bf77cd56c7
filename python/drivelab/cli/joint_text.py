"""Several runs on a terminal: the answer, what differs between them, and the first table."""

from __future__ import annotations

from drivelab.report.joint import Joint
from drivelab.report.sentences.run import plain_text
from drivelab.report.tables.table_terminal import TerminalTable
from drivelab.report.terminal.plots import TextPlots
from drivelab.streams import make_console


def print_joint(joint: Joint) -> None:
    """Print what several runs, or published numbers, come to.

    Parameters
    ----------
    joint : Joint
        The report.
    """
    from rich.text import Text

    console = make_console()
    console.print(Text(joint.question, style="bold"))
    for sentence in joint.sentences:
        console.print(Text(plain_text(sentence)))
    console.print()
    for note in joint.notes:
        console.print(Text.assemble(("differs: ", "yellow"), plain_text(note)))
    if joint.notes:
        console.print()
    plain = not console.encoding.startswith("utf")
    for table in joint.tables[:1]:
        console.print(TerminalTable(table, plain=plain))
    console.print()
    plots = TextPlots(result_sets=joint.result_sets, plain=plain)
    console.print(plots, end="")
    more = len(joint.tables) - 1
    if more > 0:
        console.print(Text(f"{more} more table{'s' if more > 1 else ''} in the report: --format markdown", style="dim"))
