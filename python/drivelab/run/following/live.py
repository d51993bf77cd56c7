"""What the calls of a followed program come to while it is followed: of the last seconds, by call."""

from __future__ import annotations

import os
import time
from collections import defaultdict, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from drivelab.analyse.quantile import median_and_p99
from drivelab.model.system_calls import (
    ENTER_RING,
    READS,
    SUBMIT_AIO,
    SYNCS,
    TRANSFERS,
    WITHOUT_DESCRIPTOR,
    WRITES,
    call_numbers,
)
from drivelab.run.following.open_files import OpenFiles
from drivelab.run.following.recorded_calls import CallsTrace
from drivelab.run.following.seen_file import SeenFile

Latencies = NDArray[np.int64]
_WINDOW_NS = 5_000_000_000
_OF_NO_FILE = (*WITHOUT_DESCRIPTOR, SUBMIT_AIO, ENTER_RING)


@dataclass(frozen=True, slots=True)
class LiveCall:
    """The calls of one name in the last seconds; times in ns.

    Attributes
    ----------
    call : str
        Its name.
    per_second : float
        How many in a second.
    p50_ns, slowest_ns : float
        Of the latency (nearest rank).
    p99_ns, p99_at_least_ns : float or None
        The same of its 99 % quantile; of too few calls there is only a bound of it.
    time_share : float
        Time spent in it over the time that passed; several threads together can be above 1.
    """

    call: str
    per_second: float
    p50_ns: float
    p99_ns: float | None
    p99_at_least_ns: float | None
    slowest_ns: float
    time_share: float


@dataclass(frozen=True, slots=True)
class LiveLook:
    """What one look at a followed program saw.

    Attributes
    ----------
    calls : tuple of LiveCall
        Of the last seconds, those that took most time first.
    slowest : tuple of (int, str, str)
        Of everything until now: latency in ns, call, file (empty where it was not seen).
    counted : int
        Calls until now.
    """

    calls: tuple[LiveCall, ...]
    slowest: tuple[int, str, str]
    counted: int


class LiveCalls:
    """Looks at the calls of a program while it is followed.

    Parameters
    ----------
    trace : CallsTrace
        Where they are recorded.
    files : OpenFiles
        What descriptors stand for.
    devices : collection of str
        ``major:minor`` of everything on the disk: files of these count.
    """

    def __init__(self, trace: CallsTrace, files: OpenFiles, devices: Collection[str]) -> None:
        self._trace = trace
        self._files = files
        self._devices = devices
        known = (*READS, *WRITES, *SYNCS, *TRANSFERS, *_OF_NO_FILE)
        self._names = {number: name for name, number in call_numbers(os.uname().machine).items() if name in known}
        self._looks: deque[tuple[int, Mapping[str, Latencies]]] = deque()
        self._slowest = 0, "", ""
        self._counted = 0
        # what comes from now on is kept for the next look
        trace.newest()
        self._looks.append((time.monotonic_ns(), {}))

    def look(self) -> LiveLook:
        """What there is since the look before, together with what the last seconds had."""
        now_ns = time.monotonic_ns()
        self._looks.append((now_ns, self._latencies(self._trace.newest())))
        while len(self._looks) > 2 and self._looks[1][0] < now_ns - _WINDOW_NS:
            self._looks.popleft()
        # the first look of the window only says when it begins
        begun_ns = self._looks[0][0]
        by_call: dict[str, list[Latencies]] = defaultdict(list)
        for _, latencies in list(self._looks)[1:]:
            for call, values in latencies.items():
                by_call[call].append(values)
        found = [_live_call(call, np.concatenate(values), now_ns - begun_ns) for call, values in by_call.items()]
        return LiveLook(tuple(sorted(found, key=lambda one: -one.time_share)), self._slowest, self._counted)

    def _latencies(self, calls: pa.Table) -> Mapping[str, Latencies]:
        found: dict[str, list[int]] = defaultdict(list)
        columns = ("thread", "number", "start_ns", "end_ns", "result", "argument_0", "argument_1", "argument_2")
        for thread, number, start_ns, end_ns, result, *arguments in zip(
            *(calls[name].to_pylist() for name in columns), strict=True
        ):
            call = self._names.get(number)
            if call is None or result < 0:
                continue
            sides = () if call in _OF_NO_FILE else TRANSFERS.get(call, (0,))
            found_files = [file for at in sides if (file := self._file(thread, arguments[at])) is not None]
            file = next((one for one in found_files if one.device in self._devices), None)
            if file is None and (found_files or call in (*READS, *WRITES, *TRANSFERS)):
                continue
            found[call].append(end_ns - start_ns)
            self._slowest = max(self._slowest, (end_ns - start_ns, call, file.path if file else ""))
        self._counted += sum(map(len, found.values()))
        return {call: np.asarray(values, dtype=np.int64) for call, values in found.items()}

    def _file(self, thread: int, argument: int) -> SeenFile | None:
        return self._files.now(self._files.processes.get(thread, thread), argument & 0xFFFFFFFF)


def _live_call(call: str, latency: Latencies, window_ns: int) -> LiveCall:
    per_second = latency.size * 1e9 / max(1, window_ns)
    time_share = float(latency.sum()) / max(1, window_ns)
    return LiveCall(call, per_second, *median_and_p99(latency), float(latency.max()), time_share)
