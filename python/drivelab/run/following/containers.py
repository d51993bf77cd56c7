"""Which processes a container has: by its control group, and by what engines keep on disk; no daemon is asked."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from drivelab.inventory.sysfs import read_text
from drivelab.model.errors import DrivelabError

_ID = re.compile(r"[0-9a-f]{64}")
# what engines and systemd put around a name: docker-ID.scope, cri-containerd-ID.scope, lxc.payload.web
_AROUND = re.compile(r"^(?:docker-|libpod-|cri-containerd-|crio-|nerdctl-|lxc\.payload\.|machine-)?(.*?)(?:\.scope)?$")
# the engine's own watcher of a container, in a group beside it
_WATCHER = "conmon"
_PREFIX_MIN = 4


def processes_of_container(name: str, *, proc: Path = Path("/proc"), root: Path = Path("/")) -> list[int]:
    """Processes of a container, in order.

    Parameters
    ----------
    name : str
        Its name, its id or the beginning of it, or the name of a control group (``postgresql.service``).
    proc, root : Path
        Where processes are listed, and where engines keep their containers.

    Raises
    ------
    DrivelabError
        R442: there is none that runs, or several are called so.
    """
    by_name = {identity for known, identity in _names(root) if known == name}
    found: dict[str, list[int]] = defaultdict(list)
    for entry in proc.iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            for group in _groups(entry):
                if _is_meant(group, name, by_name):
                    found[group].append(int(entry.name))
                    break
    where = f"--container {name}"
    if not found:
        do = "list what runs: docker ps, podman ps, crictl ps, systemd-cgls"
        raise DrivelabError("R442", f"no container or control group {name} has a process", where=where, do=do)
    if len(found) > 1:
        what = f"{len(found)} containers are called {name}: {', '.join(sorted(found))}"
        raise DrivelabError("R442", what, where=where, do="name one by its id")
    return sorted(next(iter(found.values())))


def _groups(process: Path) -> list[str]:
    """Names of the control groups that it is in, the innermost last; of several hierarchies, each once."""
    lines = (read_text(process / "cgroup") or "").splitlines()
    parts = [part for line in lines for part in line.split(":", 2)[-1].split("/")]
    return [part for part in dict.fromkeys(parts) if part and _WATCHER not in part]


def _is_meant(group: str, name: str, by_name: set[str]) -> bool:
    if group == name or _AROUND.sub(r"\1", group) == name:
        return True
    identity = _ID.search(group)
    if identity is None:
        return False
    return identity[0] in by_name or (len(name) >= _PREFIX_MIN and identity[0].startswith(name))


def _names(root: Path) -> Iterator[tuple[str, str]]:
    """Names and ids of the containers that engines keep on this machine."""
    for file in root.glob("var/lib/docker/containers/*/config.v2.json"):
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = json.loads(file.read_text())
            yield kept["Name"].lstrip("/"), kept["ID"]
    for file in root.glob("var/lib/containers/storage/*-containers/containers.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            yield from [(name, kept["id"]) for kept in json.loads(file.read_text()) for name in kept["names"]]
    for file in root.glob("var/lib/nerdctl/*/names/*/*"):
        with suppress(OSError, ValueError):
            yield file.name, file.read_text().strip()
    # of kubernetes: POD_NAMESPACE_CONTAINER-ID.log
    for file in root.glob("var/log/containers/*_*_*-*.log"):
        pod, _, container = file.stem.split("_", 2)
        container, _, identity = container.rpartition("-")
        yield from ((known, identity) for known in (pod, container, f"{pod}/{container}"))
