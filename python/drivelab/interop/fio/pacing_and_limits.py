"""When a job issues its I/Os, and when it ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drivelab.interop.fio.ends import STEADY_OPTIONS, steady_goal
from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.placing import Placing
from drivelab.interop.fio.sizes import Amount, ValueMistake
from drivelab.interop.fio.translation_of_io import Direction, Issued

_RATE_MAX = 1e8
# how far the mix of rates may be from the one that is asked for, before it is said
_MIX_TOLERANCE = 0.01


def limits(options: JobOptions, placed: Placing, io: Issued) -> dict[str, Any]:
    """The keys of a workload pattern that end it: runtime, bytes, count, capacities, ramp.

    Raises
    ------
    DrivelabError
        U033: nothing ends it.
    """
    runtime_us = options.number("runtime")
    jobs = placed.job_count
    found: dict[str, Any] = {}
    try:
        steady_goal({name: options.job.settings[name].text for name in STEADY_OPTIONS if options.has(name)})
    except ValueMistake as mistake:
        raise options.refuse("steadystate", f"steadystate={options.text('steadystate')}: {mistake}") from mistake
    if runtime_us:
        found["runtime"] = f"{runtime_us * 1000}ns"
    if options.number("ramp_time"):
        found["ramp"] = f"{options.number('ramp_time') * 1000}ns"
    if options.number("number_ios"):
        count = options.number("number_ios") * max(1, options.number("loops"))
        found["count"] = max(1, count * jobs // _parts(placed))
    if options.truth("time_based"):
        if runtime_us:
            if options.number("loops") > 1:
                options.tell("loops", "noted", "it goes on until runtime is over")
            return found
        options.tell("time_based", "noted", "there is no runtime, so fio takes no notice of it")
    if options.number("loops") > 1 and io.is_random:
        options.tell("loops", "noted", "each pass has a random order of its own; fio repeats the first")
    moved = _moved_bytes(options, placed, io)
    if moved:
        found["bytes"] = moved
    else:
        loops = max(1, options.number("loops"))
        found["capacities"] = min(1000.0, placed.fraction * loops * (jobs if placed.shares_range else 1))
    return found


def _parts(placed: Placing) -> int:
    return len(placed.targets) if placed.is_split else 1


def _moved_bytes(options: JobOptions, placed: Placing, io: Issued) -> int:
    """Bytes that all jobs of one target move; 0 if that depends on the target."""
    asked = options.amount("io_size")
    size = options.amount("size")
    loops = max(1, options.number("loops"))
    if options.has("filesize") and _is_smaller(size, placed.job_bytes):
        once = size.value // _parts(placed) if size else 0
    else:
        once = _whole_blocks(placed.range_bytes, io) * placed.job_files.count
    if asked is not None and asked.measure == "bytes" and asked.value:
        each = asked.value // _parts(placed)
    elif asked is not None and asked.measure == "percent":
        each = placed.job_bytes * min(100, asked.value) // 100
    else:
        return once * loops * placed.job_count
    # fio goes over the range `loops` times, but no further than io_size each time, and goes on until io_size is reached
    return max(min(once or each, each) * loops, each) * placed.job_count


def _whole_blocks(range_bytes: int, io: Issued) -> int:
    """Bytes of a range that whole blocks make up: what is left at its end is not used, as in fio."""
    sizes = io.all_sizes
    stride = int(io.access.get("stride_bytes", 0))
    if stride and range_bytes % stride and len(io.orders) == len(sizes) == 1:
        # fio goes over it again only where the last gap ends with the range
        size = sizes.pop()
        return max(0, (range_bytes - size) // stride + 1) * size
    cuts = all(order.get("covers_once") for order in io.orders.values())
    return range_bytes - range_bytes % min(sizes) if len(sizes) == 1 or cuts else range_bytes


def _is_smaller(size: Amount | None, range_bytes: int) -> bool:
    return size is not None and size.measure == "bytes" and 0 < size.value < range_bytes


def pacing(options: JobOptions, placed: Placing, io: Issued) -> dict[str, Any]:
    """The key ``pacing`` of a workload pattern, if the job is not as fast as it can.

    Raises
    ------
    DrivelabError
        U033: two kinds of rate.
    """
    if options.has("rate") and options.has("rate_iops"):
        raise options.refuse("rate_iops", "rate and rate_iops exclude each other", code="U033", do="keep one of them")
    flow = _flow(options)
    thinks = options.number("thinktime")
    rate_per_s = _rate_per_s(options, io) * placed.job_count / _parts(placed)
    if rate_per_s > 0:
        if thinks:
            options.tell("thinktime", "not-honoured", "arrivals go by the rate alone")
        if rate_per_s > _RATE_MAX:
            options.tell("rate", "noted", "no drive reaches it: as fast as it can")
            return {"pacing": flow} if flow else {}
        kind = "poisson" if options.choice("rate_process").word == "poisson" else "fixed"
        return {"pacing": {"kind": kind, "rate_per_s": rate_per_s} | flow}
    every = max(1, options.number("thinktime_blocks"))
    pauses = {"think_ns": thinks * 1000} | ({"think_every": every} if every > 1 else {}) if thinks else {}
    return {"pacing": pauses | flow} if pauses or flow else {}


def _flow(options: JobOptions) -> dict[str, Any]:
    """What a job shares with others that run beside it."""
    weight = options.number("flow")
    number, sleep_us = options.number("flow_id"), options.number("flow_sleep")
    found = {"flow_weight": weight, "flow_number": number, "flow_sleep_ns": 1000 * sleep_us}
    return {name: value for name, value in found.items() if value} if weight else {}


def with_mix_of_rates(options: JobOptions, io: Issued) -> Issued:
    """A job with the mix that its rates ask for: as in fio they decide it where each operation has one."""
    rates = _rates(options, io)
    if len(rates) < 2 or set(rates) != set(io.weights):
        return io
    whole = sum(rates.values())
    weights = {each: rates[each] / whole for each in io.weights}
    if any(abs(weight - io.weights[each]) > _MIX_TOLERANCE for each, weight in weights.items()):
        options.tell(_name_of_rate(options), "noted", "the rates decide the mix, as in fio")
    return replace(io, weights=weights)


def _rate_per_s(options: JobOptions, io: Issued) -> float:
    """I/Os per second of one job; 0 is as fast as it can."""
    name = _name_of_rate(options)
    rates = _rates(options, io)
    if not rates:
        if options.has(name):
            options.tell(name, "noted", "it is for operations that the job does not have")
        return 0.0
    if set(rates) != set(io.weights):
        options.tell(name, "not-honoured", "in a mix only some operations have a rate: as fast as it can")
        return 0.0
    return sum(rates.values())


def _name_of_rate(options: JobOptions) -> str:
    return "rate" if options.has("rate") else "rate_iops"


def _rates(options: JobOptions, io: Issued) -> dict[Direction, float]:
    """I/Os per second of one job, of each operation that has a rate."""
    name = _name_of_rate(options)
    amounts = options.amounts(name)
    rates: dict[Direction, float] = {}
    for direction in io.weights:
        amount = amounts.of(direction)
        if amount is not None and amount.value:
            rates[direction] = amount.value / (io.mean_bytes(direction) if name == "rate" else 1.0)
    return rates
