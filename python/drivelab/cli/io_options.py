"""The options of ``drivelab io``: a flag for every key of a workload, and those of the command itself.

What is told of a key stands beside it (`drivelab.model.workload_keys`), and the
command's signature is made from there (`with_options_of`), so that nothing is
written down twice.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from drivelab.cli.tag_option import TAG_HELP
from drivelab.model.told import HOW, HOW_LONG, PANELS, WHAT, ToldField, told_fields
from drivelab.model.workload_keys import WorkloadKeys

RESULTS = "Results and consent"
_Function = TypeVar("_Function", bound=Callable[..., Any])


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    """A flag with one line of help, in a group."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class _OwnOptions:
    """What is typed after ``drivelab io`` beside the keys of a workload."""

    target: Annotated[str, typer.Argument(help="A file, a block device, null: for none, or a directory (--files).")]

    seed: Annotated[int, option(WHAT, "Makes random choices repeatable.")] = 1
    sync_at_end: Annotated[bool, option(HOW, "One sync call, after the last write of each job.", "--sync-at-end")] = (
        False
    )
    once: Annotated[bool, option(HOW_LONG, "Go over the range once, without any limit.", "--once")] = False

    record: Annotated[str | None, option(RESULTS, "Keep a row for every I/O.", metavar="FILE.parquet")] = None
    count_commands: Annotated[
        bool,
        option(
            RESULTS, "Repeat 200 writes afterwards, traced, to count the commands of each (root).", "--count-commands"
        ),
    ] = False
    erase: Annotated[
        list[str], option(RESULTS, "Consent to erase the block device of this name.", metavar="SERIAL")
    ] = field(default_factory=list)
    overwrite_file: Annotated[bool, option(RESULTS, "Consent to overwrite an existing file.", "--overwrite-file")] = (
        False
    )
    start_when_told: Annotated[
        bool,
        option(
            HOW_LONG,
            "Say 'ready to begin', and begin when the standard input says: nanoseconds since 1970.",
            "--start-when-told",
        ),
    ] = False
    out: Annotated[str | None, option(RESULTS, "Store the run in a new directory here.", metavar="DIR")] = None
    tag: Annotated[list[str], option(RESULTS, TAG_HELP, metavar="KEY=VALUE")] = field(default_factory=list)
    as_json: Annotated[bool, option(RESULTS, "Print JSON.", "--json")] = False


def flags() -> dict[str, ToldField]:
    """The keys of a workload that are given by a flag, by its name as a keyword: in the order of the help text."""
    told = [one for one in told_fields(WorkloadKeys) if one.told.panel]
    # the numbers of a table come after its kind
    return {one.flag: one for one in sorted(told, key=lambda one: (PANELS.index(one.told.panel), len(one.path)))}


def told(flag: str) -> str:
    """The line of help of a key, by the name of its flag."""
    return flags()[flag].help


def _names_of(one: ToldField) -> tuple[str, ...]:
    """A flag that is on or off has no opposite."""
    return (f"--{one.flag.replace('_', '-')}",) if one.field.annotation is bool else ()


def _asked() -> Iterator[tuple[str, Any, Any]]:
    """Every option: its name, its annotation, and its default as a field of a dataclass."""
    for one in flags().values():
        takes: Any = str | None if one.typed_default is None else type(one.typed_default)
        yield one.flag, Annotated[takes, option(one.told.panel, one.help, *_names_of(one))], one.typed_default
    hints = get_type_hints(_OwnOptions, include_extras=True)
    for own in fields(_OwnOptions):
        yield own.name, hints[own.name], own.default if own.default_factory is MISSING else field(default_factory=list)


def _in_order() -> list[tuple[str, Any, Any]]:
    """The options by their groups; what has no group is the target, which comes first."""

    def place(asked: tuple[str, Any, Any]) -> int:
        panel = getattr(asked[1].__metadata__[0], "rich_help_panel", None)
        return ([None, *PANELS, RESULTS]).index(panel)

    return sorted(_asked(), key=place)


if TYPE_CHECKING:

    class IoOptions:
        """What was typed after ``drivelab io``; every text is as typed."""

        def __init__(self, **typed: Any) -> None: ...

        def __getattr__(self, name: str) -> Any: ...
else:
    IoOptions = make_dataclass("IoOptions", _in_order(), frozen=True, slots=True, kw_only=True)


DEFAULTS = {name: default for name, _, default in _asked()}


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
