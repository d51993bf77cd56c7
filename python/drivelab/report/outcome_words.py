"""The outcome of a judgement in words: the one place for them, whatever shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drivelab.model.units import format_quantity
from drivelab.model.verdict import COMMITS

WORDS = {"pass": "Yes", "fail": "No", "undecided": "Undecided", "no_limit": "No published limit"}
# one for each need; of several that end differently the sentence tells each. Where there is room for a few letters
SHORT_WORDS = WORDS | {"undecided": "?", "no_limit": "-"}
SIGNS = {"pass": "✓", "fail": "✗", "undecided": "?", "no_limit": "–"}
OF_A_LIMIT = {"pass": "✓ met", "fail": "✗ not met", "undecided": "? undecided"}
_IN_A_LIST = {"pass": "yes", "fail": "no", "undecided": "undecided"}


def short_verdict(verdict: Mapping[str, Any]) -> str:
    """The verdict of a check as it is stored, in a few words; empty where there is none.

    ``yes: etcd``, ``yes: PostgreSQL 300/s, wanted 250/s``,
    ``no: PostgreSQL 991/s, wanted 2 000/s``, ``PostgreSQL 730/s``, ``fit for 4 of 5, no: Consul``.
    """
    if verdicts := verdict.get("verdicts"):
        found = {
            word: [_title(one) for one in verdicts if one.get("outcome") == key] for key, word in _IN_A_LIST.items()
        }
        judged = sum(map(len, found.values()))
        counted = {"yes": f"fit for {len(found['yes'])} of {judged}"}
        told = {word: titles for word, titles in found.items() if titles}
        return ", ".join(
            f"{word}: {titles[0]}" if len(titles) == 1 else counted.get(word, f"{word}: {len(titles)}")
            for word, titles in told.items()
        )
    title, outcome = _title(verdict), verdict.get("outcome")
    if not title:
        return ""
    if outcome not in _IN_A_LIST:
        commits = (verdict.get("forecast") or {}).get("commits_per_s") or {}
        if commits.get("value") is None:
            return str(verdict.get("sentence") or title).partition(", ")[0]
        left = (verdict.get("forecast") or {}).get("lasting_commits_per_s")
        return f"{title} {_quantity(left or commits['value'], '1/s')}"
    checks = verdict.get("checks") or ()
    deciding = [one for one in checks if one.get("outcome") == outcome != "pass"]
    # a rate that somebody asked for is told, also where it is reached
    deciding += [one for one in checks if (one.get("threshold") or {}).get("metric") == COMMITS]
    return f"{_IN_A_LIST[outcome]}: {title}{_short_of(deciding[0]) if deciding else ''}"


def outcome_on(verdict: Mapping[str, Any], name: str) -> str:
    """The outcome of one need on one drive: ``no on sdb (120/s, wanted 1 000/s)``, ``yes on sdb``."""
    outcome = verdict.get("outcome", "")
    missed = [one for one in verdict.get("checks") or () if one.get("outcome") == outcome != "pass"]
    why = _short_of(missed[0]).strip() if missed else ""
    return f"{_IN_A_LIST.get(outcome, 'no limit')} on {name}{f' ({why})' if why else ''}"


def _title(verdict: Mapping[str, Any]) -> str:
    return str(verdict.get("title") or verdict.get("need") or "")


def _quantity(value: float, unit: str) -> str:
    return f"{format_quantity(value, unit)}{'/s' * (unit == '1/s')}"


def _short_of(check: Mapping[str, Any]) -> str:
    """`` 991/s, wanted 990/s``; empty where nothing was measured."""
    threshold, estimate = check.get("threshold") or {}, check.get("estimate") or {}
    if estimate.get("value") is None:
        return ""
    unit = str(estimate.get("unit") or "")
    # what was missed is what lasts
    measured = check.get("lasting_per_s") or estimate["value"]
    value, limit = (_quantity(number, unit) for number in (measured, threshold.get("limit") or 0.0))
    return f" {value}, {'limit' if threshold.get('direction') == 'at_most' else 'wanted'} {limit}"
