"""Random streams of block-trace records that overlap, merge, come back and go astray: what a state machine can meet.

No device behaves like that. The extents lie in a few sectors, so that nearly all of them overlap, and whether two
programs agree depends on every detail of how they look for a bio.
"""

from __future__ import annotations

import random
import struct
from collections import deque
from collections.abc import Iterator

from block_trace import (
    DISCARD,
    FLUSH,
    FUA,
    MESSAGE,
    META,
    NOTIFY,
    PASSTHROUGH,
    PROCESS,
    READ,
    STAGE_BITS,
    SYNC,
    UT,
    WRITE,
    A,
    B,
    C,
    D,
    F,
    G,
    I,
    M,
    P,
    Q,
    R,
    S,
    TraceRecord,
    U,
    X,
    device,
)

CGROUP = 0x100
ABORT, DRIVER_DATA, UNKNOWN = 16, 17, 40
DEVICES = (device(8, 0), device(8, 16), device(253, 0), device(9, 127), device(254, 1), device(259, 3))
_DIRECTIONS = (READ, WRITE, WRITE | SYNC, WRITE | META, WRITE | SYNC | FUA, READ | FLUSH, WRITE | DISCARD)
# how often each action comes beside the others
_WEIGHTS = {Q: 30, G: 18, I: 12, M: 5, F: 3, S: 3, D: 16, C: 16, R: 2, A: 5, X: 2, B: 1, P: 2, U: 2, UT: 1}
_WEIGHTS |= {ABORT: 1, DRIVER_DATA: 1, UNKNOWN: 1}


def random_stream(seed: int, count: int = 1_500) -> Iterator[TraceRecord]:
    """`count` records, the same for the same seed; some of their times go backwards."""
    chance = random.Random(seed)
    devices = chance.sample(DEVICES, chance.randint(1, 4))
    extents = _Extents(chance)
    notices, hidden = chance.choice([0, 0.01]), chance.choice([0, 0.03])
    now = 1_000_000_000
    for _ in range(count):
        now += chance.choice([0, 1, 7, 1_000, 25_000, 800_000, -3, -40_000])
        if chance.random() < notices:
            yield _notice(chance, now, chance.choice(devices))
            continue
        action = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        number, sector, size_bytes = extents.choose(action, chance.choice(devices))
        category = chance.choice(_DIRECTIONS) | STAGE_BITS.get(action, 0)
        category |= PASSTHROUGH if chance.random() < hidden else 0
        yield TraceRecord(
            now,
            action | (CGROUP if chance.random() < hidden and action != A else 0),
            sector,
            size_bytes,
            category,
            pid=chance.randint(1, 4),
            device=number,
            cpu=chance.randrange(2),
            error=chance.choice([0, 0, 0, 5]),
            payload=_payload(chance, action, extents, devices),
        )


class _Extents:
    """Where the next record lies: often on one of the last bios, or around it, sometimes anywhere."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._sectors, self._longest = chance.choice([(40, 24), (400, 64), (4_000, 32), (100_000, 8)])
        self._block = chance.choice([1, 8])
        self._last: deque[tuple[int, int, int]] = deque(maxlen=chance.choice([4, 30, 200]))

    def choose(self, action: int, number: int) -> tuple[int, int, int]:
        """Device, first sector and bytes."""
        chance = self._chance
        if action != Q and self._last and chance.random() < 0.8:
            number, sector, size_bytes = chance.choice(self._last)
            if action in (D, C) and chance.random() < 0.4:
                before = min(sector, chance.randint(0, self._longest) * self._block)
                return number, sector - before, size_bytes + (before + chance.randint(0, self._longest)) * 512
            return number, sector, size_bytes
        size_bytes = chance.randint(0, self._longest) * self._block * 512 + chance.choice([0, 0, 0, 17])
        extent = number, chance.randrange(self._sectors) * self._block, size_bytes
        if action == Q:
            self._last.append(extent)
        return extent

    def queued(self, number: int) -> tuple[int, int]:
        """Device and first sector of one of the last bios."""
        return self._chance.choice(self._last)[:2] if self._last else (number, 0)


def _notice(chance: random.Random, now: int, number: int) -> TraceRecord:
    kind, payload = chance.choice([(PROCESS, b"fio".ljust(16, b"\0")), (MESSAGE, b"a message")])
    return TraceRecord(now, kind, category=NOTIFY, pid=chance.randint(1, 4), device=number, payload=payload)


def _payload(chance: random.Random, action: int, extents: _Extents, devices: list[int]) -> bytes:
    if action == A:
        number, sector = extents.queued(devices[0])
        return struct.pack(">IIQ", number, chance.choice(devices), sector)
    return struct.pack(">Q", chance.randrange(1_000)) if action in (U, UT, X) else b""
