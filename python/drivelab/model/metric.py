"""The metrics: what each number is called, in which unit it is, which way is better, how it prints and what it means.

A new metric is one entry of `METRICS`; heads, axes, words, units and the tables
of ``docs/metrics.md`` come from there. It is Python and no file of data because
`model` reads none, and because every command that prints a number starts with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from drivelab.model.estimate import Unit

Quantity = Literal["latency", "throughput", "rate", "other"]
Better = Literal["low", "high", ""]
# what the drive executed for each operation, as it is told beside latencies and compared
WRITES, FLUSHES = "device_writes_per_operation", "device_flushes_per_operation"
# of a workload whose writes one sync call makes durable, all together
END_SYNC = "end_sync_ns"
FUA_WRITES, READS = "fua_writes_per_operation", "device_reads_per_operation"
DEVICE_BYTES, PER_OPERATION = "device_bytes_per_operation", "device, per operation"
COMMANDS = (WRITES, FLUSHES, FUA_WRITES, READS)


TENTHS = tuple(
    f"throughput_{name}" for name in ("first_tenth_bytes_per_s", "last_tenth_bytes_per_s", "last_over_first_ratio")
)
REACHED = "reached_device_share"
ROUND_TRIP = "server_round_trip_ns"
# of a trial that was measured in several windows
WINDOW_SPAN = "window_span_ns"
FASTEST_WINDOW, SLOWEST_WINDOW = "fastest_window_ns_p50", "slowest_window_ns_p50"


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that trials have.

    Attributes
    ----------
    name : str
        Its column and its key.
    unit : str
        What it is kept in.
    better : str
        Whether the lower or the higher of two is the better one; empty where neither is.
    head, band : str
        The head of its column, and what neighbouring columns share above their heads.
    words : str
        What sentences, titles and axes call it.
    section : str
        The section of ``docs/metrics.md`` that lists it.
    meaning : str
        From which event to which, or what over what.
    is_share : bool
        Whether it is printed in percent.
    """

    name: str
    unit: Unit
    better: Better
    head: str
    band: str
    words: str
    section: str = ""
    meaning: str = ""
    is_share: bool = False

    @property
    def quantity(self) -> Quantity:
        """What kind of number it is."""
        if self.band == "latency":
            return "latency"
        return "throughput" if self.unit == "B/s" else "rate" if self.unit == "1/s" else "other"

    @property
    def title(self) -> str:
        """Its head where no band stands above it: ``median latency``."""
        return f"{self.head} {self.band}".strip()


# from which event to which
LATENCIES = {
    "submission": "request prepared to return of the submitting call",
    "completion": "return of the submitting call to completion seen by us, our own polling delay included",
    "total": "request prepared to completion seen by us: the sum of the two; kept per interval",
    "response": "*intended* start by the schedule to completion seen by us; kept per interval, of open loops only, and "
    "free of coordinated omission",
}
# head, words and meaning
STATISTICS = {
    "p50": ("median", "median", "rank ceil(n / 2) of n operations: half of them took at most that long"),
    "p90": ("p90", "p90", "rank ceil(0.9 n)"),
    "p99": ("p99", "p99", "rank ceil(0.99 n)"),
    "p999": ("p99.9", "p99.9", "rank ceil(0.999 n)"),
    "p9999": ("p99.99", "p99.99", "rank ceil(0.9999 n)"),
    "mean": ("mean", "mean", "sum over count, exact"),
    "min": ("min", "shortest", "smallest seen, exact"),
    "max": ("max", "longest", "largest seen, exact"),
}


def _latency(kind: str, statistic: str) -> Metric:
    head, words, meaning = STATISTICS[statistic]
    of_kind = "" if kind == "total" else f"{kind} "
    name = f"{kind}_latency_ns_{statistic}"
    return Metric(name, "ns", "low", f"{of_kind}{head}", "latency", f"{words} {of_kind}latency", "", meaning)


