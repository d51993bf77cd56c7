"""Finds out what a storage drive really does, why, and whether the number can be trusted.

>>> import drivelab
>>> run = drivelab.open("reference:ssd-latency")
>>> run.is_reference
True
"""

from typing import Any

__version__ = "0.1.0"
_OF_NOTEBOOK = ("compare", "open")
__all__ = ["__version__", *_OF_NOTEBOOK]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """What notebooks use, loaded when it is first asked for: the command line must not wait for it."""
    if name in _OF_NOTEBOOK:
        # by its name in a string: everything here imports this package, and may not depend on that layer
        from importlib import import_module

        return getattr(import_module("drivelab.notebook"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_OF_NOTEBOOK})
