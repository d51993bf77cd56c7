"""Dask's scheduler and worker, made to carry questions and answers: no tasks, no pages, no retries, no moving.

What is asked and answered goes over the one connection that each host has opened, so that nobody has to reach a
host, and a question costs two messages. Of Dask's own ways a task costs ten, and one that is bound to a host which
went away waits for ever (dask/distributed#7346), is tried again elsewhere or three times (#1874, #5234), or is stolen
by another host. Each of both opens pages for browsers, without certificates: neither does here. What Dask does for each
pair of hosts (tell all of them that one has left, compare their packages) is left out: at thousands it takes minutes.
"""

from __future__ import annotations

import asyncio
import json
import time
import warnings
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

import dask
from distributed import Scheduler, Worker, versions

from drivelab.fleet.certificates import CONTROLLER, common_name, may_join_as
from drivelab.fleet.no_code import only, refuse_code
from drivelab.model.errors import DrivelabError, error_words

# how long a host may say nothing before it is given up, and how long a connection may be dead
SILENT_S = 30
# answered by a host itself, at once, over a connection of its own
CLOCK_QUESTION = "drivelab_clock"
# a message may come late, and one may be missing
_SIGNS_WHILE_SILENT = 3
_SELDOM = "1h"
# what Dask's worker says by itself
_OF_WORKERS = ("keep-alive", "log-event", "worker-status-change")


class Asking(Protocol):
    """Who is told what hosts do; each host by the address of its connection."""

    def joined(self, address: str, host: str) -> None:
        """A host has joined."""

    def left(self, address: str) -> None:
        """A host has left."""

    def answered(self, address: str, number: int, answer: Any, error: Mapping[str, str] | None) -> None:
        """A host has answered a question."""

    def told(self, address: str, news: Mapping[str, Any]) -> None:
        """A host tells how far it is."""


