"""Tells on stderr how a fleet goes: redrawn on a terminal, else a line for each change; or as lines of JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.fleet_live import live_lines
from drivelab.report.terminal.fleet_plan import fleet_plan_lines
from drivelab.streams import make_console

if TYPE_CHECKING:
    from drivelab.fleet.book import FleetBook

_DRAWN_PER_S = 2
# all items are looked at for it
_STANDING_AFTER_S = 1.0


class Teller(Protocol):
    """Is told of every change."""

    def tell(self, key: str) -> None:
        """Say what became of an item, or of a host."""

    def announce(self, hosts: Sequence[str], unknown_lines: Sequence[str]) -> None:
        """Say what hosts are going to do, and of which lines of the erase list nobody knows yet what they mean."""


@contextmanager
def telling(book: FleetBook, *, as_json: bool) -> Iterator[Teller]:
    """Whoever tells how a fleet goes, while the block runs."""
    if as_json:
        events = _JsonTeller(book)
        yield events
        events.tell_standing()
        return
    teller = _LineTeller(book)
    if not sys.stderr.isatty():
        yield teller
        return
    with _drawn(book):
        yield teller


@contextmanager
def _drawn(book: FleetBook) -> Iterator[None]:
    """What is being measured, redrawn below the lines about what has ended."""
    # imported here: what is piped needs no terminal library
    from rich.live import Live
    from rich.text import Text

    console = make_console(sys.stderr)
    plain = not console.encoding.startswith("utf")

    def look() -> Text:
        items = list(book.fleet.items.values())
        lines = live_lines(book.standing(), items, console.width, console.height, plain=plain)
        return Text("\n".join(lines), no_wrap=True, overflow="crop")

    with Live(console=console, transient=True, refresh_per_second=_DRAWN_PER_S, get_renderable=look):
        yield


class _LineTeller:
    """Writes a line for each item that begins or ends, and each host that cannot be asked."""

    def __init__(self, book: FleetBook) -> None:
        self._book = book
        self._told: dict[str, str] = {}

    def tell(self, key: str) -> None:
        """Say what became of an item, or of a host."""
        fleet = self._book.fleet
        if fleet.work.begins_together and all(item.state in ("planned", "failed") for item in fleet.items.values()):
            # why nothing begins is what the answer says, at once
            return
        if key in fleet.hosts:
            self._tell_host(key, fleet.hosts[key].reason)
            return
        item = fleet.items[key]
        if item.state == "planned":
            # nothing has come of it yet
            return
        said = item.reason or item.answer
        told = f", but {item.doubt}" if item.doubt else f": {said}" if said else ""
        self._line(key, f"{key}: {item.state.replace('_', ' ')}{told}")

    def _tell_host(self, name: str, reason: str) -> None:
        """Say why a host was not asked to the end, if none of its targets has said it."""
        if not any(item.reason == reason for item in self._book.items_of(name) if item.key in self._told):
            self._line(name, f"{name}: {reason}")

    def announce(self, hosts: Sequence[str], unknown_lines: Sequence[str]) -> None:
        """Say what hosts are going to do; where that is to read alone, nothing."""
        items = [item for name in hosts for item in self._book.items_of(name) if item.state != "complete"]
        if any(item.plan and (item.plan.erases or item.plan.refused) for item in items) or unknown_lines:
            asked, plain = self._book.fleet.hosts_left, not make_console(sys.stderr).encoding.startswith("utf")
            lines = fleet_plan_lines(items, {}, {}, unknown_lines, asked=asked, plain=plain)
            print("\n".join(lines), file=sys.stderr, flush=True)

    def _line(self, key: str, line: str) -> None:
        if self._told.get(key) != line:
            self._told[key] = line
            # a host may send several lines, which would look like others'
            print(terminal_text(" ".join(line.split()), plain=False), file=sys.stderr, flush=True)


class _JsonTeller:
    """Writes a line of JSON for each change."""

    def __init__(self, book: FleetBook) -> None:
        self._book = book
        self._told_at = 0.0

    def tell(self, key: str) -> None:
        """Say what became of an item, or of a host."""
        fleet = self._book.fleet
        event: Mapping[str, Any]
        if key in fleet.hosts:
            event = {"host": key, "reason": fleet.hosts[key].reason}
        else:
            item = fleet.items[key]
            names = ("state", "reason", "now", "answer", "doubt", "outcome", "why", "run", "gathered")
            event = {"host": item.host, "item": key, **{name: getattr(item, name) for name in names}}
        self._line(event)
        if time.monotonic() - self._told_at >= _STANDING_AFTER_S:
            self.tell_standing()

    def tell_standing(self) -> None:
        """Say how the fleet stands."""
        self._told_at = time.monotonic()
        self._line({"fleet": self._book.standing().to_json()})

    def announce(self, hosts: Sequence[str], unknown_lines: Sequence[str]) -> None:
        """Say what hosts are going to do."""
        items = [item for name in hosts for item in self._book.items_of(name)]
        plans = {item.key: asdict(item.plan) for item in items if item.plan and item.state != "complete"}
        self._line({"hosts": list(hosts), "plans": plans, "lines_not_known": list(unknown_lines)})

    def _line(self, event: Mapping[str, Any]) -> None:
        print(json.dumps({"event": event}), file=sys.stderr, flush=True)
