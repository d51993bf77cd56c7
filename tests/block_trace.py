"""Made-up block traces: recordings whose every record is known, written as blktrace writes them.

    trace = BlockTrace(cpus=2)
    trace.process(pid=70, name="fio", time_ns=900)
    trace.io(1_000, sector=8, size_bytes=4096, queued_to_issued_ns=3_000, issued_to_completed_ns=80_000)
    trace.flush(200_000, service_ns=150_000)
    files = trace.write(tmp_path, "sda")              # sda.blktrace.0, sda.blktrace.1
    merged = trace.write_merged(tmp_path / "sda.bin")  # as `blkparse -d`

Times are ns of CLOCK_MONOTONIC. Every method that makes a whole life returns when it ended. `large_block_trace.py` has
recordings of a million I/Os.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

Q, M, F, G, S, R, D, C, P, U, UT, I, X, B, A = range(1, 16)  # noqa: E741 - the letters of blkparse

READ, WRITE, FLUSH, SYNC, QUEUE, REQUEUE, ISSUE, COMPLETE = (1 << bit for bit in range(8))
FS, PASSTHROUGH, NOTIFY, AHEAD, META, DISCARD, DRIVER_DATA, FUA = (1 << bit for bit in range(8, 16))
PROCESS, TIMESTAMP, MESSAGE = range(3)

# what the kernel adds to the direction, by action
STAGE_BITS = dict.fromkeys((Q, M, F, G, S, P, U, UT, I), QUEUE) | {R: REQUEUE | FS, D: ISSUE | FS, C: COMPLETE | FS}
STAGE_BITS[I] = QUEUE | FS
MAGIC = 0x65617400
NO_SECTOR = (1 << 64) - 1

Version = Literal[7, 8]
ByteOrder = Literal["<", ">"]


def device(major: int, minor: int) -> int:
    """A device's number as records carry it."""
    return major << 20 | minor


