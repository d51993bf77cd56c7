"""Sizes, times and arithmetic as fio reads them: its own parser is the oracle."""

from __future__ import annotations

import re
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.interop.fio.arithmetic import ArithmeticMistake, evaluated
from drivelab.interop.fio.job_file import read_job_file
from drivelab.interop.fio.options import BY_NAME
from drivelab.interop.fio.sizes import Amount, ValueMistake, parse_amount, parse_time_us
from drivelab.interop.fio.translated import Environment
from drivelab.interop.fio.values import Choice, PerDirection, SizeRange, SplitPart, parse_value

SIZES = [
    "0", "7", "512", "4k", "4K", "4kb", "4KB", "4Ki", "4ki", "4KiB", "4kib", "1m", "1M", "1mb", "1MiB", "3g", "3GiB",
    "2t", "2TiB", "1p", "1pib", "0x1000", "0X10", "10b", "10B", "4kk", "16x", "64k ", "007", "1kI",
]  # fmt: skip
TIMES = ["1", "30", "30s", "2m", "1h", "1d", "500ms", "500msec", "70us", "70usec", "30sec", "10min", "5S", "5M", "3 s"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4k", 4096),
        ("4KiB", 4000),
        ("1GiB", 10**9),
        ("1g", 2**30),
        ("0x10", 16),
        (" 4k", 4),
        ("16x", 16),
        ("1kib", 1000),
    ],
)
def test_a_suffix_is_a_power_of_1024_and_kib_is_not(text: str, value: int) -> None:
    assert parse_amount(text).value == value


def test_with_a_base_of_1000_it_is_the_other_way_round() -> None:
    assert parse_amount("4k", kb_base=1000).value == 4000
    assert parse_amount("4KiB", kb_base=1000) == Amount(4096)
    # fio takes Ki for k there
    assert parse_amount("4Ki", kb_base=1000).value == 4000
    assert "4096" in parse_amount("4Ki", kb_base=1000).surprise


def test_what_looks_otherwise_is_told_with_both_readings() -> None:
    told = parse_amount("64KiB").surprise
    assert "64000 B" in told
    assert "65536 B" in told
    assert "30 us" in parse_time_us("30sec", in_seconds=True).surprise
    assert "30s would be 30 s" in parse_time_us("30sec", in_seconds=True).surprise
    assert not parse_amount("64k").surprise
    assert not parse_time_us("30s", in_seconds=True).surprise


@pytest.mark.parametrize("text", ["", "k", "1.5g", "-1", "9" * 40, "0x" + "f" * 30, "(1", "(9^99)", "(1/0)", "8192p"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueMistake):
        parse_amount(text)


def test_arithmetic_has_the_usual_order_and_units() -> None:
    assert parse_amount("(2 * (3 + 4k) - 1)").value == 2 * (3 + 4096) - 1
    assert parse_time_us("(1m + 30)", in_seconds=True).value == 90 * 10**6
    assert evaluated("7 / 2", whole=True) == 3
    assert evaluated("-7 / 2", whole=True) == -3
    assert evaluated("2 ^ 10 % 1000") == 24


@given(st.text(alphabet="0123456789+-*/%^() kmg.", max_size=60))
def test_an_expression_has_a_value_or_a_mistake(text: str) -> None:
    try:
        assert isinstance(evaluated(text, unit=lambda _suffix: Fraction(1)), Fraction)
    except ArithmeticMistake as mistake:
        assert str(mistake)


def numbers_of_fio(path: Path, option: str) -> list[int | None]:
    """What fio's parser says of each value of an option, in order; None where it refuses."""
    command = ["fio", "--debug=parse", "--parse-only", str(path)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    found: list[int | None] = []
    is_ours = False
    for line in said.stdout.splitlines():
        if "__handle_option=" in line:
            is_ours = f"__handle_option={option}," in line
        read = re.search(r"ret=(\d+), out=(-?\d+)", line)
        if read and is_ours:
            found.append(int(read[2]) if read[1] == "0" else None)
            is_ours = False
    return found


@pytest.mark.needs_tool("fio")
@pytest.mark.parametrize(
    ("option", "base", "texts"),
    [("io_size", 1024, SIZES), ("io_size", 1000, SIZES), ("runtime", 1024, TIMES), ("thinktime", 1024, TIMES)],
)
def test_numbers_are_those_that_fio_reads(option: str, base: int, texts: list[str], tmp_path: Path) -> None:
    job = tmp_path / "numbers.fio"
    job.write_text("".join(f"[n{number}]\nkb_base={base}\n{option}={text}\n" for number, text in enumerate(texts)))
    theirs = numbers_of_fio(job, option)
    assert len(theirs) == len(texts)
    for text, number in zip(texts, theirs, strict=True):
        value, _ = parse_value(BY_NAME[option], text, kb_base=base)
        assert isinstance(value, Amount)
        assert (text, value.value) == (text, number)


def test_lists_hold_for_reads_writes_and_trims() -> None:
    def sizes(text: str) -> PerDirection[Amount]:
        value, _ = parse_value(BY_NAME["bs"], text)
        assert isinstance(value, PerDirection)
        return value

    assert sizes("4k") == PerDirection(Amount(4096), Amount(4096), Amount(4096))
    assert sizes("4k,8k") == PerDirection(Amount(4096), Amount(8192), Amount(8192))
    assert sizes("4k,8k,512") == PerDirection(Amount(4096), Amount(8192), Amount(512))
    assert sizes(",8k") == PerDirection(None, Amount(8192), Amount(8192))
    assert sizes("8k,") == PerDirection(Amount(8192), None, None)


def test_ranges_splits_and_choices_are_taken_apart() -> None:
    assert parse_value(BY_NAME["bsrange"], "16k-4k,8k-8k")[0] == PerDirection(
        SizeRange(4096, 16384), SizeRange(8192, 8192), SizeRange(8192, 8192)
    )
    split = (SplitPart(65536, 40), SplitPart(1048576, 60), SplitPart(512, None))
    assert parse_value(BY_NAME["bssplit"], "64k/40:1m/60:512/")[0] == PerDirection(split, split, split)
    assert parse_value(BY_NAME["rw"], "randread:8")[0] == Choice("randread", "8")
    assert parse_value(BY_NAME["percentile_list"], "50:99.9")[0] == (50.0, 99.9)


def test_a_later_list_leaves_what_it_does_not_name(tmp_path: Path) -> None:
    job = tmp_path / "lists.fio"
    job.write_text("[global]\nbs=16k\n[a]\nfilename=x\nbs=,8k\n")
    read = read_job_file(job, Environment()).jobs[0]
    assert read.settings["bs"].value == PerDirection(Amount(16384), Amount(8192), Amount(8192))
