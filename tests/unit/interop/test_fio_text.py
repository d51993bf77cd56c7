"""fio's normal and terse output, made of its JSON: what fio itself prints of the same run."""

from __future__ import annotations

import json
import math
import re
import subprocess
from pathlib import Path

import pytest

from drivelab.interop.fio.exported_text import normal_text, shortened, terse_text

# its JSON does not have these: fields that the others' text holds besides
# of a share of all, in per cent: in JSON it is of numbers that were not rounded yet
ROUNDED = 0.05
_TWO_DECIMALS = re.compile(r"\d+\.\d\d\b")
PID = re.compile(r"pid=\d+: .*")
JOBS = (
    "--ioengine=null --size=16m --rw=randrw --bs=4k --iodepth=4",
    "--ioengine=psync --size=1m --rw=randwrite --bs=4k --fdatasync=1",
    "--ioengine=psync --size=64m --rw=read --bs=128k",
    "--ioengine=null --size=64m --rw=read --numjobs=2 --group_reporting --description=twice",
    "--ioengine=null --size=1m --rw=randwrite --name=b --size=2m --rw=read --stonewall",
)


def run_by_fio(options: str, folder: Path) -> tuple[str, str, dict[str, object]]:
    """Terse line, normal output and JSON of one run."""
    command = ["fio", "--name=a", f"--directory={folder}", *options.split(), "--output-format=json,normal,terse"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    begin, end = text.index("\n{\n"), text.index("\n}\n") + 3
    terse = "".join(f"{line}\n" for line in text[:begin].splitlines() if line.startswith("3;"))
    return terse, text[end:], json.loads(text[begin:end])


def is_same(mine: str, its: str, share_near: float = ROUNDED) -> bool:
    """Whether two fields are the same but for rounding; shares within so many per cent."""
    if mine == its or "." not in mine:
        return mine == its
    unit = "%" if mine.endswith("%") else ""
    values = (float(text.removesuffix(unit)) for text in (mine, its))
    return math.isclose(*values, abs_tol=share_near if unit else 2e-6)


def hundredths(line: str) -> list[int]:
    """The numbers with two decimals in a line."""
    return [round(100 * float(text)) for text in _TWO_DECIMALS.findall(line)]


def is_half_in(value: object) -> bool:
    """Whether a number of a document, in ns or in us, lies halfway between two with two decimals."""
    if isinstance(value, dict):
        return any(map(is_half_in, value.values()))
    if isinstance(value, list):
        return any(map(is_half_in, value))
    if not isinstance(value, float):
        return False
    return any(abs(value / unit * 100 % 1 - 0.5) < 1e-4 for unit in (1, 1e3, 1e6))


@pytest.mark.needs_tool("fio")
@pytest.mark.parametrize("options", JOBS)
def test_text_made_of_json_is_what_fio_prints_beside_it(options: str, tmp_path: Path) -> None:
    terse, normal, document = run_by_fio(options, tmp_path)
    theirs = PID.sub("", normal).strip().splitlines()
    ours = PID.sub("", normal_text(document)).strip().splitlines()
    assert [_TWO_DECIMALS.sub("#", line) for line in ours] == [_TWO_DECIMALS.sub("#", line) for line in theirs]
    for mine, its in zip(ours, theirs, strict=True):
        assert hundredths(mine) == pytest.approx(hundredths(its), abs=1), (mine, its)
        # only a half of the last digit may go either way: JSON has six decimals of it
        assert mine == its or is_half_in(document)
    # what a share is of is cut to whole KiB a second in terse lines
    slowest = min(job[way]["bw"] for job in document["jobs"] for way in ("read", "write") if job[way]["total_ios"])
    near = ROUNDED + 100 / slowest
    for own, line in zip(terse_text(document).splitlines(), terse.splitlines(), strict=True):
        for mine, its in zip(own.split(";"), line.split(";"), strict=True):
            assert is_same(mine, its, near)


@pytest.mark.parametrize(
    ("number", "width", "decimal", "binary"),
    [
        (0, 4, "0", "0"),
        (9999, 4, "9999", "9999"),
        (1_163_285, 4, "1163k", "1136Ki"),
        (4_764_815_360, 4, "4765M", "4544Mi"),
        (66_707_456, 4, "66.7M", "63.6Mi"),
        (1_248_000, 6, "1248.0k", "1218.8Ki"),
    ],
)
def test_a_number_is_shortened_as_fio_does_it(number: int, width: int, decimal: str, binary: str) -> None:
    assert (shortened(number, width), shortened(number, width, binary=True)) == (decimal, binary)
