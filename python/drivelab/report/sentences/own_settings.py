"""Runs that differ in a setting that each of them had throughout: they are compared, and the setting is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from drivelab.model.level_words import level_phrase
from drivelab.model.names import names_in_words
from drivelab.model.result_set import ResultSet
from drivelab.model.setting import AS_FOUND, SETTING_NAMES

# what a run in a directory has as it is there, and one on a drive makes
_OF_FILE_SYSTEMS = ("filesystem", "mount")


def without_own_settings(sets: Sequence[ResultSet]) -> tuple[tuple[ResultSet, ...], str]:
    """The results without the settings that keep them apart, and which these are; the same and empty where none does.

    Parameters
    ----------
    sets : sequence of ResultSet
        Of runs and of published pages; what these had is not left out.

    Returns
    -------
    (tuple of ResultSet, str)
        The words are a sentence: ``Measured with write-cache off for A and write-cache as found for B.``
    """
    runs = [one for one in sets if not one.is_reference]
    found: dict[str, list[str]] = {}
    for name in (*SETTING_NAMES, *_OF_FILE_SYSTEMS):
        levels = [{seen.levels.get(name, "") for seen in one.observations} for one in runs]
        if all(len(own) == 1 for own in levels) and len(set.union(*levels)) > 1:
            found[name] = [next(iter(own)) for own in levels]
    if not found:
        return tuple(sets), ""
    left = tuple(
        one
        if one.is_reference
        else replace(
            one,
            observations=tuple(
                replace(seen, levels={name: level for name, level in seen.levels.items() if name not in found})
                for seen in one.observations
            ),
        )
        for one in sets
    )
    told = [
        names_in_words([f"{_phrase(name, level)} for {_drives(one)}" for level, one in zip(levels, runs, strict=True)])
        for name, levels in found.items()
    ]
    return left, f"Measured with {'; '.join(told)}."


def _phrase(name: str, level: str) -> str:
    """``write-cache off``, ``write-cache as found``, ``write-cache not set``."""
    words = {"": f"{name} not set", AS_FOUND: f"{name} as found"}
    return words.get(level) or level_phrase(name, level)


def _drives(one: ResultSet) -> str:
    return names_in_words([drive.name for drive in one.drives])
