"""An experiment in full, in words: what it varies and issues, how long it takes, and what it erases."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from drivelab.experiments.load import built_in_names
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment, ExperimentWorkload
from drivelab.model.factor import ACTION_LEVELS, Factor, FileSystemLevel, MountLevel, WorkloadFactor
from drivelab.model.names import counted
from drivelab.model.phase import WINDOW_ROUNDS
from drivelab.model.plan import Plan
from drivelab.model.setting import SETTING_NAMES, SettingFacts
from drivelab.model.target import BlockLayer, TargetFacts
from drivelab.model.units import format_bytes, format_duration_ns, format_percent, format_wait_ns
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.make import make_plan

_SCRATCH = "scratch:1GiB"
_TB = 10**12
_STATES = {
    "append": "appended to a file",
    "preallocated": "in reserved space",
    "sparse": "into a sparse file",
    "overwrite": "over what is there",
}


def sections_of(experiment: Experiment, *, is_short: bool = False) -> Iterator[tuple[str, list[str]]]:
    """Headings with their lines; in short without the options that levels are made with."""
    write = partial(_factor_line, is_short=is_short)
    yield "what is varied", list(map(write, experiment.factors)) or ["nothing"]
    yield (
        "what is issued",
        [_workload_line(workload, _varied(experiment, workload)) for workload in experiment.workloads],
    )
    yield "how often", list(_order_lines(experiment))
    yield "how long, as a guess", [*_cost_lines(experiment, quick=True), *_cost_lines(experiment, quick=False)]
    yield "what it erases", [_erased(experiment)]
    if experiment.source:
        yield "source", [" ".join(experiment.source.split())]
    if experiment.name in built_in_names():
        yield (
            "more",
            [
                f"its page: docs/experiments/{experiment.name}.md",
                f"its file, to begin one of your own with: drivelab experiments {experiment.name} --toml > own.toml",
            ],
        )


def _varied(experiment: Experiment, workload: ExperimentWorkload) -> set[str]:
    """The keys of a workload that factors vary."""
    return {
        factor.name
        for factor in experiment.factors
        if isinstance(factor, WorkloadFactor) and (not factor.workloads or workload.name in factor.workloads)
    }


def _factor_line(factor: Factor, *, is_short: bool) -> str:
    name_of = factor.name_of if is_short else partial(_level, factor)
    what = f"{factor.name}: {', '.join(map(name_of, factor.levels))}"
    if factor.quick_levels:
        what += f"; with --quick {', '.join(map(name_of, factor.quick_levels))}"
    return what + (f" (only {', '.join(factor.workloads)})" if factor.workloads else "")


def _level(factor: Factor, level: object) -> str:
    options: tuple[str, ...] = ()
    if isinstance(level, FileSystemLevel):
        options = (*level.mkfs_options, *(("-o", ",".join(level.mount_options)) if level.mount_options else ()))
    elif isinstance(level, MountLevel) and level.options != (level.name,):
        options = level.options
    name = factor.name_of(level)
    return f"{name} ({' '.join(options)})" if options else name


def _workload_line(workload: ExperimentWorkload, varied: set[str]) -> str:
    title = f"{workload.name} ({workload.title})" if workload.title else workload.name
    quick = workload.pattern(quick=True)
    is_other_size = {"block_size", "block_sizes"} & ({*workload.quick} - varied)
    size = f"{_sizes(quick)} each" if is_other_size else ""
    amount = _amount(quick, varied)
    changed = [size, amount if amount != _amount(workload.pattern(), varied) else ""]
    scaled = f"; with --quick {', '.join(filter(None, changed))}" if any(changed) else ""
    return f"{title}: {pattern_words(workload.pattern(), varied)}{scaled}"


def pattern_words(pattern: WorkloadPattern, varied: Collection[str] = ()) -> str:
    """What a workload issues: ``sequential writes of 512 B, 1000 of them, appended to a file, o_sync``.

    Parameters
    ----------
    varied : collection of str
        Keys that factors vary, and that are told of there.
    """
    if pattern.uses_tree:
        return _tree_words(pattern, varied)
    fraction = pattern.read_fraction
    kind = f"{pattern.operation}s" if fraction is None else f"{fraction:.0%} reads, else writes"
    size = "" if "block_size" in varied else f" of {_sizes(pattern)}"
    words = [f"{pattern.access.kind} {kind}{size}", *filter(None, [_amount(pattern, varied)])]
    if pattern.writes and "file_state" not in varied:
        words.append(_STATES[pattern.file_state])
    if "direct" not in varied:
        words.append("past the page cache" if pattern.direct else "through the page cache")
    if pattern.durability != "none" and "durability" not in varied:
        every = pattern.sync_every_writes
        words.append(pattern.durability + {1: "", "end": " after the last"}.get(every, f" after every {every}"))
    if "queue_depth" not in varied and (pattern.queue_depth, pattern.job_count) != (1, 1):
        jobs = f" in each of {pattern.job_count} jobs" if pattern.job_count > 1 else ""
        words.append(f"{pattern.queue_depth} outstanding{jobs}")
    return ", ".join(words)


def _tree_words(pattern: WorkloadPattern, varied: Collection[str]) -> str:
    """What is done to files: ``random create: 1024 files of 4 KiB, by 4 jobs, fsync``."""
    names = ", ".join(name.replace("_", " ") for name in pattern.operation_names)
    files = "" if "file_count" in varied else f" {pattern.file_count}"
    size = "" if "file_size" in varied else f" of {format_bytes(pattern.file_size)}" if pattern.file_size else ", empty"
    words = [f"{pattern.access.kind} {names}:{files} files{size}"]
    if pattern.directory_count and "directory_count" not in varied:
        words.append(f"in {pattern.directory_count} directories")
    if pattern.job_count > 1 and "job_count" not in varied:
        words.append(f"by {pattern.job_count} jobs")
    if pattern.durability != "none" and "durability" not in varied:
        words.append(pattern.durability + (" of file and directory" if pattern.sync_directory else ""))
    return ", ".join(words)


def _sizes(pattern: WorkloadPattern) -> str:
    """The size of one I/O, or the mix: ``4 KiB (80 %), 64 KiB (20 %)``."""
    if len(pattern.sizes) == 1:
        return format_bytes(pattern.sizes[0].bytes)
    whole = sum(share.weight for share in pattern.sizes)
    return ", ".join(f"{format_bytes(each.bytes)} ({format_percent(each.weight / whole)})" for each in pattern.sizes)


def _amount(pattern: WorkloadPattern, varied: Collection[str]) -> str:
    """When it ends: ``1000 of them``, ``2 GiB in all or 30 s``."""
    limits = []
    if pattern.count and "count" not in varied:
        limits.append(f"{pattern.count} of them")
    if pattern.bytes and "bytes" not in varied:
        limits.append(f"{format_bytes(pattern.bytes)} in all")
    if pattern.capacities:
        limits.append(f"{pattern.capacities:g} times the size of the target in all")
    if pattern.runtime:
        limits.append(format_duration_ns(pattern.runtime))
    return " or ".join(limits)


def _order_lines(experiment: Experiment) -> Iterator[str]:
    if experiment.phases:
        yield from _phase_lines(experiment)
        return
    repeats = experiment.repeats
    which = "every combination" if experiment.design == "full" else "the base, and one level changed at a time,"
    times = "once" if repeats.full == 1 else f"{repeats.full} times"
    quick = "" if repeats.quick == repeats.full else f", with --quick {repeats.quick}"
    yield f"{which} {times}{quick}, in random order within each repeat"
    if experiment.reference is not None:
        levels = [f"{name} {level}" for name, level in experiment.reference.levels.items()]
        what = ", ".join([experiment.reference.workload, *levels])
        yield f"before every repeat and after the last one, to see a drift: {what}"


def _phase_lines(experiment: Experiment) -> Iterator[str]:
    for phase in experiment.phases:
        quick = f", with --quick {phase.quick_rounds}" if phase.quick_rounds else ""
        often = "once" if phase.rounds == 1 else f"{phase.rounds} rounds{quick}"
        if phase.track:
            often = f"until steady for {WINDOW_ROUNDS} rounds, at most {often}"
        if phase.capacities:
            often += f", or until {phase.capacities:g} times the size of the target is written"
        yield f"{phase.name}: {', '.join(phase.workloads)}, in this order, {often}"


def expected_ns(experiment: Experiment, *, quick: bool) -> int | None:
    """How long it takes, as a guess, where `_cost_lines` tells it of; None where it cannot be done."""
    try:
        return _plan_of(experiment, quick=quick).expected_ns
    except DrivelabError:
        return None


def needs_drive(experiment: Experiment) -> bool:
    """Whether a directory is not enough: it is about drives, or makes several file systems."""
    factor = experiment.filesystem_factor
    return experiment.requires == "device" or (factor is not None and len(factor.levels) > 1)


def needs_root(experiment: Experiment) -> bool:
    """Whether it does what only root may: file systems, settings, trims, what is dropped from the page cache."""
    return needs_drive(experiment) or any(
        factor.setting not in ("workload", "filesystem", "mount") for factor in experiment.factors
    )


def _plan_of(experiment: Experiment, *, quick: bool) -> Plan:
    """The plan on a small scratch drive, or in full on a drive of 1 TB."""
    facts = resolve_target(_SCRATCH) if quick else _some_drive()
    # a scratch drive has hardly any setting; a drive may have them all
    none = {name: SettingFacts(name, reason="a scratch drive has none") for name in SETTING_NAMES}
    known = none if quick else {name: SettingFacts(name, levels=ACTION_LEVELS[name]) for name in ("trim", "purge")}
    return make_plan(experiment, [facts], seed=1, quick=quick, settings=[known])


def _cost_lines(experiment: Experiment, *, quick: bool) -> Iterator[str]:
    """How long it takes and how much it writes."""
    where = f"--quick on {_SCRATCH}" if quick else "in full on an SSD of 1 TB"
    try:
        plan = _plan_of(experiment, quick=quick)
    except DrivelabError as refusal:
        yield f"{where}: cannot be done: {refusal.what}"
        return
    written = plan.bytes_written - plan.preparation_bytes
    prepared = f", and about {format_bytes(plan.preparation_bytes)} to prepare it" if plan.preparation_bytes else ""
    yield (
        # rounds end once they are steady
        f"{where}: {'at most ' * bool(plan.phases)}{counted(len(plan.steps), 'step')}, "
        f"about {format_wait_ns(plan.expected_ns)}, "
        f"{f'at most {format_bytes(written)}' if written else 'nothing'} written{prepared}"
    )


def _some_drive() -> TargetFacts:
    """A drive that stands for any: an SSD of 1 TB."""
    layer = BlockLayer(
        name="sdx",
        path="/dev/sdx",
        device_number="",
        kind="disk",
        size_bytes=_TB,
        start_bytes=0,
        logical_block_size_bytes=512,
        physical_block_size_bytes=4096,
        write_cache=None,
        uses_fua=None,
        is_rotational=False,
        is_read_only=False,
        scheduler=None,
    )
    return TargetFacts("/dev/sdx", "block_device", "/dev/sdx", True, None, (layer,), (), _TB, 512, False)


def _erased(experiment: Experiment) -> str:
    clears = any(factor.setting in ("trim", "purge", "precondition") for factor in experiment.factors)
    writes = any(workload.pattern().writes for workload in experiment.workloads)
    if not (clears or writes or experiment.filesystem_factor is not None):
        return "nothing: it only reads"
    nothing_of = "a directory or a scratch drive" if experiment.requires == "anything" else "a scratch drive"
    return f"all of a drive, after --erase SERIAL; nothing of {nothing_of}"
