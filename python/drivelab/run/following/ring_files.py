"""Files that the rings of a program know by numbers of their own, as far as the kernel names them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from drivelab.inventory.mounts import unescape
from drivelab.model.system_calls import RING_FILE
from drivelab.run.following.seen_file import SeenFile

_RING = "anon_inode:[io_uring]"
_TABLE = "UserFiles:"


class RingFiles:
    """Collects which files are registered with the rings of each process."""

    def __init__(self) -> None:
        self._paths: dict[int, set[str]] = defaultdict(set)

    def look(self, process: int, links: Mapping[int, str]) -> None:
        """See what the rings among the descriptors of a process know now."""
        for descriptor in (number for number, path in links.items() if path == _RING):
            with suppress(OSError):
                told = Path("/proc", str(process), "fdinfo", str(descriptor)).read_text()
                self._paths[process] |= registered_paths(told)

    def certain(self, seen: Sequence[SeenFile]) -> Iterator[SeenFile]:
        """The file of each process whose rings know only one; a request does not tell the number that it means.

        Parameters
        ----------
        seen : sequence of SeenFile
            What descriptors stood for: a file is registered by one of them.
        """
        for process, paths in self._paths.items():
            known = [one for one in seen if one.process == process and one.path in paths]
            if len(paths) == 1 and len({(one.device, one.is_durable, one.is_synced) for one in known}) == 1:
                yield replace(known[0], descriptor=RING_FILE)


def registered_paths(told: str) -> set[str]:
    """Names of the files of a ring; older kernels, which leave out directories, tell none.

    Parameters
    ----------
    told : str
        What the kernel says of the ring's descriptor in ``fdinfo``.
    """
    lines = iter(told.splitlines())
    found = set()
    for line in lines:
        if line.startswith(_TABLE):
            break
    for line in lines:
        number, _, path = line.partition(": ")
        if not number.strip().isdigit():
            break
        found.add(unescape(path))
    return {path for path in found if path.startswith("/")}
