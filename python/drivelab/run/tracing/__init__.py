"""Takes block traces: chooses a source, runs it beside a workload, and always takes it down."""
