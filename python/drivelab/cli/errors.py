"""The command ``drivelab errors``: explains an error code."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Annotated

import typer

from drivelab.model.errors import KINDS, DrivelabError, ErrorKind


def command(
    code: Annotated[str | None, typer.Argument(help="A code such as U001; all codes when left out.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain an error code, or list them all."""
    kinds = list(KINDS.values()) if code is None else [_find_kind(code)]
    if as_json:
        print(json.dumps([_kind_json(kind) for kind in kinds], indent=2))
    elif code is None:
        for kind in kinds:
            print(f"{kind.code}  {kind.title}")
    else:
        print(explanation(kinds[0]))


def _find_kind(code: str) -> ErrorKind:
    """The kind of error that has this code, in any case of letters."""
    wanted = code.strip().strip("[]").upper()
    if wanted not in KINDS:
        near = get_close_matches(wanted, KINDS, n=3, cutoff=0.5)
        do = f"drivelab errors {near[0]}" if near else "list them: drivelab errors"
        raise DrivelabError("U005", f"there is no error code '{code}'", where="drivelab errors", do=do)
    return KINDS[wanted]


def explanation(kind: ErrorKind) -> str:
    """What the code means, what to do, and the exit status, as text."""
    return f"{kind.code}  {kind.title}\n  do:   {kind.advice}\n  exit: {kind.exit_code}"


def _kind_json(kind: ErrorKind) -> dict[str, object]:
    """The kind as plain data."""
    return {"code": kind.code, "title": kind.title, "advice": kind.advice, "exit_code": kind.exit_code}
