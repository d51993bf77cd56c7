"""Reads recordings of block traces: merged, split into phases, joined with the operations that caused them."""
