"""What many hosts did at the same time, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.fleet_together import PartRate, TogetherAnswer
from drivelab.model.names import counted, names_in_words, of_all
from drivelab.model.operations_apart import plural
from drivelab.model.units import format_duration_ns, format_rate_bytes_per_s, format_rate_per_s, format_wait_ns
from drivelab.report.terminal.wrapped import WIDTH, fitted, table_lines, wrapped

_ROWS_MAX = 20
_OTHERS_SHARE, _SHORTEST_NS = 0.01, 1000
_HEADS = ("target", "", "rate", "throughput", "median", "p99")


def together_lines(answer: TogetherAnswer, failed: Sequence[str], *, plain: bool) -> list[str]:
    """A sentence on all of them, and a line for each target, the slowest first.

    Parameters
    ----------
    answer : TogetherAnswer
        Of those that came to their end.
    failed : sequence of str
        Targets that began with them and did not.
    """
    lines = [line for text in _voids(answer) for line in wrapped(text, WIDTH, plain)]
    if failed:
        text = (
            f"Not the rate of all: {names_in_words(failed)} began with the others, loaded the same storage, and failed."
        )
        lines += wrapped(text, WIDTH, plain)
    lines += wrapped(_together_sentence(answer), WIDTH, plain)
    rates = sorted(answer.rates, key=lambda rate: rate.throughput_bytes_per_s)
    if rates:
        rows = [_HEADS, *map(_row, rates[:_ROWS_MAX])]
        lines += ["", *(fitted(line, WIDTH) for line in table_lines(rows, plain, left=2))]
        if len(rates) > _ROWS_MAX:
            lines.append(f"and {len(rates) - _ROWS_MAX} faster ones: --json")
    return lines


def _together_sentence(answer: TogetherAnswer) -> str:
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
    seconds = answer.window_ns / 1e9
    for operation, (count, moved) in answer.totals.items():
        latencies = answer.latencies[operation]
        rates = f"{format_rate_per_s(count / seconds)} {plural(operation)} a second"
        # those that some did before or after the others
        others = latencies.total_count - count > _OTHERS_SHARE * latencies.total_count
        of_all = " (of all, also while fewer worked)" if others else ""
        within = f"99 % of them within {format_duration_ns(latencies.quantile_ns(0.99))}{of_all}"
        yield f"{rates} ({format_rate_bytes_per_s(moved / seconds)}), {within}"


def _short(duration_ns: float) -> str:
    return format_duration_ns(duration_ns) if duration_ns >= _SHORTEST_NS else "less than 1 us"


def _row(rate: PartRate) -> tuple[str, ...]:
    return (
        rate.key,
        rate.operation,
        f"{format_rate_per_s(rate.rate_per_s)}/s",
        format_rate_bytes_per_s(rate.throughput_bytes_per_s),
        format_duration_ns(rate.latencies.quantile_ns(0.5)),
        format_duration_ns(rate.latencies.quantile_ns(0.99)),
    )
