"""Runs that somebody ends with several signals at once, at random moments: nothing may be left changed.

``python tests/device/impatient_runs.py [RUNS] [SEED]`` does many of them as root, several at the same time; it
ends with an error as soon as one has left something. Each has a loop device, a state and a directory of its own.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "python")]

from device.program import Drivelab

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
FILES = ("scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb", "wbt_lat_usec", "write_cache")
# a run of this experiment takes about so long; most of it is the start of the program
_LASTS_S = 3.0
EXPERIMENT = """
format = 1
name = "impatient"
question = "What is left when somebody does not want to wait?"
repeats = { full = 1, quick = 1 }

[[factors]]
setting = "scheduler"
levels = ["bfq", "none"]

[[factors]]
setting = "nr-requests"
levels = ["as-found", "16"]

[[factors]]
setting = "read-ahead"
levels = ["65536"]

[[workloads]]
name = "read"
operation = "read"
block_size = "4KiB"
backend = "sync"
count = 50
"""


def queue_of(device: Path) -> dict[str, str]:
    """What the queue of a device is set to."""
    return {file: Path(f"/sys/block/{device.name}/queue/{file}").read_text().strip() for file in FILES}


@contextmanager
def loop_device(folder: Path):  # type: ignore[no-untyped-def]
    """A small loop device whose queue is not as the kernel makes it."""
    backing = folder / "drive.img"
    with backing.open("wb") as file:
        file.truncate(16 * 2**20)
    answer = subprocess.run(["losetup", "--find", "--show", str(backing)], capture_output=True, text=True, check=True)
    device = Path(answer.stdout.strip())
    queue = Path(f"/sys/block/{device.name}/queue")
    try:
        for file, value in (("scheduler", "mq-deadline"), ("nr_requests", "33"), ("read_ahead_kb", "256")):
            (queue / file).write_text(value)
        yield device
    finally:
        # a queue stays with the number of the loop
        (queue / "scheduler").write_text("none")
        subprocess.run(["losetup", "--detach", str(device)], check=True)


def impatient_run(seed: int) -> str:
    """One run that gets 2 to 20 signals within a second; what it has left changed, in words, or nothing."""
    chosen = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="drivelab-impatient-") as name, loop_device(Path(name)) as device:
        drivelab = Drivelab(Path(name))
        experiment = Path(name) / "impatient.toml"
        experiment.write_text(EXPERIMENT)
        before = queue_of(device)
        process = drivelab.start("run", str(experiment), str(device))
        _wait_for_moment(process, device, before, chosen)
        for _ in range(chosen.randint(2, 20)):
            with suppress(ProcessLookupError):
                os.kill(process.pid, chosen.choice(SIGNALS))
            time.sleep(chosen.random() * 0.05)
        _, err = process.communicate()
        wrong = [f"{file} was {text}, is {queue_of(device)[file]}" for file, text in before.items()]
        wrong = [text for text, file in zip(wrong, before, strict=True) if queue_of(device)[file] != before[file]]
        left = drivelab.left_over()
        if not wrong and not left:
            return ""
        if "drivelab restore" in err and drivelab.run("restore").returncode == 0 and queue_of(device) == before:
            # it said so, and that put everything back
            return ""
        return f"seed {seed}: {'; '.join(wrong)} {left}, exit status {process.returncode}: {err}"


def _wait_for_moment(
    process: subprocess.Popen[str], device: Path, before: dict[str, str], chosen: random.Random
) -> None:
    """Wait for a random while, mostly from when settings are changed; now and then from the start."""
    deadline = time.monotonic() + (60 if chosen.random() < 0.8 else 0)
    while process.poll() is None and time.monotonic() < deadline and queue_of(device) == before:
        time.sleep(0.005)
    time.sleep(chosen.random() ** 2 * _LASTS_S)


def impatient_runs(seeds: Sequence[int], at_once: int) -> list[str]:
    """What each of some runs has left changed; those that left nothing are not told of."""
    runners = ThreadPoolExecutor(at_once)
    try:
        return [text for text in runners.map(impatient_run, seeds) if text]
    finally:
        runners.shutdown(cancel_futures=True)


def main() -> int:
    # those that are under way end first, and take their loop devices with them
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))
    count, seed = (int(argument) for argument in [*sys.argv[1:], "1000", str(int(time.time()))][:2])
    for begin in range(0, count, 20):
        left = impatient_runs(range(seed + begin, seed + min(begin + 20, count)), 2 * (os.cpu_count() or 1))
        if left:
            print("\n".join(left))
            return 1
        print(f"{min(begin + 20, count)} of {count} runs left nothing changed", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
