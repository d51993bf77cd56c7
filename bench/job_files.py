"""How many job files of fio become jobs of drivelab's: a directory of job files in, a table out.

    python bench/job_files.py DIRECTORY [--fio] [--set NAME=VALUE] [--left]

Job files are not part of the project: fetch those of repositories that have
some, such as fio itself, fiovisualizer, SPDK or OpenZFS, into a directory for each.
``--fio`` asks fio's own parser about each file, too, and compares every number
that it reads with ours. ``--left`` lists what was not taken and why.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from drivelab.interop.fio.host import environment_of_host
from drivelab.interop.fio.job_file import read_job_file
from drivelab.interop.fio.options import BY_NAME
from drivelab.interop.fio.sizes import Amount
from drivelab.interop.fio.syntax import uncommented
from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment
from drivelab.interop.fio.values import PerDirection
from drivelab.model.errors import DrivelabError

FILE_BYTES_MAX = 40_000
SECTION = re.compile(r"^\s*\[[^\]\n]+\]", re.MULTILINE)
OPTION = re.compile(r"^\s*(rw|readwrite|ioengine|bs|blocksize|iodepth)\s*=", re.MULTILINE)
PLACEHOLDER = re.compile(r"\$\{\w+\}|\$[A-Z_]{2,}|@\w+@|\{\{|\$@|<[A-Z_]+>|%[A-Z_]+%")
HANDLED = re.compile(r"__handle_option=(\S+), type=OPT_(\w+), ptr=(.*)")
READ = re.compile(r"ret=(\d+), out=(-?\d+)")
# whole: every option is known; outside: for another engine or a zoned drive; incomplete: a value, target or size is
# missing, as fio says, too: such files are completed by the command line or by a program
STATES = ("whole", "unknown options", "refused", "outside", "incomplete")
# what fio keeps as an unsigned number of 32 bits
NUMBER_MAX = 2**31


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file.

    Attributes
    ----------
    path : Path
        The file.
    state : str
        One of `STATES`.
    why : str
        What stands in the way.
    effects : counter of str
        How many options have each effect.
    """

    path: Path
    state: str
    why: str = ""
    effects: Counter[str] = field(default_factory=Counter)


