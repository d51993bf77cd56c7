"""`drivelab btt` on files that nobody has recorded: an answer or an error with a code, never anything else."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from block_trace import NOTIFY, SDA, SDB, TraceRecord, packed_stream
from drivelab.cli.main import run
from drivelab.model.errors import EXIT_FAILED, EXIT_NOT_TRUSTED, EXIT_OK, EXIT_USAGE

RECORDINGS = Path(__file__).resolve().parents[2] / "golden" / "blktrace"
REAL = (RECORDINGS / "wt_raw_over1" / "wt_raw_over1.blktrace.1").read_bytes()[:6_000]
OPTIONS = ([], ["--json"], ["--per-device"], ["--compat", "1.2"], ["--compat", "legacy", "--per-device", "--json"])
ANSWERS = {EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_NOT_TRUSTED}

NUMBERS = st.one_of(st.integers(0, 40), st.sampled_from([2**31, 2**32 - 512, 2**32 - 1]))
LONG_NUMBERS = st.one_of(NUMBERS, st.sampled_from([2**55, 2**63, 2**64 - 8, 2**64 - 1]))
NAMES = st.sampled_from([b"fio", b"\x1b[31mred", b"\xff\xfe", b"[bold]", b"two\nlines", b"", b"{}" * 30])
RECORDS = st.builds(
    TraceRecord,
    time_ns=LONG_NUMBERS,
    action=st.integers(0, 20),
    sector=LONG_NUMBERS,
    size_bytes=st.sampled_from([0, 512, 4096, 4097, 2**32 - 1]),
    category=st.one_of(st.integers(0, 2**16 - 1), st.just(NOTIFY)),
    pid=NUMBERS,
    device=st.one_of(st.sampled_from([SDA, SDB, 253 << 20]), NUMBERS),
    cpu=st.one_of(st.integers(0, 2), NUMBERS),
    error=st.sampled_from([0, -5]),
    payload=st.one_of(st.just(b""), NAMES, st.binary(max_size=40)),
    sequence=NUMBERS,
)
RUBBLE = st.binary(max_size=400)


@st.composite
def changed_recordings(draw: st.DrawFn) -> bytes:
    """A real recording with some bytes changed, left out or put in."""
    content = bytearray(REAL)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(content)))
        content[at : at + draw(st.sampled_from([0, 1, 4, 48, 700]))] = draw(st.binary(max_size=8))
    return bytes(content)


@st.composite
def made_up_recordings(draw: st.DrawFn) -> bytes:
    """Records whose every field may be anything, of both versions and byte orders."""
    parts = st.tuples(st.lists(RECORDS, max_size=12), st.sampled_from([7, 8]), st.sampled_from(["<", ">"]))
    return b"".join(packed_stream(*part) for part in draw(st.lists(parts, max_size=3)))


def told(*arguments: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as errors:
        status = run(["btt", *arguments])
    return status, out.getvalue(), errors.getvalue()


def no_constant(name: str) -> float:
    """JSON has neither NaN nor infinity."""
    raise AssertionError(name)


@pytest.mark.parametrize("suffix", ["dump", "blktrace.0"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(RUBBLE, changed_recordings(), made_up_recordings()), options=st.sampled_from(OPTIONS))
def test_any_file_has_an_answer_or_an_error_with_a_code(
    tmp_path: Path, suffix: str, content: bytes, options: list[str]
) -> None:
    path = tmp_path / f"any.{suffix}"
    path.write_bytes(content)
    status, out, errors = told(str(path), *options)
    assert status in ANSWERS, errors
    assert "bug:" not in errors, errors
    assert "Traceback" not in errors, errors
    assert bool(errors) or status == EXIT_OK
    # what a file says is text, and no command to the terminal
    assert "\x1b[31m" not in out + errors
    if "--json" in options and out:
        json.loads(out, parse_constant=no_constant)
