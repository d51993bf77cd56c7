"""Puts back what a journal says was changed, the newest change first."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from drivelab.model.errors import DrivelabError
from drivelab.state.change_rules import why_not_obeyed
from drivelab.state.data_directory import undo_data_directory
from drivelab.state.filesystem import undo_filesystem, undo_mount
from drivelab.state.journal import Change, Journal
from drivelab.state.kernel_tracing import UNDO as UNDO_TRACING
from drivelab.state.loop_device import undo_loop_device
from drivelab.state.purge.catalogue import UNDO as UNDO_PURGES
from drivelab.state.raid import KIND as KIND_RAID
from drivelab.state.raid import undo_raid
from drivelab.state.scratch import undo_scratch_file
from drivelab.state.settings.catalogue import UNDO as UNDO_SETTINGS
from drivelab.state.signals import signals_held
from drivelab.state.undo_context import UndoContext
from drivelab.state.working_files import UNDO as UNDO_WORKING_FILES

# each takes the facts of its change, does nothing where nothing is left to do, and says what it did
UNDO: dict[str, Callable[..., str]] = {
    "scratch_file": undo_scratch_file,
    "loop_device": undo_loop_device,
    KIND_RAID: undo_raid,
    "data_directory": undo_data_directory,
    "filesystem": undo_filesystem,
    "mount": undo_mount,
    **UNDO_SETTINGS,
    **UNDO_PURGES,
    **UNDO_TRACING,
    **UNDO_WORKING_FILES,
}


def undo_all(journal: Journal) -> list[str]:
    """Put everything back that the journal lists; what was done, in words.

    A change that cannot be put back does not keep the others from it.

    Raises
    ------
    DrivelabError
        R406: something could not be put back; it stays in the journal. R408: nothing of what is left is understood.
    """
    done: list[str] = []
    failures: list[DrivelabError] = []
    with signals_held():
        for change in journal.outstanding:
            try:
                sentence = undo(change, journal)
            except DrivelabError as error:
                failures.append(error)
            else:
                done += [sentence] if sentence else []
    if failures:
        elsewhere = (error.where and error.where != str(journal.path) for error in failures)
        told = (
            f"{error.what} ({error.where})" if is_told else error.what
            for error, is_told in zip(failures, elsewhere, strict=True)
        )
        what = "; ".join(dict.fromkeys(told))
        dos = "; ".join(dict.fromkeys(error.do for error in failures if error.do != error.kind.advice))
        # what is not understood will not be understood later either
        code = "R408" if all(error.code == "R408" for error in failures) else "R406"
        raise DrivelabError(code, what, where=str(journal.path), do=dos)
    return done


def undo(change: Change, journal: Journal) -> str:
    """Put one change back; what was done, in words, or nothing.

    Raises
    ------
    DrivelabError
        R403, R404, R406: it could not be put back. R408: no such kind of change
        is known, or it asks for what drivelab does nowhere.
    """
    if change.kind not in UNDO:
        raise DrivelabError("R408", f"a change of unknown kind, {change.kind}", where=str(journal.path))
    reason = why_not_obeyed(change.kind, change.facts, UNDO[change.kind])
    if reason:
        what = f"its change {change.number}, {change.kind}, is not undone: {reason}"
        raise DrivelabError("R408", what, where=str(journal.path))
    with signals_held():
        try:
            sentence = _undo(change, journal)
        except (OSError, ValueError, TypeError, LookupError, AssertionError) as error:
            # nothing foreseen: the other changes must come back all the same
            what = f"{change.kind} could not be undone: {type(error).__name__}: {error}"
            raise DrivelabError("R406", what, where=str(journal.path)) from error
        journal.was_undone(change)
    return sentence


def _undo(change: Change, journal: Journal) -> str:
    function = UNDO[change.kind]
    if "context" not in inspect.signature(function).parameters:
        return function(**change.facts)
    # a copy: the undo may note facts that are for the next one only
    return function(**dict(change.facts), context=UndoContext(journal, change))
