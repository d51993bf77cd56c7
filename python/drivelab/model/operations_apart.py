"""The numbers of a trial that mixes reads, writes and trims, told apart: no latency beside the rate of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import RATE, THROUGHPUT
from drivelab.model.metric import FLUSHES, FUA_WRITES, LATENCIES, READS, WRITES

DIRECTIONS = ("read", "write", "trim")
# the column that says which operation of a mix a row is of
OPERATION = "operation"
_DURABLE = "durable_write"
_AND = " and "
_LATENCIES = tuple(f"{kind}_latency_ns_" for kind in LATENCIES)
_NAMES = (*DIRECTIONS, _DURABLE)
_OF_ONE = ("sync_", *(f"{name}_" for name in _NAMES))
# what the drive executed is counted for each write, or for each read
_COMMANDS = {"read": (READS,), "write": (WRITES, FLUSHES, FUA_WRITES, "metadata_writes_per_operation")}
_PLURALS = {"read": "reads", "write": "writes", "trim": "trims", _DURABLE: "durable writes"}
Values = Mapping[str, float | None] | Mapping[str, Estimate]


def operations_apart(values: Values, main: str) -> dict[str, dict[str, str]]:
    """Which numbers of a mixed trial are of which operation.

    Parameters
    ----------
    values : mapping of str to number, Estimate or None
        By metric; those of `main` have no prefix, those of other operations have theirs (``write_iops``).
    main : str
        The operation that the trial is about.

    Returns
    -------
    dict of str to dict of str to str
        ``read``, ``write`` (``durable_write`` where the latency ends when a write is durable) and ``trim``, each with
        its latencies, rates and commands: the names that a trial of it alone has, and what they are called in `values`.
        Behind them all together (``read and write``), with everything else and no latency. Empty where there is one
        direction only, and where what was read was written back: that counts once.
    """
    rates = {name: rate for name in DIRECTIONS if (rate := _number(values, f"{name}_iops")) is not None}
    whole = _number(values, RATE)
    if len(rates) < 2 or whole is None or whole <= max(rates.values()):
        return {}
    is_durable = main == _DURABLE or _number(values, f"{_DURABLE}_total_latency_ns_mean") is not None
    found = {}
    for direction in rates:
        name = _DURABLE if direction == "write" and is_durable else direction
        own = _latencies(values, "" if main == name else f"{name}_")
        own |= {rate: key for rate in (RATE, THROUGHPUT) if (key := f"{direction}_{rate}") in values}
        found[name] = own | {command: command for command in _COMMANDS.get(direction, ()) if command in values}
    told = {name for own in found.values() for name in own.values()}
    rest = [name for name in values if name not in told and not name.startswith((*_LATENCIES, *_OF_ONE))]
    found[_AND.join(rates)] = {name: name for name in rest}
    return found


def metrics_apart(metrics: Iterable[str]) -> tuple[str, ...]:
    """What metrics of a trial are called of each operation of a mix."""
    kept = tuple(metrics)
    return tuple(f"{name}_{metric}" for name in _NAMES for metric in kept)


def is_together(operation: str) -> bool:
    """Whether it is all operations of a mix, or those of a trial that mixes none."""
    return not operation or _AND in operation


def plural(operation: str) -> str:
    """Some operations in words: ``reads``, ``durable writes``, ``reads and writes``."""
    return _AND.join(_PLURALS.get(name, name) for name in operation.split(_AND))


def _latencies(values: Values, prefix: str) -> dict[str, str]:
    starts = tuple(f"{prefix}{latency}" for latency in _LATENCIES)
    return {name.removeprefix(prefix): name for name in values if name.startswith(starts)}


def _number(values: Values, name: str) -> float | None:
    value = values.get(name)
    return value.value if isinstance(value, Estimate) else value
