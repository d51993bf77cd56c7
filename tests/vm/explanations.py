"""Runs in the guest: ``drivelab explain`` for one list of arguments after the other, in one process.

Loading drivelab takes 10 s in the guest, so it is done once. Standard input has
a list of lists of arguments as JSON; standard output gets, for each, the exit
status, what was said on standard error, and the explanation (null without one).
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from drivelab.cli import explain_result, main

# nobody reads the report, which takes as long as all the rest
explain_result.joint_report = lambda runs, **_: None
explain_result.write_page = lambda joint, path: path


def explained(arguments: list[str]) -> dict[str, Any]:
    """What one command says."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main.run(["explain", *arguments, "--json"])
    found = json.loads(out.getvalue())["explanations"] if out.getvalue() else [None]
    return {"status": status, "said": err.getvalue(), "explanation": found[0]}


if __name__ == "__main__":
    print(json.dumps([explained(arguments) for arguments in json.load(sys.stdin)]))
