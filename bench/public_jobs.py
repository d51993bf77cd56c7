"""Job files and command lines of fio in repositories: found, and with a value for each placeholder."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drivelab.interop.fio.options import BY_NAME
from drivelab.interop.fio.syntax import uncommented

SOURCES = Path(__file__).parent / "job_file_sources.txt"
FILE_BYTES_MAX = 40_000
CANDIDATES = r"ioengine|randread|randwrite|--rw|^ *(rw|readwrite) *="
SECTION = re.compile(r"^\s*\[[^\]\n]+\]", re.MULTILINE)
OPTION = re.compile(r"^\s*(rw|readwrite|ioengine|bs|blocksize|iodepth)\s*=", re.MULTILINE)
COMMAND = re.compile(r"(?:^|[\s;|&(\"'`$/>])fio[\"']?\s+(-\S.*)")
OPTIONS_OF_JOBS = ("name", "rw", "readwrite", "filename", "ioengine", "bs")
# where a shell goes on with something else
END = re.compile(r"^(?:\d?>.*|[|;&)\"'`}].*|<.*|2>&1)$")
PLACEHOLDER = re.compile(
    r"\$\{[^}]*\}|\$\([^)]*\)|\$[@*\w]+|@\w+@|\{\{.*?\}\}|\{\w*\}|<[\w .-]+>|%[sd]|%[A-Z_]+%|__\w+__"
)
# what a script or a reader fills in
FILLED = {
    "rw": "randread", "ioengine": "libaio", "direct": "1", "bs": "4k", "iodepth": "8", "numjobs": "2", "size": "64g",
    "filesize": "64g", "io_size": "64g", "runtime": "10", "ramp_time": "1", "filename": "/tmp/x", "directory": "/tmp",
    "name": "job", "rwmixread": "70", "rwmixwrite": "30", "offset": "0", "offset_increment": "1g", "loops": "1",
    "rate_iops": "1000", "rate": "1m", "bssplit": "4k/100", "bsrange": "4k-8k", "fsync": "1", "cpus_allowed": "0",
    "number_ios": "100", "verify": "crc32c", "zonesize": "64m", "iodepth_batch": "1", "nrfiles": "1", "thinktime": "0",
    "percentage_random": "50", "startdelay": "0", "iodepth_batch_complete_max": "1", "description": "text",
    "iodepth_batch_complete_min": "1", "max_open_zones": "8", "write_bw_log": "log", "write_lat_log": "log",
    "write_iops_log": "log", "log_avg_msec": "1000", "buffered": "0", "randrepeat": "0", "random_generator": "lfsr",
    "buffer_compress_percentage": "50", "steadystate": "iops_slope:10%", "output": "out", "output-format": "json",
    "status-interval": "1", "section": "job", "group_reporting": "1", "time_based": "1", "thread": "1",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A job file, or a command line.

    Attributes
    ----------
    origin : str
        Its repository.
    path : str
        Where in it.
    text : str
        The text of a job file; empty for a command line.
    words : tuple of str
        The words of a command line behind ``fio``.
    """

    origin: str
    path: str
    text: str = ""
    words: tuple[str, ...] = ()


def sources() -> list[str]:
    """The repositories that the figure in the documentation was measured with."""
    lines = map(str.strip, SOURCES.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def found_in(directory: Path) -> Iterator[Found]:
    """What a directory has, or the newest commit of a git directory without a work tree; each text once."""
    seen: set[str | tuple[str, ...]] = set()
    for path, text in _texts(directory):
        for found in _found_of(directory.name, path, text):
            key = found.words or found.text
            if key not in seen:
                seen.add(key)
                yield found


def filled(found: Found) -> Found | None:
    """The same with a value for each placeholder; None where one stands for something that is not to be guessed."""
    if found.words:
        words = [_filled_word(word) for word in found.words]
        return None if None in words else Found(found.origin, found.path, words=tuple(word or "" for word in words))
    lines = [_filled_line(line) for line in found.text.splitlines()]
    return None if None in lines else Found(found.origin, found.path, "\n".join(line or "" for line in lines) + "\n")


def _filled_word(word: str) -> str | None:
    if not PLACEHOLDER.search(word):
        return word
    name, equals, _ = word.lstrip("-").partition("=")
    value = _value_of(name)
    return f"--{name}={value}" if equals and value else None


def _filled_line(line: str) -> str | None:
    bare = uncommented(line)
    if not PLACEHOLDER.search(bare):
        return bare
    name, equals, _ = bare.partition("=")
    if equals and (value := _value_of(name.strip())):
        return f"{name.strip()}={value}"
    return PLACEHOLDER.sub("x", bare) if bare.startswith("[") else None


def _value_of(name: str) -> str | None:
    option = BY_NAME.get(name)
    return FILLED.get(option.name if option else name)


def _texts(directory: Path) -> Iterator[tuple[str, str]]:
    git = next((each for each in (directory, directory / ".git") if (each / "objects").is_dir()), None)
    if git is None:
        for path in sorted(directory.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= 10 * FILE_BYTES_MAX:
                yield str(path.relative_to(directory)), path.read_text(errors="replace")
        return
    call = ["git", f"--git-dir={git}", "grep", "-I", "-l", "-z", "-E", CANDIDATES, "HEAD"]
    names = subprocess.run(call, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        shown = subprocess.run(["git", f"--git-dir={git}", "show", name], capture_output=True)
        if len(shown.stdout) <= 10 * FILE_BYTES_MAX:
            yield name.removeprefix("HEAD:"), shown.stdout.decode(errors="replace")


def _found_of(origin: str, path: str, text: str) -> Iterator[Found]:
    if is_job_file(text):
        yield Found(origin, path, text)
        return
    for line in re.sub(r"\\\s*\n", " ", text).splitlines():
        if (match := COMMAND.search(line)) and (words := _words(match[1])):
            yield Found(origin, path, words=words)


def is_job_file(text: str) -> bool:
    """Whether it begins with a section, and has an option that most have."""
    begins = next(filter(None, map(uncommented, text.splitlines())), "").startswith("[")
    return len(text) <= FILE_BYTES_MAX and begins and bool(SECTION.search(text) and OPTION.search(text))


def _words(text: str) -> tuple[str, ...]:
    """The words of a command line, if it has options of jobs."""
    try:
        every = shlex.split(text, comments=True)
    except ValueError:
        every = text.split()
    words: list[str] = []
    for word in every:
        if END.match(word) and not PLACEHOLDER.match(word):
            break
        words.append(word.rstrip(";`\"'"))
    names = {word.lstrip("-").partition("=")[0] for word in words if word.startswith("-")}
    return tuple(words) if names & set(OPTIONS_OF_JOBS) else ()
