"""Writes what a run found as pages, text and figures; reads the store only."""
