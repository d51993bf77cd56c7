"""``drivelab fleet report`` of drives that tell no model: simulated ones by their title, others by kind and size."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drivelab.cli.main import run
from drivelab.model.finding import Finding
from made_up_fleet import MadeUpDrive, made_up_drives, write_fleet

SLOW = 7
MODEL = """title = "{title}"
size = "48MiB"
command = "1us"
read_latency = "{read_us}us"
write_latency = "90us"
jitter = "10us"
link = "90MB/s"

[flash]
raw = "64MiB"
block = "2MiB"
units = 2
read = "70us"
program = "1200us"
erase = "24us"
"""


def io_of(parent: Path, name: str, model: str) -> None:
    file = parent / f"{name}.toml"
    file.write_text(model)
    asked = ["--operation", "read", "--count", "2000", "--out", str(parent / "runs" / name)]
    assert run(["io", f"sim:{file}", *asked]) == 0


def report_of(runs: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    capsys.readouterr()
    assert run(["fleet", "report", str(runs), *more]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_simulated_drives_of_one_title_are_one_model_and_the_slow_one_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(10):
        slowness = 1.25 if number == SLOW else 1 + number % 3 / 100
        io_of(tmp_path, f"d{number}", MODEL.format(title="a card", read_us=round(100 * slowness)))
    told = report_of(tmp_path / "runs", capsys)
    assert told.startswith("9 of 10 drives are alike (")
    assert f"d{SLOW}.toml of " in told.split(". ")[0]
    assert "longer (median latency) than the median of its model" in told.split(". ")[0]
    found = json.loads(report_of(tmp_path / "runs", capsys, "--json"))
    assert {one["model"] for one in found["drives"]} == {"a card (simulated drive)"}
    assert not any("no model is known" in note for note in found["notes"])


def test_simulated_drives_of_other_titles_are_other_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(4):
        io_of(tmp_path, f"d{number}", MODEL.format(title=f"card {number}", read_us=100))
    assert report_of(tmp_path / "runs", capsys).startswith("No drive of 4 can be judged")


def without_model(document: dict[str, Any], drive: MadeUpDrive, _: int) -> None:
    """Loop devices of 512 MiB, which know neither model nor serial."""
    for target in document["targets"]:
        for facts in filter(None, (target.get("facts_before"), target.get("facts_after"))):
            facts |= {"kind": "block_device", "text": f"/dev/{drive.name}", "path": f"/dev/{drive.name}"}
            facts["size_bytes"] = 1 << 29
            for one in facts["drives"]:
                one |= {"vendor": None, "model": None, "serial": None, "serials": [], "virtual": "loop device"}
                one |= {"size_bytes": 1 << 29, "firmware": None}


def test_drives_of_unknown_model_are_held_against_those_of_their_kind_and_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drives = [
        replace(one, name=f"loop{place}", slowness=1.5 if place == SLOW else one.slowness)
        for place, one in enumerate(made_up_drives(12))
    ]
    write_fleet(tmp_path, drives, change=without_model)
    told = report_of(tmp_path, capsys)
    assert told.startswith("11 of 12 drives are alike (")
    assert f"; loop{SLOW} of host000 is " in told
    assert (
        "Of 12 drives no model is known: those of one kind and size (loop device, 537 MB) are taken for one model."
        in told
    )


def test_drives_that_lack_numbers_are_named_with_why_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Finding("host-cache-answered", "invalid", "the page cache answered", advice="let the loop device bypass it")
    drives = [replace(one, name=f"loop{place}") for place, one in enumerate(made_up_drives(4))]
    for place, directory in enumerate(write_fleet(tmp_path, drives, change=without_model)):
        file = directory / "trials.parquet"
        trials = pq.read_table(file)  # type: ignore[no-untyped-call]
        if place == 1:
            text = json.dumps([found.to_json()])
            column = pa.array([text] * len(trials))
            trials = trials.set_column(trials.column_names.index("findings_json"), "findings_json", column)
        pq.write_table(trials, file)  # type: ignore[no-untyped-call]
    told = report_of(tmp_path, capsys)
    first = told.split(". ")[0]
    assert first == (
        "No drive of 4 can be judged: it takes 4 of one model with the same number, and here no number has more than "
        "3; loop1 of host000 has no number at all"
    )
    why = "Left out: 28 trials that do not describe the drive (host-cache-answered), of loop1 of host000: let the loop "
    assert why in told
    assert told.index(why) < told.index("how much one differs from itself")


def test_of_two_drives_the_numbers_are_told_and_not_a_spread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_fleet(tmp_path, list(made_up_drives(2)))
    told = report_of(tmp_path, capsys)
    assert " in nvme0n1 of host000 (serial SN000000)" in told
    assert "two drives have it" not in told
