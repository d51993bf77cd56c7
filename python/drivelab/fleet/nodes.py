"""Dask's scheduler and worker, made to do only what a fleet asks: no pages, no retries, no moving.

Its traps, and what is done about each: a task that is bound to a host which went away waits for ever
(dask/distributed#7346): the side that asks watches its hosts itself, and gives a task up with its host. A task is
tried again elsewhere or three times (#1874, #5234): it is bound to its host and may fail never. Work is
stolen between hosts: it is not. Each opens pages for browsers, without certificates: neither does here.
"""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

import dask
from distributed import Scheduler, SchedulerPlugin, Worker

# how long a host may say nothing before it is given up, and how long a connection may be dead
SILENT_S = 30
HEARTBEAT_S = 3
# who joined and who left; those who ask listen to it
HOSTS_TOPIC = "drivelab-hosts"
# answered by a host itself, at once: a task would wait for its turn
CLOCK_QUESTION = "drivelab_clock"


def configure(silent_s: float = SILENT_S) -> None:
    """Have Dask do nothing by itself; what a user's own files of Dask say does not count."""
    # a busy disk is no matter of who waits for an answer
    warnings.filterwarnings("ignore", message="Creating scratch directories")
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.scheduler.work-stealing": False,
            "distributed.scheduler.worker-ttl": f"{silent_s}s",
            "distributed.scheduler.worker-saturation": float("inf"),
            "distributed.scheduler.locks.lease-timeout": "30s",
            "distributed.scheduler.active-memory-manager.start": False,
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.pause": False,
            "distributed.worker.memory.terminate": False,
            "distributed.worker.profile.enabled": False,
            "distributed.comm.compression": None,
            "distributed.comm.retry.count": 0,
            "distributed.comm.timeouts.connect": f"{silent_s}s",
            "distributed.comm.timeouts.tcp": f"{silent_s}s",
            "distributed.comm.require-encryption": True,
            "distributed.worker.preload": [],
            "distributed.scheduler.preload": [],
        }
    )


class FleetScheduler(Scheduler):
    """Dask's scheduler, which listens with certificates or not at all."""

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Open no port for browsers."""


class HostWorker(Worker):
    """Dask's worker: what it measures is interrupted, and put back, before it goes.

    Parameters
    ----------
    ending : callable
        Ends what it measures; awaited once, when it closes for whatever reason.
    """

    def __init__(self, *arguments: Any, ending: Callable[[], Coroutine[Any, Any, None]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.handlers[CLOCK_QUESTION] = _clock_ns
        self._ending: asyncio.Task[None] | None = None
        self._end = ending

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Open no port for browsers."""

    async def close(self, *arguments: Any, **options: Any) -> str | None:  # type: ignore[override]
        """End what is measured, then say goodbye as Dask does."""
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end())
        await self._ending
        return await super().close(*arguments, **options)


def _clock_ns() -> int:
    return time.time_ns()


class HostNews(SchedulerPlugin):
    """Tells who has joined and who has left, at once: tasks of a host that left would say nothing for ever."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """A host has joined."""
        name = str(scheduler.workers[worker].name)
        self._names[worker] = name
        scheduler.log_event(HOSTS_TOPIC, {"host": name, "address": worker, "is_here": True})

    def remove_worker(self, scheduler: Scheduler, worker: str, **_options: Any) -> None:
        """A host has left."""
        name = self._names.pop(worker, worker)
        scheduler.log_event(HOSTS_TOPIC, {"host": name, "address": worker, "is_here": False})