# fmt: off
METRICS = (
    *(_latency(kind, statistic) for kind in LATENCIES for statistic in STATISTICS),
    Metric("iops", "1/s", "high", "IOPS", "", "I/Os per second", "Rates",
           "reads, writes and trims of the window, over the time until the last of them completed, as fio does, less a "
           "mean latency where a ramp came first (see below); sync "
           "calls are not counted"),
    Metric("throughput_bytes_per_s", "B/s", "high", "throughput", "", "throughput", "Rates",
           "bytes they moved, over the same time (MB = 10^6 bytes, MiB = 2^20)"),
    Metric("throughput_first_tenth_bytes_per_s", "B/s", "high", "first tenth", "throughput",
           "throughput in the first tenth", "Rates",
           "the same in the first tenth of the window, by number of intervals"),
    Metric("throughput_last_tenth_bytes_per_s", "B/s", "high", "last tenth", "throughput",
           "throughput in the last tenth", "Rates", "the same in the last tenth"),
    Metric("throughput_last_over_first_ratio", "1", "high", "last over first", "throughput",
           "throughput, last over first", "Rates",
           "the last tenth over the first: 1 is steady, 0.3 is what a full cache leaves", is_share=True),
    Metric("duration_ns", "ns", "low", "whole time", "", "whole time", "Rates",
           "from the start of the window until its last operation had completed, of workloads that end by a count, by "
           "bytes, or with the last of their files"),
    Metric(ROUND_TRIP, "ns", "low", "round trip", "", "time of a round trip", "Rates",
           "from a request of a client until the answer of a server that appends 107 B to a log and makes them "
           "durable, less that log write: what this computer takes for it, whatever the drive"),
    Metric(WINDOW_SPAN, "ns", "", "windows within", "", "time of all windows", "Rates",
           "from the start of the first measured window to the end of the last, of trials that are measured in several "
           "with other trials between them; its count says in how many"),
    Metric(FASTEST_WINDOW, "ns", "low", "fastest window", "", "median of the fastest window", "Rates",
           "of such a trial the lowest of the medians of the total latency that its windows have"),
    Metric(SLOWEST_WINDOW, "ns", "low", "slowest window", "", "median of the slowest window", "Rates",
           "of such a trial the highest of them"),
    Metric("writes_returned_ns", "ns", "low", "writes returned after", "", "time until the writes had returned",
           "Rates",
           "where one sync call follows all writes: until the last write had returned; then there are no tenths, for "
           "the last one is the sync call"),
    Metric(END_SYNC, "ns", "low", "final sync", "", "time of the final sync", "Rates",
           "how long that sync call took after it"),
    Metric("bytes_until_cliff", "B", "high", "bytes until", "cliff", "bytes until the cliff", "Levels and cliffs",
           "bytes moved in the window until the throughput fell to 0.7 of its level or less and stayed there for 2 % "
           "of the capacity, or for the last tenth of the trial's bytes or time; levels passed quickly on the way down "
           "are part of the fall"),
    Metric("throughput_before_cliff_bytes_per_s", "B/s", "high", "before", "cliff", "throughput before the cliff",
           "Levels and cliffs", "bytes over time on the level before the fall"),
    Metric("throughput_after_cliff_bytes_per_s", "B/s", "high", "after", "cliff", "throughput after the cliff",
           "Levels and cliffs", "bytes over time on the level at which it stayed"),
    Metric("steady_throughput_bytes_per_s", "B/s", "high", "throughput", "steady state", "steady throughput",
           "Steady state", "bytes over time in the last five rounds, where they are steady"),
    Metric("bytes_until_steady", "B", "low", "bytes until", "steady state", "bytes until the steady state",
           "Steady state",
           "bytes moved before the first window of five rounds from which on every one passed the first condition"),
    Metric("device_writes_per_operation", "1", "low", "writes", PER_OPERATION, "writes", "Commands per operation",
           "writes that carried data, those of a journal or log included, over writes; exact from a trace, otherwise "
           "bounds, because the kernel counts empty flush requests as writes"),
    Metric("fua_writes_per_operation", "1", "", "of these FUA", PER_OPERATION, "FUA", "Commands per operation",
           "the part of them with Force Unit Access; from a trace only"),
    Metric("metadata_writes_per_operation", "1", "low", "of these metadata", PER_OPERATION, "metadata writes",
           "Commands per operation",
           "the part of them that the file system marks as its own; from a trace only"),
    Metric("device_flushes_per_operation", "1", "low", "flushes", PER_OPERATION, "flushes", "Commands per operation",
           "cache flushes (field 16) over writes, exact"),
    Metric("device_reads_per_operation", "1", "low", "reads", PER_OPERATION, "reads", "Commands per operation",
           "reads of the device over reads, exact"),
    Metric("device_bytes_per_operation", "B", "low", "data", PER_OPERATION, "data", "Commands per operation",
           "bytes moved in the directions that the trial uses, over reads and writes, exact"),
    Metric("device_bytes_per_issued_byte", "1", "low", "data per byte", "", "data per issued byte",
           "Commands per operation",
           "the same over bytes that were issued, exact; 1 when the drive saw every byte once"),
    Metric("reached_device_share", "1", "high", "reached the drive", "", "share that reached the drive",
           "Commands per operation",
           "bytes that the drive was given while the trial ran, a sync call of the workload included, but no more than "
           "were written and do not wait in the page cache afterwards, over bytes that were written; without counters "
           "an upper bound", is_share=True),
    Metric("cpu_ns_per_io", "ns", "low", "per I/O", "processor", "processor time per I/O",
           "Processor time and queue depth",
           "processor time of the job threads in the window, over reads, writes and trims (CLOCK_THREAD_CPUTIME_ID, "
           "exact); kernel threads that work for them are not included"),
    Metric("cpu_share", "1", "low", "processor", "", "share of a processor", "Processor time and queue depth",
           "processor time of the job threads over the length of the window: 0.25 is a quarter of one processor, 4 are "
           "four whole ones", is_share=True),
    Metric("user_cpu_ns_per_io", "ns", "low", "in the program", "processor", "processor time in the program",
           "Processor time and queue depth",
           "its part in the program: the share of the timer ticks times the exact total"),
    Metric("system_cpu_ns_per_io", "ns", "low", "in the kernel", "processor", "processor time in the kernel",
           "Processor time and queue depth", "its part in the kernel, likewise"),
    Metric("queue_depth_asked", "1", "", "asked", "queue depth", "queue depth asked for",
           "Processor time and queue depth", "I/Os to keep outstanding, per job"),
    Metric("queue_depth_achieved", "1", "", "achieved", "queue depth", "queue depth achieved",
           "Processor time and queue depth", "time spent in I/O over time passed, per job (Little's law)"),
)
# fmt: on
_BY_NAME = {metric.name: metric for metric in METRICS}


@cache
def metric_of(name: str) -> Metric:
    """The metric of a name, also behind the name of an operation (``write_iops``).

    A statistic alone (``p50``) is that of the total latency. One that is not listed, which
    another version may have stored, is a plain number of its own name.
    """
    if found := _BY_NAME.get(f"total_latency_ns_{name}" if name in STATISTICS else name):
        return found
    for key, one in _BY_NAME.items():
        if name.endswith(f"_{key}"):
            operation = name.removesuffix(key).replace("_", " ")
            return replace(one, name=name, head=f"{operation}{one.head}", words=f"{operation}{one.words}")
    return Metric(name, "1", "", name, "", name)