SDA = device(8, 0)
SDB = device(8, 16)


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One record; `sequence` None is numbered when it is written."""

    time_ns: int
    action: int
    sector: int = 0
    size_bytes: int = 0
    category: int = 0
    pid: int = 70
    device: int = SDA
    cpu: int = 0
    error: int = 0
    payload: bytes = b""
    sequence: int | None = None

    @property
    def is_notice(self) -> bool:
        return bool(self.category & NOTIFY)

    def packed(self, version: Version = 7, order: ByteOrder = "<") -> bytes:
        """The bytes of the record and its payload."""
        head = struct.pack(
            order + "IIQQI", MAGIC | version, self.sequence or 0, self.time_ns, self.sector, self.size_bytes
        )
        tail = (self.device, self.cpu, self.error & 0xFFFF, len(self.payload))
        if version == 7:
            body = struct.pack(order + "IIIIHH", self.category << 16 | self.action, self.pid, *tail)
        else:
            body = struct.pack(order + "IQIIHH12x", self.pid, self.category << 16 | self.action, *tail)
        return head + body + self.payload


def packed_stream(records: Iterable[TraceRecord], version: Version = 7, order: ByteOrder = "<") -> bytes:
    """The bytes of many records."""
    return b"".join(record.packed(version, order) for record in records)


class BlockTrace:
    """Composes a recording.

    Parameters
    ----------
    cpus : int
        Processors; lives are spread over them unless a method is told which one.
    device : int
        The traced device where a method is not told.
    pid : int
        The thread where a method is not told.
    """

    def __init__(self, *, cpus: int = 2, device: int = SDA, pid: int = 70) -> None:
        self.cpus, self.device, self.pid = cpus, device, pid
        self.records: list[TraceRecord] = []
        self._lives = 0

    def add(
        self,
        time_ns: int,
        action: int,
        sector: int = 0,
        size_bytes: int = 0,
        direction: int = WRITE,
        *,
        cpu: int = 0,
        pid: int | None = None,
        device: int | None = None,
        error: int = 0,
        payload: bytes = b"",
    ) -> None:
        """One record; the bits that belong to the action are added to `direction` (READ, WRITE | SYNC, ...)."""
        self.records.append(
            TraceRecord(
                time_ns,
                action,
                sector,
                size_bytes,
                direction | STAGE_BITS.get(action, 0),
                self.pid if pid is None else pid,
                self.device if device is None else device,
                cpu,
                error,
                payload,
            )
        )

    def process(self, *, pid: int, name: str, time_ns: int, cpu: int = 0) -> None:
        """The notice that names a thread."""
        self._notice(time_ns, PROCESS, name.encode()[:15].ljust(16, b"\0"), cpu, pid)

    def timestamp(self, *, time_ns: int, realtime_ns: int, cpu: int = 0, order: ByteOrder = "<") -> None:
        """The notice that says what time of day it was; its payload is in the order that the file will have."""
        payload = struct.pack(order + "II", realtime_ns // 1_000_000_000, realtime_ns % 1_000_000_000)
        self._notice(time_ns, TIMESTAMP, payload, cpu, 0)

    def message(self, text: str, *, time_ns: int, cpu: int = 0) -> None:
        """A notice with text."""
        self._notice(time_ns, MESSAGE, text.encode(), cpu, 0)

    def _notice(self, time_ns: int, kind: int, payload: bytes, cpu: int, pid: int) -> None:
        self.records.append(
            TraceRecord(
                time_ns, kind, category=NOTIFY, payload=payload, cpu=cpu, pid=pid, device=self.device, sequence=0
            )
        )

    def _cpu(self, cpu: int | None) -> int:
        self._lives += 1
        return self._lives % self.cpus if cpu is None else cpu

    def io(
        self,
        time_ns: int,
        sector: int,
        size_bytes: int = 4096,
        direction: int = WRITE | SYNC,
        *,
        queued_to_issued_ns: int = 5_000,
        issued_to_completed_ns: int = 50_000,
        is_inserted: bool = True,
        is_plugged: bool = True,
        cpu: int | None = None,
        pid: int | None = None,
        device: int | None = None,
        error: int = 0,
    ) -> int:
        """Q G [P U] [I] D C of one bio that is one request; at least 5 ns lie between Q and D."""
        cpu, issued = self._cpu(cpu), time_ns + queued_to_issued_ns
        common = {"cpu": cpu, "pid": pid, "device": device}
        self.add(time_ns, Q, sector, size_bytes, direction, **common)
        self.add(time_ns + 1, G, sector, size_bytes, direction, **common)
        if is_plugged:
            self.add(time_ns + 2, P, 0, 0, 0, **common)
            self.add(issued - 2, U, 0, 0, 0, payload=struct.pack(">Q", 1), **common)
        if is_inserted:
            self.add(issued - 1, I, sector, size_bytes, direction, **common)
        self.add(issued, D, sector, size_bytes, direction, **common)
        ended = issued + issued_to_completed_ns
        self.add(ended, C, sector, size_bytes, direction, cpu=cpu, pid=0, device=device, error=error)
        return ended

    def merged_ios(
        self,
        time_ns: int,
        sector: int,
        sizes_bytes: Iterable[int],
        direction: int = WRITE | SYNC,
        *,
        is_front: bool = False,
        step_ns: int = 1_000,
        issued_to_completed_ns: int = 50_000,
        cpu: int | None = None,
    ) -> int:
        """Several adjacent bios that became one request: Q G I, then Q M (Q F) each, one D and one C."""
        cpu, sizes = self._cpu(cpu), list(sizes_bytes)
        starts = [sector + sum(sizes[:index]) // 512 for index in range(len(sizes))]
        bios = list(zip(starts, sizes, strict=True))
        for index, (start, size) in enumerate(reversed(bios) if is_front else bios):
            now = time_ns + index * step_ns
            self.add(now, Q, start, size, direction, cpu=cpu)
            if index == 0:
                self.add(now + 1, G, start, size, direction, cpu=cpu)
                self.add(now + 2, I, start, size, direction, cpu=cpu)
            else:
                self.add(now + 1, F if is_front else M, start, size, direction, cpu=cpu)
        issued = time_ns + len(sizes) * step_ns
        self.add(issued, D, sector, sum(sizes), direction, cpu=cpu)
        self.add(issued + issued_to_completed_ns, C, sector, sum(sizes), direction, cpu=cpu, pid=0)
        return issued + issued_to_completed_ns

    def split_io(
        self,
        time_ns: int,
        sector: int,
        sizes_bytes: Iterable[int],
        direction: int = WRITE | SYNC,
        *,
        step_ns: int = 1_000,
        issued_to_completed_ns: int = 50_000,
        cpu: int | None = None,
    ) -> int:
        """One bio that is cut into pieces: Q, then for each piece X (but the last) G D, and one C each."""
        cpu, sizes = self._cpu(cpu), list(sizes_bytes)
        self.add(time_ns, Q, sector, sum(sizes), direction, cpu=cpu)
        start, now = sector, time_ns
        for index, size in enumerate(sizes):
            now = time_ns + (index + 1) * step_ns
            if index < len(sizes) - 1:
                remainder = struct.pack(">Q", start + size // 512)
                rest = sum(sizes[index:])
                self.add(now, X, start, rest, direction, cpu=cpu, payload=remainder)
            self.add(now + 1, G, start, size, direction, cpu=cpu)
            self.add(now + 2, D, start, size, direction, cpu=cpu)
            self.add(now + 2 + issued_to_completed_ns, C, start, size, direction, cpu=cpu, pid=0)
            start += size // 512
        return now + 2 + issued_to_completed_ns

    def requeued_io(
        self,
        time_ns: int,
        sector: int,
        size_bytes: int = 4096,
        direction: int = WRITE | SYNC,
        *,
        times: int = 1,
        step_ns: int = 1_000,
        issued_to_completed_ns: int = 50_000,
        cpu: int | None = None,
    ) -> int:
        """Q G I D, then R I D for each time it was put back, then C."""
        cpu = self._cpu(cpu)
        now = time_ns
        for action in [Q, G, I, D, *[R, I, D] * times]:
            self.add(now, action, sector, size_bytes, direction, cpu=cpu)
            now += step_ns
        ended = now - step_ns + issued_to_completed_ns
        self.add(ended, C, sector, size_bytes, direction, cpu=cpu, pid=0)
        return ended

    def flush(
        self, time_ns: int, *, service_ns: int = 150_000, wait_ns: int = 5_000, cpu: int | None = None, pid: int = 9
    ) -> int:
        """A flush without data: Q and G of the thread with 0 bytes, D and C of the flush machine, C of the bio."""
        cpu, direction = self._cpu(cpu), FLUSH | SYNC
        self.add(time_ns, Q, 0, 0, direction | WRITE, cpu=cpu)
        self.add(time_ns + 1, G, 0, 0, direction | WRITE, cpu=cpu)
        ended = self.flush_command(time_ns + wait_ns, service_ns=service_ns, cpu=cpu, pid=pid)
        self.add(ended + 1, C, 0, 0, direction | WRITE, cpu=cpu, pid=0)
        return ended + 1

    def flush_command(self, time_ns: int, *, service_ns: int = 150_000, cpu: int = 0, pid: int = 9) -> int:
        """Only the device's command: D with 0 bytes, C at no sector."""
        self.add(time_ns, D, 0, 0, READ | FLUSH, cpu=cpu, pid=pid)
        self.add(time_ns + service_ns, C, NO_SECTOR, 0, READ | FLUSH, cpu=cpu, pid=0)
        return time_ns + service_ns

    def durable_write(
        self,
        time_ns: int,
        sector: int,
        size_bytes: int = 4096,
        *,
        has_preflush: bool = True,
        is_fua_emulated: bool = True,
        flush_ns: int = 150_000,
        write_ns: int = 40_000,
        cpu: int | None = None,
        pid: int | None = None,
    ) -> int:
        """A bio with FUA (and PREFLUSH) as a journal commits it.

        Emulated: Q G, flush, I D C of the data, flush, C of the bio with 0 bytes. With FUA in the device: no second
        flush, and D carries FUA.
        """
        cpu = self._cpu(cpu)
        queued = WRITE | SYNC | META | FUA | (FLUSH if has_preflush else 0)
        data = WRITE | SYNC | META | (0 if is_fua_emulated else FUA)
        self.add(time_ns, Q, sector, size_bytes, queued, cpu=cpu, pid=pid)
        self.add(time_ns + 1, G, sector, size_bytes, queued, cpu=cpu, pid=pid)
        now = time_ns + 1_000
        if has_preflush:
            now = self.flush_command(now, service_ns=flush_ns, cpu=cpu) + 1_000
        self.add(now, I, sector, size_bytes, data, cpu=cpu, pid=9)
        self.add(now + 500, D, sector, size_bytes, data, cpu=cpu, pid=9)
        now += 500 + write_ns
        self.add(now, C, sector, size_bytes, data, cpu=cpu, pid=0)
        if is_fua_emulated:
            now = self.flush_command(now + 1_000, service_ns=flush_ns, cpu=cpu) + 1
            self.add(now, C, sector, 0, queued, cpu=cpu, pid=0)
        return now

    def remapped_io(
        self, time_ns: int, sector: int, size_bytes: int = 4096, *, from_device: int, partition_start: int, cpu: int = 0
    ) -> int:
        """A of a partition, then the life on the whole disk; `sector` is the one on the partition."""
        payload = struct.pack(">IIQ", from_device, self.device, sector)
        there = sector + partition_start
        self.add(time_ns, A, there, size_bytes, WRITE | SYNC, cpu=cpu, payload=payload)
        return self.io(time_ns + 10, there, size_bytes, cpu=cpu)

    def numbered(self, *, counts_sequence: bool = True) -> list[TraceRecord]:
        """The records in the order of time, numbered per CPU and device where they are not yet."""
        last: dict[tuple[int, int], int] = defaultdict(int)
        numbered = []
        for record in sorted(self.records, key=lambda record: record.time_ns):
            if record.sequence is None:
                key = (record.cpu, record.device)
                last[key] += 1
                record = replace(record, sequence=last[key] if counts_sequence else 0)
            numbered.append(record)
        return numbered

    def write(
        self,
        directory: Path,
        name: str = "sda",
        *,
        version: Version = 7,
        order: ByteOrder = "<",
        counts_sequence: bool = True,
    ) -> list[Path]:
        """`directory`/`name`.blktrace.0, .1, ..., one for each CPU."""
        records = self.numbered(counts_sequence=counts_sequence)
        paths = [directory / f"{name}.blktrace.{cpu}" for cpu in range(self.cpus)]
        for cpu, path in enumerate(paths):
            path.write_bytes(packed_stream((record for record in records if record.cpu == cpu), version, order))
        return paths

    def write_merged(
        self, path: Path, *, version: Version = 7, order: ByteOrder = "<", counts_sequence: bool = True
    ) -> Path:
        """All records in one file in the order of time."""
        path.write_bytes(packed_stream(self.numbered(counts_sequence=counts_sequence), version, order))
        return path
