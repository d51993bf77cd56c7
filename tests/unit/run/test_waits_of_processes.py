"""How long the threads of a followed program were ready to run without a processor, as the kernel counts it."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from drivelab.run.following.processes import waited_for_processor_ns

SPIN = "import os; os.sched_setaffinity(0, {{{processor}}}); os.fork()\nwhile True: pass"
LIMIT_S = 60


def test_programs_that_share_a_processor_wait_for_it_and_so_do_those_that_they_start() -> None:
    (processor, *_) = os.sched_getaffinity(0)
    started = subprocess.Popen([sys.executable, "-c", SPIN.format(processor=processor)])
    try:
        until = time.monotonic() + LIMIT_S
        while len(waits := waited_for_processor_ns([started.pid])) < 2 or min(waits.values()) < 50_000_000:
            assert time.monotonic() < until, waits
            time.sleep(0.05)
    finally:
        for child in waits:
            os.kill(child, 9)
        started.wait()
    assert waited_for_processor_ns([started.pid]) == {}, "of what has gone there is nothing"
