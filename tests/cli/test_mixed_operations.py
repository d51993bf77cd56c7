"""Reads and writes of one workload are told apart wherever numbers stand: each latency beside its own rate."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

import drivelab
from drivelab.cli.main import run
from drivelab.store.read import StoredRun, open_run

RESULTS = Path(__file__).resolve().parents[1] / "golden" / "foreign" / "fio-3.33-same-jobs.json"
MEAN = "total_latency_ns_mean"
JOBS = """\
[mix]
rw=randrw
rwmixread=70
bs=4k
size=1m
number_ios=600
fdatasync=1
"""


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def imported(tmp_path: Path) -> StoredRun:
    assert run(["import", str(RESULTS), "--out", str(tmp_path / "runs")]) == 0
    return open_run(next((tmp_path / "runs").iterdir()))


@pytest.fixture(scope="module")
def as_fio_tells() -> dict[str, Any]:
    (job,) = [one for one in json.loads(RESULTS.read_text())["jobs"] if one["jobname"] == "mixed"]
    return {name: (job[name]["lat_ns"]["mean"], job[name]["iops"]) for name in ("read", "write")}


def written(run_of: StoredRun, ending: str, *options: str) -> Path:
    out = run_of.directory.parent.parent / f"report.{ending}"
    assert run(["report", str(run_of.directory), "--out", str(out), *options]) == 0
    return out


def test_csv_has_each_direction_with_its_own_rate(imported: StoredRun, as_fio_tells: dict[str, Any]) -> None:
    with written(imported, "csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["workload"] == "mixed"]
    found = {(row["operation"], row["metric"]): float(row["value"]) for row in rows if row["value"]}
    for name, (mean_ns, iops) in as_fio_tells.items():
        assert found[name, MEAN] == pytest.approx(mean_ns, rel=1e-5)
        assert found[name, "iops"] == pytest.approx(iops, rel=1e-5)
    both = {metric for operation, metric in found if operation == "read and write"}
    assert "iops" in both
    assert not any("latency" in metric for metric in both)


def test_json_has_each_direction_with_its_own_rate(imported: StoredRun, as_fio_tells: dict[str, Any]) -> None:
    document = json.loads(written(imported, "json").read_text())["runs"][0]
    results = {one["operation"]: one["metrics"] for one in document["results"] if one["workload"] == "mixed"}
    assert list(results) == ["read", "write", "read and write"]
    (trial,) = [one for one in document["trials"] if one["name"] == "mixed-r1"]
    for name, (mean_ns, iops) in as_fio_tells.items():
        assert (results[name][MEAN]["median"], results[name]["iops"]["median"]) == (mean_ns, iops)
        assert trial["operations"][name]["iops"]["value"] == iops
    assert not any("latency" in metric for metric in results["read and write"])
    # what is no mix is told as before
    assert [one["operation"] for one in document["results"] if one["workload"] == "seq-read"] == [""]


def test_markdown_html_and_terminal_have_a_row_for_each(
    imported: StoredRun, as_fio_tells: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["report", str(imported.directory), "--text", "--details"]) == 0
    terminal = capsys.readouterr().out.partition("job mixed (randrw, 4 KiB, iodepth 4) on vda")[2].partition("\n\n")[0]
    page = re.sub(r"<[^>]*>", " ", re.sub(r"</tr>", "@", written(imported, "html").read_text()).replace("\n", " "))
    markdown = written(imported, "md", "--figures", "none").read_text()
    assert terminal
    for text in (page.replace("@", "\n"), markdown, terminal):
        plain = re.sub(r"(?<=\d)[\s ](?=\d{3})", "", text)
        for name, (_mean_ns, iops) in as_fio_tells.items():
            row = re.compile(rf"[|\s]*(job mixed \([^)]*\), )?{name}s(?! and)\b")
            rows = list(filter(row.match, plain.splitlines()))
            assert rows
            assert all(f"{float(f'{iops:.3g}'):.0f}" in row for row in rows)


def test_a_notebook_has_a_row_for_each(imported: StoredRun, as_fio_tells: dict[str, Any]) -> None:
    rows = drivelab.open(imported.directory).combinations.to_pylist()
    found = {row["operation"]: row for row in rows if row["workload"] == "mixed"}
    for name, (mean_ns, iops) in as_fio_tells.items():
        assert (found[name][MEAN], found[name]["iops"]) == (mean_ns, iops)


def test_a_run_tells_each_direction_in_its_lines_and_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "mix.fio").write_text(JOBS)
    assert run(["run", str(tmp_path / "mix.fio"), str(tmp_path / "target"), "--out", str(tmp_path / "own")]) in (0, 4)
    captured = capsys.readouterr()
    (line,) = [line for line in captured.err.splitlines() if line.startswith("step 1 of 1")]
    parts = line.partition(": ")[2].split(", ")
    assert [part.split(" median ")[0] for part in parts[:2]] == ["reads", "durable writes"]
    heads = [row.strip().split("  ")[0] for row in captured.out.splitlines()]
    assert [name for name in heads if name in ("reads", "durable writes", "reads and writes")] == [
        "reads",
        "durable writes",
        "reads and writes",
    ]
