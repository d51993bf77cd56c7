"""The options of ``drivelab explain``: the name, the text, the unit and the default of each, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import typer

from drivelab.cli.io_options import RESULTS, option, told
from drivelab.cli.workload_arguments import ACCESSES, BACKENDS
from drivelab.model.told import WHAT

# null issues nothing, and of the others a trace does not tell for which I/O a command is
EXPLAINED_BACKENDS = tuple(name for name in BACKENDS if name not in ("null", "posixaio", "uring-cmd"))
# without the lazy options ext4 goes on writing its tables while one measures
FILE_SYSTEMS: dict[str, dict[str, Any]] = {
    "raw": {},
    "ext4": {"mkfs_options": ["-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"]},
    "xfs": {"mkfs_options": ["-K"]},
    "btrfs": {"mkfs_options": ["-K"]},
    "f2fs": {},
}
COUNT, QUICK_COUNT = 1000, 200
REPEATS, QUICK_REPEATS = 3, 2
Source = Literal["tracefs", "relay", "blk_tracer"]


def _what(text: str, *names: str, **more: Any) -> Any:
    return option(WHAT, text, *names, **more)


def _program(text: str, *names: str, **more: Any) -> Any:
    return option("Follow a running program", text, *names, **more)


def _how(text: str, *names: str, **more: Any) -> Any:
    return option("How it is traced", text, *names, **more)


def _result(text: str, *names: str, **more: Any) -> Any:
    return option(RESULTS, text, *names, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """What was typed after ``drivelab explain``; every text is as typed."""

    what: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET|RUN...",
            help="A directory, file, block device or scratch:SIZE to measure; or one stored run, or two to compare.",
        ),
    ] = field(default_factory=list)

    pid: Annotated[
        list[int], _program("Follow this process, its threads and children; may be given several times.", min=1)
    ] = field(default_factory=list)
    path: Annotated[
        str | None, _program("Follow whoever has this file open, or a file below this directory.", metavar="FILE|DIR")
    ] = None
    container: Annotated[
        str | None, _program("Follow the processes of this container, or control group.", metavar="NAME|ID")
    ] = None
    is_command: Annotated[
        bool,
        _program("Start what stands behind -- and follow it, on the disk of --path or of this directory.", "--command"),
    ] = False
    over: Annotated[str | None, _program("Tell only of calls that take longer: 5ms.")] = None

    operation: Annotated[
        str | None, _what("read or write. Default: write, where nothing that belongs to anybody is overwritten.")
    ] = None
    block_size: Annotated[str, _what("Bytes of one I/O.")] = "4KiB"
    access: Annotated[str | None, _what(f"{', '.join(ACCESSES)}. Default: sequential writes, random reads.")] = None
    durability: Annotated[str | None, _what(f"{told('durability')} Default: fdatasync.")] = None
    file_state: Annotated[str, _what(told("file_state"))] = "overwrite"
    filesystem: Annotated[str | None, _what(f"Made on a device first: {', '.join(FILE_SYSTEMS)}. Default: raw.")] = None
    size: Annotated[str, _what("Bytes of the file that is made. Default: 64 MiB.")] = ""
    direct: Annotated[
        bool | None, _what("Bypass the page cache (O_DIRECT). Default: for reads.", "--direct/--buffered")
    ] = None
    backend: Annotated[str | None, _what(f"{', '.join(EXPLAINED_BACKENDS)}. Default: sync at queue depth 1.")] = None
    queue_depth: Annotated[int, _what(told("queue_depth"))] = 1
    jobs: Annotated[int, _what("Jobs side by side.")] = 1
    count: Annotated[int, _what(f"Operations of each pass over all jobs. Default: {COUNT}.", min=0)] = 0
    runtime: Annotated[str | None, _what("Time of each untraced pass, or of following: 5s, 2min.")] = None

    source: Annotated[Source | None, _how("Take the trace this way, instead of the first that works.")] = None
    repeats: Annotated[int | None, _how(f"Untraced and traced, N times each. Default: {REPEATS}.", min=1)] = None
    quick: Annotated[bool, _how(f"{QUICK_COUNT} operations, {QUICK_REPEATS} repeats: a first look.", "--quick")] = False
    seed: Annotated[int | None, _how("Decides the data and random offsets.", min=0, max=2**32 - 1)] = None

    erase: Annotated[list[str], _result("Erase this block device, to write to it.", metavar="SERIAL")] = field(
        default_factory=list
    )
    out: Annotated[str | None, _result("Directory to make the run in.", metavar="DIR")] = None
    trial: Annotated[list[str], _result("Of a stored run, only this trial; two are compared.", metavar="NAME")] = field(
        default_factory=list
    )
    details: Annotated[bool, _result("Print every number, check and finding.", "--details")] = False
    as_json: Annotated[bool, _result("Print JSON.", "--json")] = False
