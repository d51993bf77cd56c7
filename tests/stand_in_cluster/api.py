"""The server of the stand-in for a cluster: what kubectl asks over HTTP."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from stand_in_cluster.pods import Command, Pods, Refused
from stand_in_cluster.streams import Streams, header_dictionary

_KINDS = {"pods": ("Pod", True), "nodes": ("Node", False), "events": ("Event", True)}
_VERBS = ["create", "delete", "get", "list", "watch"]
_RESOURCES = [
    {"name": name, "singularName": name[:-1], "namespaced": in_namespace, "kind": kind, "verbs": _VERBS}
    for name, (kind, in_namespace) in _KINDS.items()
]
_KNOWN: Mapping[str, Mapping[str, Any]] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": _RESOURCES},
}


class StandInCluster:
    """Nodes, pods, and a server that kubectl talks to.

    Attributes
    ----------
    pods : Pods
        Those that there are.
    nodes : dict of str to str
        Whether a node is ready, by its name: empty, or why it is not.
    refusals : dict of (str, str) to Refused
        What is answered to a method for a kind of object, in place of doing it: ``("POST", "attach")``.
    """

    def __init__(self, kubectl: Path, nodes: Sequence[str], command: Command, listening: socket.socket) -> None:
        self.pods = Pods(command)
        self.nodes = dict.fromkeys(nodes, "")
        self.refusals: dict[tuple[str, str], Refused] = {}
        self.dictionary = header_dictionary(kubectl)
        host, port = listening.getsockname()[:2]
        self._address = f"http://{host}:{port}"
        self.is_closed = False
        self._server = ThreadingHTTPServer(
            (host, port), type("Handler", (_Handler,), {"cluster": self}), bind_and_activate=False
        )
        self._server.socket.close()
        self._server.socket = listening
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def write_config(self, file: Path) -> Path:
        """Write what KUBECONFIG names."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "stand-in", "cluster": {"server": self._address}}],
            "contexts": [{"name": "stand-in", "context": {"cluster": "stand-in", "user": "anybody"}}],
            "users": [{"name": "anybody", "user": {}}],
            "current-context": "stand-in",
        }
        file.write_text(json.dumps(config))
        return file

    def close(self) -> None:
        """End all containers, and the server."""
        self.is_closed = True
        for pod in list(self.pods.by_name.values()):
            pod.stop()
        self._server.shutdown()
        self._server.server_close()

    def node(self, name: str) -> dict[str, Any]:
        """A node as the API tells of it."""
        if name not in self.nodes:
            raise Refused(404, "NotFound", f'nodes "{name}" not found')
        why = self.nodes[name]
        ready = {"type": "Ready", "status": "Unknown" if why else "True", "message": why or "kubelet is ready"}
        return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}, "status": {"conditions": [ready]}}


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests to a cluster, which a class of each server's own knows."""

    cluster: StandInCluster
    protocol_version = "HTTP/1.1"

    def log_message(self, *_words: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_DELETE(self) -> None:
        self._answer("DELETE")

    def _answer(self, method: str) -> None:
        place = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(place.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        words = [word for word in place.path.split("/")[3:] if word]
        words = words[2:] if words[:1] == ["namespaces"] else words
        try:
            if place.path in _KNOWN:
                self._send(200, _KNOWN[place.path])
            else:
                self._serve(method, words, asked, body)
        except Refused as refused:
            told: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
            told |= {"message": refused.message, "reason": refused.reason, "code": refused.code}
            self._send(refused.code, told)

    def _serve(self, method: str, words: Sequence[str], asked: Mapping[str, str], body: bytes) -> None:
        if (refused := self.cluster.refusals.get((method, [*words, "", ""][2 if words[2:] else 0]))) is not None:
            raise refused
        selected = asked.get("fieldSelector", "").partition("=")[2] or None
        match method, *words:
            case "POST", "pods":
                self._send(201, self.cluster.pods.create(json.loads(body)))
            case "GET", "pods" if "watch" in asked:
                self._watch(int(asked.get("resourceVersion", "0")), selected)
            case "GET", "pods":
                told = [pod.told() for pod in list(self.cluster.pods.by_name.values()) if selected in (None, pod.name)]
                self._send_list("PodList", told)
            case "GET", "pods", name:
                self._send(200, self.cluster.pods.get(name).told())
            case "DELETE", "pods", name:
                self._send(200, self.cluster.pods.delete(name))
            case "GET", "pods", name, "log":
                self._send_bytes(200, "text/plain", self.cluster.pods.get(name).log())
            case _, "pods", name, "attach":
                self._attach(name)
            case "GET", "nodes", name:
                self._send(200, self.cluster.node(name))
            case "GET", "events":
                about = [one for one in self.cluster.pods.events if one["involvedObject"]["name"] == selected]
                self._send_list("EventList", about)
            case _:
                raise Refused(404, "NotFound", f"nothing is known of {self.path}")

    def _attach(self, name: str) -> None:
        if not self.headers.get("Upgrade", "").startswith("SPDY/"):
            # kubectl tries websockets first, and goes on with this
            raise Refused(400, "BadRequest", "only SPDY/3.1 is spoken here")
        pod = self.cluster.pods.get(name)
        if not pod.is_running:
            raise Refused(400, "BadRequest", f"no container of pod {name} runs")
        self.send_response(101)
        spoken = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io"}
        for header, value in spoken.items():
            self.send_header(header, value)
        self.end_headers()
        self.close_connection = True
        reader: Any = self.rfile
        writer: Any = self.wfile
        Streams(self.cluster.dictionary, reader, writer, pod.attach).listen()

    def _watch(self, since: int, name: str | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.cluster.pods.watched += 1
        try:
            # whoever watches says nothing more, but that it has left
            while not (self.cluster.is_closed or select.select([self.connection], [], [], 0)[0]):
                since, news = self.cluster.pods.news(since, name)
                for kind, pod in news:
                    self.wfile.write(json.dumps({"type": kind, "object": pod}).encode() + b"\n")
                self.wfile.flush()
        except OSError:
            pass

    def _send_list(self, kind: str, items: Sequence[Mapping[str, Any]]) -> None:
        metadata = {"resourceVersion": str(self.cluster.pods.version())}
        self._send(200, {"kind": kind, "apiVersion": "v1", "metadata": metadata, "items": items})

    def _send(self, code: int, document: Mapping[str, Any]) -> None:
        self._send_bytes(code, "application/json", json.dumps(document).encode())

    def _send_bytes(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
