"""The run directory: its layout, writing it, reading it."""
