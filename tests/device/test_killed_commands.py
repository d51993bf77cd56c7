"""Commands that are killed outright at any moment: `restore` finds all that they left, and what was there stays."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from device.program import Drivelab

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

# with those of test_resume.py 62 in every run of the tests, and a thousand of them where it is asked for
KILLS = 1000 if os.environ.get("DRIVELAB_PROVE") else 12
# places that are killed in at the same time: the commands wait more than they work
PLACES = 4
Arguments = Callable[[Drivelab, Path], tuple[str, ...]]
# each with how long it takes, about, from its start
COMMANDS: dict[str, tuple[float, Arguments]] = {
    "check": (8, lambda _, data: ("check", str(data), "--quick", "--for", "sqlite")),
    "io on files": (3, lambda _, data: ("io", str(data), "--operation", "create", "--files", "3000")),
    "explain": (6, lambda _, data: ("explain", str(data), "--count", "300")),
    "run": (6, lambda drivelab, _: ("run", str(drivelab.small), "scratch:32MiB")),
    "run in a directory": (5, lambda drivelab, data: ("run", str(drivelab.folder / "plain.toml"), str(data))),
    "restore": (1, lambda *_: ("restore",)),
}
PLAIN = """
format = 1
name = "plain"
question = "What is left of a directory?"
repeats = { full = 2, quick = 2 }

[[workloads]]
name = "log"
block_size = "4KiB"
file_size = "1MiB"
durability = "fdatasync"
count = 300
interval = "2ms"
"""


@pytest.mark.timeout(900 if KILLS < 100 else 7200)
def test_whatever_is_killed_restore_finds_what_it_left(tmp_path: Path) -> None:
    places = [tmp_path / str(number) for number in range(PLACES)]
    for place in places:
        place.mkdir()
    with ThreadPoolExecutor(PLACES) as pool:
        left_behind = sum(pool.map(killed_again_and_again, map(Drivelab, places), range(PLACES)))
    assert left_behind >= KILLS // 6, "the kills came too late to mean anything"


def killed_again_and_again(drivelab: Drivelab, seed: int) -> int:
    """How many of the kills left something behind."""
    generator = random.Random(seed)
    data = drivelab.folder / "data"
    data.mkdir()
    (data / "theirs").write_text("untouched")
    (drivelab.folder / "plain.toml").write_text(PLAIN)
    names = list(COMMANDS)
    left_behind = 0
    for number in range(KILLS // PLACES):
        name = names[(seed + number * PLACES) % len(names)] if number < len(names) else generator.choice(names)
        kill(drivelab, data, name, generator)
        left_behind += bool(drivelab.left_over()) or len(list(data.iterdir())) > 1
        if generator.random() < 0.3:
            # one that puts things back is no safer from being killed
            kill(drivelab, data, "restore", generator)
        answer = drivelab.run("restore")
        assert answer.returncode == 0, f"{name}: {answer.stderr}"
        assert drivelab.left_over() == [], name
        assert [path.name for path in data.iterdir()] == ["theirs"], name
        assert (data / "theirs").read_text() == "untouched"
    return left_behind


def kill(drivelab: Drivelab, data: Path, name: str, generator: random.Random) -> None:
    """Start a command, and kill it at some moment of its life, mostly from when it has changed something."""
    lasts_s, arguments = COMMANDS[name]
    process = drivelab.start(*arguments(drivelab, data))
    if generator.random() < 0.8:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline and not has_begun(drivelab, data):
            time.sleep(0.01)
    deadline = time.monotonic() + lasts_s * generator.random() ** 2
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.communicate()


def has_begun(drivelab: Drivelab, data: Path) -> bool:
    """Whether something is there that a killed command leaves behind."""
    return len(list(data.iterdir())) > 1 or any(drivelab.scratch.iterdir())


@pytest.mark.parametrize(
    "name", ["a\u3000b", "a\xa0b", "a\x1bb", "caf\udce9"], ids=["ideographic", "nbsp", "esc", "bytes"]
)
def test_directories_with_any_name_are_left_as_they_were(drivelab: Drivelab, name: str) -> None:
    place = drivelab.folder / name
    place.mkdir()
    drivelab.environment["DRIVELAB_SCRATCH"] = os.fsencode(place)
    (drivelab.folder / "plain.toml").write_text(PLAIN.replace("count = 300", "count = 20"))
    target = "scratch:32MiB" if "\udce9" in name else str(place)
    answer = drivelab.run("run", str(drivelab.folder / "plain.toml"), target)
    assert answer.returncode in (0, 4), answer.stderr
    assert list(place.iterdir()) == []
    journals = drivelab.folder / "state" / "drivelab" / "journals"
    assert list(journals.glob("*.jsonl")) == []
