"""What the tests of ``drivelab btt`` have in common: its answer as data, and a trace whose phases are known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from block_trace import SDA, BlockTrace
from drivelab.model.errors import EXIT_OK

RECORDINGS = Path(__file__).parent / "golden" / "blktrace"
# the fixture `btt`: arguments in; exit status, stdout and stderr out
Btt = Callable[..., tuple[int, str, str]]


def document_of(btt: Btt, *arguments: str | Path, status: int = EXIT_OK) -> dict[str, Any]:
    """What it says with ``--json``."""
    found, out, err = btt(*arguments, "--json")
    assert found == status, err
    document: dict[str, Any] = json.loads(out)
    return document


def durable_writes(count: int = 40, cpus: int = 1, on: int = SDA) -> BlockTrace:
    """4 KiB writes, 25 ms apart, with a flush after each: 40 us for the write, 7 ms for the flush."""
    trace = BlockTrace(cpus=cpus, device=on)
    for number in range(count):
        now = trace.io(1_000 + number * 25_000_000, number * 8, issued_to_completed_ns=40_000, is_plugged=False)
        trace.flush(now + 1_000, service_ns=7_000_000)
    return trace
