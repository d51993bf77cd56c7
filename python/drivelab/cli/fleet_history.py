"""What many drives gave over dates: ``drivelab history --all-drives``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from drivelab.answers.fleet_history import fleet_history
from drivelab.cli.fleet_report import hosts_of, run_directories
from drivelab.cli.history import LINES_MAX, SCHEMA, write_joint
from drivelab.model.errors import DrivelabError
from drivelab.report.fleet_history_joint import joint_of_fleet_history
from drivelab.report.sentences.fleet_history import fleet_history_sentences
from drivelab.report.terminal.fleet_history import fleet_history_lines
from drivelab.report.terminal.wrapped import fitted
from drivelab.streams import make_console


def tell_fleet_history(names: Sequence[str], out: Path | None, *, is_whole: bool, as_json: bool) -> None:
    """Print the history of all drives, or write it.

    Parameters
    ----------
    names : sequence of str
        Runs, directories of runs, or fleets; none for all runs that are kept.
    out : Path or None
        The file to write.
    is_whole : bool
        Whether every drive is printed, also beyond a screen.
    as_json : bool
        Whether to print JSON.

    Raises
    ------
    DrivelabError
        U009: there are no runs that can be read. S504: not a run. U005, O801, O802: it cannot be written.
    """
    directories = run_directories(names)
    history = fleet_history(directories, hosts_of(directories))
    if not history.drives:
        raise DrivelabError("U009", "; ".join(history.notes), where=", ".join(names) or "drivelab history")
    if as_json:
        answer = fleet_history_sentences(history)[0]
        print(json.dumps({"schema": SCHEMA, "answer": answer} | history.to_json(), indent=2))
    elif out is not None:
        write_joint(joint_of_fleet_history(history), out)
    else:
        console = make_console(soft_wrap=True)
        plain = not console.encoding.startswith("utf")
        for line in fleet_history_lines(history, plain, lines_max=0 if is_whole else LINES_MAX):
            print(fitted(line, max(console.width, 40)))
