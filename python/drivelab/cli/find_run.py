"""Which run directory is meant by what was typed: the store knows."""

from __future__ import annotations

from drivelab.store.find_run import find_run

__all__ = ["find_run"]
