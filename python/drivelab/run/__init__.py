"""Executes plans: the only place that issues I/O or changes settings."""
