"""What a fio job file becomes: jobs that drivelab can run, and what became of each option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from drivelab.model.workload import CacheState
from drivelab.model.workload_pattern import WorkloadPattern

# honoured: as fio does it; approximated: something near it, which is said; noted: changes nothing that is measured;
# not-honoured: fio would do something that drivelab does not; unknown: no option of fio's that is known here
Effect = Literal["honoured", "approximated", "noted", "not-honoured", "unknown"]
EFFECTS: tuple[Effect, ...] = ("honoured", "approximated", "noted", "not-honoured", "unknown")
# what --strict refuses
REFUSED_EFFECTS: tuple[Effect, ...] = ("approximated", "not-honoured", "unknown")
# null: the null backend, which needs no target; tree: a directory whose files are worked on
LayoutKind = Literal["file", "device", "tree", "null"]


@dataclass(frozen=True, slots=True)
class OptionNote:
    """What became of one option.

    Attributes
    ----------
    option, value : str
        As fio's list names it, and the value after expansion; "" is a flag.
    line : int
        Line of the job file, from 1; 0 is fio's default, which nobody wrote.
    effect : str
        One of `EFFECTS`.
    what : str
        What drivelab does, in words; "" when there is nothing to say.
    path : str
        File that the line is of: the job file, or one that it includes.
    """

    option: str
    value: str
    line: int
    effect: Effect
    what: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the targets of a job look before it begins.

    Attributes
    ----------
    kind : str
        Kind of target; ``device`` for paths below ``/dev``.
    file_bytes : int
        Size that each file must have at least; 0 takes each as it is found.
    must_exist : bool
        Whether a missing file is an error (``allow_file_create=0``).
    page_cache : str
        What is done before with what is cached of the targets: ``drop`` (``invalidate``, on by default), ``warm``
        (``pre_read``) or ``keep``.
    remove_after : bool
        Whether files are deleted afterwards (``unlink``).
    """

    kind: LayoutKind
    file_bytes: int = 0
    must_exist: bool = False
    page_cache: CacheState = "drop"
    remove_after: bool = False


@dataclass(frozen=True, slots=True)
class TranslatedJob:
    """One job, as drivelab runs it.

    Attributes
    ----------
    name : str
        As the section is called; several jobs may have the same name.
    number : int
        Place among the jobs, from 1.
    path, line : str, int
        File and line of its section.
    pattern : WorkloadPattern
        What is issued to each of its targets. ``job_count`` is fio's ``numjobs``,
        limits of bytes and counts are sums over them, as everywhere in drivelab.
    targets : tuple of str
        Paths of files, directories (trees) or devices, resolved against ``directory``.
        With several each one gets the pattern, at the same time.
    name_format : str
        What all files are called, with fio's variables for the numbers of job and file, where there are several.
    group : int
        Jobs of the same number run at the same time; groups run in ascending order, from 1.
    reporting_group : int
        fio's ``groupid``, from 0: ``new_group`` and ``stonewall`` begin another.
    given, shared : mapping of str to str
        Options of its own section and of ``[global]``, as written, after expansion;
        flags have the value "". fio's JSON calls them ``job options`` and ``global options``.
    resolved : mapping of str to str
        Every option that decides what is issued, with fio's defaults where nothing was written:
        sizes in bytes, times in fio's unit of that option.
    seed : int or None
        Seed of its addresses; None leaves it to the run (``randrepeat=0``).
    notes : tuple of OptionNote
        What became of each option, in the order in which they were written.
    verify_pattern : WorkloadPattern or None
        Reads that check afterwards what was written (``verify`` with ``do_verify``).
    reads_back : bool
        Whether these are as many as were written, at the same places, and not of the whole range.
    copy_number : int
        Which of fio's ``numjobs`` copies it is, from 1, when each had to become a job of
        its own; 0 when they are the pattern's ``job_count``.
    """

    name: str
    number: int
    path: str
    line: int
    pattern: WorkloadPattern
    targets: tuple[str, ...]
    layout: Layout
    group: int
    name_format: str = ""
    reporting_group: int = 0
    given: Mapping[str, str] = field(default_factory=dict)
    shared: Mapping[str, str] = field(default_factory=dict)
    resolved: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    notes: tuple[OptionNote, ...] = ()
    verify_pattern: WorkloadPattern | None = None
    reads_back: bool = False
    copy_number: int = 0

    @property
    def given_to_each(self) -> Mapping[str, str]:
        """The options of its section, as they hold for this job; each of several copies is one job."""
        return {**self.given, "numjobs": "1"} if self.copy_number else self.given

    @property
    def destroys(self) -> tuple[str, ...]:
        """Targets whose contents it changes."""
        return self.targets if self.pattern.writes and self.layout.kind != "null" else ()


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that a reader of the job file may not expect.

    Attributes
    ----------
    what : str
        In words, with both readings where there are two.
    """

    what: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Translation:
    """A job file, as drivelab runs it.

    Attributes
    ----------
    notes : tuple of OptionNote
        What became of each option of the file, each line once: the least honoured of its jobs.
    warnings : tuple of Warned
        What a reader may not expect, such as a KiB of 1000 bytes.
    shared : mapping of str to str
        Options of the last ``[global]``, as fio's JSON has them.
    """

    path: str
    jobs: tuple[TranslatedJob, ...]
    notes: tuple[OptionNote, ...]
    warnings: tuple[Warned, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)

    @property
    def refused(self) -> tuple[OptionNote, ...]:
        """Notes that ``--strict`` refuses."""
        return tuple(note for note in self.notes if note.effect in REFUSED_EFFECTS)

    @property
    def groups(self) -> tuple[tuple[TranslatedJob, ...], ...]:
        """Jobs that run at the same time, in the order in which they run."""
        numbers = sorted({job.group for job in self.jobs})
        return tuple(tuple(job for job in self.jobs if job.group == number) for number in numbers)


def _nothing_there(_path: str) -> int | None:
    return None


@dataclass(frozen=True, slots=True)
class Environment:
    """What a job file may refer to outside of itself.

    Attributes
    ----------
    variables : mapping of str to str
        For ``${NAME}``; a missing one is empty, as in fio.
    cpu_count, memory_bytes, page_bytes : int
        For ``$ncpus``, ``$mb_memory`` and ``$pagesize``.
    size_of : callable
        Bytes of an existing file or block device by its path; None if there is none.
        Sizes in per cent and files that exist already need it.
    zone_size_of : callable
        Bytes of a zone of a zoned drive by its path; None if it is none. Sizes in zones need it.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    cpu_count: int = 1
    memory_bytes: int = 2**30
    page_bytes: int = 4096
    size_of: Callable[[str], int | None] = _nothing_there
    zone_size_of: Callable[[str], int | None] = _nothing_there
