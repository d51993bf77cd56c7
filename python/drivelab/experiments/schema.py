"""The JSON Schema of an experiment or a need, for editors that complete and check while one types."""

from __future__ import annotations

import tomllib
from typing import Any

from drivelab.experiments.keys import KEYS, Key
from drivelab.model.experiment import Experiment
from drivelab.model.factor import ACTION_LEVELS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_FACTORS = ("FileSystemFactor", "MountFactor", "ActionFactor", "SettingFactor", "WorkloadFactor")


def experiment_schema() -> dict[str, Any]:
    """The schema, made from the types that read the file.

    Notes
    -----
    What it accepts can still be refused: names must be unique and lead
    somewhere, and a level must suit the key that it is for.
    """
    made = Experiment.model_json_schema(mode="validation")
    describe(made, KEYS["Experiment"])
    for name, definition in made["$defs"].items():
        describe(definition, KEYS["Factor" if name in _FACTORS else name])
    describe(made["$defs"]["ExperimentWorkload"]["properties"]["quick"], KEYS["ExperimentWorkload"])
    levels = sorted({level for levels in ACTION_LEVELS.values() for level in levels})
    for key in ("levels", "quick_levels"):
        made["$defs"]["ActionFactor"]["properties"][key]["items"] = {"enum": levels}
    return plain_schema(made, "drivelab experiment")


def plain_schema(made: dict[str, Any], title: str) -> dict[str, Any]:
    """A schema that pydantic made, as a file holds it."""
    # TOML has no null: a key that may be missing is left out
    plain: dict[str, Any] = _without(made, titles=True)
    return {"$schema": DIALECT, "title": title} | plain


def describe(table: dict[str, Any], keys: dict[str, Key]) -> None:
    """Write the meaning and the default of every key into the schema of a table."""
    for option in table.get("anyOf", ()):
        describe(option, keys)
    table.pop("description", None)
    for name, schema in table.get("properties", {}).items():
        key = keys[name]
        schema["description"] = key.meaning.replace("`", "")
        # as one would write it, not as it is held
        schema.pop("default", None)
        if key.default:
            schema["default"] = tomllib.loads(f"default = {key.default}")["default"]


def _without(schema: Any, *, titles: bool) -> Any:
    """The schema without the titles that pydantic derives from names, and without null."""
    if isinstance(schema, list):
        return [_without(one, titles=True) for one in schema if one != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without(value, titles=key != "properties")
        for key, value in schema.items()
        if not (titles and key in ("title", "discriminator"))
    }
