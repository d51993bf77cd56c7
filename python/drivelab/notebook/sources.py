"""Opens runs and published pages by what they are called, and compares runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import overload

from drivelab.joint_report import joint_report
from drivelab.model.errors import DrivelabError
from drivelab.notebook.frames import checked_frame
from drivelab.notebook.results import OpenedResults
from drivelab.notebook.run import OpenedRun
from drivelab.reference.load import PREFIX, load_reference
from drivelab.store.find_run import find_run
from drivelab.store.read import StoredRun, open_run

Source = str | Path | OpenedRun


@overload
def open_results(source: Source, *, frame: str = "arrow") -> OpenedRun: ...
@overload
def open_results(source: Sequence[Source], *, frame: str = "arrow") -> OpenedResults: ...
def open_results(source: Source | Sequence[Source], *, frame: str = "arrow") -> OpenedResults:
    """A run, or several and published pages together.

    Parameters
    ----------
    source : str, Path, or a sequence of them
        Directory of a run, its name where runs are kept, or ``reference:PAGE``
        for published numbers. Of several the report is a joint one.
    frame : str
        The form of tables: ``arrow``, ``pandas`` or ``polars``.

    Returns
    -------
    OpenedRun or OpenedResults
        An `OpenedRun` for one run; otherwise what they have in common.

    Raises
    ------
    DrivelabError
        S504 to S506: not a run, or a damaged one. U005: no such page. O820,
        O821: the form of tables. O823: nothing was named.
    """
    chosen = checked_frame(frame)
    sources = _several(source)
    if not sources:
        raise DrivelabError("O823", "an empty list was opened")
    pages = [str(one).removeprefix(PREFIX) for one in sources if str(one).startswith(PREFIX)]
    runs = [_stored(one) for one in sources if not str(one).startswith(PREFIX)]
    if len(runs) == 1 and not pages:
        return OpenedRun(runs[0], chosen)
    return OpenedResults(joint_report(runs, [load_reference(page) for page in pages]), chosen)


def compare_runs(
    base: Source | Sequence[Source], new: Source | Sequence[Source], *, margin: float = 0.05, frame: str = "arrow"
) -> OpenedResults:
    """What the runs of NEW come to beside those of BASE.

    Parameters
    ----------
    base, new : str, Path, OpenedRun, or a sequence of them
        The runs of each side; none may be on both.
    margin : float
        What still counts as the same: 0.05 is 5 %.
    frame : str
        The form of tables: ``arrow``, ``pandas`` or ``polars``.

    Raises
    ------
    DrivelabError
        S504 to S506: not a run, or a damaged one. U011, U012: the margin, or a
        run on both sides. O820, O821: the form of tables. O823: nothing was named.
    """
    from drivelab.answers.comparison import compare_runs as compared
    from drivelab.report.comparison_joint import joint_of_comparison

    chosen = checked_frame(frame)
    return OpenedResults(joint_of_comparison(compared(_side(base), _side(new), margin)), chosen)


def _side(source: Source | Sequence[Source]) -> list[StoredRun]:
    sources = _several(source)
    if not sources:
        raise DrivelabError("O823", "one side of the comparison is empty")
    return [_stored(one) for one in sources]


def _several(source: Source | Sequence[Source]) -> list[Source]:
    sources = [source] if isinstance(source, str | Path | OpenedRun) or not isinstance(source, Iterable) else source
    for one in sources:
        if not isinstance(one, str | Path | OpenedRun):
            raise DrivelabError("O823", f"neither a path nor a name nor a run: {one!r}")
    return list(sources)


def _stored(source: Source) -> StoredRun:
    return source.stored if isinstance(source, OpenedRun) else open_run(find_run(str(source)))
