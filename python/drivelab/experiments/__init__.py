"""The built-in experiments: questions, factors and workloads, as TOML files.

A user's own file is of the same format and works wherever a built-in name does.
"""
