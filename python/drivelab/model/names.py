"""Names: each meaning one thing, guessed from what was typed, or several of them in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from itertools import chain, count


def did_you_mean(written: str, known: Sequence[str]) -> str:
    """The known name that looks most like what was written, as a question; empty where none does."""
    near = get_close_matches(written, known, n=1)
    return f"did you mean {near[0]}?" if near else ""


def names_in_words(names: Sequence[str]) -> str:
    """``a, b and c``; one name as it is."""
    return _joined(names, " and ")


def some_in_words(names: Sequence[str]) -> str:
    """``a, b and c``; of more than four the first three: ``a, b, c and 37 more``."""
    return names_in_words(
        names if len(names) <= _NAMED_MAX else [*names[: _NAMED_MAX - 1], f"{len(names) - _NAMED_MAX + 1} more"]
    )


def either_in_words(names: Sequence[str]) -> str:
    """``a, b or c``; one name as it is."""
    return _joined(names, " or ")


def _joined(names: Sequence[str], last: str) -> str:
    return last.join(filter(None, (", ".join(names[:-1]), *names[-1:])))


# more names than these a sentence does not bear
_NAMED_MAX = 4
# what one does, by what several do
_OF_ONE = {"are": "is", "were": "was", "have": "has", "do not": "does not", "hold": "holds", "lack": "lacks"}


def in_number(number: int, word: str) -> str:
    """A noun of one, or a verb of several, as it is for so many: ``runs`` for ``run``, ``is`` for ``are``."""
    if word in _OF_ONE:
        return _OF_ONE[word] if number == 1 else word
    return word if number == 1 else f"{word}{'es' if word.endswith('s') else 's'}"


def counted(number: int, noun: str, verb: str = "") -> str:
    """``1 run``, ``2 runs``, ``2 processes``; with what several of them do ``1 run is``, ``2 runs are``."""
    return " ".join(filter(None, (str(number), in_number(number, noun), in_number(number, verb) if verb else "")))


def counted_of(part: int, whole: int, noun: str, verb: str = "") -> str:
    """``1 of 2 runs is``, ``0 of 2 runs are``, ``0 of 1 run is``: from what several do, or without a verb."""
    told = f"{part} of {counted(whole, noun)}"
    return f"{told} {in_number(1 if whole == 1 else part, verb)}" if verb else told


def free_name(wanted: str, taken: Collection[str], form: str = "{}-{}") -> str:
    """The name, or the first of ``NAME-2``, ``NAME-3``, ... that nobody has."""
    return next(name for name in chain([wanted], (form.format(wanted, n) for n in count(2))) if name not in taken)


def names_apart(names: Sequence[str], *endings: Sequence[str]) -> list[str]:
    """The names, those that several share with the first endings that differ among them.

    Parameters
    ----------
    names : sequence of str
        In any order.
    *endings : sequence of str
        One for each name; the later ones are for what the first leave alike.
    """
    found = list(names)
    for column in endings:
        places: dict[str, list[int]] = {}
        for place, name in enumerate(found):
            places.setdefault(name, []).append(place)
        for alike in places.values():
            if len({column[place] for place in alike}) > 1:
                for place in alike:
                    found[place] += column[place]
    return found


def of_all(count: int, of: int) -> str:
    """``2 of 3``, ``both``, ``all 5``."""
    if count < of:
        return f"{count} of {of}"
    return "both" if of == 2 else f"all {of}"


def in_brackets(names: Iterable[str]) -> str:
    """`` (stress, make)``, to stand behind the word for them; nothing without names."""
    listed = ", ".join(names)
    return f" ({listed})" if listed else ""
