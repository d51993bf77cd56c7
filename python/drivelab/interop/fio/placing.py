"""Where a job's I/O goes: which files or devices, which part of them, and how they look before."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from drivelab.interop.fio.engines import Engine
from drivelab.interop.fio.file_names import default_name, is_device, names_of
from drivelab.interop.fio.files_of_jobs import files_of_jobs
from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.page_cache import cache_before
from drivelab.interop.fio.sizes import Amount
from drivelab.interop.fio.translated import Environment, Layout, LayoutKind
from drivelab.interop.fio.translation_of_io import Issued
from drivelab.model.job_files import JobFiles, name_of_file
from drivelab.model.workload import FileState

NULL_TARGET = "null:"
_FILES_MAX = 64
_ONE_FILE = JobFiles()


@dataclass(frozen=True, slots=True)
class Placing:
    """Where a job's I/O goes.

    Attributes
    ----------
    targets : tuple of str
        Files or devices; the pattern goes to each.
    layout : Layout
        How they look before.
    job_count : int
        Jobs of each target.
    shares_range : bool
        Whether these use the same range.
    name_format : str
        What the files of jobs are called that no option names, with fio's variables for the numbers of job and file.
    own_files : bool
        Whether each of them has a file of its own.
    is_split : bool
        Whether each of the job's I/Os goes to one of several targets.
    offset_bytes : int
        Where the range begins.
    range_bytes : int
        Bytes of each file or device that a job uses; 0 is all of it, or the part that `fraction` says.
    zones_bytes : int
        Bytes of each device in which an order with zones goes on, from the start of the range; 0 of any other.
    job_files : JobFiles
        The files of each job.
    fraction : float
        Part of a target whose size is not known here.
    increment_bytes : int
        How much further on each job begins, where that is not the size of its range.
    end_bytes : int
        Where the ranges of such jobs end, when filesize says it; 0 is one range after the start of each.
    alignment_bytes : int
        What the starts of such jobs are multiples of: the next one after the distance.
    file_state : str
        State of files before they are written.
    """

    targets: tuple[str, ...]
    layout: Layout
    job_count: int
    shares_range: bool
    name_format: str = ""
    own_files: bool = False
    is_split: bool = False
    offset_bytes: int = 0
    range_bytes: int = 0
    zones_bytes: int = 0
    job_files: JobFiles = _ONE_FILE
    fraction: float = 1.0
    increment_bytes: int = 0
    end_bytes: int = 0
    alignment_bytes: int = 1
    file_state: FileState = "overwrite"

    @property
    def used_bytes(self) -> int:
        """Bytes of each file or device that is used; 0 is what `fraction` says."""
        return self.range_bytes if self.own_files or self.job_files.count > 1 else self.all_bytes

    @property
    def job_bytes(self) -> int:
        """Bytes that each job uses, in all its files; 0 is what `fraction` says."""
        return self.range_bytes * self.job_files.count

    @property
    def all_bytes(self) -> int:
        """Bytes that all jobs of a target use, in all their files; 0 is what `fraction` says."""
        return self.job_bytes * (1 if self.shares_range else self.job_count)


def tree_placing(options: JobOptions) -> Placing:
    """Where operations on files go: the directory."""
    directory = options.text("directory").split(":")[0] or "."
    return Placing((directory,), _layout(options, "tree", 0), options.number("numjobs"), shares_range=False)


def placing(
    options: JobOptions, engine: Engine, io: Issued, environment: Environment, known_bytes: dict[str, int]
) -> Placing:
    """Where the I/O of a job goes.

    Parameters
    ----------
    known_bytes : dict of str to int
        Sizes of files that earlier jobs of the job file make; this job's are added.

    Raises
    ------
    DrivelabError
        U033: no size is given and none can be known. U035: sizes that drivelab cannot have.
    """
    names, is_named = _targets(options, engine)
    if options.has("opendir"):
        raise options.refuse("opendir", "opendir works on whatever lies there", do="name the files: filename=")
    kind: LayoutKind = "null" if engine.backend == "null" else "device" if is_device(names[0]) else "file"
    name_format = "" if is_named or len(names) > 1 else _name_format(options, names[0])
    looked_at = _files_of_all_jobs(options, name_format) if name_format else names
    existing = _existing_bytes(looked_at, environment, known_bytes) if kind != "null" else None
    if options.truth("verify_only") and kind == "file" and existing is None:
        raise options.refuse("verify_only", f"there is no {names[0]} to be checked", do="name a file that is there")
    placed = Placing(names, Layout(kind), options.number("numjobs"), shares_range=is_named)
    placed = replace(placed, job_files=files_of_jobs(options, engine, io, kind))
    placed = _with_range(placed, options, io, existing)
    placed = _with_increment(placed, options, io, existing)
    placed = _over_targets(placed, options, engine)
    if kind == "file":
        placed = _with_own_files(placed, options)
    placed = replace(placed, name_format=name_format)
    placed, needed = _laid_out(placed, options, io, existing)
    if options.truth("verify_only") and kind == "file" and (existing or 0) < needed:
        what = f"{names[0]} has {existing or 0} B, and {needed} B are to be checked"
        raise options.refuse("verify_only", what, do="give it the size that was written")
    known_bytes.update((name, max(needed, existing or 0)) for name in looked_at if kind == "file")
    return placed


def _targets(options: JobOptions, engine: Engine) -> tuple[tuple[str, ...], bool]:
    """Paths, and whether all jobs use the same."""
    if engine.backend == "null":
        return (NULL_TARGET,), True
    directories = names_of(options.text("directory"))
    name = options.job.section
    if options.has("filename"):
        names = names_of(options.text("filename"))
        if not names or "-" in names:
            raise options.refuse("filename", "it reads from a pipe", do="name a file or a device")
        if len(directories) > 1:
            options.tell("directory", "approximated", "the first one is used")
        if directories and any(each.startswith("/") for each in names):
            options.tell("filename", "noted", f"directory stands before it, as in fio: {directories[0]}/{names[0]}")
        return tuple(f"{directories[0]}/{each}" if directories else each for each in names), True
    if name.startswith("/dev/") and options.number("nrfiles") == 1:
        # fio takes the section's name for the target if there is such a device
        return (name,), True
    layout = _layout_of_names(options)
    if "$jobnum" not in layout.lower():
        made = default_name(layout, name, job_number=0)
        return tuple(f"{where}/{made}" for where in directories) or (made,), True
    # the jobs go round the directories, and so do their numbers
    jobs = min(options.number("numjobs"), _FILES_MAX) if len(directories) > 1 else 1
    made_of_jobs = [default_name(layout, name, job_number=number) for number in range(jobs)]
    placed = zip(itertools.cycle(directories), made_of_jobs, strict=False)
    return tuple(f"{where}/{each}" for where, each in placed) or tuple(made_of_jobs), False


def _layout_of_names(options: JobOptions) -> str:
    return options.text("filename_format") or "$jobname.$jobnum.$filenum"


def _name_format(options: JobOptions, first: str) -> str:
    """The path of the first file, in whose last part the numbers of job and file are left open."""
    last = _layout_of_names(options).rpartition("/")[2]
    name = default_name(last, options.job.section, job_number="$jobnum", file_number="$filenum")
    return f"{first.rpartition('/')[0]}/{name}" if "/" in first else name


def _files_of_all_jobs(options: JobOptions, name_format: str) -> tuple[str, ...]:
    """The files that jobs have of their own; of too many those that are looked at."""
    jobs, each = options.number("numjobs"), options.number("nrfiles")
    return tuple(name_of_file(name_format, number, each) for number in range(min(jobs * each, _FILES_MAX)))


def _with_own_files(placed: Placing, options: JobOptions) -> Placing:
    """A file for each job, where none of them names it."""
    if placed.shares_range or placed.job_count == 1 or options.has("filename"):
        return placed
    if placed.job_files.count == 1 and placed.job_count > _FILES_MAX:
        what = f"more than {_FILES_MAX} jobs of a directory have parts of one file, not files of their own"
        options.tell("numjobs", "approximated", what)
        return placed
    return replace(placed, own_files=True)


def _existing_bytes(names: tuple[str, ...], environment: Environment, known_bytes: dict[str, int]) -> int | None:
    """Size of the smallest target; None if one of them is not there."""
    found = [known_bytes.get(name, environment.size_of(name)) for name in names]
    sizes = [size for size in found if size is not None]
    return min(sizes) if len(sizes) == len(found) else None


def _with_range(placed: Placing, options: JobOptions, io: Issued, existing: int | None) -> Placing:
    """The part of each target that one job uses."""
    kind = placed.layout.kind
    count = len(placed.targets) if placed.shares_range else placed.job_files.count
    offset, offset_fraction = _bytes_or_fraction(options, "offset", existing)
    alignment = _alignment(options, io, "offset")
    offset = -(-offset // alignment) * alignment
    size, fraction = _bytes_or_fraction(options, "size", existing)
    file_bytes = _file_bytes(options, placed.job_files.count)
    if file_bytes:
        ranged = file_bytes - min(offset, file_bytes) if kind == "file" else file_bytes
        ranged = int(ranged * fraction) if fraction < 1 else ranged
    elif size and options.amount("size") and _is_bytes(options, "size"):
        ranged = size // count
    else:
        ranged = size
    if not ranged and existing is not None and fraction == 1:
        ranged = max(0, existing - offset)
    if kind == "device" and existing and ranged > existing - offset:
        ranged = max(0, existing - offset)
    needs_size = kind == "null" or (kind == "file" and not options.has("filename"))
    if not ranged and fraction == 1 and needs_size and not options.truth("fill_device"):
        raise options.refuse("size", "it has no size, and its file does not exist", code="U033", do="write size=")
    if offset_fraction < 1:
        options.tell("offset", "approximated", "what is left is used from its start: the target is not here")
        fraction = min(fraction, 1 - offset_fraction) or fraction
    # what is left out between zones counts for nothing
    zones = max(0, (existing or 0) - offset) if kind == "device" and io.has_zones else 0
    return replace(placed, offset_bytes=offset, range_bytes=ranged, zones_bytes=zones, fraction=fraction)


def _alignment(options: JobOptions, io: Issued, *names: str) -> int:
    """What starts are multiples of: fio aligns those that come of a percentage."""
    in_percent = any(amount.measure == "percent" for amount in map(options.amount, names) if amount is not None)
    return (options.number("offset_align") or min(io.all_sizes)) if in_percent else 1


def _is_bytes(options: JobOptions, name: str) -> bool:
    amount = options.amount(name)
    return amount is not None and amount.measure == "bytes"


def _bytes_or_fraction(options: JobOptions, name: str, existing: int | None) -> tuple[int, float]:
    """Bytes of a size; or the part that per cent are, where what they are of is not known."""
    amount = options.amount(name) or Amount(0)
    if amount.measure == "bytes":
        return amount.value, 1.0
    if existing is not None:
        return existing * amount.value // 100, 1.0
    share = amount.value / 100
    return 0, (1 - share if name == "offset" and share else share or 1.0) if share < 1 else 1.0


def _file_bytes(options: JobOptions, own_count: int) -> int:
    """Size of each target when filesize says so: of files that are one in place of several, of all of them."""
    value = options.value("filesize")
    if not isinstance(value, tuple) or not isinstance(value[0], Amount) or not isinstance(value[1], Amount):
        return 0
    least, most = value[0].value, value[1].value
    if least != most:
        options.tell("filesize", "approximated", "files are of the mean size")
    count = 1 if options.has("filename") or own_count > 1 else options.number("nrfiles")
    return (least + most) // 2 * count


def _with_increment(placed: Placing, options: JobOptions, io: Issued, existing: int | None) -> Placing:
    amount = options.amount("offset_increment")
    if amount is None or not amount.value or placed.job_count == 1:
        return placed
    if not placed.shares_range:
        options.tell("offset_increment", "approximated", "each job begins at the same place of a file of its own")
        return placed
    size = options.amount("size")
    distance = amount.value
    file_bytes = _file_bytes(options, placed.job_files.count) if placed.layout.kind == "file" else 0
    same = (size is None and not file_bytes) or (size is not None and size == amount)
    whole_bytes = file_bytes or existing
    if amount.measure == "percent" and whole_bytes and not same:
        distance = whole_bytes * amount.value // 100
        last = placed.offset_bytes + distance * (placed.job_count - 1) + placed.range_bytes
        if not file_bytes and last > whole_bytes:
            raise options.refuse("offset_increment", f"the last job ends at {last} B of {whole_bytes} B", code="U033")
    elif amount.measure == "percent":
        if not same:
            options.tell("offset_increment", "approximated", "each job has a part of its own, of the same size")
        fraction = min(1.0, amount.value / 100 * placed.job_count)
        return replace(placed, shares_range=False, fraction=fraction if not placed.range_bytes else 1.0)
    if distance == placed.range_bytes:
        return replace(placed, shares_range=False)
    alignment = _alignment(options, io, "offset", "offset_increment")
    return replace(placed, increment_bytes=distance, end_bytes=file_bytes, alignment_bytes=alignment)


def _over_targets(placed: Placing, options: JobOptions, engine: Engine) -> Placing:
    """Several targets of one job: each gets a part of its jobs, or of its depth."""
    count = len(placed.targets)
    if count == 1:
        return placed
    jobs = placed.job_count
    if not placed.shares_range:
        if jobs % count:
            options.tell("numjobs", "approximated", f"{-(-jobs // count)} jobs in each of {count} directories")
        targets = placed.targets[:jobs]
        return replace(placed, targets=targets, job_count=-(-jobs // len(targets)))
    if jobs % count == 0:
        options.tell("filename", "approximated", f"each of its {count} targets has jobs of its own")
        return replace(placed, job_count=jobs // count)
    depth = 1 if engine.is_synchronous else options.number("iodepth")
    if depth >= count:
        options.tell("filename", "approximated", f"each of its {count} targets has its part of the depth")
    else:
        what = f"I/O goes to its {count} targets at the same time, and not to one after the other"
        options.tell("filename", "approximated", what)
    return replace(placed, is_split=True)


def _laid_out(placed: Placing, options: JobOptions, io: Issued, existing: int | None) -> tuple[Placing, int]:
    """The files as the job needs them, and how large it needs each."""
    kind: LayoutKind = "null" if placed.targets == (NULL_TARGET,) else placed.layout.kind
    if any(is_device(target) for target in placed.targets):
        kind = "device"
    if kind != "file":
        return replace(placed, layout=_layout(options, kind, 0)), 0
    extra = placed.increment_bytes * (placed.job_count - 1)
    needed = placed.end_bytes or (placed.offset_bytes + placed.used_bytes + extra if placed.range_bytes else 0)
    is_new = existing is None or existing < needed
    state = _file_state(placed, options, io) if is_new and needed else _state_of_existing(placed, options, io)
    return replace(placed, layout=_layout(options, kind, needed), file_state=state), needed


def _file_state(placed: Placing, options: JobOptions, io: Issued) -> FileState:
    """What fio does with a new file: it is laid out for reads, and else only reserved."""
    is_mapped = options.text("ioengine").partition(":")[0] == "mmap"
    if io.reads or not io.writes or is_mapped or options.truth("overwrite"):
        return "overwrite"
    appends = io.access["kind"] == "sequential" and placed.job_count == 1 and not options.truth("time_based")
    appends = appends and placed.job_files.count == 1
    appends = appends and options.number("loops") <= 1 and not options.has("io_size") and not placed.offset_bytes
    grows: FileState = "append" if appends else "sparse"
    if options.truth("file_append") or options.truth("create_on_open"):
        return grows
    word = options.choice("fallocate").word
    if word in ("none", "0"):
        return grows
    if word == "keep":
        options.tell("fallocate", "approximated", "the file's size is set, too")
    return "sparse" if word == "truncate" else "preallocated"


def _state_of_existing(placed: Placing, options: JobOptions, io: Issued) -> FileState:
    if not options.truth("file_append"):
        return "overwrite"
    is_alone = placed.job_count == placed.job_files.count == 1
    if options.number("loops") > 1:
        options.tell("file_append", "approximated", "every pass appends; fio ends with the first")
    if set(io.weights) == {"write"} and io.access["kind"] == "sequential" and is_alone:
        return "append"
    options.tell("file_append", "not-honoured", "only one job that writes in order can append")
    return "overwrite"


def _layout(options: JobOptions, kind: LayoutKind, file_bytes: int) -> Layout:
    return Layout(
        kind,
        file_bytes,
        must_exist=not options.truth("allow_file_create"),
        # names and inodes of files can only be given up with all that this computer has cached
        page_cache=cache_before(options) if kind in ("file", "device") else "keep",
        remove_after=options.truth("unlink"),
    )
