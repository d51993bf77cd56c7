"""Files created, looked up and deleted per second, beside Bonnie++ in the same directory of an ext4 over memory."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cases import Row, alternate

from drivelab.model.tree import Tree
from drivelab.model.workload import Access, Durability, OperationShare, TargetRange, Workload
from drivelab.run.engine import prepare_target, remove_tree, run_workload

# in 1024 files, as bonnie++ -n counts; below half a second Bonnie++ tells no rate
FILES_KI = 512
ORDERS = ("sequential", "random")
OPERATIONS = ("create", "stat", "delete")
PHASES = tuple((order, operation) for order in ORDERS for operation in OPERATIONS)
# with what we aim at
QUANTITIES = (("per second", ">= 1"), ("processor time each (ns)", "<= 1"))
_IMAGE_BYTES = 3 << 30
_INODES = 700_000
# rates and processor time in percent follow the number of files and four fields more
_FIELDS_BEFORE_RATES = 5


def file_operations(rounds: int) -> list[Row]:
    """Rates and processor time of empty files in one directory; with a sync of the file system after each phase."""
    with _ext4_over_memory() as directory:
        ours, theirs = alternate(rounds, lambda: _by_drivelab(directory), lambda: _by_bonnie(directory))
    pairs = list(zip(ours, theirs, strict=True))
    rows = []
    for phase in PHASES:
        # where Bonnie++ was too fast to tell, there is no pair
        told = [(mine[phase], its[phase]) for mine, its in pairs if phase in its]
        for place, (quantity, target) in enumerate(QUANTITIES if told else ()):
            mine, its = (tuple(one[side][place] for one in told) for side in (0, 1))
            rows.append(Row(f"{phase[1]}, {phase[0]} order", quantity, mine, its, target))
    return rows


def bonnie_version() -> str:
    """Its name and version."""
    done = subprocess.run(["bonnie++", "--help"], capture_output=True, text=True, check=False)
    words = (done.stdout + done.stderr).split()
    return f"bonnie++ {words[words.index('Version:') + 1]}" if "Version:" in words else "bonnie++"


def _by_drivelab(directory: Path) -> dict[tuple[str, str], tuple[float, float]]:
    found = {}
    for order, operation in PHASES:
        workload = Workload(
            target=TargetRange(path=str(directory)),
            operations=(OperationShare.model_validate({"operation": operation}),),
            access=Access.model_validate({"kind": order}),
            durability=Durability(method="fsync", at_end=True),
            tree=Tree(file_count=1024 * FILES_KI),
        )
        prepare_target(workload)
        summary = run_workload(workload).summary
        count = summary["operations"][operation]["count"]
        found[order, operation] = (count / summary["measured_ns"] * 1e9, summary["cpu"]["total_ns"] / count)
    remove_tree(str(directory))
    os.sync()
    return found


def _by_bonnie(directory: Path) -> Mapping[tuple[str, str], tuple[float, float]]:
    words = ["bonnie++", "-q", "-u", "root", "-s", "0", "-n", str(FILES_KI), "-d", str(directory)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    fields = done.stdout.strip().splitlines()[-1].split(",")
    begin = fields.index(str(FILES_KI)) + _FIELDS_BEFORE_RATES
    found = {}
    for place, phase in enumerate(PHASES):
        rate, percent = fields[begin + 2 * place : begin + 2 * place + 2]
        if "+" not in rate + percent:
            found[phase] = (float(rate), float(percent) / 100 / float(rate) * 1e9)
    os.sync()
    return found


@contextmanager
def _ext4_over_memory() -> Iterator[Path]:
    with ExitStack() as stack:
        image = stack.enter_context(tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="drivelab-bench-"))
        image.truncate(_IMAGE_BYTES)
        device = _run("losetup", "--find", "--show", image.name).strip()
        stack.callback(_run, "losetup", "--detach", device)
        _run("mkfs.ext4", "-q", "-N", str(_INODES), "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="drivelab-bench-"))
        _run("mount", device, directory)
        stack.callback(_run, "umount", directory)
        yield Path(directory)


def _run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout
