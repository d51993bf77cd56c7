"""One line on a terminal that tells how a workload goes; nothing when stderr is piped."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, TextIO

from drivelab.model.units import format_bytes
from drivelab.run.engine import Progress
from drivelab.run.progress import rates_text
from drivelab.streams import for_person, make_console


class LiveLine:
    """A line that changes in place; used in a ``with`` block.

    Parameters
    ----------
    stream : text file, optional
        Where to, stderr by default; nothing is shown unless it is a terminal.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._live: Any = None
        told = for_person(stream)
        if told.isatty():
            # imported here: a piped run needs no terminal library
            from rich.live import Live

            console = make_console(told, soft_wrap=True)
            self._live = Live(console=console, transient=True, refresh_per_second=8)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        """Remove the line."""
        if self._live is not None:
            self._live.stop()

    def show(self, progress: Progress) -> bool:
        """Show how it goes; it always may go on."""
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(progress_text(progress), style="dim", no_wrap=True, overflow="ellipsis"))
        return True


def progress_text(progress: Progress) -> str:
    """How a workload goes, in a few words."""
    seconds = progress.elapsed_ns / 1e9
    if progress.is_ramping:
        return f"{seconds:.1f} s, ramp"
    return f"{seconds:.1f} s, {rates_text(progress)}, {format_bytes(progress.byte_count())}"
