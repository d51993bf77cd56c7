"""The contents of the shaped drive against a slow model that keeps each sector's history."""

from __future__ import annotations

from dataclasses import dataclass, field

import hypothesis
import hypothesis.strategies as st

from shaped_drive.medium import SECTOR_BYTES, Medium

SECTORS = 16
NO_LIMIT = 1 << 30


@dataclass
class Sector:
    """All that a sector ever held, which of it a power cut brings back, and its writes that are in the cache."""

    history: list[int] = field(default_factory=lambda: [0])
    durable: int = 0
    cached: set[int] = field(default_factory=set)


def fill(value: int, sectors: int) -> bytes:
    return bytes([value]) * (sectors * SECTOR_BYTES)


def values(medium: Medium) -> list[int]:
    """What each sector reads as; none may be torn."""
    content = medium.read(0, SECTORS * SECTOR_BYTES)
    sectors = [content[start : start + SECTOR_BYTES] for start in range(0, len(content), SECTOR_BYTES)]
    assert all(sector == sector[:1] * SECTOR_BYTES for sector in sectors)
    return [sector[0] for sector in sectors]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "fua", "zero", "flush", "flush begins", "flush ends", "cut"]),
        st.integers(0, SECTORS - 1),
        st.integers(1, SECTORS),
    ),
    max_size=30,
)


@hypothesis.given(STEPS)
def test_what_was_flushed_survives_a_power_cut_and_nothing_else_does(steps: list[tuple[str, int, int]]) -> None:
    medium = Medium(SECTORS * SECTOR_BYTES, NO_LIMIT)
    model = [Sector() for _ in range(SECTORS)]
    taken = mark = 0
    for value, (step, first, count) in enumerate(steps, start=1):
        touched = model[first : first + count]
        if step in ("write", "fua", "zero"):
            taken += 1
            if step == "zero":
                medium.zero(first * SECTOR_BYTES, len(touched) * SECTOR_BYTES, durably=False)
            else:
                medium.write(first * SECTOR_BYTES, fill(value, len(touched)), durably=step == "fua")
            for sector in touched:
                sector.history.append(0 if step == "zero" else value)
                if step == "fua":
                    sector.durable = len(sector.history) - 1
                else:
                    sector.cached.add(taken)
        elif step == "flush begins":
            mark = medium.last_write()
        elif step in ("flush", "flush ends"):
            covered = medium.last_write() if step == "flush" else mark
            medium.flush(covered)
            for sector in model:
                if any(number <= covered for number in sector.cached):
                    sector.durable = len(sector.history) - 1
                    sector.cached = {number for number in sector.cached if number > covered}
        else:
            changed = sum(sector.history[sector.durable] != sector.history[-1] for sector in model)
            assert medium.cut_power(kept_fraction=0, seed=1) == changed
            for sector in model:
                sector.history.append(sector.history[sector.durable])
                sector.durable = len(sector.history) - 1
                sector.cached.clear()
        assert values(medium) == [sector.history[-1] for sector in model], step


def test_a_full_cache_makes_room_by_making_the_oldest_write_durable() -> None:
    medium = Medium(SECTORS * SECTOR_BYTES, 2 * SECTOR_BYTES)
    for at in range(4):
        medium.write(at * SECTOR_BYTES, fill(at + 1, 1), durably=False)
    assert medium.cut_power(kept_fraction=0, seed=1) == 2
    assert values(medium)[:4] == [1, 2, 0, 0]


def test_what_a_power_cut_keeps_it_keeps_for_good() -> None:
    medium = Medium(SECTORS * SECTOR_BYTES, NO_LIMIT)
    medium.write(0, fill(7, SECTORS), durably=False)
    assert medium.cut_power(kept_fraction=1, seed=1) == 0
    assert medium.cut_power(kept_fraction=0, seed=1) == 0
    assert values(medium) == [7] * SECTORS
