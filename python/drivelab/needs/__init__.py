"""The built-in needs: what programs ask of their storage, as TOML files.

A user's own file is of the same format and works wherever a built-in name does.
"""
