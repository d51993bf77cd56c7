"""The command ``drivelab drives``: what is here, and what may be touched."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from drivelab.cli.drive_health import health_rows
from drivelab.inventory.drive_notes import describe_link
from drivelab.inventory.drives import drive_names, list_drives
from drivelab.inventory.smart import read_all_smart
from drivelab.model.drive import BlockUse, DriveFacts
from drivelab.model.smart import SmartFacts
from drivelab.model.units import format_bytes, format_decimal_bytes
from drivelab.streams import make_console

if TYPE_CHECKING:
    from rich.text import Text

SCHEMA = 1
_NAME_WIDTH = 14
_REASONS_SHOWN_MAX = 3
_VERDICTS = {
    "free": ("yes", "green"),
    "holds_data": ("only by name", "yellow"),
    "in_use": ("no", "red"),
    "unusable": ("no", "red"),
    "unknown": ("no", "red"),
}


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every fact.")] = False,
    show_all: Annotated[
        bool, typer.Option("--all", help="Also memory drives, unused loop devices and drives without a medium.")
    ] = False,
    with_smart: Annotated[
        bool, typer.Option("--smart", help="Also what each drive says of its health, wear and temperature. Needs root.")
    ] = False,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Instead, the models of drives that can be simulated: sim:NAME.")
    ] = False,
) -> None:
    """List every drive: what it is, what sits on it, and whether it may be touched.

    Works for every user; a fact that is missing comes with the reason.
    """
    if simulated:
        _print_models(as_json)
        return
    drives = list_drives(show_all=show_all)
    health = {smart.drive: smart for smart in read_all_smart(drives)} if with_smart else {}
    hidden_count = 0 if show_all else len(drive_names()) - len(drives)
    if as_json:
        smart = {name: {"smart": facts.to_json()} for name, facts in health.items()}
        listed = [drive.to_json() | smart.get(drive.name, {}) for drive in drives]
        print(json.dumps({"schema": SCHEMA, "drives": listed, "hidden_count": hidden_count}, indent=2))
    else:
        _print_drives(drives, health, hidden_count)


def _print_models(as_json: bool) -> None:
    """The models that come with drivelab."""
    # imported here: most lists are of real drives
    from drivelab.simulated.load import PREFIX, load_model, model_names

    models = {f"{PREFIX}{name}": load_model(name) for name in model_names()}
    if as_json:
        listed = [{"target": target, **model.model_dump(mode="json")} for target, model in models.items()]
        print(json.dumps({"schema": SCHEMA, "simulated": listed}, indent=2))
        return
    for target, model in models.items():
        print(f"{target:<22}{format_decimal_bytes(model.size):>9}  {model.title}")
    print("measure one: drivelab run queue-depth sim:NAME; a file of your own: sim:./DRIVE.toml")


def _print_drives(drives: Sequence[DriveFacts], health: Mapping[str, SmartFacts], hidden_count: int) -> None:
    # imported here: JSON needs no terminal library

    console = make_console(soft_wrap=True)
    for drive in drives:
        for line in drive_lines(drive, console.width, health.get(drive.name)):
            console.print(line)
        console.print()
    if not drives:
        console.print("No drives are visible here.")
    if hidden_count:
        console.print(f"{hidden_count} more in memory or without a medium: drivelab drives --all", style="dim")


def drive_lines(drive: DriveFacts, width: int, smart: SmartFacts | None = None) -> Iterator[Text]:
    """Everything about one drive: a title, then names with their values, no line wider than `width`.

    SMART facts are told when they are given.
    """
    from rich.text import Text

    for number, line in enumerate(_wrapped(f"{drive.path}  {_title(drive)}", width - 4)):
        yield Text(f"{'    ' * bool(number)}{line}", style="bold")
    rows = [(name, value, "") for name, value in _rows(drive)]
    rows += health_rows(smart) if smart is not None else []
    verdict, colour = _VERDICTS[drive.touch.verdict]
    rows.append(("may be erased", f"{verdict}: {_reasons(drive)}", colour))
    rows += [("note", note, "yellow") for note in drive.notes]
    rows += [("unknown", text, "dim") for text in _unknown(drive)]
    for name, value, style in rows:
        for number, line in enumerate(_wrapped(value, width - _NAME_WIDTH - 2)):
            label = name if number == 0 else ""
            yield Text.assemble((f"  {label:<{_NAME_WIDTH}}", "dim"), (line, style))


def describe_use(use: BlockUse, *, is_drive: bool) -> str:
    """One device of the stack on a drive, on one line: ``sda2 1.5 TiB ext4 'home' mounted on /home``."""
    words = [] if is_drive else [use.name, format_bytes(use.size_bytes)]
    if use.contents is None:
        words.append("contents unknown")
    elif use.contents or not use.children:
        words.append(use.contents or "nothing recognised")
    words += [f"'{use.label}'"] if use.label else []
    words += [f"({use.detail})"] if use.detail else []
    words += [f"mounted on {_some(use.mount_points)}"] if use.mount_points else []
    words += [f"used as {user}" for user in use.used_by]
    return " ".join(words) or "no partition table of its own"


def _title(drive: DriveFacts) -> str:
    vendor, model = drive.vendor or "", drive.model or ""
    named = model if model.startswith(vendor) else f"{vendor} {model}"
    kind = "rotating" if drive.is_rotational and not drive.virtual else ""
    read_only = "read-only" if drive.is_read_only else ""
    return ", ".join(
        filter(
            None,
            (
                named.strip() or drive.virtual or "drive",
                format_bytes(drive.size_bytes),
                kind,
                drive.transport,
                read_only,
            ),
        )
    )


def _rows(drive: DriveFacts) -> Iterator[tuple[str, str]]:
    names = {"serial": ", ".join(drive.serials), "WWN": drive.wwn or "", "firmware": drive.firmware or ""}
    if any(names.values()):
        yield "identity", ", ".join(f"{name} {value}" for name, value in names.items() if value)
    if drive.virtual:
        yield "virtual", drive.virtual
    if drive.link is not None:
        yield "link", describe_link(drive.link)
    logical, physical = drive.logical_block_size_bytes, drive.physical_block_size_bytes
    yield "blocks", f"{format_bytes(logical)} logical, {format_bytes(physical)} physical"
    yield "discard", _discard(drive)
    yield "write cache", _write_cache(drive)
    queue = f", {drive.queue_requests} requests" if drive.queue_requests else ""
    yield "scheduler", f"{drive.scheduler or 'none'}{queue}"
    for use, depth in _with_depth(drive.use):
        yield "" if depth else "holds", "  " * depth + describe_use(use, is_drive=depth == 0)


def _discard(drive: DriveFacts) -> str:
    if not drive.discard.is_supported:
        return "not supported"
    granularity = format_bytes(drive.discard.granularity_bytes)
    return f"in units of {granularity}, at most {format_bytes(drive.discard.max_bytes)} at once"


def _write_cache(drive: DriveFacts) -> str:
    cache = drive.write_cache
    drive_view = {True: "on", False: "off", None: "unknown"}[cache.drive_enabled]
    asked = f" ({cache.drive_source})" if cache.drive_source else ""
    fua = {True: ", FUA", False: ", no FUA", None: ""}[cache.kernel_uses_fua]
    return f"drive: {drive_view}{asked}; kernel: {cache.kernel_mode or 'unknown'}{fua}"


def _reasons(drive: DriveFacts) -> str:
    typed = f"; its owner types --erase {drive.touch.erase_argument}" if drive.touch.may_be_erased else ""
    return _some(drive.touch.reasons, "; ") + typed


def _unknown(drive: DriveFacts) -> list[str]:
    """Missing facts, those with the same reason on one line."""
    fields_by_reason: dict[str, list[str]] = {}
    for field, reason in drive.unknown.items():
        fields_by_reason.setdefault(reason, []).append(field.replace("_", " "))
    return [f"{', '.join(fields)}: {reason}" for reason, fields in fields_by_reason.items()]


def _some(texts: Sequence[str], separator: str = ", ") -> str:
    """The first few texts, and how many more there are."""
    more = len(texts) - _REASONS_SHOWN_MAX
    shown = separator.join(texts[:_REASONS_SHOWN_MAX])
    return f"{shown}{separator}and {more} more" if more > 0 else shown


def _with_depth(use: BlockUse, depth: int = 0) -> Iterator[tuple[BlockUse, int]]:
    yield use, depth
    for child in use.children:
        yield from _with_depth(child, depth + 1)


def _wrapped(text: str, width: int) -> list[str]:
    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(text, max(width, 20), subsequent_indent=indent, break_on_hyphens=False) or [""]
