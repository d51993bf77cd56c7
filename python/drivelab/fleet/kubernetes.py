"""How a host is started by Kubernetes: one pod on its node, which kubectl starts, attaches to and removes."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivelab.fleet.ssh import worker_words
from drivelab.fleet.starter import Ending, Starter, answer_of
from drivelab.model.fleet_hosts import HostEntry

_KEPT = "/var/lib/drivelab"
_ENVIRONMENT = {"DRIVELAB_RUNS": f"{_KEPT}/runs", "XDG_STATE_HOME": f"{_KEPT}/state"}
# of the node: its drives, what is known of them, and what outlives the pod
_MOUNTS = {
    "dev": {"path": "/dev"},
    "udev": {"path": "/run/udev"},
    "kept": {"path": _KEPT, "type": "DirectoryOrCreate"},
}
_LABELS = {"app.kubernetes.io/name": "drivelab-fleet"}
# settings and mounts are put back before a pod goes
_PUT_BACK_WITHIN_S = 300
# that kubectl waits beyond our own time, so that it is us who say why a host is late
_PATIENCE_S = 60
_SLUG_MAX = 40
# kubectl's own words where it has made no pod
_NOT_MADE = re.compile(
    r'error: (?!pod )|Error from server(?! \(NotFound\): pods "")|The connection to the server|Unable to connect'
)
_LOG_LINE = re.compile(r"[EW]\d{4} \d\d:")
_DELETED = 'pods "" not found'
# reasons of events of a pod: why it has to go, and that its container is stopped for whatever reason
_TAKEN = ("Evicted", "Preempted", "Preempting", "TaintManagerEviction", "NodeShutdown", "NodeNotReady")
_STOPPED = "Killing"


@dataclass(frozen=True, slots=True)
class PodStarter(Starter):
    """kubectl, as it runs one pod.

    Attributes
    ----------
    pod, node : str
        Their names.
    """

    pod: str
    node: str
    waits_in_silence = True

    async def why_it_waits(self, _said: Sequence[str]) -> str:
        """Why the pod does not run yet, as Kubernetes says; empty where it runs, or is not known."""
        pod, _ = await _object("pod", self.pod)
        status = pod.get("status", {})
        if status.get("phase") != "Pending":
            return ""
        why = _why_pending(status)
        if not status.get("containerStatuses"):
            # nobody there has looked at it
            why = await self._why_node_waits() or why
        return f"pod {self.pod} waits{why and f': {why}'}"

    async def _why_node_waits(self) -> str:
        node, failure = await _object("node", self.node)
        for one in node.get("status", {}).get("conditions", ()):
            if one.get("type") == "Ready" and one.get("status") != "True":
                return f"{self.node} is not ready ({one.get('message', one.get('reason', 'nobody says why'))})"
        return failure if "not found" in failure else ""

    async def ended(self, code: int, said: Sequence[str]) -> Ending:
        """Why the pod was taken, and what is left of it; kubectl has removed it where it has ended with success."""
        first = next((line for line in said if not _LOG_LINE.match(line)), "")
        if code == 0 or (code > 0 and _NOT_MADE.match(first)):
            return Ending()
        taken = await self._why_taken(said)
        delete = ("kubectl", "delete", "pod", self.pod)
        _, failure = await answer_of(*delete, "--ignore-not-found", "--wait=false")
        return Ending(taken, failure and f"pod {self.pod} may be left ({failure}); remove it: {' '.join(delete)}")

    async def _why_taken(self, said: Sequence[str]) -> str:
        events, _ = await _object("events", f"--field-selector=involvedObject.name={self.pod}")
        told = {one.get("reason"): one.get("message", "") for one in events.get("items", ())}
        why = next((f"{reason} ({told[reason]})" for reason in _TAKEN if reason in told), "")
        if why:
            return f"Kubernetes took the node back: {why}; pod {self.pod}"
        is_deleted = _STOPPED in told or any(_DELETED in line for line in said)
        return f"somebody deleted its pod {self.pod}, or there is no node {self.node}" if is_deleted else ""


def pod_starter(image: str, entry: HostEntry, name: str, join_s: int) -> PodStarter:
    """What starts a host as a pod: kubectl hands on standard input and its end, and the exit code of the host.

    Parameters
    ----------
    image : str
        A container image with drivelab.
    entry : HostEntry
        What of its node is meant; its address, where it has one, is the name of the node.
    name : str
        What it is called.
    join_s : int
        How long it may take until it joins.
    """
    node = entry.address or name
    slug = re.sub(r"[^a-z0-9]+", "-", node.lower())[:_SLUG_MAX].strip("-")
    # another each time: two who ask at once, or a pod that was left, are in nobody's way
    pod = f"drivelab-{slug}-{secrets.token_hex(4)}"
    overrides = {"apiVersion": "v1", "metadata": {"labels": _LABELS}, "spec": _specification(image, entry, node)}
    options = ("--restart=Never", "--rm", "--stdin", "--quiet", f"--pod-running-timeout={join_s + _PATIENCE_S}s")
    return PodStarter(
        ["kubectl", "run", pod, f"--image={image}", *options, f"--overrides={json.dumps(overrides)}"], pod, node
    )


def _specification(image: str, entry: HostEntry, node: str) -> dict[str, Any]:
    """What a pod is made of; its one container is whole, since kubectl replaces its own by it."""
    container = {
        "name": "drivelab",
        "image": image,
        # root is here already
        "command": worker_words(entry.model_copy(update={"sudo": False})),
        "env": [{"name": name, "value": value} for name, value in _ENVIRONMENT.items()],
        "stdin": True,
        "stdinOnce": True,
        "securityContext": {"privileged": True, "runAsUser": 0},
        "volumeMounts": [{"name": name, "mountPath": place["path"]} for name, place in _MOUNTS.items()],
    }
    return {
        "nodeName": node,
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": _PUT_BACK_WITHIN_S,
        "hostNetwork": True,
        # who else uses a drive is told by name
        "hostPID": True,
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": name, "hostPath": place} for name, place in _MOUNTS.items()],
    }


async def _object(*words: str) -> tuple[Mapping[str, Any], str]:
    """What kubectl knows of something; empty where it does not, and why."""
    output, failure = await answer_of("kubectl", "get", *words, "--output=json")
    try:
        found = json.loads(output)
    except ValueError:
        return {}, failure
    return (found if isinstance(found, dict) else {}), failure


def _why_pending(status: Mapping[str, Any]) -> str:
    """Why a pod does not run, in Kubernetes's words; empty where it does not say."""
    waiting = [one.get("state", {}).get("waiting") for one in status.get("containerStatuses", ())]
    unmet = [one for one in status.get("conditions", ()) if one.get("type") == "PodScheduled"]
    reasons = [one for one in (*waiting, *unmet) if one and one.get("status") != "True" and one.get("reason")]
    return next((f"{one['reason']} ({one['message']})" if one.get("message") else one["reason"] for one in reasons), "")
