"""How a failure is told: what, where and what to do, on stderr."""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from drivelab import __version__
from drivelab.model.errors import DrivelabError
from drivelab.streams import for_person, point_nowhere

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def print_error(error: DrivelabError, *, as_json: bool) -> None:
    """Print an error on stderr, for people or as one JSON object."""
    print_message(json.dumps(error_json(error)) if as_json else str(error))


def error_json(error: DrivelabError) -> dict[str, object]:
    """The error as plain data: ``{"error": {code, what, where, do, exit_code}}``."""
    return {
        "error": {
            "code": error.code,
            "what": error.what,
            "where": error.where,
            "do": error.do,
            "exit_code": error.exit_code,
        }
    }


def print_bug(error: Exception, command_line: str) -> None:
    """Tell of an error that nobody expected; its traceback goes to a file, not to the screen."""
    first_line = (str(error).splitlines() or [""])[0]
    print_message(
        f"bug: {type(error).__name__}: {first_line}\n"
        f"  where: {command_line}\n"
        f"  do:    report it, with the details {_save_traceback(error, command_line)}"
    )


@contextmanager
def results_delivered() -> Iterator[None]:
    """Make sure that what is printed inside leaves the program."""
    try:
        yield
    except OSError as error:
        # whichever print fills the buffer meets the full disk; what it left behind meets it again
        _flush_stdout()
        # unless nothing is buffered; files of our own have a code for a full disk
        if error.errno in _NO_ROOM and error.filename is None:
            abandon_stdout()
            raise _undelivered(error) from error
        raise
    _flush_stdout()


def _flush_stdout() -> None:
    # None when the parent closed it, whatever its annotation says
    stdout: TextIO | None = sys.stdout
    if stdout is None:
        return
    try:
        stdout.flush()
        failure: OSError | None = getattr(stdout, "failure", None)
        if failure is not None:
            raise failure
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon_stdout()
        raise _undelivered(error) from error


def _undelivered(error: OSError) -> DrivelabError:
    return DrivelabError("U007", f"results could not be written: {error.strerror}", where="stdout")


def abandon_stdout() -> None:
    """Point stdout elsewhere, so that closing it at exit does not complain."""
    point_nowhere(sys.stdout.fileno())


def print_message(text: str) -> None:
    """Print on stderr, also when nobody reads it any more: the exit code still tells."""
    print(text, file=for_person(), flush=True)


def _save_traceback(error: Exception, command_line: str) -> str:
    try:
        descriptor, name = tempfile.mkstemp(prefix="drivelab-bug-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"drivelab {__version__}, Python {sys.version}\n{command_line}\n\n")
            traceback.print_exception(error, file=file)
    except OSError as refusal:
        return f"that could not be saved ({refusal.strerror})"
    return f"saved in {name}"
