"""What ``drivelab btt`` shows of a recording: tables of phases, depths over time, distances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from drivelab.model.units import format_bytes, format_duration_ns, format_rate_bytes_per_s
from drivelab.report.numerals import count_text, percent_text
from drivelab.report.tables.table import Table, TableCell, TableColumn
from drivelab.report.terminal.shapes import BLOCKS, PLAIN_BLOCKS
from drivelab.trace.phases import BlockPhases, Phases, PhaseTimes, smallest_bytes

NOTHING = "-"
MEANINGS = {
    "Q2Q": "Q2Q: from bio to bio",
    "Q2A": "Q2A: until it is sent on",
    "Q2G": "Q2G: until it has a request",
    "S2G": "S2G: asleep for a request",
    "preflush_wait": "flush before the data",
    "G2I": "G2I: until it is queued",
    "G2D": "G2D: until it is issued",
    "Q2M": "Q2M: until it joins another",
    "I2D": "I2D: queued, until issued",
    "M2D": "M2D: joined, until issued",
    "D2C": "D2C: at the device",
    "Q2C": "Q2C: queued to completed",
    "postflush_wait": "flush after the data",
    "flush": "flush at the device",
    "flush_Q2C": "bio that only flushes",
}
# the stations that a bio passes one after the other: their times add up to Q2C
_PARTS = frozenset({"Q2G", "preflush_wait", "G2I", "G2D", "Q2M", "I2D", "M2D", "D2C"})
_CLASS_LABELS = {"fua_write": "FUA write", "metadata_write": "metadata write"}
_TIMES = (("mean", "mean_ns"), ("median", "p50_ns"), ("p99", "p99_ns"), ("max", "max_ns"))
_SECTOR_BYTES = 512
_DEPTH_CELLS = 40


def title_text(found: BlockPhases) -> str:
    """One line about the recording: ``8:0: 1.14 s, 4 006 bios, 24 376 records``."""
    recording = found.recording
    counts = {"bio": found.more["counts"]["bios_opened"], "record": recording.records}
    counted = ", ".join(f"{count_text(count)} {name}{'' if count == 1 else 's'}" for name, count in counts.items())
    return f"{', '.join(recording.devices)}: {format_duration_ns(recording.duration_ns)}, {counted}"


def phase_table(phases: Phases, title: str) -> Table:
    """Every phase that came, with its times and, where it is a part of Q2C, its share of that."""
    columns = (TableColumn("phase"), *_number_columns(["n", *(head for head, _ in _TIMES), "of Q2C"]))
    whole = phases.get("Q2C")

    def share(name: str, times: PhaseTimes) -> str:
        if whole is None or not whole.sum_ns or name not in _PARTS:
            return ""
        return f"{100 * times.sum_ns / whole.sum_ns:.1f} %"

    rows = tuple(
        (TableCell(MEANINGS[name]), *_cells([_count(times), *_times(times), share(name, times)]))
        for name, times in phases.items()
    )
    return Table("phases", title, columns, rows)


def device_table(found: BlockPhases) -> Table:
    """What each device was given: bios, what became of them, how much, and how long it was busy."""
    heads = ["bios", "commands", "bios per command", "command size", "read/s", "written/s", "busy"]
    rows = []
    for device, given in found.more["requests"].items():
        load = found.more["load"][device]
        if not given["commands"]:
            rows.append((TableCell(device), *_cells([count_text(given["bios"]), *[NOTHING] * (len(heads) - 1)])))
            continue
        rates = [load[name] for name in ("read_bytes_per_s", "write_bytes_per_s")]
        # a command whose end was lost would be at the device for ever
        busy = None if found.recording.is_lossy else load["active_share"]
        cells = [
            count_text(given["bios"]),
            count_text(given["commands"]),
            f"{given['merge_ratio']:.2f}",
            format_bytes(round(given["mean_bytes"])),
            *(NOTHING if rate is None else format_rate_bytes_per_s(rate) for rate in rates),
            NOTHING if busy is None else f"{100 * busy:.1f} %",
        ]
        rows.append((TableCell(device), *_cells(cells)))
    return Table("devices", "By device", (TableColumn("device"), *_number_columns(heads)), tuple(rows))


def class_table(found: BlockPhases) -> Table:
    """Whole lives and the time at the device, by what kind of I/O it is."""
    rows = [(_CLASS_LABELS.get(name, name), phases) for name, phases in found.classes.items()]
    return _split_table("classes", f"By class{_together(found)}", "class", rows)


def size_table(found: BlockPhases) -> Table:
    """The same by size."""
    rows = [(_size_text(name), phases) for name, phases in found.sizes.items()]
    return _split_table("sizes", f"By size{_together(found)}", "size", rows)


def _together(found: BlockPhases) -> str:
    return ", all devices together" if len(found.devices) > 1 else ""


def _split_table(key: str, title: str, head: str, rows: Sequence[tuple[str, Phases]]) -> Table:
    heads = ["n", "Q2C mean", "Q2C median", "Q2C p99", "D2C mean", "D2C median", "D2C p99"]
    cells = []
    for label, phases in rows:
        # a flush command is often nobody's bio: what bios that only flush take is a phase of its own
        whole, device = phases.get("Q2C"), phases.get("D2C") or phases.get("flush")
        if whole is None and device is None:
            continue
        numbers = [_count(whole or device), *_times(whole)[:3], *_times(device)[:3]]
        cells.append((TableCell(label), *_cells(numbers)))
    return Table(key, title, (TableColumn(head), *_number_columns(heads)), tuple(cells))


def depth_lines(depth: Mapping[str, Any], *, plain: bool) -> Iterator[str]:
    """How many bios waited and how many commands were at the device over time, a line each.

    A device without commands (md, dm, zram) has only bios between Q and C.
    """
    series = depth["series"]
    places = {"device": "at the device", "queue": "waiting"} if depth["device"]["mean"] else {"queue": "from Q to C"}
    for place, label in places.items():
        mean, most = depth[place]["mean"], depth[place]["max"]
        line = sparkline(series[f"{place}_mean"], plain=plain)
        yield f"{label:<13}  mean {mean:6.2f}  max {NOTHING if most is None else most:>4}  {line}"


def sparkline(values: Sequence[float], *, plain: bool) -> str:
    """Values over time as characters; the tallest is the largest of them."""
    blocks = PLAIN_BLOCKS if plain else BLOCKS
    cells = min(_DEPTH_CELLS, len(values))
    edges = [place * len(values) // cells for place in range(cells + 1)] if cells else [0]
    groups = [values[start:end] for start, end in pairwise(edges)]
    means = [sum(group) / len(group) for group in groups]
    most = max(means, default=0.0)
    # what is not nothing shows
    return "".join(blocks[max(value > 0, round(value / most * (len(blocks) - 1)))] if most else " " for value in means)


def distance_lines(seeks: Mapping[str, Any]) -> Iterator[str]:
    """How far each device had to go from the end of a command to the next."""
    for device, found in seeks.items():
        commands = found["D2D"]
        if not commands["n"]:
            continue
        median, mean = (
            format_bytes(round(commands[name]) * _SECTOR_BYTES) for name in ("median_sectors", "mean_sectors")
        )
        share = percent_text(commands["sequential_share"])
        total = count_text(commands["n"])
        yield f"{device}: {share} of {total} follow the one before; median {median}, mean {mean}"


def _size_text(sizes: str) -> str:
    """A size as the engine names it, for people: ``4 KiB``, or ``4 to 8 KiB`` for what lies between."""
    low, _, high = sizes.partition("-")
    if not high:
        return format_bytes(int(low))
    least, most = format_bytes(smallest_bytes(low) - 1), format_bytes(int(high) + 1)
    number, _, unit = least.partition(" ")
    # the unit once when it is the same: 4 to 8 KiB
    return f"{number if most.endswith(f' {unit}') else least} to {most}"


def _number_columns(heads: Sequence[str]) -> list[TableColumn]:
    return [TableColumn(head, is_number=True) for head in heads]


def _cells(texts: Sequence[str]) -> list[TableCell]:
    return [TableCell(text) for text in texts]


def _count(times: PhaseTimes | None) -> str:
    return NOTHING if times is None else count_text(times.n)


def _times(times: PhaseTimes | None) -> list[str]:
    values = [None if times is None else getattr(times, name) for _, name in _TIMES]
    return [NOTHING if value is None else format_duration_ns(value) for value in values]
