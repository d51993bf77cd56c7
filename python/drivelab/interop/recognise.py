"""Tells by its contents which program a file is of, and whether it is a fio job file."""

from __future__ import annotations

import re
from collections.abc import Callable

from drivelab.interop import dd, diskbenchmark, ioping, pg_test_fsync, sysstat
from drivelab.interop.bonnie import results as bonnie
from drivelab.interop.fio import results as fio
from drivelab.interop.fio.logs import is_log
from drivelab.interop.foreign import PROGRAMS, ForeignFile, Kind, SourceText
from drivelab.interop.iozone import results as iozone
from drivelab.interop.iozone.throughput import is_throughput, read_throughput
from drivelab.model.errors import DrivelabError


def _read_iozone(source: SourceText) -> ForeignFile:
    return read_throughput(source) if is_throughput(source.text) else iozone.read_results(source)


_READERS: dict[Kind, Callable[[SourceText], ForeignFile]] = {
    "fio": fio.read_results,
    "bonnie": bonnie.read_results,
    "iozone": _read_iozone,
    "diskbenchmark": diskbenchmark.read_results,
    "pg_test_fsync": pg_test_fsync.read_results,
    "ioping": ioping.read_results,
    "dd": dd.read_results,
    "sysstat": sysstat.read_results,
}
_SECTION = re.compile(r"^[ \t]*\[[^\[\]{}\"\n]+\][ \t]*([;#].*)?$", re.MULTILINE)
_OPTION = re.compile(r"^[ \t]*[a-z_]{1,40}([ \t]*=.*)?$", re.MULTILINE)
# what a file says before its results may be long, and is never this long
_LOOKED_AT_CHARACTERS = 1 << 20
# the first line of a table has no more
_NAMES_CHARACTERS = 1 << 16
_RAW_IOPING = re.compile(r"^\s*\d+(\s+\d+){9}\s*$", re.MULTILINE)
# a line of a log of histograms of fio
_HISTOGRAMS = re.compile(r"\s*\d+, [0-2], \d+(, \d+){28,}\s*$", re.MULTILINE)


def read_foreign(source: SourceText, kind: Kind | None = None) -> ForeignFile:
    """The results of a file of another program.

    Parameters
    ----------
    kind : str, optional
        Which program it is of; otherwise its contents tell.

    Raises
    ------
    DrivelabError
        I501: nobody knows what it is. I502 to I505, I507: it cannot be read.
    """
    _refuse_unread(source)
    found = kind or recognised_kind(source.text)
    if found is None and not source.text.strip():
        raise DrivelabError("I501", "it is empty", where=source.name, do="name the file that holds the results")
    if found is None:
        _refuse_samples(source)
        known = ", ".join(PROGRAMS.values())
        raise DrivelabError("I501", f"it is no result of {known}", where=source.name)
    return _READERS[found](source)


def _refuse_unread(source: SourceText) -> None:
    """Say of what is known and not read what it is, and what to do."""
    if _HISTOGRAMS.match(source.text):
        what = "it is a log of histograms of fio (write_hist_log), which is not read"
        do = "import the JSON of the same job, made with --output-format=json+"
        raise DrivelabError("I501", what, where=source.name, do=do)


def _refuse_samples(source: SourceText) -> None:
    """Say of a table of samples of drives what answers from it."""
    # its reader takes long to load, and no other file wants it
    from drivelab.interop.samples.tables import table_in

    table = table_in(source.text[:_NAMES_CHARACTERS])
    if table is not None and not table.columns.missing:
        what = "it is a table of samples of drives, which become no run: which drive is slow is asked of them"
        raise DrivelabError("I501", what, where=source.name, do="drivelab fleet odd FILE")


def recognised_kind(text: str) -> Kind | None:
    """The program that a file is of, by what stands in it; None where nothing tells."""
    begin = text[:_LOOKED_AT_CHARACTERS]
    stripped = begin.lstrip()
    tests: tuple[tuple[Kind, bool], ...] = (
        ("fio", is_log(begin)),
        ("fio", fio.is_terse(begin)),
        ("fio", re.search(r'"(fio version|jobname|client_stats)"\s*:', begin) is not None),
        ("fio", fio.is_normal(begin)),
        ("ioping", "ioping statistics ---" in begin or "requests completed in" in begin),
        ("ioping", stripped.startswith("[") and re.search(r'"(stat|io)"\s*:', begin) is not None),
        ("diskbenchmark", ",".join(diskbenchmark.COLUMNS) in begin),
        ("pg_test_fsync", "ops/sec" in begin and ("usecs/op" in begin or "Compare file sync methods" in begin)),
        ("iozone", re.search(r"^\s*[kK]B\s+reclen\s", begin, re.MULTILINE) is not None),
        ("iozone", re.search(r'^\s*"[A-Za-z -]+ report"\s*$', begin, re.MULTILINE | re.IGNORECASE) is not None),
        ("iozone", is_throughput(begin)),
        ("bonnie", begin.startswith("format_version,") or any(map(bonnie.is_results_line, begin.splitlines()))),
        ("bonnie", any(map(bonnie.is_old_line, begin.splitlines()))),
        ("dd", any(map(dd.is_result_line, begin.splitlines()))),
        ("ioping", _RAW_IOPING.search(begin) is not None),
        ("sysstat", sysstat.is_report(begin)),
    )
    return next((kind for kind, is_it in tests if is_it), None)


def is_job_file(text: str) -> bool:
    """Whether a text is a fio job file, and no results: sections in brackets with options below them."""
    begin = text[:_LOOKED_AT_CHARACTERS]
    first = re.search(r"^[ \t]*(?![ \t;#\r\n])(.*)$", begin, re.MULTILINE)
    if first is None or (first[1].startswith(("{", '["', "[{")) and not _SECTION.match(begin, first.start())):
        return False
    section = _SECTION.search(begin)
    return section is not None and _OPTION.search(begin, section.end()) is not None and recognised_kind(text) is None
