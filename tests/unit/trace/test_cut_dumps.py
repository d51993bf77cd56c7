"""A dump that was cut short: btt takes zeros for what its last record lacks, and our table follows it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from block_trace import SDB, BlockTrace, packed_stream
from drivelab.trace.btt_table import btt_table
from real_btt import all_rows


def dump() -> bytes:
    """A page and a half of reads, flushes, merges and remaps; some records have payloads."""
    trace, now = BlockTrace(cpus=2), 1_000
    for number in range(8):
        now = trace.io(now + 1, 8 * number)
        now = trace.flush(now + 1)
        now = trace.remapped_io(now + 1, 800 + 8 * number, from_device=SDB, partition_start=8)
    return packed_stream(trace.numbered())


@pytest.mark.needs_tool("btt")
@pytest.mark.parametrize("first", [1000, 4050, 5000])
def test_a_dump_cut_anywhere_has_the_table_of_the_real_btt(first: int, tmp_path: Path) -> None:
    whole, path, compared = dump(), tmp_path / "cut.bin", 0
    assert len(whole) > 5060
    for length in range(first, first + 60):
        path.write_bytes(whole[:length])
        answer = subprocess.run(["btt", "-i", path], cwd=tmp_path, capture_output=True, text=True)
        if answer.returncode < 0:
            # btt dies of some dumps that end near the end of a page
            continue
        assert btt_table([path]).text == all_rows(answer.stdout), f"{length} bytes"
        compared += 1
    assert compared >= 12
