"""What many hosts did at the same time, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.model.fleet_together import PartRate, TogetherAnswer
from drivelab.model.names import counted, of_all
from drivelab.model.operations_apart import plural
from drivelab.model.units import format_duration_ns, format_rate_bytes_per_s, format_rate_per_s, format_wait_ns
from drivelab.report.terminal.wrapped import WIDTH, fitted, table_lines, wrapped

_ROWS_MAX = 20
_HEADS = ("target", "", "rate", "throughput", "median", "p99")


def together_lines(answer: TogetherAnswer, *, plain: bool) -> list[str]:
    """A sentence on all of them, and a line for each target, the slowest first."""
    lines = [line for text in _voids(answer) for line in wrapped(text, WIDTH, plain)]
    lines += wrapped(together_sentence(answer), WIDTH, plain)
    rates = sorted(answer.rates, key=lambda rate: rate.throughput_bytes_per_s)
    if rates:
        rows = [_HEADS, *map(_row, rates[:_ROWS_MAX])]
        lines += ["", *(fitted(line, WIDTH) for line in table_lines(rows, plain, left=2))]
        if len(rates) > _ROWS_MAX:
            lines.append(f"and {len(rates) - _ROWS_MAX} faster ones: --json")
    return lines


def together_sentence(answer: TogetherAnswer) -> str:
    """What all did together, over which time, and how exactly they began at once."""
    targets = counted(len({rate.key for rate in answer.rates}), "target")
    if not answer.window_ns:
        return f"{targets} were never at work at the same time: nothing can be said of them together."
    done = "; ".join(_told(answer))
    began = f"they began within {_short(answer.begin_spread_ns)}, give or take {_short(answer.clock_error_ns)}"
    return f"Together {targets} did {done}, over the {format_wait_ns(answer.window_ns)} in which all worked ({began})."


def _voids(answer: TogetherAnswer) -> Iterator[str]:
    """What keeps the numbers from being the storage's, before them."""
    count = len({rate.key for rate in answer.rates})
    for text, keys in answer.voids.values():
        yield f"Not to be trusted, {of_all(len(keys), count)}: {text}."


def _told(answer: TogetherAnswer) -> Iterator[str]:
    for operation, (rate, moved) in answer.totals.items():
        latency = answer.latencies[operation].quantile_ns(0.99)
        rates = f"{format_rate_per_s(rate)} {plural(operation)} a second ({format_rate_bytes_per_s(moved)})"
        yield f"{rates}, 99 % of them within {format_duration_ns(latency)}"


def _short(duration_ns: float) -> str:
    return format_duration_ns(duration_ns) if duration_ns else "0 s"


def _row(rate: PartRate) -> tuple[str, ...]:
    return (
        rate.key,
        rate.operation,
        f"{format_rate_per_s(rate.rate_per_s)}/s",
        format_rate_bytes_per_s(rate.throughput_bytes_per_s),
        format_duration_ns(rate.total_latency_ns_p50),
        format_duration_ns(rate.total_latency_ns_p99),
    )
