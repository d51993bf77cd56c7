"""Runs coroutines of a test in a loop of their own: in the main thread that of a browser may be at work."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")


def in_own_loop(work: Coroutine[Any, Any, _Answer]) -> _Answer:
    """What a coroutine returns, or raises."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