def main() -> int:
    """Read every job file of the directories and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", type=Path, nargs="+", help="where job files lie, in any depth")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="fill in a variable")
    parser.add_argument("--fio", action="store_true", help="compare numbers with those that fio reads")
    parser.add_argument("--left", action="store_true", help="list what was not taken, and why")
    options = parser.parse_args()
    variables = dict(os.environ) | dict(each.split("=", 1) for each in options.set)
    environment = replace(environment_of_host(), variables=variables, size_of=Environment().size_of)
    outcomes: dict[str, list[Outcome]] = {}
    for directory in options.directories:
        for path in job_files(directory):
            origin = path.relative_to(directory).parts[0] if path.parent != directory else directory.name
            outcomes.setdefault(origin, []).append(outcome_of(path, environment))
    print(table(outcomes))
    every = [outcome for each in outcomes.values() for outcome in each]
    if options.left:
        for outcome in every:
            if outcome.state in (*STATES[1:3], STATES[4]):
                print(f"{outcome.path}: {outcome.state}: {outcome.why}")
    if options.fio:
        paths = [outcome.path for outcome in every if outcome.state != "outside"]
        print(compared_with_fio(paths, environment))
    return 0


def job_files(directory: Path) -> Iterator[Path]:
    """Files that look like job files: they begin with a section, and have an option that most have."""
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.stat().st_size <= FILE_BYTES_MAX:
            text = path.read_text(errors="replace")
            begins = next(filter(None, map(uncommented, text.splitlines())), "").startswith("[")
            if begins and SECTION.search(text) and OPTION.search(text):
                yield path


def outcome_of(path: Path, environment: Environment) -> Outcome:
    """What becomes of one file."""
    try:
        translation = translate_file(path, environment)
    except DrivelabError as error:
        if error.code == "U034" or "zonemode=zbd" in error.what:
            return Outcome(path, "outside", error.what)
        text = "\n".join(map(uncommented, path.read_text(errors="replace").splitlines()))
        is_incomplete = PLACEHOLDER.search(text) or "needs a value" in error.what or "has no size" in error.what
        is_incomplete = is_incomplete or error.code == "U037"
        state = "incomplete" if is_incomplete else "refused"
        return Outcome(path, state, f"{error.code} {error.where}: {error.what}")
    effects = Counter(note.effect for note in translation.notes)
    unknown = sorted({note.option for note in translation.notes if note.effect == "unknown"})
    return Outcome(path, "unknown options" if unknown else "whole", ", ".join(unknown), effects)


def table(outcomes: Mapping[str, list[Outcome]]) -> str:
    """The files by where they come from, and how many of the portable ones are taken whole."""
    lines = [f"{'':34}{'files':>6}" + "".join(f"{state:>17}" for state in STATES) + f"{'whole of portable':>20}"]
    every = [outcome for each in outcomes.values() for outcome in each]
    for origin, found in (*sorted(outcomes.items()), ("all", every)):
        counts = Counter(outcome.state for outcome in found)
        portable = sum(counts[state] for state in STATES[:3])
        share = f"{100 * counts['whole'] / portable:.1f} %" if portable else "-"
        cells = "".join(f"{counts[state]:>17}" for state in STATES)
        lines.append(f"{origin[:33]:34}{len(found):>6}{cells}{share:>20}")
    effects = Counter[str]()
    for outcome in every:
        effects += outcome.effects
    whole = sum(effects.values()) or 1
    shares = ", ".join(f"{effect} {100 * count / whole:.1f} %" for effect, count in effects.most_common())
    return "\n".join([*lines, f"options: {shares}"])


def compared_with_fio(paths: list[Path], environment: Environment) -> str:
    """How many numbers of options are those that fio's parser reads, and which are not."""
    same, others = 0, []
    for path in paths:
        ours, theirs = numbers_of(path, environment), numbers_of_fio(path, environment)
        for key, number in theirs.items():
            if key not in ours:
                continue
            if ours[key] == number:
                same += 1
            else:
                others.append(f"{path}: {key[0]}={key[1]}: {ours[key]}, and {number} to fio")
    return "\n".join([f"numbers compared with fio's: {same} are equal, {len(others)} are not", *others])


def numbers_of(path: Path, environment: Environment) -> dict[tuple[str, str], int]:
    """Our numbers by option and text: bytes, microseconds, bare numbers."""
    found: dict[tuple[str, str], int] = {}
    try:
        jobs = read_job_file(path, environment).jobs
    except DrivelabError:
        return found
    for job in jobs:
        for setting in job.written:
            value = setting.value.read if isinstance(setting.value, PerDirection) else setting.value
            if isinstance(value, Amount):
                # fio holds per cent as what is left of the largest number
                number = -1 - value.value if value.measure == "percent" else value.value
                found[(setting.option, setting.text)] = number
    return found


def numbers_of_fio(path: Path, environment: Environment) -> dict[tuple[str, str], int]:
    """The numbers of fio by option and text, as its parser tells when it is asked to."""
    command = ["fio", "--debug=parse", "--parse-only", str(path)]
    said = subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=dict(environment.variables), timeout=60
    )
    found: dict[tuple[str, str], int] = {}
    option, text = "", ""
    for line in said.stdout.splitlines():
        handled = HANDLED.search(line)
        if handled:
            option, text = handled[1], handled[3].strip()
            continue
        read = READ.search(line)
        if read and option and read[1] == "0":
            known = BY_NAME.get(option)
            number = int(read[2])
            number = number - 2**64 if number > 2**63 else number
            if known is not None:
                found.setdefault((known.name, text), number)
            option = ""
    return found


if __name__ == "__main__":
    sys.exit(main())
