"""Frozen types that cross layers; nothing here does I/O."""
