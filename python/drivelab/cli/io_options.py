"""The options of ``drivelab io``: the name, the text, the unit and the default of each, in one place.

The command's signature is made from this class (`with_options_of`), so that
nothing is written down twice.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from drivelab.cli.workload_arguments import (
    ACCESSES,
    ARRIVALS,
    BACKENDS,
    CONTENTS,
    DURABILITIES,
    FILE_STATES,
    SUBMISSION_LATENCIES,
)
from drivelab.model.workload import TREE_OPERATIONS

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _option(panel: str, text: str, *names: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, metavar=metavar)


def _what(text: str, *names: str) -> Any:
    return _option("What is issued", text, *names)


def _where(text: str, *names: str) -> Any:
    return _option("Where", text, *names)


def _how(text: str, *names: str) -> Any:
    return _option("How it is issued", text, *names)


def _how_long(text: str, *names: str) -> Any:
    return _option("How long", text, *names)


def _written(text: str, *names: str) -> Any:
    return _option("What is written", text, *names)


def _files(text: str, *names: str) -> Any:
    return _option("Operations on the files of a directory", text, *names)


def _result(text: str, *names: str, metavar: str | None = None) -> Any:
    return _option("Results and consent", text, *names, metavar=metavar)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) + "."


@dataclass(frozen=True, slots=True, kw_only=True)
class IoOptions:
    """What was typed after ``drivelab io``; every text is as typed."""

    target: Annotated[str, typer.Argument(help="A file, a block device, null: for none, or a directory (--files).")]

    operation: Annotated[str, _what("read, write, trim, or a mix: read:70,write:30. With --files: see below.")] = "read"
    access: Annotated[
        str | None,
        _what(f"{_names(ACCESSES)} pareto:0.2, normal:10%. Default: random; sequential for append and --files."),
    ] = None
    block_size: Annotated[str, _what("Bytes of one I/O, or a mix: 4KiB:80,64KiB:20.")] = "4KiB"
    queue_depth: Annotated[int, _what("I/Os kept outstanding by each job.")] = 1
    jobs: Annotated[int, _what("Jobs side by side, each in its own part of the range.")] = 1
    share_range: Annotated[bool, _what("Let every job use the whole range.", "--share-range")] = False
    rewrite: Annotated[str, _what("Share of the reads that are written back at once, changed: 10%.")] = "0"
    verify: Annotated[bool, _what("Check that each block read is the one of its place.", "--verify")] = False
    seed: Annotated[int, _what("Makes random choices repeatable.")] = 1

    size: Annotated[str, _where("Bytes of the range used; 0 is the whole target.")] = "0"
    offset: Annotated[str, _where("Bytes before the range.")] = "0"
    shift: Annotated[str, _where("Bytes added to every aligned offset.")] = "0"
    stride: Annotated[str, _where("Bytes from one strided I/O to the next.")] = "0"
    zipf_theta: Annotated[float, _where("Skew of zipf access, above 0 and below 5.")] = 0.99
    hot_range: Annotated[float, _where("Hot part of the range for hot_cold, 0 to 1.")] = 0.1
    hot_access: Annotated[float, _where("Part of the I/Os that go there, 0 to 1.")] = 0.9

    run_blocks: Annotated[int, _where("Blocks in a row from each random place on.")] = 1
    random_fraction: Annotated[str, _where("Share of random places; the other I/Os follow the one before.")] = "1"
    covers_once: Annotated[bool, _where("Random: each block once before any comes again.", "--covers-once")] = False

    backend: Annotated[str, _how(_names(BACKENDS))] = "auto"
    direct: Annotated[bool, _how("Bypass the page cache (O_DIRECT).", "--direct")] = False
    durability: Annotated[str, _how(_names(DURABILITIES))] = "none"
    sync_every: Annotated[int, _how("Writes per sync call.")] = 1
    sync_at_end: Annotated[bool, _how("One sync call, after the last write of each job.", "--sync-at-end")] = False
    think: Annotated[str, _how("Pause of a closed loop, not part of any latency: 10ms.")] = "0s"
    think_every: Annotated[int, _how("I/Os of a job before each pause.")] = 1
    rate: Annotated[float, _how("I/Os per second of an open loop; 0 is a closed loop.")] = 0.0
    arrivals: Annotated[str | None, _how(f"Of an open loop: {_names(ARRIVALS)} Default: fixed.")] = None
    pin: Annotated[str, _how("Processors for the jobs, in turn: 0,2-3. Default: not pinned.")] = ""
    polled_completion: Annotated[bool, _how("Poll instead of waiting for interrupts.", "--polled-completion")] = False
    polled_submission: Annotated[bool, _how("Let a kernel thread submit (io_uring).", "--polled-submission")] = False
    submission_latency: Annotated[str, _how(_names(SUBMISSION_LATENCIES))] = "sampled"

    runtime: Annotated[str | None, _how_long("Time measured: 5s, 2min. Default: 5s, without --count and --bytes.")] = (
        None
    )
    count: Annotated[int, _how_long("I/Os over all jobs; 0 is no limit.")] = 0
    bytes: Annotated[str, _how_long("Bytes over all jobs; 0 is no limit.")] = "0"
    once: Annotated[bool, _how_long("Go over the range once, without any limit.", "--once")] = False
    ramp: Annotated[str, _how_long("Time of I/O before, which is not counted.")] = "0s"
    interval: Annotated[str, _how_long("Length of one interval of the series.")] = "100ms"

    file_state: Annotated[str, _written(f"Before the writes: {_names(FILE_STATES)}")] = "overwrite"
    contents: Annotated[str, _written(_names(CONTENTS))] = "random"
    compressible: Annotated[float, _written("Part of every block that compresses to nothing, 0 to 1.")] = 0.0
    duplicate: Annotated[float, _written("Part of the writes that repeat one block, 0 to 1.")] = 0.0

    files: Annotated[int, _files(f"Files of all jobs; --operation is then {_names(TREE_OPERATIONS)}")] = 0
    file_size: Annotated[str, _files("Bytes of a file, or of the largest one.")] = "0"
    file_size_min: Annotated[str | None, _files("Bytes of the smallest one. Default: all are alike.")] = None
    directories: Annotated[int, _files("Directories that hold equally many each; 0: all in one.")] = 0
    depth: Annotated[int, _files("Levels of directories.")] = 1
    sync_directory: Annotated[bool, _files("Make the directory durable after each operation.", "--sync-directory")] = (
        False
    )

    record: Annotated[str | None, _result("Keep a row for every I/O.", metavar="FILE.parquet")] = None
    count_commands: Annotated[
        bool, _result("Repeat 200 writes afterwards, traced, to count the commands of each (root).", "--count-commands")
    ] = False
    erase: Annotated[list[str], _result("Consent to erase the block device of this name.", metavar="SERIAL")] = field(
        default_factory=list
    )
    overwrite_file: Annotated[bool, _result("Consent to overwrite an existing file.", "--overwrite-file")] = False
    out: Annotated[str | None, _result("Store the run in a new directory here.", metavar="DIR")] = None
    as_json: Annotated[bool, _result("Print JSON.", "--json")] = False


def with_options_of(options: type[Any]) -> Callable[[_Function], _Function]:
    """Give a function the signature that typer reads: one keyword for each field."""
    hints = get_type_hints(options, include_extras=True)
    parameters = [
        inspect.Parameter(
            asked.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[asked.name],
            default=_default(asked),
        )
        for asked in fields(options)
    ]

    def decorate(function: _Function) -> _Function:
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        function.__annotations__ = hints
        return function

    return decorate


def _default(asked: Any) -> Any:
    if asked.default is not MISSING:
        return asked.default
    return [] if asked.default_factory is not MISSING else inspect.Parameter.empty
