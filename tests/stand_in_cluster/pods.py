"""Pods of the stand-in for a cluster, as they are told over the API, and the containers that run for them."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stand_in_cluster.streams import Streams

# a node takes about as long to tell that a container has ended, and then to let its pod be gone
_SEEN_S = 1.0
Command = Callable[[Mapping[str, Any]], list[str]]


class Refused(Exception):
    """What the API answers in place of an object.

    Attributes
    ----------
    code : int
        Status of HTTP.
    reason, message : str
        As a Status of the API has them.
    """

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


class Pod:
    """One pod, and the process that is its container."""

    def __init__(self, made: dict[str, Any], tell: Callable[[Pod, str], None]) -> None:
        self.made = made
        self.status: dict[str, Any] = {"phase": "Pending"}
        self._tell = tell
        self._process: subprocess.Popen[bytes] | None = None
        self._client: Streams | None = None
        self._log = bytearray()
        self._lock = threading.RLock()
        self.is_deleted = False

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.made["metadata"]["name"])

    @property
    def node(self) -> str:
        """The node that it is for."""
        return str(self.made["spec"]["nodeName"])

    @property
    def is_running(self) -> bool:
        """Whether its container runs."""
        return self._process is not None and self._process.poll() is None

    def run(self, words: Sequence[str]) -> None:
        """Start its container."""
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        conditions = [{"type": "Ready", "status": "True"}]
        self.change({"phase": "Running", "conditions": conditions, "containerStatuses": [self._state("running", {})]})
        threading.Thread(target=self._follow, args=(self._process,), daemon=True).start()

    def change(self, status: Mapping[str, Any]) -> None:
        """Have another status."""
        with self._lock:
            self.status = dict(status)
            self._tell(self, "MODIFIED")

    def attach(self, client: Streams) -> None:
        """Have a client read and write; as for stdinOnce, the container's input ends with the first that is gone."""
        client.hear = self._hear
        with self._lock:
            self._client = client
            if self.status["phase"] != "Running":
                client.end()

    def stop(self) -> None:
        """Ask its container to end."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)

    def delete(self) -> None:
        """Ask its container to end, and be gone once it has."""
        with self._lock:
            self.is_deleted = True
            self.stop()
            if not self.is_running:
                self._tell(self, "DELETED")

    def wrote(self, text: bytes) -> None:
        """Have a container that has written something."""
        self._log += text

    def log(self) -> bytes:
        """What its container has written."""
        return bytes(self._log)

    def told(self) -> dict[str, Any]:
        """As the API tells of it."""
        return copy.deepcopy(self.made | {"status": self.status})

    def _state(self, state: str, more: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": self.made["spec"]["containers"][0]["name"], "state": {state: dict(more)}}

    def _hear(self, text: bytes | None) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            if text is None:
                self._process.stdin.close()
            else:
                self._process.stdin.write(text)
                self._process.stdin.flush()
        except (OSError, ValueError):
            pass

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        """Hand on what the container writes, and note how it ends."""
        readers = [
            threading.Thread(target=self._hand_on, args=(name, pipe), daemon=True)
            for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr))
        ]
        for reader in readers:
            reader.start()
        code = process.wait()
        for reader in readers:
            reader.join()
        self._hear(None)
        code = code if code >= 0 else 128 - code
        with self._lock:
            client = self._client
            how = self._state("terminated", {"exitCode": code, "reason": "Error" if code else "Completed"})
            kept: dict[str, Any] = {key: self.status[key] for key in ("reason", "message") if key in self.status}
            phase = "Failed" if code or kept else "Succeeded"
            self.change(kept | {"phase": phase, "containerStatuses": [how]})
        if client is not None:
            client.end()
        if self.is_deleted:
            # what ended it has yet to see that it has
            threading.Timer(_SEEN_S, self._tell, (self, "DELETED")).start()

    def _hand_on(self, name: str, pipe: Any) -> None:
        with pipe:
            while piece := os.read(pipe.fileno(), 1 << 14):
                self._log += piece
                with self._lock:
                    client = self._client
                if client is not None:
                    client.say(name, piece)


class Pods:
    """All pods, their events, and whoever watches them."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self.by_name: dict[str, Pod] = {}
        self.events: list[dict[str, Any]] = []
        # of pods that do not start, by node: the status that they have
        self.waiting: dict[str, Mapping[str, Any]] = {}
        # what their containers have written, as one does that ends at once
        self.written: dict[str, bytes] = {}
        self._news: list[tuple[str, dict[str, Any]]] = []
        # how often somebody began to watch a pod
        self.watched = 0
        self.changed = threading.Condition(threading.RLock())

    def create(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Make a pod, and start its container unless it is one of a node whose pods wait."""
        asked["metadata"] |= {"uid": str(uuid.uuid4()), "namespace": "default"}
        pod = Pod(asked, self._tell)
        self._tell(pod, "ADDED")
        if (status := self.waiting.get(pod.node)) is not None:
            pod.wrote(self.written.get(pod.node, b""))
            pod.change(status)
        else:
            pod.run(self._command(asked))
        return pod.told()

    def get(self, name: str) -> Pod:
        """A pod."""
        with self.changed:
            if name not in self.by_name:
                raise Refused(404, "NotFound", f'pods "{name}" not found')
            return self.by_name[name]

    def delete(self, name: str) -> dict[str, Any]:
        """Delete a pod, with the event that its node makes of it."""
        pod = self.get(name)
        if pod.is_running:
            self.note(pod, "Killing", f"Stopping container {pod.made['spec']['containers'][0]['name']}")
        pod.delete()
        return pod.told()

    def evict(self, name: str, message: str) -> None:
        """Have a node push a pod out, as one does that is short of something."""
        pod = self.get(name)
        self.note(pod, "Evicted", message)
        pod.change(pod.status | {"phase": "Running", "reason": "Evicted", "message": message})
        pod.stop()

    def note(self, pod: Pod, reason: str, message: str) -> None:
        """Make an event about a pod."""
        about = {"kind": "Pod", "name": pod.name}
        event = {"metadata": {"name": str(uuid.uuid4())}, "involvedObject": about, "reason": reason, "message": message}
        self.events.append({"kind": "Event", "apiVersion": "v1", **event})

    def version(self) -> int:
        """How much has happened."""
        with self.changed:
            return len(self._news)

    def news(self, since: int, name: str | None) -> tuple[int, list[tuple[str, dict[str, Any]]]]:
        """How much has happened, and what since then to a pod, or to any; waits for a while if that is nothing."""
        with self.changed:
            if len(self._news) <= since:
                self.changed.wait(1)
            told = [(kind, pod) for kind, pod in self._news[since:] if name in (None, pod["metadata"]["name"])]
            return len(self._news), told

    def _tell(self, pod: Pod, kind: str) -> None:
        with self.changed:
            if kind == "DELETED":
                self.by_name.pop(pod.name, None)
            else:
                self.by_name[pod.name] = pod
            pod.made["metadata"]["resourceVersion"] = str(len(self._news) + 1)
            self._news.append((kind, pod.told()))
            self.changed.notify_all()
