"""From a job file to jobs that drivelab can run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from drivelab.interop.fio.asked_logs import LOG_OPTIONS
from drivelab.interop.fio.checks import checked_contents, contents
from drivelab.interop.fio.cpus import pinned
from drivelab.interop.fio.durability import durability
from drivelab.interop.fio.engines import ENGINES, REFUSED, Engine
from drivelab.interop.fio.groups import Turn, turns
from drivelab.interop.fio.job_file import Job, read_job_file
from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.pacing_and_limits import limits, pacing, with_mix_of_rates
from drivelab.interop.fio.page_cache import page_cache
from drivelab.interop.fio.placing import Placing, placing, tree_placing
from drivelab.interop.fio.resolved import resolved_options
from drivelab.interop.fio.translated import (
    EFFECTS,
    Effect,
    Environment,
    OptionNote,
    TranslatedJob,
    Translation,
)
from drivelab.interop.fio.translation_of_io import Issued, issued
from drivelab.interop.fio.verification import with_verification
from drivelab.interop.fio.zoned import is_zoned, with_sizes_in_bytes, zoned_drive
from drivelab.model.errors import DrivelabError
from drivelab.model.workload_pattern import WorkloadPattern

_COPIES_MAX = 64
_DEPTH_MAX = 4096
_JOBS_MAX = 1024
_NULL_BYTES_MAX = 2**24
_LARGE_PAGES = ("shmhuge", "mmaphuge", "cudamalloc")
_REFUSED_SHOWN_MAX = 8


def translate_file(path: Path, environment: Environment, *, strict: bool = False) -> Translation:
    """What a job file becomes.

    Parameters
    ----------
    strict : bool
        Whether options that are approximated, not honoured or unknown are errors.

    Raises
    ------
    DrivelabError
        U030, U031, U032, U037: it is no job file, or has no jobs. U033: options that contradict each other.
        U034: an engine that no drive lab has. U035: a job that cannot be issued. U036: with `strict`,
        options that are not done as fio does them.
    """
    read = read_job_file(path, environment)
    jobs = [JobOptions(job) for job in read.jobs]
    order = turns(jobs)
    known_bytes: dict[str, int] = {}
    made: list[TranslatedJob] = []
    for options, turn in zip(jobs, order, strict=True):
        made += _translated(options, turn, environment, known_bytes)
    numbered = tuple(replace(job, number=number) for number, job in enumerate(_laid_out_for_readers(made), start=1))
    shared = {setting.option: setting.text for setting in read.jobs[-1].written if setting.is_shared}
    translation = Translation(str(path), numbered, _notes_of_file(read.jobs, numbered), read.warnings, shared)
    if strict and translation.refused:
        raise _refusal(translation)
    return translation


def _refusal(translation: Translation) -> DrivelabError:
    refused = translation.refused
    shown = [f"{note.option} ({_where(note)}, {note.effect})" for note in refused[:_REFUSED_SHOWN_MAX]]
    more = f", and {len(refused) - len(shown)} more" if len(refused) > len(shown) else ""
    what = f"not done as fio does it: {', '.join(shown)}{more}"
    first = min(refused, key=lambda note: note.line == 0)
    return DrivelabError("U036", what, where=_where(first) if first.line else translation.path)


def _where(note: OptionNote) -> str:
    return f"{note.path}:{note.line}" if note.line else "fio's default"


def _engine_of(options: JobOptions) -> Engine:
    """The engine of a job."""
    name = options.text("ioengine").split(":")[0].split(",")[0].strip()
    engine = ENGINES.get(name)
    if engine is None:
        reason = REFUSED.get(name, "drivelab does not know it")
        raise options.refuse("ioengine", f"ioengine={name}: {reason}", code="U034")
    if engine.effect != "honoured":
        options.tell("ioengine", engine.effect, engine.what)
    return engine


def _translated(
    options: JobOptions, turn: Turn, environment: Environment, known_bytes: dict[str, int]
) -> list[TranslatedJob]:
    options = with_sizes_in_bytes(options, environment)
    engine = _engine_of(options)
    _refuse_what_cannot_be(options)
    if engine.tree_operation:
        placed, keys, io = tree_placing(options), _tree_keys(options, engine), None
    else:
        only_reads = options.truth("verify_only") or options.truth("create_only")
        io = with_mix_of_rates(options, issued(options, only_reads=only_reads))
        placed = placing(options, engine, io, environment, known_bytes)
        keys = _block_keys(options, engine, io, placed)
        keys |= _laying_out_only(options) if options.truth("create_only") else {}
    keys |= _common_keys(options, engine, placed) | _beside_others(options, turn)
    pattern = _pattern(options, keys)
    first = TranslatedJob(
        name=options.job.name,
        number=0,
        path=options.job.place.path,
        line=options.job.place.line,
        pattern=pattern,
        targets=placed.targets,
        layout=placed.layout,
        group=turn.group,
        name_format=placed.name_format if pattern.own_file_count > 1 else "",
        reporting_group=turn.reporting_group,
        seed=_seed(options),
    )
    if io is not None:
        first = with_verification(options, first, placed, io)
    copies = _copies(options, first, placed)
    own = {setting.option: setting.text for setting in options.job.settings.values() if not setting.is_shared}
    inherited = {setting.option: setting.text for setting in options.job.settings.values() if setting.is_shared}
    resolved = resolved_options(options, engine, placed, io)
    notes = options.notes()
    return [replace(copy, given=own, shared=inherited, resolved=resolved, notes=notes) for copy in copies]


def _refuse_what_cannot_be(options: JobOptions) -> None:
    if options.has("read_iolog"):
        what = "read_iolog: a recording has a command of its own"
        if options.number("numjobs") > 1:
            what += f", which plays it once, and not for each of numjobs={options.number('numjobs')}"
        raise options.refuse("read_iolog", what, do=_replay_command(options))
    if options.has("profile"):
        raise options.refuse("profile", "drivelab has no profiles", do="write the options themselves")


def _tree_keys(options: JobOptions, engine: Engine) -> dict[str, Any]:
    jobs = options.number("numjobs")
    keys: dict[str, Any] = {"operation": engine.tree_operation, "file_count": options.number("nrfiles") * jobs}
    if options.choice("file_service_type").word == "random":
        keys["access"] = {"kind": "random"}
    if options.number("runtime"):
        keys["runtime"] = f"{options.number('runtime') * 1000}ns"
    options.tell("nrfiles", "honoured", "so many files for each job")
    for name in ("bs", "rw", "size", "filesize", "iodepth", "openfiles", "direct"):
        if options.has(name):
            options.tell(name, "noted", f"{engine.name} looks at files, not into them")
    return keys


def _block_keys(options: JobOptions, engine: Engine, io: Issued, placed: Placing) -> dict[str, Any]:
    if 0 < placed.range_bytes < min(io.all_sizes):
        what = f"a range of {placed.range_bytes} B is too small for a block of {min(io.all_sizes)} B"
        raise options.refuse("size", what, code="U033", do="use a larger size or a smaller bs")
    keys = io.keys() | limits(options, placed, io) | pacing(options, placed, io)
    keys |= durability(options, io, placed.range_bytes) | zoned_drive(options)
    if options.choice("mem").word in _LARGE_PAGES:
        options.tell("mem", "approximated", "buffers are ordinary memory")
    keys["queue_depth"] = _depth(options, engine, placed)
    keys |= engine.batches(
        keys["queue_depth"],
        sent=options.number("iodepth_batch"),
        least=options.number("iodepth_batch_complete_min"),
        most=options.number("iodepth_batch_complete_max"),
        low=options.number("iodepth_low"),
    )
    keys["share_range"] = placed.shares_range and placed.job_count > 1
    keys["own_files"] = placed.own_files
    keys["job_files"] = placed.job_files
    keys["direct"] = _is_direct(options, engine) and engine.backend != "null"
    if not keys["direct"] and engine.backend != "null":
        keys |= page_cache(options, io)
    if placed.layout.kind == "file":
        if "trim" in io.weights and engine.backend != "falloc":
            options.tell("rw", "approximated", "holes are punched: fio trims devices only, and such a job fails there")
        keys["file_size"] = placed.layout.file_bytes
        if io.writes:
            keys["file_state"] = placed.file_state
    if placed.offset_bytes and keys.get("file_state") != "append":
        keys["offset"] = placed.offset_bytes
    if placed.used_bytes:
        keys["range_size"] = max(placed.used_bytes, placed.zones_bytes)
        if placed.layout.kind == "null":
            # nothing is at any address, and the file that stands for the target has to have room
            keys["range_size"] = min(placed.used_bytes, max(_NULL_BYTES_MAX, max(io.all_sizes) * placed.job_count))
            keys.pop("offset", None)
    elif placed.fraction < 1:
        keys["fill_level"] = placed.fraction
    goes_on = io.writes and (options.truth("time_based") or keys.get("bytes", 0) > placed.all_bytes > 0)
    checked = checked_contents(options, io) if engine.backend != "null" else contents(options)
    if checked.get("verify") and is_zoned(options) and (len(io.weights) > 1 or goes_on):
        what = "on zones only what is written once, without reads among it, is checked"
        options.tell("verify", "not-honoured", what)
        checked.pop("verify")
    keys |= checked
    if any(options.has(name) for name in LOG_OPTIONS):
        keys["record_ios"] = True
    if options.truth("hipri") and engine.name in ("io_uring", "io_uring_cmd", "pvsync2"):
        keys["polled_completion"] = True
    if options.truth("sqthread_poll") and engine.backend in ("uring", "uring-cmd"):
        keys["polled_submission"] = True
    return keys


def _laying_out_only(options: JobOptions) -> dict[str, Any]:
    """The keys of a job that has its files made, and nothing more: the least that is issued is a block."""
    options.tell("create_only", "approximated", "files are laid out, and one block of each job is read")
    once = {"count": options.number("numjobs"), "bytes": 0, "capacities": 0, "runtime": "0s", "ramp": "0s"}
    return once | {"verify": False, "pacing": {}}


def _common_keys(options: JobOptions, engine: Engine, placed: Placing) -> dict[str, Any]:
    jobs = placed.job_count
    if jobs > _JOBS_MAX:
        raise options.refuse("numjobs", f"{jobs} jobs of one target are too many: at most {_JOBS_MAX}")
    cpus = pinned(options)
    is_told_apart = jobs > 1 and not options.truth("group_reporting")
    return {"job_count": jobs, "backend": engine.backend, "record_jobs": is_told_apart} | (
        {"pin_cpus": cpus} if cpus else {}
    )


def _beside_others(options: JobOptions, turn: Turn) -> dict[str, Any]:
    """The keys of a workload pattern that say when a job begins and ends beside the others of its group."""
    found: dict[str, Any] = {"start_delay": f"{turn.delay_us * 1000}ns"} if turn.delay_us else {}
    if not options.truth("exitall"):
        return found
    if options.choice("exit_what").word == "all":
        options.tell("exit_what", "not-honoured", "what runs after them is run")
    if options.number("numjobs") > 1:
        options.tell("exitall", "approximated", "the others end when all of its jobs have ended, and not the first")
    return found | {"ends_others": True}


def _depth(options: JobOptions, engine: Engine, placed: Placing) -> int:
    asked = options.number("iodepth")
    if engine.is_synchronous:
        if asked > 1:
            options.tell("iodepth", "noted", f"1: {engine.name} has one I/O outstanding at a time")
        return 1
    depth = max(1, asked // len(placed.targets)) if placed.is_split else asked
    if depth > _DEPTH_MAX:
        options.tell("iodepth", "approximated", f"{_DEPTH_MAX}, the largest depth of drivelab")
    return min(depth, _DEPTH_MAX)


def _is_direct(options: JobOptions, engine: Engine) -> bool:
    setting = options.last_of("direct", "buffered")
    direct = False if setting is None else options.truth(setting.option) == (setting.option == "direct")
    if (direct or options.truth("atomic")) and engine.name == "mmap":
        options.tell("direct", "noted", "mapped memory is the page cache")
        return False
    # what goes past the block layer goes past the page cache
    return direct or options.truth("atomic") or engine.backend == "uring-cmd"


def _pattern(options: JobOptions, keys: dict[str, Any]) -> WorkloadPattern:
    try:
        return WorkloadPattern.model_validate(keys)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"])
        what = f"drivelab cannot issue it: {place + ': ' if place else ''}{first['msg']}"
        raise options.refuse("rw", what, do="change the options that it comes from") from None


def _copies(options: JobOptions, job: TranslatedJob, placed: Placing) -> list[TranslatedJob]:
    """Jobs of their own for each of fio's, where each begins at a place that no part of a range is."""
    if not placed.increment_bytes:
        return [job]
    if placed.job_count > _COPIES_MAX:
        what = f"{placed.job_count} jobs at distances that are not their size: at most {_COPIES_MAX}"
        raise options.refuse("offset_increment", what)
    copies = []
    for number in range(placed.job_count):
        offset = placed.offset_bytes + number * placed.increment_bytes
        offset = -(-offset // placed.alignment_bytes) * placed.alignment_bytes
        changed: dict[str, Any] = {"job_count": 1, "share_range": False, "offset": offset}
        if placed.end_bytes:
            if offset >= placed.end_bytes:
                what = f"job {number + 1} begins at {offset} B, and its file has {placed.end_bytes} B"
                raise options.refuse("offset_increment", what, code="U033")
            changed["range_size"] = placed.end_bytes - offset
        for name in ("bytes", "count"):
            if getattr(job.pattern, name):
                changed[name] = getattr(job.pattern, name) // placed.job_count
        if placed.end_bytes and job.pattern.bytes and not options.has("io_size"):
            blocks = changed["range_size"] // job.pattern.block_size * job.pattern.block_size
            changed["bytes"] = min(changed["bytes"], blocks * max(1, options.number("loops")))
        if job.pattern.pacing.rate_per_s:
            rate = {"rate_per_s": job.pattern.pacing.rate_per_s / placed.job_count}
            changed["pacing"] = job.pattern.pacing.model_copy(update=rate)
        copies.append(replace(job, pattern=job.pattern.changed(**changed), copy_number=number + 1))
    return copies


def _laid_out_for_readers(jobs: Sequence[TranslatedJob]) -> list[TranslatedJob]:
    """A file that a job reads holds data before it begins, also for the jobs that write to it meanwhile."""
    read = {(job.group, target) for job in jobs if job.layout.kind == "file" for target in _read_targets(job)}
    return [
        replace(job, pattern=job.pattern.changed(file_state="overwrite"))
        if job.pattern.file_state != "overwrite" and any((job.group, target) in read for target in job.targets)
        else job
        for job in jobs
    ]


def _read_targets(job: TranslatedJob) -> tuple[str, ...]:
    return job.targets if "read" in job.pattern.operation_names else ()


def _seed(options: JobOptions) -> int | None:
    if options.has("randseed"):
        return options.number("randseed")
    # fio's own seed when a run is to repeat the one before
    return 0x89 if options.truth("randrepeat") else None


def _notes_of_file(jobs: Sequence[Job], translated: Iterable[TranslatedJob]) -> tuple[OptionNote, ...]:
    """One note for each line: the least honoured; and for lines that never came to hold."""
    found: dict[tuple[str, int, str], OptionNote] = {}
    for job in translated:
        for note in job.notes:
            key = (note.path, note.line, note.option)
            known = found.get(key)
            if known is None or EFFECTS.index(note.effect) > EFFECTS.index(known.effect):
                found[key] = note
    for read in jobs:
        for setting in read.written:
            key = (setting.place.path, setting.place.line, setting.option)
            if key not in found:
                what = "set again further down"
                effect: Effect = "noted" if setting.value is not None else "unknown"
                found[key] = OptionNote(setting.option, setting.text, key[1], effect, what, key[0])
    return tuple(sorted(found.values(), key=lambda note: (note.path, note.line == 0, note.line)))


def _replay_command(options: JobOptions) -> str:
    """``drivelab replay`` with what the job's options say of the recording: its target, pace, scale and depth."""
    target = options.text("replay_redirect") or options.text("filename") or options.text("directory") or "TARGET"
    words = ["drivelab", "replay", options.text("read_iolog"), target]
    # a recording is put into a file that is made for it where the job names a relative one
    if not Path(target).is_absolute() and options.text("directory") and target != options.text("directory"):
        words[-1] = str(Path(options.text("directory")) / target)
    if options.truth("replay_no_stall"):
        words.append("--as-fast-as-possible")
    elif options.number("replay_time_scale") != 100:
        words += ["--speed", f"{options.number('replay_time_scale') / 100:g}"]
    if options.number("replay_scale") > 1:
        words.append("--scale-to-target")
    if options.number("iodepth") > 1:
        words += ["--queue-depth", str(options.number("iodepth"))]
    if not options.truth("direct"):
        words.append("--buffered")
    return shlex.join(words)
