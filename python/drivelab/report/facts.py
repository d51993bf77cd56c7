"""What was recorded about host, drives and settings, as names and values for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.model.units import format_bytes, format_duration_ns, format_rate_bytes_per_s
from drivelab.report.numerals import count_text, number_text

# recorded, and shown elsewhere on the page or too long for it
_ELSEWHERE = ("schema", "question", "title", "findings", "verdict", "failures", "summaries", "trials", "steps")
# longest first: bytes_per_s before s
_UNITS = ("bytes_per_s", "bits_per_s", "per_s", "bytes", "ns", "s", "ppm", "hz")
_LONGEST = 400
_OPEN_AT_MOST = 24


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts that belong together, under a name."""

    name: str
    facts: tuple[tuple[str, str], ...]

    @property
    def is_long(self) -> bool:
        """Whether it is folded up until a reader asks for it."""
        return len(self.facts) > _OPEN_AT_MOST


def fact_groups(facts: Mapping[str, Any]) -> list[FactGroup]:
    """The facts of a run.json in groups: one per mapping, and one for everything that stands alone."""
    groups: list[FactGroup] = []
    alone: dict[str, Any] = {}
    for key, value in facts.items():
        if key in _ELSEWHERE:
            continue
        if key == "targets" and _is_list_of_mappings(value):
            groups += [group for target in value for group in _target_groups(target)]
        elif isinstance(value, Mapping):
            groups.append(FactGroup(words(key), tuple(fact_rows(value))))
        elif _is_list_of_mappings(value):
            groups += [FactGroup(name, tuple(fact_rows(item))) for name, item in _numbered(words(key), value)]
        else:
            alone[key] = value
    first = [FactGroup("run", tuple(fact_rows(alone)))]
    return [group for group in [*first, *groups] if group.facts]


def _target_groups(target: Mapping[str, Any]) -> Iterator[FactGroup]:
    """A target with everything beneath it, as it was before the run, and what was different after it."""
    before = target.get("facts_before") or target
    after = target.get("facts_after")
    own = {key: value for key, value in before.items() if not _is_nested(value)}
    yield FactGroup(f"target {target.get('label', '')}".strip(), tuple(fact_rows(own)))
    for key, value in before.items():
        if isinstance(value, Mapping):
            yield FactGroup(words(key), tuple(fact_rows(value)))
        elif _is_list_of_mappings(value):
            for item in value:
                yield FactGroup(f"{words(key).removesuffix('s')} {item.get('name', '')}", tuple(fact_rows(item)))
    if isinstance(after, Mapping):
        yield FactGroup("changed during the run", tuple(changed_facts(before, after)))


def changed_facts(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The facts that are not what they were: ``before → after``."""
    then, now = dict(fact_rows(before)), dict(fact_rows(after))
    for name in dict.fromkeys([*then, *now]):
        if then.get(name) != now.get(name):
            yield name, f"{then.get(name, 'nothing')} → {now.get(name, 'nothing')}"


def fact_rows(facts: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Names and values of a mapping, its inner mappings flattened; what is unknown says why.

    Parameters
    ----------
    facts : mapping
        Plain data; keys carry their unit (``size_bytes``), and ``unknown`` holds reasons by key.
    above : str
        Name of what the facts belong to.
    """
    reasons = facts.get("unknown", {})
    for key, value in facts.items():
        if key == "unknown" or key in _ELSEWHERE:
            continue
        name = f"{above} · {words(key)}" if above else words(key)
        if isinstance(value, Mapping):
            yield from fact_rows(value, name)
        elif _is_list_of_mappings(value):
            for inner, item in _numbered(name, value):
                yield from fact_rows(item, inner)
        elif value is None:
            reason = reasons.get(key) if isinstance(reasons, Mapping) else None
            yield name, f"unknown: {reason}" if reason else "unknown"
        elif value not in ("", [], ()):
            yield name, fact_text(key, value)


def words(key: str) -> str:
    """A key for people: ``logical_block_size_bytes`` is ``logical block size``."""
    unit = _unit_of(key)
    tokens = f"_{key}_".replace(f"_{unit}_", "_", 1) if unit else f"_{key}_"
    return tokens.strip("_").removeprefix("is_").replace("_", " ") or key


def fact_text(key: str, value: Any) -> str:
    """A value for people, in the unit that its key carries."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number_text(key, value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _shortened(", ".join(fact_text("", item) for item in value))
    return _shortened(str(value))


def _unit_of(key: str) -> str:
    """The unit that a key carries; ``bytes`` alone is a quantity of its own."""
    return next((unit for unit in _UNITS if f"_{unit}_" in f"{key}_"), "")


def _number_text(key: str, value: float) -> str:
    unit = "bytes" if key == "bytes" else _unit_of(key)
    if unit == "bytes_per_s":
        return format_rate_bytes_per_s(value)
    if unit == "bits_per_s":
        return f"{number_text(value / 1e9)} Gbit/s"
    if unit == "bytes":
        return f"{format_bytes(value)} ({count_text(value)} B)" if value >= 2**20 else format_bytes(value)
    if unit == "ns":
        return format_duration_ns(value)
    text = number_text(value, 6) if isinstance(value, float) else str(value)
    return f"{text} {({'per_s': 'per second', 'hz': 'Hz'}).get(unit, unit)}".strip()


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping) or _is_list_of_mappings(value)


def _is_list_of_mappings(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _numbered(name: str, items: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(f"{name} {number}" if len(items) > 1 else name, item) for number, item in enumerate(items, start=1)]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
