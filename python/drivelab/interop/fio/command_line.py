"""fio's own command line: its words as fio reads them, and a job file that says the same."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from drivelab.interop.fio.asked_logs import LOG_OPTIONS
from drivelab.interop.fio.job_file import read_settings
from drivelab.interop.fio.options import BY_NAME, nearest
from drivelab.interop.fio.syntax import Line, Place, Section, read_sections
from drivelab.interop.fio.translated import Effect, Environment, OptionNote, Translation
from drivelab.model.errors import DrivelabError
from drivelab.model.names import names_in_words

PLACE = "command line"
_NAMED_MAX = 5
_GLOBAL = "global"
# what a line of a job file cannot hold
_MARKS = ("#", ";", "\n")
_NO_VALUE, _VALUE, _OPTIONAL = "no", "yes", "optional"


@dataclass(frozen=True, slots=True)
class _Word:
    """An option of the program, and not of a job: whether it takes a value, and what becomes of it."""

    takes: str
    effect: Effect | None
    what: str = ""


_OWN_PROGRESS = _Word(_VALUE, "noted", "drivelab shows its own progress, on a terminal")
_NOT_HERE = _Word(_OPTIONAL, None)
_TRIGGER = _Word(_VALUE, "not-honoured", "nothing is started when something happens")
# None: without it there is nothing to do
PROGRAM: dict[str, _Word] = {
    "output": _Word(_VALUE, "honoured"),
    "output-format": _Word(_VALUE, "honoured"),
    "minimal": _Word(_NO_VALUE, "honoured"),
    "append-terse": _Word(_OPTIONAL, "honoured"),
    "terse-version": _Word(_VALUE, "honoured"),
    "section": _Word(_VALUE, "honoured"),
    "parse-only": _Word(_NO_VALUE, "honoured"),
    "showcmd": _Word(_NO_VALUE, "honoured"),
    "readonly": _Word(_NO_VALUE, "honoured"),
    "version": _Word(_NO_VALUE, "honoured"),
    "eta": _Word(_VALUE, "honoured"),
    "eta-interval": _OWN_PROGRESS,
    "eta-newline": _OWN_PROGRESS,
    "max-jobs": _Word(_VALUE, "noted", "fio takes no notice of it either"),
    "alloc-size": _Word(_VALUE, "noted", "memory is taken as it is needed"),
    "warnings-fatal": _Word(_NO_VALUE, "noted", "use --strict"),
    "debug": _Word(_VALUE, "not-honoured", "fio's own messages"),
    "status-interval": _Word(_VALUE, "honoured"),
    "bandwidth-log": _Word(_NO_VALUE, "not-honoured", "drivelab export fio RUN writes logs"),
    "idle-prof": _Word(_VALUE, "not-honoured", "idle time of processors is not measured"),
    "trigger": _TRIGGER,
    "trigger-file": _TRIGGER,
    "trigger-remote": _TRIGGER,
    "trigger-timeout": _TRIGGER,
    "aux-path": _Word(_VALUE, "not-honoured", "files of runs lie in the run"),
    **dict.fromkeys(("client", "server", "remote-config", "daemonize", "cmdhelp", "enghelp", "latency-log"), _NOT_HERE),
    **dict.fromkeys(("inflate-log", "cpuclock-test", "crctest", "memcpytest", "merge-blktrace-only"), _NOT_HERE),
}


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line of fio.

    Attributes
    ----------
    sections : tuple of Section
        Its jobs and those of its job files, in order; a line of the command line has the word's number.
    program : mapping of str to str
        The options of the program itself, with their values; of one that comes again, the last.
    notes : tuple of OptionNote
        What becomes of them.
    """

    sections: tuple[Section, ...]
    program: Mapping[str, str]
    notes: tuple[OptionNote, ...]

    @property
    def name(self) -> str:
        """What its first job is called."""
        return next((section.name for section in self.sections if not section.is_global), "fio")

    def as_job_file(self) -> tuple[str, list[Place]]:
        """A job file that says the same, and where each of its lines comes from.

        Raises
        ------
        DrivelabError
            U032: a value that no job file can hold.
        """
        lines: list[Line] = []
        for section in self.sections:
            lines += [Line(f"[{section.name}]", section.place), *section.lines]
        for line in lines:
            if any(mark in line.text for mark in _MARKS):
                what = f"{line.text}: a '#', a ';' or a line break ends a value in a job file"
                raise DrivelabError("U032", what, where=str(line.place), do="choose another name")
        return "".join(f"{line.text}\n" for line in lines), [line.place for line in lines]

    def as_words(self, environment: Environment) -> str:
        """The command line with which fio would do the same, as its ``--showcmd`` prints that of a job file."""
        words = ["fio"]
        for section in self.sections:
            words += [] if section.is_global else [f"--name={section.name}"]
            for setting in read_settings(section, environment):
                words.append(f"--{setting.option}" + (f"={setting.text}" if setting.text else ""))
        return shlex.join(words)


def read_command_line(words: Sequence[str]) -> CommandLine:
    """What stands behind ``fio``.

    Options of jobs before the first ``--name`` hold for all, also for those of
    a job file, which may say otherwise; each ``--name`` begins a job. Words are
    shortened and separated from their values as getopt does it.

    Raises
    ------
    DrivelabError
        U006: a word that fio would refuse, or that asks for what drivelab has not. U030, U031: a job file cannot be
        read.
    """
    reader = _Reader(words)
    reader.files += reader.positional()
    sections, *others = reader.sections_of_files()
    if others:
        sections = [*_apart(sections, waits=False), *(job for each in others for job in _apart(each, waits=True))]
    return CommandLine(tuple(sections), reader.program, tuple(reader.notes))


