"""On which disk the files of running programs lie that they wait for."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from drivelab.inventory.block_devices import name_of_number, number_of_node
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.system_calls import ENTER_RING, READS, SUBMIT_AIO, SYNCS, WITHOUT_DESCRIPTOR, WRITES, call_numbers
from drivelab.model.target import TargetFacts
from drivelab.run.following.calls_trace import calls_traced
from drivelab.run.following.processes import open_links, status_number
from drivelab.run.following.seen_file import SeenFile, disk_of_number, seen_file
from drivelab.run.tracing.disk import traced_disk

_STDERR = 2
_LOOK_S, _LOOKS = 0.25, 4
_WORD = 0xFFFFFFFF


def place_of(pids: Sequence[int]) -> TargetFacts:
    """Where the files lie that processes wait for: their calls are looked at for a moment where it could be two disks.

    Raises
    ------
    DrivelabError
        R430, R431, R434: calls cannot be traced here. R440: none of their files lies on a disk.
    """
    opened = list(_open_now(pids))
    # where its messages go says little of where its data lie
    files = [file for file in opened if file.descriptor > _STDERR] or opened
    files = [file for file in files if disk_of_number(file.device)]
    if not files:
        raise _no_place(pids)
    device = _likely_device(files)
    if len({disk_of_number(file.device) for file in files}) > 1:
        times = _time_by_device(pids, files, device)
        device = max(times, key=lambda one: times[one], default=device)
    return resolve_target(_seen_from_here(max((file for file in files if file.device == device), key=_weight)))


def _weight(file: SeenFile) -> tuple[bool, bool, int]:
    """Files that pass the page cache tell most, then those that are written, then large ones."""
    return file.is_direct, file.is_written, file.size_bytes


def _likely_device(files: Sequence[SeenFile]) -> str:
    """Where most bytes of the files lie that tell most."""
    most = max(_weight(file)[:2] for file in files)
    sizes: Counter[str] = Counter()
    for file in files:
        if _weight(file)[:2] == most:
            sizes[file.device] += file.size_bytes
    return sizes.most_common(1)[0][0]


def _time_by_device(pids: Sequence[int], files: Sequence[SeenFile], likely: str) -> Mapping[str, int]:
    """How long the calls of a moment took by the device of their files, in ns; nothing where there were none.

    Calls that submit to a ring do not tell their file: they are those of the likely device.
    """
    devices = {(file.process, file.descriptor): file.device for file in files}
    of_data = {*READS, *WRITES, *SYNCS} - {*WITHOUT_DESCRIPTOR}
    names = {number: name for name, number in call_numbers(os.uname().machine).items()}
    found: Counter[str] = Counter()
    with calls_traced(pids, traced_disk(disk_of_number(likely))) as trace:
        trace.newest()
        for _ in range(_LOOKS):
            time.sleep(_LOOK_S)
            for row in trace.newest().to_pylist():
                name = names.get(row["number"], "")
                process = status_number(row["thread"], "Tgid") or row["thread"]
                device = devices.get((process, row["argument_0"] & _WORD)) if name in of_data else None
                device = likely if name in (SUBMIT_AIO, ENTER_RING) else device
                if device and row["result"] >= 0:
                    found[device] += row["end_ns"] - row["start_ns"]
            if found:
                break
    return found


def _no_place(pids: Sequence[int]) -> DrivelabError:
    hidden = [pid for pid in pids if not _may_be_looked_at(pid)]
    if hidden:
        what = f"the open files of process {', '.join(map(str, hidden))} may not be looked at"
        return DrivelabError("R440", what, where="--pid", do="run as root, in a container with CAP_SYS_PTRACE")
    do = "name the directory of its files, on a disk of this machine: --path DIR"
    names = ", ".join(map(str, pids))
    return DrivelabError("R440", f"process {names} has no file open that lies on a disk", where="--pid", do=do)


def _seen_from_here(file: SeenFile) -> str:
    """A file by its name; by its device, where it is that of a container, or gone."""
    with suppress(OSError):
        number = os.stat(file.path).st_dev
        if file.device in (f"{os.major(number)}:{os.minor(number)}", number_of_node(file.path)):
            return file.path
    return f"/dev/{name_of_number(file.device)}"


def _may_be_looked_at(pid: int) -> bool:
    """Whether its descriptors can be read; of what is gone, nothing is hidden."""
    try:
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            os.readlink(f"/proc/{pid}/fd/{descriptor}")
    except PermissionError:
        return False
    except OSError:
        return True
    return True


def _open_now(pids: Sequence[int]) -> Iterator[SeenFile]:
    for pid in pids:
        for descriptor, path in open_links(pid).items():
            if path.startswith("/") and (file := seen_file(pid, descriptor, path, 0)):
                yield file
