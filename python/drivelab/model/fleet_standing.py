"""How a fleet stands while it is measured: how many targets are done, and what those at work come to together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from drivelab.model.fleet_plan import FleetItem

# from this size on what is told of an operation are the bytes that it moves
_LARGE_BYTES = 65536
# its time is its own, so its rate adds to nobody's
_SIMULATED = "sim:"


@dataclass(frozen=True, slots=True)
class Pace:
    """How a target is measured, as its host told last.

    Attributes
    ----------
    told_s : float
        When that was, by any clock that only goes on, in seconds.
    left_ns : int or None
        The time left then; None where it is not known.
    operations_per_s, bytes_per_s : float
        Rates since it was told the time before; 0 while nothing is measured.
    """

    told_s: float
    left_ns: int | None = None
    operations_per_s: float = 0.0
    bytes_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class FleetStanding:
    """How a fleet stands.

    Attributes
    ----------
    targets, complete, measuring, failed, cut_off, waiting : int
        Targets that are known, and how many are in which state.
    hosts_awaited, hosts_gone : int
        Hosts of which nothing is known yet, and those that could not be asked, or left.
    paced : int
        Targets at work whose rates are known: what the sums are of.
    operations_per_s, bytes_per_s : float
        What these come to together.
    is_of_bytes : bool
        Whether bytes are what adds up: operations are large, or those of one target are and those of another are not.
    left_ns : int or None
        The time left of the host that takes longest; None where that of some target is not known.
    """

    targets: int
    complete: int
    measuring: int
    failed: int
    cut_off: int
    waiting: int
    hosts_awaited: int
    hosts_gone: int
    paced: int
    operations_per_s: float
    bytes_per_s: float
    is_of_bytes: bool
    left_ns: int | None

    def to_json(self) -> dict[str, Any]:
        """As it is printed."""
        return asdict(self)


def standing_of(
    reasons: Mapping[str, str], items: Mapping[str, FleetItem], paces: Mapping[str, Pace], now_s: float, fresh_s: float
) -> FleetStanding:
    """How a fleet stands now.

    Parameters
    ----------
    reasons : mapping of str to str
        Why hosts could not be asked, by name; empty where they could, or may still.
    items, paces : mapping of str to FleetItem, mapping of str to Pace
        By key.
    now_s : float
        By the clock of the paces, in seconds.
    fresh_s : float
        What was told longer ago says nothing about now.
    """
    count = Counter(item.state for item in items.values())
    known = [
        pace
        for item in items.values()
        if item.state == "measuring" and not item.target.startswith(_SIMULATED)
        if (pace := paces.get(item.key)) is not None
        if pace.operations_per_s and now_s - pace.told_s <= fresh_s
    ]
    asked = {item.host for item in items.values()}
    return FleetStanding(
        targets=len(items),
        complete=count["complete"],
        measuring=count["measuring"],
        failed=count["failed"],
        cut_off=count["cut_off"],
        waiting=count["planned"],
        hosts_awaited=sum(not reason and name not in asked for name, reason in reasons.items()),
        hosts_gone=sum(map(bool, reasons.values())),
        paced=len(known),
        operations_per_s=sum(pace.operations_per_s for pace in known),
        bytes_per_s=sum(pace.bytes_per_s for pace in known),
        is_of_bytes=any(pace.bytes_per_s >= _LARGE_BYTES * pace.operations_per_s for pace in known),
        left_ns=_left_ns(items.values(), paces, now_s),
    )


def _left_ns(items: Iterable[FleetItem], paces: Mapping[str, Pace], now_s: float) -> int | None:
    """The time left: targets of one host are measured one after the other."""
    hosts: Counter[str] = Counter()
    for item in items:
        if item.state not in ("measuring", "planned"):
            continue
        pace = paces.get(item.key) if item.state == "measuring" else None
        if pace is not None and pace.left_ns is not None:
            hosts[item.host] += max(0, pace.left_ns - round((now_s - pace.told_s) * 1e9))
        elif item.plan is not None:
            hosts[item.host] += item.plan.expected_ns
        else:
            return None
    return max(hosts.values(), default=None)
