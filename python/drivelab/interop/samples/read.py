"""Reads files and directories of samples of whatever program: which one a file is of, its contents tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from drivelab.interop.samples.clocks import clock_remarks
from drivelab.interop.samples.collected import Collected
from drivelab.interop.samples.counters import Counters, is_counters
from drivelab.interop.samples.date_order import SlashedDate, day_first_files, slashed_dates
from drivelab.interop.samples.reports import is_report, read_report
from drivelab.interop.samples.tables import dates_in_table, read_table, table_in
from drivelab.interop.source_file import BYTES_MAX, source_of
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet import HostSeries

_HEAD_BYTES = 1 << 16
_ENDINGS = {".csv", ".tsv", ".txt", ".json", ".prom", ".om", ".log", ".out"}
_NAMED_MAX = 3
_PACKED = {".gz", ".bz2", ".zst", ".lz4"}


@dataclass(frozen=True, slots=True)
class Samples:
    """What files hold.

    Attributes
    ----------
    has_unit : bool
        Whether latencies are microseconds; otherwise nothing tells their unit.
    remarks : tuple of str
        How times were read that may be read otherwise.
    notes : dict of str to int
        What was left out, and how many of it.
    """

    hosts: tuple[HostSeries, ...]
    file_count: int
    has_unit: bool
    remarks: tuple[str, ...]
    notes: dict[str, int]


def read_samples(paths: Sequence[Path], latency_unit: str = "") -> Samples:
    """The samples of files, and of all files below directories.

    Parameters
    ----------
    paths : sequence of Path
        Where nothing in a file of a directory tells its host, its folder is named after it.
    latency_unit : str
        ns, us, ms or s, where a file does not tell its unit.

    Raises
    ------
    DrivelabError
        I501 to I506, I508, I510 to I512: a file that cannot be read, or what cannot be judged.
    """
    collected, counters = Collected(latency_unit), Counters()
    files = _each_once(paths)
    day_first, remarks = day_first_files({file: dates for file in files if (dates := _dates(file))})
    empty = []
    for file, is_named in files.items():
        try:
            if not _read(file, collected, counters, is_named=is_named, is_day_first=file in day_first):
                collected.note("files that hold no samples", 1)
        except DrivelabError as error:
            # the only file that is named says itself why it holds nothing
            if error.code != "I505" or (is_named and len(paths) == 1):
                raise
            empty.append(file)
    counters.hand_over(collected)
    if empty:
        more = f" and {len(empty) - _NAMED_MAX} more" if len(empty) > _NAMED_MAX else ""
        collected.note(f"no sample in {', '.join(map(str, empty[:_NAMED_MAX]))}{more}", len(empty))
    hosts = tuple(collected.hosts())
    remarks += clock_remarks(hosts, collected.without_zone)
    return Samples(hosts, len(files), collected.has_unit, tuple(remarks), collected.notes)


def _each_once(paths: Sequence[Path]) -> dict[Path, bool]:
    """All files that are read, and whether each is named itself."""
    found: dict[Path, bool] = {}
    seen: set[Path] = set()
    for path in paths:
        is_named = not path.is_dir()
        for file in [path] if is_named else _files_below(path):
            if (real := file.resolve()) in seen:
                raise DrivelabError("I509", "it is named twice", where=str(file))
            seen.add(real)
            found[file] = is_named
    return found


def _dates(path: Path) -> set[SlashedDate]:
    """The dates with slashes of a file whose beginning has any."""
    try:
        text = _begin(path, _HEAD_BYTES).decode("utf-8-sig", errors="replace")
        if not slashed_dates(text) or is_counters(text):
            return set()
        if is_report(text):
            return slashed_dates(_begin(path, BYTES_MAX + 1).decode("utf-8", errors="replace"))
        table = None if text.lstrip().startswith("{") else table_in(text)
        return dates_in_table(path, table) if table is not None else set()
    except DrivelabError:
        # reading it says so again, in its turn
        return set()


def _files_below(directory: Path) -> Iterator[Path]:
    found = sorted(path for path in directory.rglob("*") if _is_looked_at(path))
    if not found:
        what = f"there is no file in it that ends with one of {', '.join(sorted(_ENDINGS))}"
        raise DrivelabError("I505", what, where=str(directory), do="name the files themselves")
    yield from found


def _is_looked_at(path: Path) -> bool:
    # macOS keeps attributes of a file in another one, that begins with a dot
    return _ending(path) in _ENDINGS and not path.name.startswith(".") and path.is_file()


def _ending(path: Path) -> str:
    return Path(path.stem).suffix.lower() if path.suffix.lower() in _PACKED else path.suffix.lower()


def _read(path: Path, collected: Collected, counters: Counters, *, is_named: bool, is_day_first: bool) -> bool:
    """Take the samples of a file; False where it holds none and was not named itself."""
    place = _place(path)
    head = _begin(path, _HEAD_BYTES)
    text = head.decode("utf-8-sig", errors="replace")
    if is_report(text):
        read_report(source_of(path, _begin(path, BYTES_MAX + 1)).source, place, collected, is_day_first=is_day_first)
        return True
    if is_counters(text):
        counters.read(source_of(path, _begin(path, BYTES_MAX + 1)).source, place)
        return True
    table = None if text.lstrip().startswith("{") else table_in(text)
    if table is not None:
        read_table(path, table, place, collected, is_day_first=is_day_first)
        return True
    if not is_named:
        return False
    if not text.strip():
        raise DrivelabError("I501", "it is empty", where=str(path), do="name the file that holds the samples")
    what = "it is no table of samples, no report of iostat or sar, and has no counters of node_exporter"
    do = "name the columns in the first line: time,host,drive,throughput,latency"
    raise DrivelabError("I501", what, where=str(path), do=do)


def _place(path: Path) -> tuple[str, str]:
    """Cluster and host of a file that tells neither: its folder is the host, and the folder around it the cluster."""
    folders = path.resolve().parent
    return folders.parent.name, folders.name


def _begin(path: Path, size: int) -> bytes:
    """The first bytes of a file, unpacked.

    Raises
    ------
    DrivelabError
        I506: it cannot be opened, or is cut off.
    """
    try:
        if not path.is_file():
            what = "it is a pipe or a device, and no regular file" if path.exists() else "there is no such file"
            raise DrivelabError("I506", what, where=str(path))
        with pa.input_stream(str(path), compression="detect") as stream:
            return bytes(stream.read(size))
    except (OSError, pa.ArrowInvalid) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DrivelabError("I506", f"it cannot be read: {why}", where=str(path)) from None
