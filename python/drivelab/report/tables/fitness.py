"""What drives that were checked are fit for: needs as rows, drives as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from drivelab.model.names import names_in_words
from drivelab.model.verdict import verdicts_in
from drivelab.report.content import ReportContent
from drivelab.report.numerals import number_text, typeset
from drivelab.report.outcome_words import SHORT_WORDS, WORDS, outcome_on
from drivelab.report.parts_of_text import FIRST_WORDS_MAX, shortened
from drivelab.report.tables.table import Table, TableCell, TableColumn

KEY = "fitness"
_UNDECIDED = "?: undecided, and the report of that run alone says why."
_LEFT_OUT = "Needs without a published limit are left out."
NOT_ASKED, _UNASKED = "–", "–: it was not asked of that drive."
_TOLD_MAX = 4
_AT_FIRST = "at first "


def fitness_table(runs: Sequence[ReportContent], names: Sequence[str]) -> Table | None:
    """Whether each drive is fit for each need.

    Parameters
    ----------
    names : sequence of str
        What to call the drive of each.

    Returns
    -------
    Table or None
        None where fewer than two runs judged a need that has a limit.
    """
    checked = _checked(runs, names)
    if len(checked) < 2:
        return None
    titles = {need: title for _, found in checked for need, (title, _) in found.items()}
    rows = tuple(
        (
            TableCell(title),
            *(TableCell(SHORT_WORDS.get(found[need][1], "") if need in found else NOT_ASKED) for _, found in checked),
        )
        for need, title in titles.items()
    )
    columns = (TableColumn("fit for"), *(TableColumn(name) for name, _ in checked))
    is_open = any(cell.text == SHORT_WORDS["undecided"] for row in rows for cell in row)
    is_unasked = any(cell.text == NOT_ASKED for row in rows for cell in row)
    note = " ".join([*([_UNDECIDED] if is_open else []), _LEFT_OUT, *([_UNASKED] if is_unasked else [])])
    return Table(KEY, "What each drive is fit for", columns, rows, caption=note)


def needs_table(run: ReportContent) -> Table | None:
    """What a drive is fit for, and what decided it; None where fewer than two needs were judged."""
    judged = [one for one in verdicts_in(run.verdict) if one.get("outcome") in SHORT_WORDS]
    if len(judged) < 2:
        return None
    rows = []
    for one in judged:
        title = str(one.get("title") or one.get("need", ""))
        why = str(one.get("sentence", "")).removeprefix(f"{title}: ").removeprefix(f"{title} ")
        rows.append((TableCell(title), TableCell(WORDS[one["outcome"]]), TableCell(typeset(why))))
    return Table(KEY, "What it is fit for", (TableColumn("need"), TableColumn("fit"), TableColumn("why")), tuple(rows))


def fitness_sentence(runs: Sequence[ReportContent], names: Sequence[str], lead: str = "") -> str:
    """How many needs each drive meets of those that all were held against, the fittest first; empty without any.

    Parameters
    ----------
    names : sequence of str
        What to call the drive of each.
    lead : str
        Which drive is faster: told where all are fit for all.
    """
    checked = _checked(runs, names)
    shared = set.intersection(*(set(found) for _, found in checked)) if len(checked) > 1 else set()
    if not shared:
        return _forecasts(runs, names)
    if len(shared) == 1:
        (need,) = shared
        told = [outcome_on(one, name) for run, name in zip(runs, names, strict=True) for one in _of_need(run, need)]
        return f"{checked[0][1][need][0]}: {', '.join(told[:_TOLD_MAX])}."
    counted = [(name, Counter(found[need][1] for need in shared)) for name, found in checked]
    counted.sort(key=lambda one: (-one[1]["pass"], one[1]["fail"]))
    if all(counts["pass"] == len(shared) for _, counts in counted):
        which = "Both" if len(counted) == 2 else f"All {len(counted)}"
        fit = f"{which} are fit for all {len(shared)} needs"
        told_with = f"{fit}; {lead}."
        return told_with if lead and len(told_with.split()) <= FIRST_WORDS_MAX else f"{fit}."
    told = [
        f"{name} is fit for {counts['pass']} of {len(shared)} needs{_open_words(counts['undecided'])}"
        for name, counts in counted[:_TOLD_MAX]
    ]
    if len(counted) > _TOLD_MAX:
        told.append(f"{len(counted) - _TOLD_MAX} more are fit for as many or fewer")
    return f"{', '.join(told)}."


def _forecasts(runs: Sequence[ReportContent], names: Sequence[str]) -> str:
    """``PostgreSQL would commit 991 times a second (871 to 1 010) on A and 120 (118 to 120) on B``; empty without."""
    by_need: dict[str, list[tuple[float, Mapping[str, Any], str]]] = {}
    for run, name in zip(runs, names, strict=True):
        for one in verdicts_in(run.verdict):
            if (told := one.get("forecast")) and (value := (told.get("commits_per_s") or {}).get("value")):
                title = str(one.get("title") or one.get("need", ""))
                by_need.setdefault(title, []).append((-(told.get("lasting_commits_per_s") or value), told, name))
    for title, found in by_need.items():
        if len(found) == len(runs) > 1:
            ranked = sorted(found, key=lambda one: one[0])[:_TOLD_MAX]
            sentences = [
                f"{title} would commit "
                + names_in_words([_rate_on(*one[1:], with_span=span, is_first=one is ranked[0]) for one in ranked])
                + "."
                for span in (True, False)
            ]
            return next((one for one in sentences if len(one.split()) <= FIRST_WORDS_MAX), sentences[-1])
    return ""


def _rate_on(told: Mapping[str, Any], name: str, *, with_span: bool, is_first: bool) -> str:
    """``991 (871 to 1 010) on A``; of a burst what lasts, ``300 on A (729 at first)``."""
    rate, left = told["commits_per_s"], told.get("lasting_commits_per_s")
    ends = [number_text(rate[end]) for end in ("low", "high") if rate.get(end)]
    span = f" ({' to '.join(ends)})" if with_span and len(ends) == 2 and not left else ""
    begun = _AT_FIRST * (not left and _AT_FIRST in str(told.get("text", "")))
    before = f" ({number_text(rate['value'])} at first)" if left else ""
    often = " times a second" if is_first else ""
    return f"{begun}{number_text(left or rate['value'])}{span}{often} on {shortened(name)}{before}"


def _of_need(run: ReportContent, need: str) -> list[Mapping[str, Any]]:
    return [one for one in verdicts_in(run.verdict) if one.get("need") == need]


def _open_words(count: int) -> str:
    """What is undecided is no miss: `` (4 undecided)``."""
    return f" ({count} undecided)" if count else ""


_Found = Mapping[str, tuple[str, str]]


def _checked(runs: Sequence[ReportContent], names: Sequence[str]) -> list[tuple[str, _Found]]:
    """Of each run that judged: title and outcome by need."""
    found = ((shortened(name), dict(_judged(run.verdict))) for run, name in zip(runs, names, strict=True))
    return [(name, judged) for name, judged in found if judged]


def _judged(verdict: Mapping[str, Any] | None) -> Iterator[tuple[str, tuple[str, str]]]:
    for one in verdicts_in(verdict):
        if one.get("need") and one.get("outcome") in {"pass", "fail", "undecided"}:
            yield str(one["need"]), (str(one.get("title") or one["need"]), str(one["outcome"]))
