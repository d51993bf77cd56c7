"""The scale of published drives: how often a program would commit on each."""

from __future__ import annotations

from dataclasses import dataclass

from drivelab.model.program import Program

_MS = 1e6
_NS = 1e9


@dataclass(frozen=True, slots=True)
class ScaleMark:
    """A published drive, its latency of a durable write in ns, and the page and its name there."""

    title: str
    latency_ns: float
    page: str
    drive: str


# the slowest first: means of small durable writes on ext4 with the write cache on, as the pages in
# `drivelab.reference` tell them; a test holds the two together
MARKS = (
    ScaleMark("a hard disk of 7200 rpm", 40.1 * _MS, "ssd-latency", "Western Digital 7200RPM 1TB"),
    ScaleMark("an Intel 530", 9.5 * _MS, "intel-530", "Intel 530 (SSDSC2BW120A4)"),
    ScaleMark("a Crucial M4", 2.7 * _MS, "intel-530", "Crucial M4"),
    ScaleMark("a SanDisk X100", 0.83 * _MS, "intel-530", "SanDisk X100 (SD5SG2128G1052E)"),
    ScaleMark("an Intel 320 with capacitors", 0.2 * _MS, "intel-530", "Intel 320 (SSDSC2CW120A3)"),
)


def rate_on(mark: ScaleMark, program: Program) -> float:
    """Commits a second of one client on a published drive, with the program's own time and syncs in the background."""
    write_ns = program.write.sync_count * mark.latency_ns
    return program.left_to_commits(write_ns) * _NS / (write_ns + program.own.one_ns)
