"""The run was cut off and went on later: its sessions may not have met the same computer."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from itertools import pairwise

from drivelab.analyse.run_evidence import RunEvidence, Session
from drivelab.model.finding import Finding, Severity

CODE = "run-resumed"
_SYSTEM = {"kernel_release": "the kernel", "boot_id": "the boot"}


def find_in_run(evidence: RunEvidence) -> list[Finding]:
    """More than one session: how long lay between them, and what differed as far as it is known."""
    sessions = evidence.sessions()
    if len(sessions) < 2:
        return []
    gaps = [max(timedelta(), after.begin - before.end) for before, after in pairwise(sessions)]
    between = ", ".join(_duration(gap) for gap in gaps)
    differing = [*_system_differences(sessions), *_found_differences(sessions)]
    text = f"measured in {len(sessions)} sessions with {between} between"
    if differing:
        text += f"; they differ: {'; '.join(differing)}"
    facts = {
        "sessions": len(sessions),
        "gaps_s": [round(gap.total_seconds(), 3) for gap in gaps],
        "differing": differing,
    }
    severity: Severity = "warning" if differing else "note"
    advice = "compare trials of one session only (the effects are), or run it again as a whole" if differing else ""
    return [Finding(CODE, severity, text, "", facts, advice)]


def _system_differences(sessions: Iterable[Session]) -> list[str]:
    found = []
    for name, words in _SYSTEM.items():
        values = [session.system[name] for session in sessions if name in session.system]
        if _differ(values):
            # the name of a boot says nothing to anybody
            told = "" if name == "boot_id" else f" ({' -> '.join(_joined(each) for each in values)})"
            found.append(f"{words}{told}")
    return found


def _found_differences(sessions: Iterable[Session]) -> list[str]:
    places = list(dict.fromkeys(place for session in sessions for place in session.found))
    found = []
    for target, name in places:
        values = [session.found[target, name] for session in sessions if (target, name) in session.found]
        if _differ(values):
            found.append(f"{name} of {target} as found ({' -> '.join(_joined(each) for each in values)})")
    return found


def _differ(values: list[set[str]]) -> bool:
    return any(each != values[0] for each in values[1:])


def _joined(values: set[str]) -> str:
    return " and ".join(sorted(values))


def _duration(gap: timedelta) -> str:
    """``3 h 10 min``, ``2 d 4 h``, ``50 s``: the two largest units."""
    seconds = round(gap.total_seconds())
    parts = []
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        number, seconds = divmod(seconds, length)
        parts.append((number, unit))
    first = next((place for place, (number, _) in enumerate(parts) if number), len(parts) - 1)
    told = [f"{number} {unit}" for number, unit in parts[first : first + 2] if number]
    return " ".join(told) or "0 s"
