"""Runs in the guest: writes and syncs while relay and trace events trace the same drive, and prints what each saw.

Called with the kernel name of the drive and the number of writes.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from drivelab.run.tracing.collect import collected_trace
from trace_records import counts, read_all

BLOCK_BYTES = 4096
# of these both make a record with every event
_EXACT = frozenset("QGMFIDCXAR")


def main() -> None:
    """Trace, and print JSON."""
    device, count = sys.argv[1], int(sys.argv[2])
    block = mmap.mmap(-1, BLOCK_BYTES)
    block.write(b"x" * BLOCK_BYTES)
    with tempfile.TemporaryDirectory() as folder:
        descriptor = os.open(f"/dev/{device}", os.O_RDWR | os.O_DIRECT)
        with (
            collected_trace(device, Path(folder, "events"), "tracefs") as events,
            collected_trace(device, Path(folder, "relay"), "relay") as relay,
        ):
            for number in range(count):
                os.pwrite(descriptor, block, BLOCK_BYTES * number)
                os.fsync(descriptor)
        os.close(descriptor)
        by_events, by_relay = (read_all(trace.files) for trace in (events, relay))
        ours, kernels = (Counter(one[:9] for one in read[0] if one.action in _EXACT) for read in (by_events, by_relay))
        found = {
            "events": counts(by_events[0]),
            "relay": counts(by_relay[0]),
            "records": sum(kernels.values()),
            "differences": [str(record) for record in (ours - kernels) + (kernels - ours)],
            "lost": [events.lost_events, relay.lost_events],
            "relay_files": [path.name for path in relay.files],
            "relay_sequence_ends": {
                cpu: max(one.sequence for one in by_relay[0] if one.cpu == cpu)
                for cpu in {one.cpu for one in by_relay[0]}
            },
            "relay_records": Counter(one.cpu for one in by_relay[0]),
            "relay_notices": Counter(one.action for one in by_relay[1]),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
