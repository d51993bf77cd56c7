"""How many job files and command lines of fio become jobs of drivelab's: repositories in, a table out.

    python bench/job_files.py REPOSITORY... [--left] [--numbers]

Job files are not part of the project: clone those of ``job_file_sources.txt`` and name the clones, with or without
a work tree. fio itself says which it takes; placeholders, and what a file leaves to the command line, are filled in.
``--left`` lists what was not taken and why; ``--numbers`` compares every number that fio's parser reads with ours.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from public_jobs import Found, filled, found_in, is_job_file, sources

from drivelab.interop.fio.command_line import read_command_line
from drivelab.interop.fio.host import environment_of_host
from drivelab.interop.fio.job_file import read_job_file
from drivelab.interop.fio.options import BY_NAME
from drivelab.interop.fio.sizes import Amount
from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import REFUSED_EFFECTS, Environment, Translation
from drivelab.interop.fio.values import PerDirection
from drivelab.model.errors import DrivelabError

HANDLED = re.compile(r"__handle_option=(\S+), type=OPT_(\w+), ptr=(.*)")
READ = re.compile(r"ret=(\d+), out=(-?\d+)")
# not filled: a placeholder stands for what is not to be guessed; refused by fio; for an engine of no drive lab; done as
# fio does it; run with what `drivelab import` says; refused
STATES = ("not filled", "not fio's", "other engine", "as fio", "run", "refused")
# what fio keeps as an unsigned number of 32 bits
NUMBER_MAX = 2**31
# what is given on a command line when a file has no size, or no job
NAMED = ("--name=job",)
COMPLETIONS = ((), ("--size=64g",), NAMED, (*NAMED, "--size=64g"))
INCOMPLETE = ("has no size", "needs a size", "U037")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one of them.

    Attributes
    ----------
    found : Found
        The job file or the command line.
    state : str
        One of `STATES`.
    why : str
        What stands in the way, or is done otherwise.
    effects : counter of str
        How many options have each effect.
    """

    found: Found
    state: str
    why: str = ""
    effects: Counter[str] = field(default_factory=Counter)


