"""The list of options: every one that drivelab knows, by any of its names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace

from drivelab.interop.fio import options_of_io, options_of_jobs, options_of_results
from drivelab.interop.fio.option import Option

_TOPICS = (options_of_jobs.TOPICS, options_of_io.TOPICS, options_of_results.TOPICS)

# in the order of the documentation
OPTIONS: tuple[Option, ...] = tuple(
    replace(option, topic=topic) for topics in _TOPICS for topic, options in topics.items() for option in options
)
BY_NAME: dict[str, Option] = {name: option for option in OPTIONS for name in (option.name, *option.aliases)}
# fio sorts the options of a section by these before it reads them
READ_FIRST = ("kb_base", "unit_base", "cpus_allowed_policy", "lockfile")
READ_LAST = ("filename", "filename_format")


def nearest(name: str, among: Iterable[str] = BY_NAME) -> str:
    """The known name that is most like `name`; "" when none is."""
    found = difflib.get_close_matches(name, list(among), n=1, cutoff=0.7)
    return found[0] if found else ""
