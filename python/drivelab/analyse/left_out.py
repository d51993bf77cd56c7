"""What an average over combinations leaves out, so that it is of the same ones in every block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from drivelab.model.level_words import level_phrase
from drivelab.model.names import counted_of, names_in_words

_Levels = tuple[tuple[str, str], ...]
_Block = tuple[int, int]


def split_blocks(
    at_level: Iterable[tuple[_Levels, _Block]], at_baseline: Iterable[tuple[_Levels, _Block]], kept: Iterable[_Block]
) -> tuple[int, ...]:
    """Blocks that have both levels, of several sessions, and nothing of which is kept."""
    known = [{block for _, block in cells} for cells in (at_level, at_baseline)]
    both = set.intersection(*({number for number, _ in blocks} for blocks in known))
    sessions = Counter(number for number, _ in set.union(*known))
    return tuple(sorted(number for number in both - {number for number, _ in kept} if sessions[number] > 1))


def left_out_note(
    factor: str,
    level: str,
    pairs: Sequence[tuple[_Levels, _Block]],
    kept: Mapping[_Block, Sequence[_Levels]],
    split: Collection[int] = (),
) -> str:
    """Which combinations of the other factors, or how many blocks, a ratio leaves out; empty where it has all.

    Parameters
    ----------
    pairs : sequence of (levels, block)
        What was measured at both levels.
    kept : mapping of block to levels
        What the ratio is made of.
    split : collection of int
        Blocks of which another note says why they are left out.
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
    blocks = {number for _, (number, _) in pairs}
    lacking = blocks - {number for number, _ in kept} - {*split}
    if lacking:
        told.append(f"{what} {counted_of(len(lacking), len(blocks), 'block')}, not complete")
    return "; ".join(told)
