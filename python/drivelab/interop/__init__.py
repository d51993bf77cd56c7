"""Foreign formats, both ways: job files and results of the tools that people already use."""