def configure(silent_s: float = SILENT_S) -> None:
    """Have Dask do nothing by itself, and run nothing that is sent, whatever a user's own files of Dask say."""
    refuse_code()
    # a busy disk is no matter of who waits for an answer
    warnings.filterwarnings("ignore", message="Creating scratch directories")
    # each that joins is compared with all that are here; `fingerprint` tells more, and is compared once
    versions.error_message = lambda *_arguments, **_options: {}
    dask.config.set(
        {
            "distributed.scheduler.worker-ttl": f"{silent_s / 2}s",
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.pause": False,
            "distributed.worker.memory.terminate": False,
            "distributed.worker.profile.enabled": False,
            # what is measured beside it is not disturbed
            "distributed.admin.tick.interval": _SELDOM,
            "distributed.admin.tick.cycle": _SELDOM,
            "distributed.admin.system-monitor.interval": _SELDOM,
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
    """Dask's scheduler, which listens with certificates or not at all.

    Parameters
    ----------
    asking : Asking
        Told what hosts do.
    silent_s : float
        How long a host may say nothing.
    """

    def __init__(self, asking: Asking, silent_s: float, **options: Any) -> None:
        # of what Dask can do besides tasks, nothing
        super().__init__(extensions={}, **options)
        self._asking = asking
        self._silent_s = silent_s
        self.handlers = only(self.handlers, "register-worker")
        self.stream_handlers = only(self.stream_handlers, *_OF_WORKERS)
        self.stream_handlers |= {"alive": self._alive, "answer": self._answered, "told": self._told}

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Open no port for browsers."""

    async def add_worker(self, comm: Any, *, name: str, **told: Any) -> None:
        """Let a host join, if its certificate is one of its name."""
        if not may_join_as(common_name(comm.extra_info["peercert"]), str(name)):
            await comm.write({"status": "error", "message": "a certificate of another name", "time": time.time()})
            return
        await super().add_worker(comm, name=name, **told)

    async def handle_worker(self, comm: Any, worker: str) -> None:
        """Hear a host that has joined, until it leaves."""
        self._asking.joined(worker, str(self.workers[worker].name))
        await super().handle_worker(comm, worker)

    async def remove_worker(self, address: str, **options: Any) -> Any:
        """Let a host go."""
        removed = await super().remove_worker(address, **options)
        self._asking.left(address)
        return removed

    def worker_send(self, worker: str, msg: dict[str, Any]) -> None:
        """Send to a host, but not that another has left: hosts know nothing of each other."""
        if msg["op"] != "remove-worker":
            super().worker_send(worker, msg)

    def ask(self, address: str, number: int, question: str, arguments: tuple[Any, ...]) -> None:
        """Send a question."""
        asked = {"op": "question", "number": number, "question": question, "arguments": json.dumps(arguments)}
        self.worker_send(address, asked)

    def check_idle(self) -> None:
        """Look for no tasks at all hosts four times a second: there are none."""

    async def check_worker_ttl(self) -> None:
        """Give up hosts that say nothing; Dask allows for ever more silence, the more hosts there are."""
        last = time.time() - self._silent_s
        for address in [state.address for state in self.workers.values() if state.last_seen < last]:
            await self.remove_worker(address, stimulus_id="silent")

    def _alive(self, worker: str) -> None:
        if state := self.workers.get(worker):
            state.last_seen = time.time()

    def _answered(self, worker: str, number: int, answer: Any, error: Mapping[str, str] | None) -> None:
        self._alive(worker)
        self._asking.answered(worker, number, json.loads(answer) if isinstance(answer, str) else answer, error)

    def _told(self, worker: str, news: Mapping[str, Any]) -> None:
        self._alive(worker)
        self._asking.told(worker, news)


class HostWorker(Worker):
    """Dask's worker: it answers questions, and what it measures is interrupted, and put back, before it goes.

    Parameters
    ----------
    questions : mapping of str to callable
        What it may be asked: coroutine functions.
    ending : callable
        Ends what it measures; awaited once, when it closes for whatever reason.
    silent_s : float
        How long it may say nothing.
    """

    def __init__(
        self,
        *arguments: Any,
        questions: Mapping[str, Callable[..., Coroutine[Any, Any, Any]]],
        ending: Callable[[], Coroutine[Any, Any, None]],
        silent_s: float,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, heartbeat_interval=f"{silent_s / _SIGNS_WHILE_SILENT}s", extensions={}, **options)
        self._ending: asyncio.Task[None] | None = None
        self._quiet_s = silent_s / _SIGNS_WHILE_SILENT / 2
        self._said_s = time.monotonic()
        self._end = ending
        self._questions = questions
        self._answering: set[asyncio.Task[None]] = set()
        self.handlers = {CLOCK_QUESTION: _clock_ns}
        self.stream_handlers = only(self.stream_handlers, "close") | {"question": self._asked}

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Open no port for browsers."""

    async def handle_scheduler(self, comm: Any) -> None:
        """Hear those who ask, if they prove to be them, until they go: another host is nobody to obey."""
        if common_name(comm.extra_info["peercert"]) != CONTROLLER:
            await self.close(reason="a host pretends to ask")
            return
        await super().handle_scheduler(comm)

    async def heartbeat(self) -> None:
        """Say that it is there, where nothing else has just said so.

        Dask would open a second connection for it, and tell what nobody asks.
        """
        if time.monotonic() - self._said_s >= self._quiet_s:
            self._say({"op": "alive"})

    def tell(self, news: Mapping[str, Any]) -> None:
        """Tell those who ask how far it is."""
        self._say({"op": "told", "news": news})

    async def close(self, *arguments: Any, **options: Any) -> str | None:  # type: ignore[override]
        """End what is measured, then say goodbye as Dask does."""
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end())
        # who waits for it may be cut off; it goes on, and others wait for it
        await asyncio.shield(self._ending)
        return await super().close(*arguments, **options)

    def _asked(self, number: int, question: str, arguments: str) -> None:
        answering = asyncio.ensure_future(self._answer(number, question, json.loads(arguments)))
        self._answering.add(answering)
        answering.add_done_callback(self._answering.discard)

    async def _answer(self, number: int, question: str, arguments: list[Any]) -> None:
        """Answer with JSON, or bytes as they are: nothing that is sent is code."""
        told: dict[str, Any] = {"op": "answer", "number": number, "answer": None, "error": None}
        try:
            answer = await self._questions[question](*arguments)
            told["answer"] = answer if isinstance(answer, bytes) else json.dumps(answer)
        except DrivelabError as error:
            told["error"] = {"code": error.code, "what": error.what, "where": error.where, "do": error.do}
        except Exception as error:
            told["error"] = {"code": "F906", "what": f"cannot answer {question}: {error_words(error)}"}
        self._say(told)

    def _say(self, message: dict[str, Any]) -> None:
        self._said_s = time.monotonic()
        self.batched_send(message)


def _clock_ns() -> int:
    return time.time_ns()
