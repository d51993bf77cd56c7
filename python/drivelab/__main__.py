"""Entry point: answers ``--version`` at once, hands everything else to the command line."""

from __future__ import annotations

import sys

from drivelab import __version__


def main() -> int:
    """Exit status of the program run with the arguments of this process."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"drivelab {__version__}")
        return 0
    # imported here: loading the command line would make --version several times slower
    from drivelab.cli.main import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
