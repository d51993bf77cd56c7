"""What an average over combinations leaves out, so that it is of the same ones in every block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drivelab.model.level_words import level_phrase
from drivelab.model.names import counted_of, names_in_words

_Levels = tuple[tuple[str, str], ...]
_Block = tuple[int, int]


def left_out_note(
    factor: str, level: str, pairs: Sequence[tuple[_Levels, _Block]], kept: Mapping[_Block, Sequence[_Levels]]
) -> str:
    """Which combinations of the other factors, or how many blocks, a ratio leaves out; empty where it has all.

    Parameters
    ----------
    pairs : sequence of (levels, block)
        What was measured at both levels.
    kept : mapping of block to levels
        What the ratio is made of.
    """
    used = {combination for members in kept.values() for combination in members}
    left = dict.fromkeys(combination for combination, _ in pairs if combination not in used)
    # what is left out has it, and nothing that is used
    named = [", ".join(level_phrase(*one) for one in of if all(one not in other for other in used)) for of in left]
    what = f"the ratio of {level_phrase(factor, level)} leaves out"
    told = (
        [f"{what} {names_in_words([*filter(None, named)] or ['some pairs'])}, which not every block has"]
        if left
        else []
    )
    blocks = {block for _, block in pairs}
    if len(kept) < len(blocks):
        told.append(f"{what} {counted_of(len(blocks) - len(kept), len(blocks), 'block')}, not complete")
    return "; ".join(told)
