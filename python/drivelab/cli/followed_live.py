"""The table of a followed program's calls that is redrawn each second, where there is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from drivelab.report.followed_calls import p99_text
from drivelab.report.numerals import count_text, latency_text, number_text
from drivelab.report.terminal.wrapped import fitted, table_lines
from drivelab.run.following.live import LiveLook
from drivelab.streams import for_person, make_console

_CALLS = 8
_HEAD = ("last 5 s", "calls a second", "p50", "p99", "slowest", "time in it")


def live_lines(look: LiveLook, width: int, *, plain: bool) -> list[str]:
    """What is shown of one look, each line no wider than the terminal."""
    rows = [
        (
            one.call,
            number_text(one.per_second),
            latency_text(one.p50_ns),
            p99_text(one.p99_ns, one.p99_at_least_ns),
            latency_text(one.slowest_ns),
            f"{100 * one.time_share:.0f} %",
        )
        for one in look.calls[:_CALLS]
    ]
    lines = list(table_lines([_HEAD, *rows], plain))
    latency_ns, call, file = look.slowest
    if call:
        of_file = f" of {file}" if file else ""
        counted = f"{count_text(look.counted)} call{'' if look.counted == 1 else 's'}"
        lines.append(f"{counted}; the slowest: {latency_text(latency_ns)} {call}{of_file}")
    else:
        lines.append("no call yet")
    return [fitted(line, width) for line in lines]


@contextmanager
def live_table() -> Iterator[Callable[[LiveLook], None] | None]:
    """What to call with each look; None where stderr is no terminal, and nothing is looked at."""
    stream = for_person(sys.stderr)
    if not stream.isatty():
        yield None
        return
    from rich.live import Live
    from rich.text import Text

    console = make_console(stream)
    plain = not console.encoding.startswith("utf")
    with Live(
        console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as live:

        def show(look: LiveLook) -> None:
            lines = live_lines(look, console.width, plain=plain)
            live.update(Text("\n".join(lines), no_wrap=True, overflow="crop"), refresh=True)

        yield show
