"""Entry point: answers ``--version`` at once, hands everything else to the command line."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from drivelab import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence


class _WithoutPandas:
    """Answers that pandas is not there: pyarrow would load it, and half of a command's start would be that."""

    def find_spec(self, fullname: str, _path: Sequence[str] | None, _target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("no command needs pandas", name=fullname)


def prepare() -> None:
    """Before anything large is imported: what would be loaded, or started, and is not needed."""
    sys.meta_path.insert(0, _WithoutPandas())
    # numpy's linear algebra would start a spinning thread on every processor, beside the I/O that is timed
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> int:
    """Exit status of the program run with the arguments of this process."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"drivelab {__version__}")
        return 0
    prepare()
    try:
        # imported here: loading the command line would make --version several times slower
        from drivelab.streams import open_closed_descriptors

        # before anything else is opened: no file may become what everybody prints to
        open_closed_descriptors()
        if "_DRIVELAB_COMPLETE" in os.environ:
            from drivelab.cli.completion import complete

            return complete()
        from drivelab.cli.main import run

        return run(arguments)
    except KeyboardInterrupt:
        # Ctrl-C before the program catches it by itself
        return 130


if __name__ == "__main__":
    sys.exit(main())
