"""Writes docs/errors.md, the list of error codes, from python/drivelab/model/errors.py."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PAGE = PROJECT / "docs" / "errors.md"
sys.path.insert(0, str(PROJECT / "python"))

from drivelab.model.errors import KINDS, ErrorKind  # noqa: E402

AREAS = {
    "U": "What was typed",
    "T": "Targets and what is on this machine",
    "B": "Recordings of the block layer",
    "C": "Consent and safety",
    "E": "The engine",
    "R": "Runs, settings and their journal",
    "S": "The run directory",
    "A": "Analysis",
    "P": "Experiments and plans",
    "O": "Reports",
    "F": "Many hosts as one",
    "I": "Results of other programs",
}
EXIT_MEANINGS = {1: "failed", 2: "usage", 3: "refused for safety", 4: "done but not to be trusted"}
HEAD = """# Errors

Every error says what happened, where, and what to do. Its code never changes its meaning;
`drivelab errors CODE` explains it on the spot. With `--json` an error is one JSON object on stderr:
`{"error": {"code", "what", "where", "do", "exit_code"}}`.

Exit codes: 0 ok, 1 failed, 2 usage, 3 refused for safety, 4 done but not to be trusted, 130 interrupted
(143 and 129 when a signal asked the program to end, 141 when the reader of its results has gone).

This page is written by `make docs` from `python/drivelab/model/errors.py`; change it there.
"""


def error_page() -> str:
    """The whole page, in Markdown."""
    parts = [HEAD]
    for letter, area in AREAS.items():
        kinds = [kind for code, kind in sorted(KINDS.items()) if code.startswith(letter)]
        if kinds:
            parts.append(_section(f"{letter}: {area}", kinds))
    return "\n".join(parts)


def _section(title: str, kinds: list[ErrorKind]) -> str:
    rows = [
        f"| {kind.code} | {_cell(kind.title)} | {_cell(kind.advice)} | {kind.exit_code} "
        f"{EXIT_MEANINGS[kind.exit_code]} |"
        for kind in kinds
    ]
    return "\n".join([f"## {title}", "", "| code | meaning | what to do | exit |", "|---|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    """Write the page, or with ``--check`` only say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(error_page())
    elif not PAGE.exists() or PAGE.read_text() != error_page():
        print(f"{PAGE.relative_to(PROJECT)} is out of date: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
