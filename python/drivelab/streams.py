"""Where everything goes that drivelab prints: nothing in it commands a terminal, and a lost terminal ends nothing.

Names of drives, files and runs come from outside. So whatever is written to
stdout and stderr passes through `PrintableStream`, which spells control
characters out; styles and the live line, which are drivelab's own, come from
`make_console`, which does the same with every piece of text before it styles it.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from drivelab.model.printable import printable
from drivelab.model.units import glued

if TYPE_CHECKING:
    from rich.console import Console

# what of the environment has a command say its progress on stderr as lines of JSON
PROGRESS_AS_JSON = {"DRIVELAB_PROGRESS": "json"}
# the terminal was closed, its reader is gone, the descriptor is closed
_GONE = (errno.EIO, errno.EPIPE, errno.EBADF)
# a terminal that says it is narrower is not believed: no plot could be shown, and in no column nothing at all
_COLUMNS_MIN = 20
# as wide as a space, and no end of a line for rich, which breaks also at unbreakable spaces
_GLUE = "\u2800"


class PrintableStream:
    """A text stream whose text commands no terminal.

    Parameters
    ----------
    is_for_results : bool
        Whether it must arrive, as results must: then only a lost terminal is
        passed over, and `failure` tells. What is told to a person never raises.
    """

    def __init__(self, stream: IO[str], *, is_for_results: bool = False) -> None:
        self.failure: OSError | None = None
        self._stream = stream
        self._is_for_results = is_for_results
        self._is_verbatim = False

    def write(self, text: str) -> int:
        """Write a text, control characters spelled out."""
        return self.write_verbatim(text if self._is_verbatim else printable(text))

    def write_verbatim(self, text: str) -> int:
        """Write a text as it is: a page with a format of its own, or one that `make_console` has styled."""
        if self.failure is None:
            try:
                self._stream.write(text)
            except (OSError, ValueError) as error:
                self._pass_over(error)
        return len(text)

    def flush(self) -> None:
        """Have everything written go out."""
        try:
            self._stream.flush()
        except (OSError, ValueError) as error:
            self._pass_over(error)

    def isatty(self) -> bool:
        """Whether it is a terminal that is still there."""
        try:
            return self._stream.isatty()
        except (OSError, ValueError):
            return False

    @contextmanager
    def verbatim(self) -> Iterator[None]:
        """While the block runs, texts are written as they are."""
        self._is_verbatim = True
        try:
            yield
        finally:
            self._is_verbatim = False

    def _pass_over(self, error: OSError | ValueError) -> None:
        is_lost = isinstance(error, OSError) and error.errno in _GONE
        if self._is_for_results and not (isinstance(error, OSError) and error.errno == errno.EIO):
            raise error
        if not isinstance(error, OSError) and not self._stream.closed:
            raise error
        if is_lost:
            self.failure = cast(OSError, error)
            # what is still in its buffer would be tried again, in vain, when the program ends
            with suppress(OSError, ValueError):
                point_nowhere(self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        """Everything else, such as the encoding, is that of the stream itself."""
        return getattr(self._stream, name)


class _Styled:
    """The way into a `PrintableStream` for text that is spelled out already, and styled."""

    def __init__(self, stream: PrintableStream) -> None:
        self._stream = stream
        self.write = stream.write_verbatim

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def for_person(stream: IO[str] | None = None) -> PrintableStream:
    """Where a person is told how things go, stderr by default; writing there never raises.

    Nor does it matter whether anybody reads it: a run goes on, and puts
    everything back, also when its terminal is closed.
    """
    chosen: Any = stream if stream is not None else sys.stderr
    if isinstance(chosen, PrintableStream):
        return chosen
    return PrintableStream(chosen if chosen is not None else _nowhere())


def make_console(stream: IO[str] | PrintableStream | None = None, **options: Any) -> Console:
    """A console of rich, on stdout by default, on which only our own styles command the terminal.

    It never parts a number from its unit at the end of a line.

    Parameters
    ----------
    stream : text file, optional
        Where it prints.
    **options
        As of ``rich.console.Console``; nothing is highlighted.
    """
    # imported here: most of what is piped needs no terminal library
    from rich.console import Console
    from rich.segment import Segment
    from rich.text import Text

    class PrintableConsole(Console):
        """Spells control characters out before a text is measured, cut and styled."""

        def render(self, renderable: Any, *arguments: Any, **named: Any) -> Iterator[Segment]:
            if isinstance(renderable, Text):
                renderable = renderable.copy()
                renderable.plain = glued(renderable.plain).replace("\u00a0", _GLUE)
            for segment in super().render(renderable, *arguments, **named):
                text = segment.text.replace(_GLUE, " ")
                yield segment if segment.control else Segment(printable(text), segment.style)

    chosen: Any = stream if stream is not None else sys.stdout
    file = _Styled(chosen) if isinstance(chosen, PrintableStream) else chosen
    console = PrintableConsole(file=cast(IO[str], file), highlight=False, **options)
    if console.width < _COLUMNS_MIN:
        console.width = _COLUMNS_MIN
    return console


@contextmanager
def printable_streams() -> Iterator[None]:
    """While the block runs, stdout and stderr are streams whose text commands no terminal."""
    before = sys.stdout, sys.stderr
    sys.stderr = cast(TextIO, for_person())
    if not isinstance(sys.stdout, PrintableStream):
        # None when the parent closed it, whatever its annotation says
        out: TextIO | None = sys.stdout
        sys.stdout = cast(TextIO, PrintableStream(out if out is not None else _nowhere(), is_for_results=True))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def verbatim_stdout() -> Iterator[IO[str]]:
    """Stdout for a block that writes what has a format of its own, such as a page, or that is styled already."""
    out: Any = sys.stdout
    if isinstance(out, PrintableStream):
        with out.verbatim():
            yield out  # type: ignore[misc]
    else:
        yield out


def open_closed_descriptors() -> None:
    """Have descriptors 0 to 2 lead nowhere where the parent closed them, before a file of data gets one of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # the lowest that is free: this very one
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)


def point_nowhere(descriptor: int) -> None:
    """Have a descriptor lead nowhere from now on."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _nowhere() -> IO[str]:
    return open(os.devnull, "w", encoding="utf-8")
