"""Has Dask take what comes over a connection as data: nothing that others send is executed here.

Of itself Dask runs whatever a peer with a certificate sends it, some of it while a message is still being
read. A host of a fleet is trusted to measure, and not to run programs on the other hosts or on who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NoReturn

import distributed.client
import distributed.protocol.pickle
import distributed.scheduler

_CODE_READERS: tuple[ModuleType, ...] = (
    distributed.protocol.pickle,
    # these took its function when they were imported
    distributed.client,
    distributed.scheduler,
)


class CodeRefused(Exception):
    """Somebody sent code in place of a message."""


def refuse_code() -> None:
    """Have every message refused that holds code, for the rest of this process."""
    for module in _CODE_READERS:
        module.loads = _refuse  # type: ignore[attr-defined]


def only(handlers: Mapping[str, Callable[..., Any]], *names: str) -> dict[str, Callable[..., Any]]:
    """Of all that a peer may ask for only this: Dask itself would run functions, hand out files, and end."""
    return {name: handlers[name] for name in names}


def _refuse(*_arguments: Any, **_options: Any) -> NoReturn:
    raise CodeRefused("code was sent in place of a message")
