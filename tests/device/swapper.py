"""A user who owns a directory and exchanges what root makes in it, in a tight loop: for `test_exchanged_files`."""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

# what drivelab calls its things; the files that the tests have made themselves begin otherwise
OURS = (".drivelab", "drivelab-", "made")
NOBODY = 65534


def put_in_place(name: str, victim: str, kind: int) -> None:
    """Something else under a name that is free now."""
    links = [entry for entry in os.listdir() if entry.startswith("hard-")]
    if kind == 1 and links:
        os.rename(links[0], name)
    elif kind == 2:
        os.mkfifo(name)
    elif kind == 3:
        os.mkdir(name)
        os.symlink(victim, f"{name}/trial.data")
        os.symlink(os.path.dirname(victim), f"{name}/files")
    elif kind == 4:
        os.symlink(os.path.dirname(victim), name)
    else:
        os.symlink(victim, name)


def main(directory: str, victim: str) -> None:
    """Exchange until the process is ended; tell of the first time."""
    os.chdir(directory)
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    print("ready", flush=True)
    swapped = count()
    while True:
        for entry in os.scandir():
            if not entry.name.startswith(OURS) or entry.is_symlink() or entry.stat(follow_symlinks=False).st_uid:
                continue
            number = next(swapped)
            try:
                os.rename(entry.name, f"away-{number}")
                put_in_place(entry.name, victim, number % 5)
            except OSError:
                continue
            Path(f"swapped-{number}").touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
