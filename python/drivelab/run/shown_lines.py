"""What a person is told on stderr: lines, and on a terminal one live line beneath them."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, TextIO

from drivelab.model.operations_apart import DIRECTIONS, plural
from drivelab.model.units import format_bytes, format_rate_per_s
from drivelab.run.engine import Progress
from drivelab.streams import for_person, make_console


class ShownLines:
    """Lines that stay, above one that changes in place; used in a ``with`` block.

    Parameters
    ----------
    stream : text file, optional
        Where to, stderr by default; the live line is shown on a terminal only.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = for_person(stream)
        self._live: Any = None
        if self._stream.isatty():
            # imported here: what is piped needs no terminal library
            from rich.live import Live

            console = make_console(self._stream, soft_wrap=True)
            self._live = Live(console=console, transient=True, refresh_per_second=8)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        """Remove the live line."""
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """Print a line."""
        if self._live is None:
            print(text, file=self._stream, flush=True)
            return
        from rich.text import Text

        self._live.console.print(Text(text))

    def show(self, text: str) -> None:
        """Say so in the live line, where there is one."""
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(text, style="dim", no_wrap=True, overflow="ellipsis"))

    def goes_on(self, progress: Progress) -> bool:
        """Show how a workload goes; it always may go on."""
        self.show(progress_text(progress))
        return True


def progress_text(progress: Progress) -> str:
    """How a workload goes, in a few words."""
    seconds = progress.elapsed_ns / 1e9
    if progress.is_ramping:
        return f"{seconds:.1f} s, ramp"
    return f"{seconds:.1f} s, {rates_text(progress)}, {format_bytes(progress.byte_count())}"


def rates_text(progress: Progress) -> str:
    """How many I/Os per s there were until now: of a mix of each operation alone."""
    seconds = max(progress.elapsed_ns, 1) / 1e9
    counts = {name: count for name in DIRECTIONS if (count := progress.counts.get(name))}
    if len(counts) < 2:
        return f"{format_rate_per_s(progress.operation_count() / seconds)} I/Os per s"
    return ", ".join([f"{format_rate_per_s(count / seconds)} {plural(name)} per s" for name, count in counts.items()])
