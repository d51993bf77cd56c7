"""Finds out what a storage drive really does, why, and whether the number can be trusted."""

__version__ = "0.1.0"
