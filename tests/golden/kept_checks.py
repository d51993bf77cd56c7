"""Checks of a directory on one day after another, kept where a test says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from drivelab.store.read import StoredRun, open_run

GOLDEN = Path(__file__).resolve().parent / "runs"
TARGET = "/var/lib/etcd"


class Kept:
    """Runs that are kept, each a check of another day."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def check(self, *, label: str = TARGET, serial: str = "S3EV", kernel: str = "6.12.41", **drive: Any) -> None:
        self.count += 1
        directory = self.folder / f"202602{self.count:02}T120000Z-check-etcd"
        shutil.copytree(GOLDEN / "check-directory", directory)
        document = json.loads((directory / "run.json").read_text())
        document["started_utc"] = f"2026-02-{self.count:02}T12:00:00.000+00:00"
        document["host"]["kernel_release"] = kernel
        (target,) = document["targets"]
        target["label"] = label
        smart = drive.pop("percentage_used", None)
        target["smart_before"] = [{} if smart is None else {"percentage_used": smart}]
        for facts in (target["facts_before"], target["facts_after"]):
            facts["drives"][0] |= {"serial": serial, "serials": [serial] if serial else [], **drive}
        (directory / "run.json").write_text(json.dumps(document))

    def last_with(self, **keys: Any) -> None:
        """Other keys in the run.json of the newest."""
        path = sorted(self.folder.iterdir())[-1] / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | keys))

    def runs(self) -> list[StoredRun]:
        return [open_run(path) for path in sorted(self.folder.iterdir())]
