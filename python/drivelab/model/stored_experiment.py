"""An experiment as ``run.json`` has it: read leniently, since an older or a newer drivelab may have written it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# the experiment that answers with where the time goes
EXPLAIN = "explain"
# its only workload, whatever is issued
EXPLAINED = "explained"

_NAMES_AND_LENGTHS = frozenset(("name", "title", "runtime", "interval", "quick"))
# workloads at the same time that a title names
_NAMED_MAX = 3


def factor_levels(experiment: Mapping[str, Any], *, is_quick: bool = False) -> dict[str, tuple[str, ...]]:
    """Names of the levels of every factor, in the order of the experiment's file."""
    found: dict[str, tuple[str, ...]] = {}
    for factor in experiment.get("factors", ()):
        name = factor["key"] if factor["setting"] == "workload" else factor["setting"]
        levels = (factor.get("quick_levels") if is_quick else None) or factor.get("levels", ())
        # workloads may have levels of their own
        found[name] = tuple(dict.fromkeys((*found.get(name, ()), *(_name_of(level) for level in levels))))
    return found


def _name_of(level: Any) -> str:
    if isinstance(level, Mapping):
        return str(level.get("name"))
    return str(level).lower() if isinstance(level, bool) else str(level)


def workload_titles(experiment: Mapping[str, Any]) -> dict[str, str]:
    """What each workload is called for people, by its name; with those that run at the same time."""
    workloads = list(experiment.get("workloads", ()))
    found = {}
    for workload in workloads:
        name = workload.get("together")
        unit = [one for one in workloads if name and one.get("together") == name] or [workload]
        titles = [str(one.get("title") or one["name"]) for one in unit]
        found[workload["name"]] = titled(titles, unit.index(workload))
    return found


def done_again(experiment: Mapping[str, Any]) -> dict[str, str]:
    """Workloads that do the same as an earlier one behind others that do something else, with that one."""
    done = [
        (str(one["name"]), {key: value for key, value in one.items() if key not in ("name", "title")})
        for one in experiment.get("workloads", ())
    ]
    found = {}
    for place, (name, what) in enumerate(done):
        earlier = [at for at, (_, other) in enumerate(done[:place]) if other == what]
        if earlier and earlier[-1] < place - 1:
            found[name] = done[earlier[-1]][0]
    return found


def done_afterwards(experiment: Mapping[str, Any]) -> dict[str, str]:
    """Workloads by which rounds are judged that are done once more behind all rounds, for another time."""
    what = {
        str(one["name"]): {key: value for key, value in one.items() if key not in _NAMES_AND_LENGTHS}
        for one in experiment.get("workloads", ())
    }
    phases = experiment.get("phases") or ()
    # of a grid one place alone is judged, and what is done behind it is at another one
    varied = {
        name
        for factor in experiment.get("factors", ())
        if factor.get("setting") == "workload"
        for name in factor.get("workloads") or what
    }
    found: dict[str, str] = {}
    for place, phase in enumerate(phases):
        later = [str(name) for one in phases[place + 1 :] for name in one.get("workloads", ())]
        for name in (str(one.get("workload")) for one in phase.get("track") or ()):
            same = [other for other in later if {name, other} <= {*what} - varied and what[other] == what[name]]
            found |= {name: same[-1]} if same else {}
    return found


def titled(titles: Sequence[str], place: int) -> str:
    """One of the titles of workloads that run at the same time: with the others, if they are few."""
    others = [title for number, title in enumerate(titles) if number != place]
    if not others:
        return titles[place]
    named = ", ".join(others) if len(others) <= _NAMED_MAX else f"{len(others)} others"
    return f"{titles[place]} (with {named})"


def asks_total_time(experiment: Mapping[str, Any]) -> bool:
    """Whether an experiment, as ``run.json`` has it, asks how long whole tasks take."""
    return "total-time" in experiment.get("figures", ())
