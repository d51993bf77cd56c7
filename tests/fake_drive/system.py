"""A made-up computer with made-up drives, whose kernel follows the rules of the real one where settings meet."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drivelab.inventory.drives import read_drives
from drivelab.inventory.system_paths import SystemPaths
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError

TOOLS = Path(__file__).parent / "tools.py"
BLOCK_FILES = {
    "dev": "8:0",
    "size": "524288",
    "ro": "0",
    "removable": "0",
    "diskseq": "7",
    "queue/scheduler": "[none] mq-deadline",
    "queue/nr_requests": "64",
    "queue/read_ahead_kb": "128",
    "queue/max_sectors_kb": "512",
    "queue/max_hw_sectors_kb": "1024",
    "queue/wbt_lat_usec": "75000",
    "queue/write_cache": "write back",
    "queue/logical_block_size": "512",
    "mq/0/nr_tags": "32",
}
ATA = {"cache": True, "apm": "254", "supported": True, "enabled": False, "locked": False, "frozen": False}
BEHIND = {
    "sata": "devices/pci0/ata1/host0/target0:0:0/0:0:0:0",
    "scsi": "devices/pci0/host3/target3:0:0/3:0:0:0",
    "nvme": "devices/pci0/nvme/nvme0",
    "virtio": "devices/pci0/virtio4",
    "loop": "devices/virtual",
}


@dataclass
class QueueRules:
    """What the made-up kernel changes by itself, or refuses, when a file of a queue is written.

    Attributes
    ----------
    requests : dict of str to str
        What a scheduler brings as its ``nr_requests``; others bring `requests_of_others`.
    requests_of_others : str
        See there.
    most_requests_alone : int
        Largest ``nr_requests`` without a scheduler.
    throttling : dict of str to str
        What a scheduler brings as its ``wbt_lat_usec``; others bring none.
    least_read_ahead_kb : int
        To which new limits raise a lowered ``read_ahead_kb``.
    """

    requests: dict[str, str] = field(default_factory=lambda: {"none": "64"})
    requests_of_others: str = "256"
    most_requests_alone: int = 2048
    throttling: dict[str, str] = field(default_factory=dict)
    least_read_ahead_kb: int = 0


class FakeSystem:
    """A made-up computer in a directory; its kernel's files change when they are written by `write`.

    Parameters
    ----------
    root : Path
        Where the tree lies.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.drives = root / "drives"
        self.paths = SystemPaths(sys=root / "sys", proc=root / "proc", dev=root / "dev", root=root)
        self.queues = QueueRules()
        for directory in (self.drives, root / "dev", root / "sys" / "block", root / "bin"):
            directory.mkdir(parents=True)
        self.put("proc/sys/kernel/random/boot_id", "boot-1")
        for program in ("hdparm", "sdparm", "nvme"):
            script = root / "bin" / program
            # programs are started without the caller's environment
            knows = f"FAKE_DRIVES='{self.drives}' FAKE_ROOT='{self.root}'"
            script.write_text(f'#!/bin/sh\n{knows} exec {sys.executable} {TOOLS} {program} "$@"\n')
            script.chmod(0o755)

    @property
    def log(self) -> list[str]:
        """Calls of programs, and what was written to the kernel's files, in order; questions are left out."""
        path = self.drives / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        questions = ("-W ", "-B ", "-I ", "--get=WCE", "get-feature", "id-ctrl", "sanitize-log")
        return [line for line in lines if not any(question in f"{line} " for question in questions)]

    def put(self, path: str, text: str) -> None:
        """Write a file of the tree."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{text}\n")

    def read(self, path: str) -> str:
        """Text of a file of the tree."""
        return (self.root / path).read_text().strip()

    def link(self, path: str, target: str) -> None:
        """Make a link of the tree, which goes with the tree when that is moved."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(self.root / target, place.parent.resolve()))

    def become(self, other: FakeSystem) -> None:
        """Put another computer's tree and drives in the place of one's own: what a reboot finds."""
        for name in ("sys", "proc", "dev", "drives"):
            (self.root / name).rename(self.root / f"{name}-before")
            (other.root / name).rename(self.root / name)

    def drive_names(self) -> list[str]:
        """Kernel names of the drives that there are."""
        return sorted(os.listdir(self.root / "sys" / "block"))

    def add(
        self,
        name: str,
        kind: str,
        files: Mapping[str, str] | None = None,
        state: Mapping[str, Any] | None = None,
        serial: str = "",
    ) -> DriveFacts:
        """A drive of a kind of `BEHIND`, with files of its own and the state that its programs tell of."""
        behind = BEHIND[kind]
        block = f"sys/{behind}/block/{name}" if kind != "nvme" else f"sys/{behind}/{name}"
        device = {"sata": 0, "scsi": 3}.get(kind)
        for path, text in (BLOCK_FILES | dict(files or {})).items():
            self.put(f"{block}/{path}", text)
        for link in (f"sys/block/{name}", f"sys/class/block/{name}"):
            self.link(link, block)
        if kind in ("sata", "scsi", "nvme"):
            self.link(f"{block}/device", f"sys/{behind}")
        if device is not None:
            self.put(f"sys/{behind}/scsi_disk/{device}:0:0:0/cache_type", self.read(f"{block}/queue/write_cache"))
            self.put(f"sys/{behind}/rescan", "")
            self.put(f"sys/{behind}/queue_depth", "31")
            self.put(f"sys/class/scsi_host/host{device}/can_queue", "32")
        if serial and device is not None:
            self.put(f"sys/{behind}/vpd_pg80", f"\0\x80\0{chr(len(serial))}{serial}")
        elif serial:
            self.put(f"sys/{behind}/serial" if kind == "nvme" else f"{block}/serial", serial)
        if kind == "nvme":
            self.link("sys/class/nvme/nvme0", f"sys/{behind}")
            (self.root / "dev/nvme0").write_text("")
        node = self.root / "dev" / name
        if not node.exists():
            node.write_text("")
        self.set_state("nvme0" if kind == "nvme" else name, state if state is not None else {"cache": True})
        return read_drives([name], self.paths, ask_tools=False)[0]

    def set_state(self, name: str, state: Mapping[str, Any]) -> None:
        """What a drive or controller is like, as its programs tell."""
        (self.drives / f"{name}.json").write_text(json.dumps(dict(state)))

    def state(self, name: str) -> dict[str, Any]:
        """What a drive or controller is like now."""
        loaded: dict[str, Any] = json.loads((self.drives / f"{name}.json").read_text())
        return loaded

    def have_programs(self, list_name: str, *texts: str) -> None:
        """Make calls that contain one of the texts ``fail``, or be answered and not obeyed (``ignore``)."""
        (self.drives / list_name).write_text("\n".join(texts))

    def write(self, path: Path, value: str, refusal: str, where: str) -> None:
        """What the kernel does when one of its files is written; takes the place of `write_kernel_file`."""
        place = path.resolve()
        with (self.drives / "log").open("a") as log:
            log.write(f"{place.relative_to(self.root)}: {value}\n")
        rules: dict[str, Callable[[Path, str], bool]] = {
            "cache_type": self._write_cache_type,
            "rescan": self._rescan,
            "write_cache": self._write_write_cache,
            "scheduler": self._write_scheduler,
            "nr_requests": self._write_requests,
            "max_sectors_kb": self._write_limit,
        }
        taken = rules.get(place.name, self._write_plain)(place, value)
        if not taken:
            raise DrivelabError("R404", f"{refusal}: Invalid argument", where=where)

    @staticmethod
    def _write_plain(place: Path, value: str) -> bool:
        place.write_text(f"{value}\n")
        return True

    def _write_cache_type(self, place: Path, value: str) -> bool:
        if "scsi_disk" not in place.parts:
            # of a virtio drive: the host and the kernel follow
            place.write_text(f"{value}\n")
            (place.parent / "queue" / "write_cache").write_text(f"{value}\n")
            return True
        block = self._block_of(place)
        belief = self.drives / f"{block.name}.believes"
        belief.unlink(missing_ok=True)
        if not value.startswith("temporary "):
            assert value not in ("write back", "write through"), "that would be saved in the drive"
            return False
        belief.touch()
        for view in (place, block / "queue" / "write_cache"):
            view.write_text(f"{value.removeprefix('temporary ')}\n")
        return True

    def _rescan(self, place: Path, _value: str) -> bool:
        block = self._block_of(place)
        if not (self.drives / f"{block.name}.believes").exists():
            mode = "write back" if self.state(block.name)["cache"] else "write through"
            for view in (*block.glob("device/scsi_disk/*/cache_type"), block / "queue" / "write_cache"):
                view.write_text(f"{mode}\n")
        return True

    def _write_write_cache(self, place: Path, value: str) -> bool:
        scanned = [view.read_text() for view in place.parent.parent.glob("device/scsi_disk/*/cache_type")]
        if value == "write back" and scanned == ["write through\n"]:
            return False
        return self._write_limit(place, value)

    def _write_limit(self, place: Path, value: str) -> bool:
        read_ahead = place.parent / "read_ahead_kb"
        raised = max(self.queues.least_read_ahead_kb, int(read_ahead.read_text()))
        read_ahead.write_text(f"{raised}\n")
        return self._write_plain(place, value)

    def _write_requests(self, place: Path, value: str) -> bool:
        is_alone = "[none]" in (place.parent / "scheduler").read_text()
        most = self.queues.most_requests_alone if is_alone else 2048
        return int(value) <= most and self._write_plain(place, value)

    def _write_scheduler(self, place: Path, value: str) -> bool:
        text = place.read_text()
        names = text.replace("[", "").replace("]", "").split()
        if value not in names:
            return False
        if f"[{value}]" in text:
            # the kernel does not begin it anew
            return True
        place.write_text(" ".join(f"[{name}]" if name == value else name for name in names) + "\n")
        requests = self.queues.requests.get(value, self.queues.requests_of_others)
        (place.parent / "nr_requests").write_text(f"{requests}\n")
        if value in self.queues.throttling:
            (place.parent / "wbt_lat_usec").write_text(f"{self.queues.throttling[value]}\n")
        return True

    def _block_of(self, place: Path) -> Path:
        blocks = [(self.root / "sys" / "block" / name).resolve() for name in os.listdir(self.root / "sys" / "block")]
        return next(block for block in blocks if (block / "device").resolve() in place.parents)
