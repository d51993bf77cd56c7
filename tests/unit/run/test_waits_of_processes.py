"""How long the threads of a followed program were ready to run without a processor, as the kernel counts it."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from drivelab.run.following.processes import with_descendants
from drivelab.run.following.processor_waits import ProcessorWaits

SPIN = "import os; os.sched_setaffinity(0, {{{processor}}}); os.fork()\nwhile True: pass"
LIMIT_S = 60
MUCH_NS = 50_000_000


def test_what_a_program_and_its_child_wait_counts_from_the_first_look_on_and_stays_when_they_end() -> None:
    (processor, *_) = os.sched_getaffinity(0)
    waits = ProcessorWaits([])
    started = subprocess.Popen([sys.executable, "-c", SPIN.format(processor=processor)])
    try:
        until = time.monotonic() + LIMIT_S
        while len(programs := with_descendants(started.pid)) < 2 or waits.total_ns < MUCH_NS:
            assert time.monotonic() < until, programs
            waits.look(programs)
            time.sleep(0.05)
        later = ProcessorWaits(programs)
    finally:
        for program in programs:
            os.kill(program, 9)
        started.wait()
    told = waits.total_ns
    for one in (waits, later):
        one.look([])
    assert (waits.total_ns, later.total_ns) == (told, 0)
