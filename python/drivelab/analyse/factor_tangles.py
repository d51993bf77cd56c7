"""Which of two factors it is that explains a number, where their levels go together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from drivelab.analyse.factor_shares import explained, standing_out
from drivelab.model.drive_values import SIGNIFICANCE, FactorsTangled

BOTH = "both"


def tangle(
    logs: np.ndarray,
    first: tuple[str, Sequence[str]],
    second: tuple[str, Sequence[str]],
    models: Sequence[str],
) -> FactorsTangled:
    """How two factors go together, and which of them it is.

    Parameters
    ----------
    logs : numpy.ndarray
        One value per drive.
    first, second : (str, sequence of str)
        Name and levels of the factors: of the one that explains more, and of the other.
    models : sequence of str
        Model of each drive: all is told within models.
    """
    (factor, levels), (other, others) = first, second
    level = standing_out(logs, levels, models)
    other_level = Counter(b for a, b in zip(levels, others, strict=True) if a == level).most_common(1)[0][0]
    relation = _relation(_within(levels, models), _within(others, models))
    decided = ""
    if not _are_the_same_drives(levels, level, others, other_level):
        decided = _decided(logs, first, second, models)
    return FactorsTangled(factor, other, level, other_level, relation, decided)


def _within(levels: Sequence[str], models: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(models, levels, strict=True))


def _relation(
    levels: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]
) -> Literal["same", "nested", "holds", "crossed"]:
    """``nested``: each level lies in one of the other; ``holds``: the other way round."""
    pairs = len(set(zip(levels, others, strict=True)))
    is_nested, holds = pairs == len(set(levels)), pairs == len(set(others))
    if is_nested and holds:
        return "same"
    return "nested" if is_nested else "holds" if holds else "crossed"


def _are_the_same_drives(levels: Sequence[str], level: str, others: Sequence[str], other_level: str) -> bool:
    """Whether the drives of two levels are the same, so that nothing can tell which of the levels it is."""
    return all((a == level) == (b == other_level) for a, b in zip(levels, others, strict=True))


def _decided(
    logs: np.ndarray,
    first: tuple[str, Sequence[str]],
    second: tuple[str, Sequence[str]],
    models: Sequence[str],
) -> str:
    """The factor that explains something where the other one is the same."""
    (factor, levels), (other, others) = first, second
    alone = explained(logs, levels, [f"{model}\0{b}" for model, b in zip(models, others, strict=True)])
    beside = explained(logs, others, [f"{model}\0{a}" for model, a in zip(models, levels, strict=True)])
    shown, other_shown = (one is not None and one.p_value <= SIGNIFICANCE for one in (alone, beside))
    if shown and other_shown:
        return BOTH
    if shown or other_shown:
        return factor if shown else other
    # where one of them cannot be tried within the other, the one with fewer levels is enough
    if (alone is None) != (beside is None):
        return factor if alone is None else other
    return ""
