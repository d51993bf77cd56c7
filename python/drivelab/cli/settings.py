"""The command ``drivelab settings``: what each setting of a target's drives is, and what it can be."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drivelab.inventory.loop_target import resolve_measured
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.setting import SETTING_NAMES, UNITS, SettingFacts
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_bytes, format_duration_ns
from drivelab.state.settings.catalogue import SETTINGS, read_settings
from drivelab.streams import make_console

if TYPE_CHECKING:
    from rich.text import Text

SCHEMA = 1
_NAME_WIDTH = 23
_HOST = tuple(name for name in SETTING_NAMES if SETTINGS[name].is_of_host)
_OF_DRIVE = tuple(name for name in SETTING_NAMES if name not in _HOST)
_NS_PER_US = 1000


def command(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A drive, a directory or file on one, scratch:SIZE.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show every setting of the drive beneath a target: its level, what each layer says, and what it can be.

    Nothing is changed. Drives answer root only; other users see what the kernel
    knows. An experiment varies settings as factors, and puts them back.
    """
    facts = resolve_measured(target)
    if facts.kind == "missing_file":
        raise DrivelabError("T101", f"{target} does not exist", where=target)
    drives = _settings_by_drive(facts)
    host = read_settings(None, _HOST)
    if as_json:
        print(json.dumps(_document(facts, drives, host), indent=2))
    else:
        _print(facts, drives, host)


def _settings_by_drive(target: TargetFacts) -> list[tuple[str, DriveFacts | None, dict[str, SettingFacts]]]:
    """A title, the drive, and its settings; a scratch drive is not there yet."""
    if target.kind == "scratch":
        return [(f"{target.text}, as loop devices are here", None, read_settings(None, _OF_DRIVE))]
    return [(_title(drive), drive, read_settings(drive, _OF_DRIVE)) for drive in target.drives]


def _document(
    target: TargetFacts,
    drives: list[tuple[str, DriveFacts | None, dict[str, SettingFacts]]],
    host: Mapping[str, SettingFacts],
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "target": target.text,
        "no_device_reason": target.no_device_reason,
        "drives": [
            {
                "name": drive.name if drive else None,
                "path": drive.path if drive else None,
                "serial": drive.serial if drive else None,
                "settings": _settings_json(settings),
            }
            for _, drive, settings in drives
        ],
        "host": {"settings": _settings_json(host)},
    }


def _settings_json(settings: Mapping[str, SettingFacts]) -> dict[str, Any]:
    return {name: facts.to_json() | {"unit": UNITS.get(name, "")} for name, facts in settings.items()}


def _print(
    target: TargetFacts,
    drives: list[tuple[str, DriveFacts | None, dict[str, SettingFacts]]],
    host: Mapping[str, SettingFacts],
) -> None:
    # imported here: JSON needs no terminal library

    console = make_console(soft_wrap=True)
    if target.simulated is not None:
        console.print(f"{target.text} is simulated: it has no settings, and those of this computer do nothing to it")
        return
    for title, _, settings in [*drives, ("this computer", None, dict(host))]:
        for line in setting_lines(title, settings, console.width):
            console.print(line)
        console.print()
    if target.no_device_reason:
        console.print(f"No drive is known beneath {target.text}: {target.no_device_reason}")


def setting_lines(title: str, settings: Mapping[str, SettingFacts], width: int) -> Iterator[Text]:
    """A title, then every setting: its level, the layers that say something else, and what it can be."""
    from rich.text import Text

    yield Text(title, style="bold")
    for name, facts in settings.items():
        label = name
        for text, style in _rows(facts):
            for line in textwrap.wrap(text, max(width - _NAME_WIDTH - 2, 20), break_on_hyphens=False):
                yield Text.assemble((f"  {label:<{_NAME_WIDTH}}", "dim"), (line, style))
                label = ""


def _rows(facts: SettingFacts) -> Iterator[tuple[str, str]]:
    if facts.value is not None:
        yield _described(facts), ""
    # one layer that repeats the value says nothing new
    if len(facts.views) > 1:
        yield ", ".join(f"{layer}: {value}" for layer, value in facts.views.items()), "dim"
    if facts.reason:
        yield f"{'cannot be set' if facts.value is not None else 'none'}: {facts.reason}", "dim"
    else:
        possible = _possible(facts)
        if possible:
            yield f"can be {possible}", "dim"


def _described(facts: SettingFacts) -> str:
    """The level as an experiment's file has it, with its unit, and for people."""
    value = facts.value or ""
    unit = UNITS.get(facts.name)
    if unit is None or not value.isdecimal():
        return value
    people = _for_people(int(value), unit)
    return f"{value} {unit}" if people == f"{value} {unit}" else f"{value} {unit} ({people})"


def _possible(facts: SettingFacts) -> str:
    unit = f" {UNITS[facts.name]}" if facts.name in UNITS else ""
    numbers = ""
    if facts.minimum is not None and facts.maximum is not None:
        numbers = f"{facts.minimum} to {facts.maximum}{unit}"
    elif facts.minimum is not None:
        numbers = f"{facts.minimum}{unit} and more"
    return ", ".join(filter(None, [*facts.levels, numbers]))


def _for_people(value: int, unit: str) -> str:
    if unit == "B":
        return format_bytes(value)
    return format_duration_ns(value * (_NS_PER_US if unit == "us" else 1))


def _title(drive: DriveFacts) -> str:
    return ", ".join(filter(None, (drive.path, drive.model, drive.serial and f"serial {drive.serial}")))
