"""Every key of a need's file; its schema and the page about the format are made from this list."""

from __future__ import annotations

from typing import Any, get_args

from drivelab.experiments.keys import Key
from drivelab.experiments.schema import describe, plain_schema
from drivelab.model.need import Metric, Need

_METRIC = Key(", ".join(f"`{name}`" for name in get_args(Metric)), "", "which of its numbers", is_required=True)

KEYS: dict[str, dict[str, Key]] = {
    "Need": {
        "format": Key("`1`", "", "version of this format", is_required=True),
        "name": Key("lower case, digits, `.` and `-`", "", "short name", is_required=True),
        "title": Key("a text", "", "name for people; without it `name`"),
        "aliases": Key("a table", "{}", "other names that a built-in need is found by, each with its title then"),
        "text": Key("a text", '""', "what the program does to its storage"),
        "remark": Key("a text", '""', "what a reader should know about the limits"),
        "program": Key(
            "a name", '""', "the traced program whose log writes are issued, and whose commits a second are forecast"
        ),
        "only_by_name": Key("`true`, `false`", "false", "whether a built-in need is left out without `--for`"),
        "thresholds": Key("a list of tables", "[]", "what it asks for; at least one of them must be required"),
        "capability": Key("a table", "", "what a measured number means, where there is no limit"),
    },
    "AskedLimit": {
        "trial": Key("a name", "", "the trial of a check that measures it", is_required=True),
        "metric": _METRIC,
        "limit": Key(
            '`"10ms"`, `"250MB/s"`, `500`',
            "",
            "a latency at most, a throughput or I/Os a second at least",
            is_required=True,
        ),
        "source": Key("a text", "", "who says so, and where", is_required=True),
        "text": Key("a text with `{value}`", "", "what was measured, in words; without it made of metric and trial"),
        "force": Key("`required`, `recommended`", '"required"', "whether it decides, or is told beside the answer"),
        "asked_less": Key("a text", '""', "what is asked for where the trial is harder: a miss is undecided then"),
        "easier_trial": Key(
            "a name", "", "a trial that is no harder than that: where it, too, misses the limit, that decides"
        ),
    },
    "Capability": {
        "trials": Key("a list of names", "", "trials that measure it; the first that ran is taken", is_required=True),
        "metric": _METRIC,
        "text": Key("a text with `{value}`", "", "the meaning in words", is_required=True),
    },
}


def need_schema() -> dict[str, Any]:
    """The JSON Schema of a need's file, made from the type that reads it."""
    made = Need.model_json_schema(mode="validation")
    describe(made, KEYS["Need"])
    for name, definition in made["$defs"].items():
        describe(definition, KEYS[name])
    return plain_schema(made, "drivelab need")