def main() -> int:
    """Read everything in the repositories and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", type=Path, nargs="*", help="repositories, or directories of job files")
    parser.add_argument("--numbers", action="store_true", help="compare numbers with those that fio reads")
    parser.add_argument("--left", action="store_true", help="list what was not taken, and why")
    options = parser.parse_args()
    if not options.directories:
        print("\n".join(sources()))
        return 0
    outcomes = {str(directory): outcomes_of(directory) for directory in options.directories}
    print(table(outcomes))
    every = [outcome for each in outcomes.values() for outcome in each]
    if options.left:
        for outcome in every:
            if outcome.state in STATES[4:]:
                words = f" fio {' '.join(outcome.found.words)}" if outcome.found.words else ""
                print(f"{outcome.found.origin}/{outcome.found.path}:{words}: {outcome.state}: {outcome.why}")
    if options.numbers:
        print(compared_with_fio([outcome.found for outcome in every if outcome.state in STATES[3:]]))
    return 0


def outcomes_of(directory: Path) -> list[Outcome]:
    """What becomes of all that a repository has."""
    with tempfile.TemporaryDirectory() as folder:
        return [outcome_of(found, Path(folder)) for found in found_in(directory)]


def outcome_of(found: Found, folder: Path) -> Outcome:
    """What becomes of a job file or a command line."""
    whole = filled(found)
    if whole is None:
        return Outcome(found, "not filled")
    for more in COMPLETIONS:
        words = words_of(whole, folder, more)
        fio = subprocess.run(["fio", "--parse-only", *words], capture_output=True, cwd=folder, timeout=60)
        if fio.returncode:
            return Outcome(whole, "not fio's", fio.stderr.decode(errors="replace").strip()[:200])
        try:
            translation = translated(words, folder)
        except DrivelabError as error:
            why = f"{error.code}: {error.what}"
            if any(mark in why for mark in INCOMPLETE) and more != COMPLETIONS[-1]:
                continue
            if error.code == "U033" and fails_with_fio(whole, error.what.partition("]")[0].lstrip("["), folder):
                return Outcome(whole, "not fio's", f"{why}: fio says so when it runs")
            return Outcome(whole, "other engine" if error.code == "U034" else "refused", why)
        effects = Counter(note.effect for note in translation.notes)
        others = sorted({note.option for note in translation.notes if note.effect in REFUSED_EFFECTS})
        return Outcome(whole, "run" if others else "as fio", ", ".join(others), effects)
    raise AssertionError("the last completion decides")


def fails_with_fio(found: Found, section: str, folder: Path) -> bool:
    """Whether fio, when it runs, misses the size of a job that names no file; that job alone is run."""
    alone = [*found.words]
    if found.words:
        begin = alone.index(f"--name={section}")
        end = next((at for at in range(begin + 1, len(alone)) if alone[at].startswith("--name")), len(alone))
        alone = alone[begin:end]
    if "filename" in " ".join(alone) + found.text:
        return False
    words = alone if found.words else [f"--section={section}", str(folder / "jobs.fio")]
    fio = subprocess.run(["fio", *words], capture_output=True, text=True, cwd=folder, timeout=60)
    return fio.returncode != 0 and "you need to specify size=" in fio.stdout + fio.stderr


def words_of(found: Found, folder: Path, more: tuple[str, ...]) -> list[str]:
    """The words behind ``fio``: options beside a job file hold for it, and a command line is completed at its end."""
    if found.words:
        return [*found.words, *more]
    path = folder / "jobs.fio"
    path.write_text(found.text)
    return [*(word for word in more if word not in NAMED), str(path), *(word for word in more if word in NAMED)]


def translated(words: list[str], folder: Path) -> Translation:
    """What drivelab makes of a command line."""
    text, _places = read_command_line(words).as_job_file()
    path = folder / "translated.fio"
    path.write_text(text)
    return translate_file(path, environment())


def environment() -> Environment:
    """This computer, on which no file or drive of anybody's is looked at: sizes in zones are those of one of 1 GiB."""
    nothing_there = Environment().size_of
    host = environment_of_host()
    return replace(host, variables=dict(os.environ), size_of=nothing_there, zone_size_of=lambda _path: 2**30)


def table(outcomes: Mapping[str, list[Outcome]]) -> str:
    """By repository, and which share of those runs that fio takes and that name an engine of a drive lab."""
    lines = [f"{'':44}{'found':>6}" + "".join(f"{state:>14}" for state in STATES) + f"{'runs':>9}"]
    every = [outcome for each in outcomes.values() for outcome in each]
    for origin, found in (*sorted(outcomes.items()), ("all", every)):
        counts = Counter(outcome.state for outcome in found)
        portable = sum(counts[state] for state in STATES[3:])
        share = f"{100 * (portable - counts['refused']) / portable:.1f} %" if portable else "-"
        lines.append(
            f"{origin[-43:]:44}{len(found):>6}" + "".join(f"{counts[each]:>14}" for each in STATES) + f"{share:>9}"
        )
    kinds = Counter("command lines" if outcome.found.words else "job files" for outcome in every)
    effects = sum((outcome.effects for outcome in every), Counter[str]())
    shares = ", ".join(f"{name} {100 * count / effects.total():.1f} %" for name, count in effects.most_common())
    return "\n".join(
        [*lines, f"{kinds['job files']} job files, {kinds['command lines']} command lines; options: {shares}"]
    )


def compared_with_fio(every: list[Found]) -> str:
    """How many numbers of options are those that fio's parser reads, and which are not."""
    same, others = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for found in every:
            if not is_job_file(found.text):
                continue
            path = Path(folder) / "jobs.fio"
            path.write_text(found.text)
            ours, theirs = numbers_of(path, environment()), numbers_of_fio(path, environment())
            for key, number in theirs.items():
                if key not in ours:
                    continue
                if ours[key] == number:
                    same += 1
                else:
                    others.append(f"{found.path}: {key[0]}={key[1]}: {ours[key]}, and {number} to fio")
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
