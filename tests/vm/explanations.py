"""Runs in the guest: ``drivelab explain`` for one list of arguments after the other, in one process.

Loading drivelab takes 10 s in the guest, so it is done once. Standard input has
a list of lists of arguments as JSON; standard output gets, for each, the exit
status, what was said on standard error, and the answer (null without one).
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from drivelab.cli import explain_followed, explain_result, main

# nobody reads the report, which takes as long as all the rest
explain_result.joint_report = lambda runs, **_: None
explain_followed.followed_joint = lambda found: None
explain_result.write_page = explain_followed.write_page = lambda joint, path: path


def explained(arguments: list[str]) -> dict[str, Any]:
    """What one command says."""
    out = io.StringIO()
    # a followed command inherits it
    with tempfile.TemporaryFile("w+") as err:
        with redirect_stdout(out), redirect_stderr(err):
            status = main.run(["explain", "--json", *arguments])
        err.seek(0)
        return {"status": status, "said": err.read(), "answer": json.loads(out.getvalue() or "null")}


if __name__ == "__main__":
    print(json.dumps([explained(arguments) for arguments in json.load(sys.stdin)]))