def placed(translation: Translation, places: Sequence[Place]) -> Translation:
    """What became of a job file that was made of a command line, with the places of that."""

    def at(line: int) -> Place:
        return places[line - 1] if 0 < line <= len(places) else Place(PLACE, 0)

    def moved(note: OptionNote) -> OptionNote:
        place = at(note.line)
        return replace(note, path=place.path, line=place.line if note.line else 0)

    jobs = tuple(
        replace(job, path=at(job.line).path, line=at(job.line).line, notes=tuple(map(moved, job.notes)))
        for job in translation.jobs
    )
    warnings = tuple(replace(each, path=at(each.line).path, line=at(each.line).line) for each in translation.warnings)
    return replace(translation, path=PLACE, jobs=jobs, notes=tuple(map(moved, translation.notes)), warnings=warnings)


def with_places(text: str, path: str, places: Sequence[Place]) -> str:
    """What an error says of lines of such a job file, with their places."""

    def place(match: re.Match[str]) -> str:
        number = int(match[1] or 0)
        return str(places[number - 1]) if 0 < number <= len(places) else PLACE

    return re.sub(re.escape(path) + r"(?::(\d+))?", place, text)


def _apart(sections: Sequence[Section], *, waits: bool) -> list[Section]:
    """Jobs of one of several job files, which say themselves what holds for all of it, and wait for the file before."""
    shared: tuple[Line, ...] = ()
    found: list[Section] = []
    for section in sections:
        if section.is_global:
            shared += tuple(line for line in section.lines if line.text.partition("=")[0].strip() != "name")
            continue
        first = (Line("stonewall", section.place),) if waits and not found else ()
        found.append(replace(section, lines=(*first, *shared, *section.lines)))
    return found


@dataclass(slots=True)
class _Reader:
    """Takes words one after the other."""

    words: Sequence[str]
    sections: list[Section] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    program: dict[str, str] = field(default_factory=dict)
    notes: list[OptionNote] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def positional(self) -> Iterator[str]:
        """The words that are no options, which are taken on the way."""
        number = 0
        while number < len(self.words):
            word = self.words[number]
            number += 1
            if not word.startswith("-") or word == "-":
                yield word
                continue
            typed, equals, value = word.lstrip("-").partition("=")
            name = _full_name(typed, number)
            is_optional = name not in PROGRAM and (BY_NAME[name].kind == "flag" or name in LOG_OPTIONS)
            takes = PROGRAM[name].takes if name in PROGRAM else _OPTIONAL if is_optional else _VALUE
            given = value if equals else None
            at = number
            if takes == _VALUE and given is None and number < len(self.words):
                given = self.words[number]
                number += 1
            if takes == _VALUE and not given:
                raise _refused(f"--{name} needs a value", at, do=f"--{name}=...")
            if name in PROGRAM:
                self._take_of_program(name, given, at)
            else:
                self._take_of_job(name, given, at)

    def sections_of_files(self) -> list[list[Section]]:
        """The jobs of the command line and of the first job file, then those of each other one, as far as asked for."""
        found = [list(self.sections)]
        for place, word in enumerate(self.files):
            found += [[]] if place else []
            found[-1] += read_sections(Path(word))
        names = [each.name for part in found for each in part if not each.is_global]
        if self.kept and names and not {*self.kept} & {*names}:
            what = f"no job is called {names_in_words(self.kept)}: there {'are' if names[1:] else 'is'}"
            raise DrivelabError("U037", f"{what} {names_in_words(names[:_NAMED_MAX])}", do=f"--section={names[0]}")
        return [[each for each in part if each.is_global or not self.kept or each.name in self.kept] for part in found]

    def _take_of_program(self, name: str, value: str | None, number: int) -> None:
        word = PROGRAM[name]
        if word.effect is None:
            raise _refused(f"--{name}: drivelab does nothing of that kind", number, do="use fio for it")
        if name == "section":
            if value == _GLOBAL:
                raise _refused("[global] is no section with a job", number, do="name a job")
            self.kept.append(value or "")
        # the last one holds, also against another that says something else
        self.program.pop(name, None)
        self.program[name] = value or ""
        self.notes.append(OptionNote(name, value or "", number, word.effect, word.what, PLACE))

    def _take_of_job(self, name: str, value: str | None, number: int) -> None:
        place = Place(PLACE, number)
        if name == "name":
            self.sections.append(Section(value or "", place, ()))
            return
        if not self.sections:
            self.sections.append(Section(_GLOBAL, place, ()))
        last = self.sections[-1]
        if name == "kb_base" and last.lines:
            what = "it holds for all of the job; fio counts what stands before it with 1024"
            self.notes.append(OptionNote(name, value or "", number, "approximated", what, PLACE))
        line = Line(name if value is None else f"{name}={value}", place)
        self.sections[-1] = replace(last, lines=(*last.lines, line))


def _full_name(typed: str, number: int) -> str:
    """The option that is meant: by its name, or by a beginning that no other has."""
    if typed in PROGRAM or typed in BY_NAME:
        return typed
    if typed == "v":
        return "version"
    names = [*PROGRAM, *BY_NAME]
    found = [name for name in names if typed and name.startswith(typed)]
    if found and len({BY_NAME[name].name if name in BY_NAME else name for name in found}) == 1:
        return found[0]
    if found:
        raise _refused(f"--{typed} may be {', '.join(found[:4])}", number, do="write it out")
    like = nearest(typed, names)
    raise _refused(
        f"--{typed} is no option that drivelab knows",
        number,
        do=f"--{like}?" if like else "leave it out, or use fio",
    )


def _refused(what: str, number: int, *, do: str) -> DrivelabError:
    return DrivelabError("U006", what, where=f"{PLACE}:{number}", do=do)
