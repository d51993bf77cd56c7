"""Reads the files of other programs: whole, as text, and bounded."""

from __future__ import annotations

import codecs
import hashlib
from dataclasses import dataclass
from pathlib import Path

from drivelab.interop.foreign import SourceText
from drivelab.model.errors import DrivelabError

BYTES_MAX = 64 * 2**20


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was read.

    Attributes
    ----------
    content : bytes
        The file itself, for keeping.
    """

    source: SourceText
    content: bytes

    @property
    def sha256(self) -> str:
        """Hash of the content, in hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()


def read_source(path: Path) -> SourceFile:
    """A foreign file as text: UTF-8, UTF-16 with its mark, or Latin-1 where it is neither.

    Raises
    ------
    DrivelabError
        I506: it cannot be opened, or is no text. I508: it is larger than 64 MiB.
    """
    try:
        if not path.is_file():
            raise DrivelabError("I506", _what_it_is(path), where=str(path))
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DrivelabError("I506", f"it cannot be read: {why}", where=str(path)) from None
    return source_of(path, content)


def source_of(path: Path, content: bytes) -> SourceFile:
    """What was read of a file as text.

    Raises
    ------
    DrivelabError
        I506: it is no text. I508: it is larger than 64 MiB.
    """
    if len(content) > BYTES_MAX:
        raise DrivelabError("I508", f"the file is larger than {BYTES_MAX // 2**20} MiB", where=str(path))
    is_wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in content and not is_wide:
        what = "it is no text: it holds bytes of zero"
        raise DrivelabError("I506", what, where=str(path), do="export text, CSV or JSON from the program")
    try:
        # UTF-16 is what a PowerShell of Windows makes of `program > file`
        text = content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        if is_wide:
            raise DrivelabError("I506", "it begins as UTF-16 and is none", where=str(path)) from None
        text = content.decode("latin-1")
    # every reader counts lines by \n; other line ends, and other signs that Python takes for one, would shift them
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_NO_LINE_ENDS)
    return SourceFile(SourceText(path.name, text), content)


_NO_LINE_ENDS = dict.fromkeys(map(ord, "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), " ")


def _what_it_is(path: Path) -> str:
    if path.is_dir():
        return "it is a directory"
    return "it is a pipe or a device, and no regular file" if path.exists() else "there is no such file"
