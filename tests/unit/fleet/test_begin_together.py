"""Hosts that were to begin together: why none did names all that could not."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

from drivelab.fleet.begin_together import measure_together
from drivelab.fleet.book import FleetBook
from drivelab.fleet.centre import Centre, HostGone
from drivelab.fleet.conduct import Conductor, Manner
from drivelab.fleet.erase_list import EraseList
from drivelab.fleet.fingerprint import fingerprint
from drivelab.fleet.record import new_fleet
from drivelab.fleet.ssh import ssh_starter
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import FleetWork
from own_loop import in_own_loop


class OnlyFir:
    """Of the hosts that others have started one is there."""

    def listen(self, _hear: Any) -> None:
        """Nobody says anything."""

    async def when_joined(self, _host: str) -> None:
        """All are there, for a moment."""

    async def ask(self, host: str, question: Any, *_arguments: Any, **_options: Any) -> dict[str, Any]:
        assert question.__name__ == "drives"
        if host != "fir":
            raise HostGone("it has left")
        now_ns = time.time_ns()
        told = {"drives": [], "error": "", "fingerprint": fingerprint()}
        return told | {"asked_ns": now_ns, "answered_ns": now_ns}


def test_all_hosts_that_could_not_begin_are_named(tmp_path: Path) -> None:
    hosts = dict.fromkeys(("gum", "fir", "elm", "oak"), HostEntry(targets=("/srv",)))
    book = FleetBook(new_fleet(FleetWork("io"), hosts, tmp_path))
    manner = Manner(None, ssh_starter, 60, 60, 30, EraseList(), True, lambda _key: None, lambda _hosts, _lines: None)
    in_own_loop(measure_together(Conductor(book, cast(Centre, OnlyFir()), manner)))
    reasons = {name: host.reason for name, host in book.fleet.hosts.items()}
    waited = "all were to begin together, and 3 hosts (gum, elm and oak) could not"
    assert reasons == dict.fromkeys(hosts, "it has left") | {"fir": waited}
