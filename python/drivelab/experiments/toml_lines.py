"""Finds the line of a TOML file that a key stands in, so that an error can name it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")


def line_of(text: str, location: Sequence[str | int]) -> int:
    """Number of the line, from 1, that comes nearest to a place in the document.

    Parameters
    ----------
    text : str
        A TOML document.
    location : sequence of str or int
        Keys and indices from the top: ``("workloads", 1, "block_size")``.

    Returns
    -------
    int
        The line of the innermost key that can be found; for a missing key the
        header of its table; 1 when nothing is found.
    """
    best_depth, best_line = 0, 1
    for line, path in _paths(text):
        depth = _common_length(path, location)
        if depth == len(path) and depth > best_depth:
            best_depth, best_line = depth, line
    return best_line


def _paths(text: str) -> list[tuple[int, tuple[str | int, ...]]]:
    """Every header and key of the document: its line, and its place."""
    found: list[tuple[int, tuple[str | int, ...]]] = []
    table: tuple[str | int, ...] = ()
    seen: dict[str, int] = {}
    for line, content in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(content)
        if header:
            table = _table_path(header[2], is_array=header[1] == "[[", seen=seen)
            found.append((line, table))
            continue
        for key in re.findall(r"(?:^|[{,])\s*\"?([A-Za-z0-9_-]+)\"?\s*=", content):
            at_start = content.lstrip().startswith(key)
            outer = () if at_start else _key_at_start(content)
            found.append((line, (*table, *outer, key)))
    return found


def _table_path(name: str, *, is_array: bool, seen: dict[str, int]) -> tuple[str | int, ...]:
    """The place a header opens; a table below an array lies in its last element."""
    if is_array:
        seen[name] = seen.get(name, -1) + 1
    path: list[str | int] = []
    parts = [part.strip().strip('"') for part in name.split(".")]
    for length, part in enumerate(parts, start=1):
        path.append(part)
        prefix = ".".join(parts[:length])
        if prefix in seen:
            path.append(seen[prefix])
    return tuple(path)


def _key_at_start(content: str) -> tuple[str, ...]:
    match = re.match(r"\s*\"?([A-Za-z0-9_-]+)\"?\s*=", content)
    return (match[1],) if match else ()


def _common_length(path: Sequence[str | int], location: Sequence[str | int]) -> int:
    length = 0
    for ours, theirs in zip(path, location, strict=False):
        if ours != theirs:
            break
        length += 1
    return length
