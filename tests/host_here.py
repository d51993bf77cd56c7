"""A host of a fleet in the process of a test, which answers questions of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from drivelab.fleet.certificates import Keys
from drivelab.fleet.local_address import host_part
from drivelab.fleet.nodes import SILENT_S, HostWorker

Question = Callable[..., Coroutine[Any, Any, Any]]


def host_here(
    centre_address: str, keys: Keys, *questions: Question, ending: Question, address: str = "127.0.0.1"
) -> HostWorker:
    """A host that is called ``one``, and joins once it is entered."""
    return HostWorker(
        centre_address,
        questions={asked.__name__: asked for asked in questions},
        ending=ending,
        silent_s=SILENT_S,
        name="one",
        security=keys.security(),
        host=f"tls://{host_part(address)}",
    )
