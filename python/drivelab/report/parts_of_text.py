"""A sentence with as many of its parts as there is room for; the page has it whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

# before what explains, adds to or bounds what was said
_END_OF_PART = re.compile(r"[:;,.]? (?=\()|[:;,.] ")
# as those who wrote them write them
_SMALL_NAME = re.compile(
    r"(?:ext[234]|xfs|btrfs|f2fs|bcachefs|sd[a-z]+|nvme\d\S*|vd[a-z]+|md\d+|loop\d+|etcd|sim:\S+|scratch-\S+|raid\d\S*)\b"
)
_END_OF_CLAUSE = re.compile(r"[;.] ")
_COMMA = re.compile(r", ")
_REST = re.compile(r"and \d+ more\.?")
_RANGE = re.compile(r" \((?:95 %|\d+ repeats): [^()]*\)")
FIRST_WORDS_MAX = 30
_SENTENCE_WORDS_MIN = 4
NAME_LETTERS_MAX = 64


def word_count(texts: Iterable[str]) -> int:
    """Words of several texts together."""
    return sum(len(text.split()) for text in texts)


def capitalised(text: str) -> str:
    """The text with a capital at its beginning, and no other letter changed; names that are written small have none."""
    return text if _SMALL_NAME.match(text) else text[:1].upper() + text[1:]


def shortened(name: str) -> str:
    """A name on one line, and not longer than a sentence bears."""
    line = " ".join(name.split())
    return line if len(line) <= NAME_LETTERS_MAX else f"{line[: NAME_LETTERS_MAX - 1]}…"


def name_in(label: str) -> str:
    """The name of a workload without what it does: of ``PostgreSQL: 8 KiB over written space`` the first word."""
    return label.partition(": ")[0]


def shared_beginning(texts: Sequence[str]) -> tuple[str, list[str]]:
    """The words with which several texts begin, and what is behind them in each; none where a text has no others."""
    words = [text.split() for text in texts]
    columns = [{word.rstrip(",:;") for word in column} for column in zip(*words, strict=False)]
    count = next((place for place, column in enumerate(columns) if len(column) > 1), len(columns))
    if not count or any(len(one) == count for one in words):
        return "", list(texts)
    return " ".join(words[0][:count]).rstrip(",:;"), [" ".join(one[count:]) for one in words]


def in_any_of(count: int, noun: str) -> str:
    """``in any of 5 workloads``, ``in either workload``: where nothing was found."""
    return f"in either {noun}" if count == 2 else f"in any of {count} {noun}s"


def parts_within(text: str, length_max: int) -> str:
    """The parts of a text that fit, without a point at its end; all of it where not even the first part does."""
    return _within(text, length_max, _END_OF_PART, len(text.removesuffix(".")))


def clauses_within(text: str, length_max: int) -> str:
    """The same, ended only where a clause ends."""
    return _within(text, length_max, _END_OF_CLAUSE, len(text))


def clauses_in_lines(text: str, lines_of: Callable[[str], list[str]], count_max: int) -> list[str]:
    """The lines of as many clauses of a text as have room in so many; none where not even the first clause has."""
    ends = [len(text), *(found.start() for found in reversed(list(_END_OF_CLAUSE.finditer(text))))]
    return next((lines for end in ends if len(lines := lines_of(text[:end])) <= count_max), [])


def first_in_few_words(sentences: Sequence[str]) -> tuple[str, ...]:
    """The sentences, the first of which says what a reader takes in at once: what is behind it becomes the second.

    It ends where a clause does; where that is not enough its ranges and settings are left to the tables, and at last
    it ends at a comma.
    """
    first, *others = sentences or ("",)
    if len(first.split()) <= FIRST_WORDS_MAX:
        return tuple(sentences)
    bare = _RANGE.sub("", first)
    for text, end in ((first, _END_OF_CLAUSE), (bare, _END_OF_CLAUSE), (bare, _COMMA)):
        if len(text.split()) <= FIRST_WORDS_MAX:
            return (text, *others)
        found = [one for one in end.finditer(text) if _is_outside(text, one.start())]
        fitting = [one for one in found if len(text[: one.start()].split()) <= FIRST_WORDS_MAX]
        # a word or two behind a comma are no sentence
        fitting = [one for one in fitting if end is not _COMMA or len(text[one.end() :].split()) >= _SENTENCE_WORDS_MIN]
        if fitting:
            begin, behind = fitting[-1].span()
            # that there is more in the tables is no sentence
            rest = [] if _REST.fullmatch(text[behind:]) else [capitalised(text[behind:])]
            return (f"{text[:begin]}.", *rest, *others)
    return tuple(sentences)


def _is_outside(text: str, place: int) -> bool:
    """Whether no parenthesis is open there."""
    return text.count("(", 0, place) == text.count(")", 0, place)


def _within(text: str, length_max: int, end: re.Pattern[str], whole: int) -> str:
    starts = (found.start() for found in end.finditer(text))
    ends = [start for start in starts if _is_outside(text, start)]
    return text[: max((one for one in (*ends, whole) if one <= length_max), default=whole)]
