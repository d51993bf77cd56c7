"""What a job's writes hold, and how what it reads is checked: fio's ``verify``, its headers and its patterns."""

from __future__ import annotations

import re
from math import gcd
from pathlib import Path
from typing import Any

from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.translation_of_io import Issued

# fio takes no more of any pattern
_BYTES_MAX = 512
_OFFSET_BYTES = 8
_WORD = re.compile(
    r"\"(?P<text>[^\"]*)\"|'(?P<file>[^']*)'|(?P<offset>%o)"
    r"|0[xX](?P<digits>[0-9a-fA-F]+?)(?=0[xX]|[^0-9a-fA-F]|$)|(?P<number>[+-]?\d+?)(?=0[xX]|\D|$)"
)
_NUMBER_MAX = 2**31
_STAMP_BYTES = 16
_STAMP_DISTANCE_BYTES = 4096
_HEADER_BYTES = 40
# what drivelab calls kinds of fio's headers, and the bytes of the sum behind them
_HEADERS = {
    "meta": ("header", 0),
    "pattern_hdr": ("pattern_header", 0),
    "md5": ("md5", 16),
    "crc32": ("crc32", 4),
    "crc32c": ("crc32c", 4),
    "crc32c-intel": ("crc32c", 4),
    "sha256": ("sha256", 64),
    "xxhash": ("xxhash", 4),
}
_OFF = ("0", "", "null")


def contents(options: JobOptions) -> dict[str, Any]:
    """The key ``contents`` of a workload pattern, where nothing is checked and it is not random data."""
    compressible = options.number("buffer_compress_percentage") / 100
    duplicate = options.number("dedupe_percentage") / 100
    text = options.text("buffer_pattern")
    if text and not (compressible or duplicate):
        return {"contents": _pattern(options, "buffer_pattern")}
    if text:
        options.tell("buffer_pattern", "approximated", "what compresses is zeros")
    if options.truth("zero_buffers") or compressible == 1:
        return {"contents": {"kind": "zeros"}}
    shares = {"compressible_fraction": compressible, "duplicate_fraction": duplicate}
    kept = {name: share for name, share in shares.items() if share}
    return {"contents": {"kind": "random"} | kept} if kept else {}


def checked_contents(options: JobOptions, io: Issued) -> dict[str, Any]:
    """The keys ``contents`` and ``verify`` of a workload pattern; what is not checked is told."""
    kind = options.choice("verify").word
    pattern = options.text("verify_pattern")
    if not options.has("verify") and pattern:
        kind = "pattern_hdr"
    name = "verify" if options.has("verify") or not pattern else "verify_pattern"
    if kind == "null":
        options.tell(name, "approximated", "nothing is read back, as nothing would be checked")
    if kind in _OFF and not options.truth("verify_only"):
        return contents(options)
    held = contents(options).get("contents", {}) if not pattern else _pattern(options, "verify_pattern")
    if held.get("kind") == "zeros" and options.number("buffer_compress_percentage") < 100:
        # fio fills what it checks with random data, whatever its buffers hold
        held = {}
    if kind == "pattern" or kind in _HEADERS:
        if "pattern" in kind and not pattern:
            options.tell(name, "not-honoured", "there is no verify_pattern: nothing is checked")
            return contents(options)
        marked = held if kind == "pattern" else _with_headers(options, io, kind, held)
        return contents(options) if marked is None else {"contents": marked, "verify": True}
    if not _has_stamps(options, io, name, held):
        return contents(options)
    what = "what is written carries drivelab's own stamps, which fio cannot check"
    if kind not in _OFF:
        only_reads = "of blocks that fio wrote only the headers are checked, not the data; or drivelab's own stamps"
        options.tell(name, "approximated", what if io.writes else only_reads)
    return {"contents": held, "verify": True} if held else {"verify": True}


def _with_headers(options: JobOptions, io: Issued, kind: str, held: dict[str, Any]) -> dict[str, Any] | None:
    """Contents with headers; None where these do not fit, which is told."""
    check, sum_bytes = _HEADERS[kind]
    header_bytes = _HEADER_BYTES + sum_bytes
    part = min(options.number("verify_interval") or min(io.all_sizes), *io.all_sizes)
    if any(size % part for size in io.all_sizes):
        part = gcd(*io.all_sizes)
    offset = options.number("verify_offset")
    if part <= header_bytes:
        options.tell("verify", "not-honoured", f"parts of {part} B have no room for a header: nothing is checked")
        return None
    if offset and not header_bytes <= offset <= part - header_bytes:
        what = f"headers of {header_bytes} B have no room there: nothing is checked"
        options.tell("verify_offset", "not-honoured", what)
        return None
    place = {"check_offset": offset} if offset else {}
    return {"kind": "random"} | held | {"check": check, "check_bytes": part} | place


def _pattern(options: JobOptions, name: str) -> dict[str, Any]:
    """The contents that a pattern stands for.

    Raises
    ------
    DrivelabError
        U033: it is none.
    """
    pattern = pattern_of(options.text(name), takes_offset=name == "verify_pattern")
    if pattern is None:
        known = "\"text\", numbers, 'files'" + (" and %o" if name == "verify_pattern" else "")
        what = f"{name}={options.text(name)} is no pattern of at most 512 bytes"
        raise options.refuse(name, what, code="U033", do=f"write {known} in a row")
    return {"kind": "pattern", "pattern": pattern}


def _has_stamps(options: JobOptions, io: Issued, name: str, held: dict[str, Any]) -> bool:
    """Whether drivelab's stamps can be checked with these contents and block sizes; says why not."""
    sizes = io.all_sizes
    fits = min(sizes) >= _STAMP_BYTES if len(sizes) == 1 else not any(size % _STAMP_DISTANCE_BYTES for size in sizes)
    plain = held.get("kind", "random") == "random" and not held.get("duplicate_fraction")
    if fits and plain:
        return True
    why = "contents that are not random" if not plain else "these block sizes"
    options.tell(name, "not-honoured", f"{why} carry no stamps")
    return False


def pattern_of(text: str, *, takes_offset: bool) -> str | None:
    """A pattern as `drivelab.model.contents.Contents` has it.

    Parameters
    ----------
    takes_offset : bool
        Whether ``%o`` stands for the offset of the block.

    Returns
    -------
    str or None
        None where it is no pattern, a file in it cannot be read, or it is too long.
    """
    found: list[str] = []
    place = 0
    while place < len(text):
        match = _WORD.match(text, place)
        if match is None:
            return None
        part = "%o" if match["offset"] and takes_offset else _bytes_of(match)
        if not part:
            return None
        found.append(part)
        place = match.end()
    count = sum(_OFFSET_BYTES if part == "%o" else len(part) // 2 for part in found)
    return "".join(found) if 0 < count <= _BYTES_MAX else None


def _bytes_of(match: re.Match[str]) -> str:
    """Hexadecimal digits of one word; empty where it has none."""
    if match["text"] is not None:
        return match["text"].encode().hex()
    if match["digits"] is not None:
        return ("0" * (len(match["digits"]) % 2) + match["digits"]).lower()
    if match["number"] is not None:
        return _bytes_of_number(int(match["number"]))
    try:
        with Path(match["file"] or "").open("rb") as file:
            return file.read(_BYTES_MAX).hex()
    except OSError:
        return ""


def _bytes_of_number(number: int) -> str:
    """As many bytes as a decimal number needs, the lowest first; four where it is negative."""
    if not -_NUMBER_MAX <= number < _NUMBER_MAX:
        return ""
    value = number % 2**32
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "little").hex()
