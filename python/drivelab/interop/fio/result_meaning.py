"""What the options beside a fio result mean, by the very code that translates job files: so that results and runs meet.

fio's JSON leaves out options that were written without a value (``norandommap``, ``zero_buffers``, ``time_based``).
What only they decide is not known unless they stand there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from drivelab.interop.fio import options_of_io
from drivelab.interop.fio.checks import contents
from drivelab.interop.fio.durability import durability
from drivelab.interop.fio.job_file import Job, Setting
from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.options import BY_NAME
from drivelab.interop.fio.pacing_and_limits import with_mix_of_rates
from drivelab.interop.fio.sizes import ValueMistake
from drivelab.interop.fio.syntax import Place
from drivelab.interop.fio.translation_of_io import issued
from drivelab.interop.fio.values import PerDirection, parse_value
from drivelab.model.errors import DrivelabError
from drivelab.model.workload import TargetRange
from drivelab.model.workload_pattern import WorkloadPattern

_NOWHERE = Place("", 1)
_KB_BASES = ("1000", "1024")
_DECIDING = {option.name for options in options_of_io.TOPICS.values() for option in options}
# without them it is not known whether zero_buffers was set
_CONTENTS = ("zero_buffers", "buffer_pattern", "buffer_compress_percentage", "dedupe_percentage")


def meaning_of(given: Mapping[str, str]) -> dict[str, Any]:
    """Operations, block sizes, access, durability and contents that options ask for, as fields of a workload.

    Parameters
    ----------
    given : mapping of str to str
        By fio's names, as the JSON has them.

    Returns
    -------
    dict
        Only what is known: nothing where an option cannot be understood that decides what is issued.
    """
    options = _options_of(given)
    if options is None:
        return {}
    try:
        io = with_mix_of_rates(options, issued(options, only_reads=options.truth("verify_only")))
        keys = io.keys() | durability(options, io) | contents(options)
        # what ends it is not looked at, but a pattern has to end
        pattern = WorkloadPattern.model_validate(keys | {"count": 1})
    except (DrivelabError, ValidationError):
        return {}
    whole = pattern.on(TargetRange(path=""), seed=0)
    found: dict[str, Any] = {name: getattr(whole, name) for name in ("operations", "block_sizes", "durability")}
    if options.choice("zonemode").word in ("", "none"):
        found["access"] = _access(options, whole.access.model_dump(exclude_unset=True))
    if any(options.has(name) for name in _CONTENTS):
        found["contents"] = whole.contents
    return found


def _access(options: JobOptions, told: dict[str, Any]) -> dict[str, Any]:
    """The order of addresses; whether each block has its turn before any comes again is seldom told."""
    if not options.has("norandommap"):
        told.pop("covers_once", None)
    elif told["kind"] == "random":
        told.setdefault("covers_once", False)
    return told


def _options_of(given: Mapping[str, str]) -> JobOptions | None:
    """Options that drivelab knows; None where one that decides what is issued has a value that cannot be."""
    base = given.get("kb_base", "1024").strip()
    settings: dict[str, Setting] = {}
    for name, text in given.items():
        option = BY_NAME.get(name)
        if option is None:
            continue
        try:
            value, _ = parse_value(option, text or None, kb_base=int(base) if base in _KB_BASES else 1024)
        except ValueMistake:
            if option.name in _DECIDING:
                return None
            continue
        earlier = settings.get(option.name)
        if isinstance(value, PerDirection) and earlier is not None and isinstance(earlier.value, PerDirection):
            value = value.over(earlier.value)
        settings[option.name] = Setting(option.name, text, _NOWHERE, value, is_shared=False)
    return JobOptions(Job("result", "result", _NOWHERE, settings, tuple(settings.values())))
