"""Entry point: answers ``--version`` at once, hands everything else to the command line."""

from __future__ import annotations

import os
import sys

from drivelab import __version__


def main() -> int:
    """Exit status of the program run with the arguments of this process."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"drivelab {__version__}")
        return 0
    # numpy's linear algebra would start a spinning thread on every processor, beside the I/O that is timed
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
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
