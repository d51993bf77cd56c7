"""What the levels of each factor did on several drives, in one sentence: the typical ratio and the extremes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import geometric_mean

from drivelab.model.level_words import level_text
from drivelab.report.numerals import number_text
from drivelab.report.sentences.contest import Contest, Levels, Subject

LEVELS_NAMED = 4
# nearer to 1 than this a single number without an interval says nothing
_ALIKE = 0.02
_TIMES_FROM = 1.5
# written first, beside which the others are told
_BASELINES = ("raw", "on", "nodiscard", "as-found")


def level_sentences(title: str, members: Sequence[Contest], name_of: Callable[[Subject], str]) -> Iterator[str]:
    """What each factor did, the one that did most first.

    Parameters
    ----------
    title : str
        The workload.
    members : sequence of Contest
        Its combinations of settings. Numbers that do not describe their drive are not in them.
    name_of : callable
        The name of a drive.

    Notes
    -----
    Of every drive the geometric mean, over combinations that are alike
    otherwise, of the number at the level over that at the baseline. Nothing is
    said of noise: this is for numbers that nobody knows the scatter of.
    """
    values = {
        subject: {
            contest.levels: one.estimate.value or 0.0
            for contest in members
            for who, one in contest.ranked
            if who == subject
        }
        for subject in dict.fromkeys(who for contest in members for who, _ in contest.ranked)
    }
    is_low_better = members[0].ranked[0][1].is_better_when_low
    found = []
    for factor in dict.fromkeys(name for contest in members for name, _ in contest.levels):
        levels = list(dict.fromkeys(level for one in members for name, level in one.levels if name == factor))
        baseline = next((level for level in _BASELINES if level in levels), levels[0])
        told, size = [], 0.0
        for level in levels:
            ratios = {
                who: ratio
                for who, known in values.items()
                if level != baseline and (ratio := _ratio(known, factor, baseline, level))
            }
            if ratios:
                told.append(f"{level_text(factor, level)} {_span(ratios, name_of, is_more_slower=is_low_better)}")
                size = max(size, *(max(ratio, 1 / ratio) for ratio in ratios.values()))
        if told:
            found.append(
                (size, f"{title}, {factor} beside {level_text(factor, baseline)}: {'; '.join(told[:LEVELS_NAMED])}.")
            )
    yield from (text for _, text in sorted(found, key=lambda item: -item[0]))


def _ratio(known: Mapping[Levels, float], factor: str, baseline: str, level: str) -> float | None:
    """Level over baseline over combinations that are alike otherwise; None where there are none."""
    ratios = []
    for levels, value in known.items():
        if (factor, level) in levels:
            beside = _beside(known, {**dict(levels), factor: baseline})
            if beside and value:
                ratios.append(value / beside)
    return geometric_mean(ratios) if ratios else None


def _beside(known: Mapping[Levels, float], wanted: Mapping[str, str]) -> float | None:
    """The number with these levels; a factor that does not apply, as a mount of the bare drive, is left out."""
    alike = [levels for levels in known if set(levels) <= set(wanted.items())]
    most = max(map(len, alike), default=0)
    found = [levels for levels in alike if len(levels) == most]
    is_unlike = any(len(levels) < len(wanted) and _applies(known, levels, wanted) for levels in found)
    return known[found[0]] if len(found) == 1 and not is_unlike else None


def _applies(known: Mapping[Levels, float], levels: Levels, wanted: Mapping[str, str]) -> bool:
    """Whether a factor that some levels lack has a level in others that are alike otherwise."""
    lacking = set(wanted) - {name for name, _ in levels}
    return any(set(levels) < set(other) and {name for name, _ in set(other) - set(levels)} & lacking for other in known)


def _span(ratios: Mapping[Subject, float], name_of: Callable[[Subject], str], *, is_more_slower: bool) -> str:
    """``1.8 times faster as the geometric mean of 5 drives, from 9 % slower (A) to 5.8 times faster (B)``."""
    ordered = sorted(ratios.items(), key=lambda item: item[1], reverse=is_more_slower)
    average = _change(geometric_mean(ratios.values()), is_more_slower)
    ends = [(_change(ratio, is_more_slower), name_of(who)) for who, ratio in (ordered[0], ordered[-1])]
    if len(ratios) == 1:
        return f"{ends[0][0]} ({ends[0][1]})"
    if ends[0][0] == ends[1][0]:
        return f"{average} on all {len(ratios)} drives"
    first, last = (f"{words} ({name})" for words, name in ends)
    return f"{average} as the geometric mean of {len(ratios)} drives, from {first} to {last}"


def _change(ratio: float, is_more_slower: bool) -> str:
    if abs(ratio - 1) < _ALIKE:
        return "within 2 % of it"
    size = max(ratio, 1 / ratio)
    word = "slower" if (ratio > 1) == is_more_slower else "faster"
    return f"{number_text(size, 2)} times {word}" if size >= _TIMES_FROM else f"{100 * (size - 1):.0f}\u00a0% {word}"
