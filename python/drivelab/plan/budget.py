"""Guesses, before anything is measured, how long a step takes and how much it writes.

The guesses are for the line "expected time"; while a run goes on, the time left
is fitted to the steps that are done (`drivelab.plan.time_left`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from drivelab.model.factor import FileSystemLevel
from drivelab.model.plan import PaceName
from drivelab.model.workload import DURABLE_METHODS
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.tree import (
    MAKE_FILE_NS,
    makes_files,
    tree_bytes,
    tree_operation_ns,
    tree_operations,
    tree_written_bytes,
)


@dataclass(frozen=True, slots=True)
class _Pace:
    """How fast a kind of drive is, roughly."""

    durable_command_ns: int
    plain_command_ns: int
    throughput_bytes_per_s: int


# a drive with a volatile cache and no capacitor flushes in 0.5 to 5 ms
_FLASH = _Pace(1_000_000, 100_000, 250_000_000)
_PACES: dict[PaceName, _Pace] = {
    # a turning disk needs a turn and a seek
    "disk": _Pace(10_000_000, 8_000_000, 100_000_000),
    "flash": _FLASH,
    # mostly over an SSD
    "virtual": _FLASH,
    # a loop device, mostly over a drive of a virtual machine whose host does not wait for its own
    "loop": _Pace(80_000, 60_000, 500_000_000),
}
# commands that an appending, durable write becomes: the data, the journal's or log's writes, and the flushes
_COMMANDS_PER_DURABLE_WRITE = {"raw": 2, "ext2": 4, "ext3": 5, "ext4": 5, "xfs": 4, "btrfs": 8, "f2fs": 4}
# beside what it writes: mkfs, mount, and wiping it away again
MAKE_FILESYSTEM_NS = 2_000_000_000
# a pass that counts commands ends after so many operations or so much time (`drivelab.run.counting_pass`) ...
COUNTED_OPERATIONS = 200
COUNTED_NS_MAX = 1_200_000_000
# ... and is made for writes up to this size (`drivelab.run.commands_of_cells`)
COUNTED_BLOCK_BYTES_MAX = 2**20
# the pass that is traced ends after so many operations or so much time (`drivelab.run.traced_pass`), and beside it
# the trace is begun, ended, joined and stored
TRACED_OPERATIONS = 2000
TRACED_NS_MAX = 10_000_000_000
TRACING_NS = 400_000_000
BETWEEN_STEPS_NS = 30_000_000
# a read or write that the page cache answers
CALL_NS = 1_000
CHANGE_SETTING_NS = 100_000_000
# a whole drive that is discarded takes from ms to a minute; a purge is told to take two on most drives
_ACTION_NS = {
    ("trim", "device"): 2_000_000_000,
    ("trim", "fstrim"): 500_000_000,
    ("purge", "nvme-format"): 30_000_000_000,
    ("purge", "nvme-sanitize"): 120_000_000_000,
    ("purge", "ata-secure-erase"): 120_000_000_000,
    ("purge", "any"): 120_000_000_000,
    ("page-cache", "drop"): 200_000_000,
    ("page-cache", "warm"): 200_000_000,
}


def actions_ns(actions: Mapping[str, str]) -> int:
    """Guessed time for what is done before a trial."""
    return sum(_ACTION_NS.get(action, 0) for action in actions.items())


def expected_step_ns(pattern: WorkloadPattern, filesystem: FileSystemLevel | None, *, pace: PaceName) -> int:
    """Guessed duration of one trial."""
    if pattern.uses_tree:
        each_ns = _tree_operation_ns(pattern, filesystem, pace=pace)
        operations_ns = round(tree_operations(pattern, each_ns) * each_ns / pattern.job_count)
        return pattern.start_delay + pattern.ramp + operations_ns + BETWEEN_STEPS_NS
    per_io = _io_ns(pattern, filesystem, pace=pace)
    limits = [pattern.runtime] if pattern.runtime else []
    if pattern.count:
        limits.append(round(pattern.count * per_io))
    if pattern.bytes:
        limits.append(round(pattern.bytes / pattern.mean_block_bytes * per_io))
    return pattern.start_delay + pattern.ramp + min(limits) + BETWEEN_STEPS_NS


def bytes_written(pattern: WorkloadPattern, filesystem: FileSystemLevel | None, *, pace: PaceName) -> int:
    """Bytes that a trial writes: exact when it ends by count or bytes, else guessed from its runtime."""
    if not pattern.writes or pattern.operation == "trim":
        return 0
    if pattern.uses_tree:
        each_ns = _tree_operation_ns(pattern, filesystem, pace=pace)
        return tree_written_bytes(pattern, tree_operations(pattern, each_ns))
    limits = [round(pattern.count * pattern.mean_block_bytes)] if pattern.count else []
    if pattern.bytes:
        limits.append(pattern.bytes)
    if not limits:
        limits.append(round(_operations_in_time(pattern, filesystem, pace=pace) * pattern.mean_block_bytes))
    return round(min(limits) * _written_share(pattern))


def _written_share(pattern: WorkloadPattern) -> float:
    """Share of the I/Os that write, those that write back what they read among them."""
    reads = float(pattern.operation_names == ("read",)) if pattern.read_fraction is None else pattern.read_fraction
    return 1 - reads * (1 - pattern.rewrite_fraction)


def write_ns(size_bytes: int, *, pace: PaceName) -> int:
    """Guessed time to write so much in large blocks, one after the other."""
    return round(size_bytes / _PACES[pace].throughput_bytes_per_s * 1e9)


def counting_pass(pattern: WorkloadPattern, filesystem: FileSystemLevel | None, *, pace: PaceName) -> tuple[int, int]:
    """Bytes that the pass writes which counts the commands of a workload, at most, and its guessed time; 0 for none."""
    if not pattern.is_durable:
        return 0, 0
    if pattern.uses_tree:
        each_ns = _tree_operation_ns(pattern, filesystem, pace=pace)
        operations = min(COUNTED_OPERATIONS, round(tree_operations(pattern, each_ns)))
        return tree_written_bytes(pattern, operations), round(min(operations * each_ns, COUNTED_NS_MAX))
    if pattern.largest_block_bytes > COUNTED_BLOCK_BYTES_MAX:
        return 0, 0
    operations = min(COUNTED_OPERATIONS, pattern.count_limit or COUNTED_OPERATIONS)
    if pattern.runtime:
        operations = min(operations, max(1, round(_operations_in_time(pattern, filesystem, pace=pace))))
    written = operations * pattern.mean_block_bytes * _written_share(pattern)
    passed_ns = operations * _io_ns(pattern, filesystem, pace=pace)
    return round(written), round(min(passed_ns, COUNTED_NS_MAX))


def traced_pass(pattern: WorkloadPattern, filesystem: FileSystemLevel | None, *, pace: PaceName) -> tuple[int, int]:
    """Bytes that the traced pass of a workload writes, at most, and its guessed time."""
    per_io = _io_ns(pattern, filesystem, pace=pace)
    operations = min(TRACED_OPERATIONS, pattern.count_limit or TRACED_OPERATIONS)
    if pattern.runtime:
        operations = min(operations, max(1, round(_operations_in_time(pattern, filesystem, pace=pace))))
    is_written = pattern.writes and pattern.operation != "trim"
    written = operations * pattern.mean_block_bytes * _written_share(pattern) if is_written else 0
    return round(written), TRACING_NS + round(min(operations * per_io, TRACED_NS_MAX))


def tree_made(pattern: WorkloadPattern, *, pace: PaceName) -> tuple[int, int]:
    """Bytes of the files that are made before a workload on them begins, and the guessed time of that."""
    if not makes_files(pattern):
        return 0, 0
    made = tree_bytes(pattern)
    return made, write_ns(made, pace=pace) + pattern.file_count * MAKE_FILE_NS


def _tree_operation_ns(pattern: WorkloadPattern, filesystem: FileSystemLevel | None, *, pace: PaceName) -> float:
    roughly = _PACES[pace]
    commands = _COMMANDS_PER_DURABLE_WRITE[filesystem.type if filesystem else "ext4"]
    every = 1 if pattern.sync_every_writes == "end" else pattern.sync_every_writes
    return tree_operation_ns(pattern, commands * roughly.durable_command_ns / every, roughly.throughput_bytes_per_s)


def _operations_in_time(pattern: WorkloadPattern, filesystem: FileSystemLevel | None, *, pace: PaceName) -> float:
    outstanding = pattern.queue_depth * pattern.job_count
    return (pattern.runtime + pattern.ramp) / _io_ns(pattern, filesystem, pace=pace) * outstanding


def _io_ns(pattern: WorkloadPattern, filesystem: FileSystemLevel | None, *, pace: PaceName) -> float:
    roughly = _PACES[pace]
    transfer_ns = pattern.mean_block_bytes / roughly.throughput_bytes_per_s * 1e9
    # one call behind all of the writes is no cost of each
    is_synced = pattern.writes and pattern.durability in DURABLE_METHODS
    if is_synced and (pattern.sync_every_writes != "end" or pattern.count_limit):
        commands = _COMMANDS_PER_DURABLE_WRITE[filesystem.type if filesystem else "raw"]
        every = pattern.count_limit if pattern.sync_every_writes == "end" else pattern.sync_every_writes
        return transfer_ns + commands * roughly.durable_command_ns / every
    # read ahead, or gathered by the page cache: most calls cost the drive no command of their own
    is_streamed = not pattern.direct and pattern.access.kind == "sequential"
    return transfer_ns + (CALL_NS if is_streamed else roughly.plain_command_ns)
