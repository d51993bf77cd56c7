"""Recorded loads: read from what recorded them, fitted to a target, and handed to the engine to be issued again."""
