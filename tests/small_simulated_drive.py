"""A model of a simulated drive that is small enough to be filled in a moment."""

MODEL = """
title = "small SSD"
size = "64MiB"
command = "1us"
read_latency = "9us"
write_latency = "9us"

[cache]
size = "1MiB"
volatile = true
flush = "300us"

[flash]
raw = "80MiB"
block = "512KiB"
units = 8
read = "50us"
program = "100us"
erase = "10us"
reads_first = true
"""
