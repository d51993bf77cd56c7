"""Reads single attributes of the kernel; what is not there is None, never an exception."""

from __future__ import annotations

import os
from pathlib import Path


def read_text(path: Path) -> str | None:
    """Contents of a small file without surrounding blanks; None when it cannot be read."""
    content = read_bytes(path)
    return None if content is None else content.decode(errors="replace").strip().strip("\0").strip()


def read_names(path: Path) -> str | None:
    """Contents of a small file that names files, as they can be opened; None when it cannot be read."""
    content = read_bytes(path)
    # a file's name may hold any byte
    return None if content is None else os.fsdecode(content)


def read_bytes(path: Path) -> bytes | None:
    """Contents of a small file; None when it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return None


def read_int(path: Path, default: int = 0) -> int:
    """The whole number that a small file holds; `default` when it holds none."""
    text = read_text(path)
    try:
        return int(text) if text else default
    except ValueError:
        return default


def read_flag(path: Path) -> bool | None:
    """Whether the file holds 1 and not 0; None when it holds neither."""
    return {"1": True, "0": False}.get(read_text(path) or "")


def entries(directory: Path) -> list[str]:
    """Names in a directory, sorted; empty when it is not there."""
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def link_target_name(path: Path) -> str | None:
    """Last part of what a symbolic link points to; None when it is no link."""
    try:
        return os.path.basename(os.readlink(path))
    except OSError:
        return None


def chosen(text: str | None) -> str | None:
    """The chosen one of a list that marks it with brackets: ``mq-deadline [none]`` gives ``none``."""
    if not text:
        return None
    marked = [word[1:-1] for word in text.split() if word.startswith("[") and word.endswith("]")]
    return marked[0] if marked else text.split()[0]
