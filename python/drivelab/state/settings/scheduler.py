"""The I/O scheduler: in which order the kernel sends requests to the drive."""

from __future__ import annotations

import platform

from drivelab.inventory.block_devices import directory_of
from drivelab.inventory.sysfs import read_text
from drivelab.model.drive import DriveFacts
from drivelab.state.settings.attribute_setting import AttributeSetting

# by the file of their module; the kernel loads one that is asked for
_MODULES = {"mq-deadline.ko": "mq-deadline", "kyber-iosched.ko": "kyber", "bfq.ko": "bfq"}


class Scheduler(AttributeSetting):
    """Levels are the schedulers that the kernel lists, and those that it can load."""

    name = "scheduler"
    attribute = "queue/scheduler"

    def levels(self, drive: DriveFacts) -> tuple[str, ...]:
        """Schedulers of this queue, those that are loaded first."""
        listed = read_text(directory_of(drive.name, self._paths) / "queue" / "scheduler") or ""
        loaded = listed.replace("[", "").replace("]", "").split()
        # a queue that lists nothing but none takes no scheduler at all, unless none is loaded yet
        loadable = self._loadable() if self._has_queue(drive) else []
        return tuple(dict.fromkeys((*loaded, *loadable)))

    def _loadable(self) -> list[str]:
        modules = self._paths.root / "lib" / "modules" / platform.uname().release
        known = read_text(modules / "modules.dep") or ""
        files = {line.partition(":")[0].rpartition("/")[2] for line in known.splitlines()}
        # a module may be compressed: bfq.ko.zst
        return [name for module, name in _MODULES.items() if any(file.startswith(module) for file in files)]
