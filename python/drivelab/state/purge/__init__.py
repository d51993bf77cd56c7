"""Purges: has a drive erase everything it holds, one file per way; `purge` does it."""

from drivelab.state.purge.catalogue import PURGES, purge, purge_reason

__all__ = ["PURGES", "purge", "purge_reason"]
