"""``drivelab fleet report``: the answer first, in few lines; what was planted in made-up runs is found."""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drivelab.cli.main import run
from drivelab.fleet.record import new_fleet
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import FleetWork
from made_up_fleet import MadeUpDrive, made_up_drives, write_fleet, write_gathered_fleet

ODD = 19


@pytest.fixture(scope="module")
def forty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty drives, of which eight have another firmware, and one is slow."""
    parent = tmp_path_factory.mktemp("fleet")
    write_fleet(parent / "runs", with_firmware(made_up_drives(40)))
    return parent / "runs"


def with_firmware(drives: Any) -> list[MadeUpDrive]:
    changed = [
        replace(drive, firmware="B7", slowness=drive.slowness * 1.12) if place % 5 == 2 else drive
        for place, drive in enumerate(drives)
    ]
    return [replace(one, slowness=one.slowness * 1.31) if place == ODD else one for place, one in enumerate(changed)]


def test_the_first_sentence_answers_in_few_lines(forty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "report", str(forty)]) == 0
    lines = capsys.readouterr().out.splitlines()
    told = " ".join(" ".join(lines).split())
    assert told.startswith("39 of 40 drives are alike (IOPS of random reads, ")
    first = told.split(". ")[0]
    assert "; nvme3n1 of host002 (serial SN000019) is 24 % slower than the median of its model and firmware; " in first
    assert re.search(r"firmware explains (7|8)\d % of the rest$", first)
    assert "It has one run: whether it would come again was not tried." in told
    assert "40 trials that do not describe the drive" in told
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80


def test_json_has_all_of_it(forty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "report", str(forty), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    assert len(found["drives"]) == 40
    assert {one["drive"] for one in found["apart"]} == {"host002/SN000019"}
    assert all(one["peers"] == [["firmware", "A1"]] for one in found["apart"])
    assert found["drives"][0]["tags"] == {"rack": "r00", "delivery": "2026-01"}


@pytest.mark.parametrize(("out", "name"), [("there", "fleet.html"), ("there/page.html", "page.html"), ("a.md", "a.md")])
def test_the_report_is_written_where_it_was_asked_for(
    forty: Path, tmp_path: Path, out: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "there").mkdir()
    assert run(["fleet", "report", str(forty), "--out", str(tmp_path / out)]) == 0
    first = Path(capsys.readouterr().out.splitlines()[0])
    assert first.name == name
    page = first.read_text()
    assert "SN000019" in page
    assert "of 40 drives are alike" in page.replace("\u00a0", " ")


def test_several_runs_of_each_drive_tell_what_changes_from_run_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_fleet(tmp_path / "runs" / "host", list(made_up_drives(6)), runs_each=3)
    shutil.copytree(next((tmp_path / "runs" / "host").iterdir()), tmp_path / "runs" / "damaged")
    (tmp_path / "runs" / "damaged" / "run.json").write_text("{")
    assert run(["fleet", "report", str(tmp_path / "runs")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("All 6 drives are alike (")
    assert "one from itself by 0." in told
    assert "Left out: 1 run that cannot be read: damaged: " in told


def test_drives_whose_runs_scatter_widely_are_not_called_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_fleet(tmp_path, [replace(one, scatter=1.2) for one in made_up_drives(6)], runs_each=3)
    told = report_of(tmp_path, capsys)
    would = r"(only a difference of more than a factor of \d+\.\d|not even a hundredfold difference) would have shown\."
    assert re.match(rf"6 drives cannot be told apart: runs of one scatter by \d{{3}} %; {would}", told), told
    assert "alike" not in told


def test_of_one_drive_whose_runs_scatter_widely_it_is_said_that_it_cannot_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drives = [replace(one, scatter=1.2 if place == 3 else one.scatter) for place, one in enumerate(made_up_drives(12))]
    write_fleet(tmp_path, drives, runs_each=3)
    first = report_of(tmp_path, capsys).split(". ")[0]
    assert first.startswith("11 of 12 drives are alike (")
    assert re.search(r"; of 1 more that cannot be told: .* would have shown$", first)


def test_drives_that_differ_widely_are_not_called_alike_because_they_are_few(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_fleet(tmp_path, [replace(one, slowness=1.6**place) for place, one in enumerate(made_up_drives(4))])
    assert report_of(tmp_path, capsys).startswith("Whether 4 drives are alike cannot be told: ")


def test_factors_that_go_together_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drives = [
        replace(one, firmware="B7", slowness=one.slowness * 1.2, tags={"rack": "r07"})
        if place < 8
        else replace(one, tags={"rack": f"r{place % 3:02d}"})
        for place, one in enumerate(made_up_drives(40, per_host=4))
    ]
    write_fleet(tmp_path / "runs", drives)
    assert run(["fleet", "report", str(tmp_path / "runs")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r"(rack or firmware|firmware or rack) explains \d\d % of the rest", told)
    assert "All drives of firmware B7 have rack r07: which of the two it is cannot be told." in told
    assert "the host explains nothing that could be shown." in told


def test_few_drives_are_said_not_to_be_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_fleet(tmp_path, list(made_up_drives(3)))
    assert run(["fleet", "report", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("No drive of 3 can be judged: it takes 4 of one model")


def test_a_serial_in_two_hosts_is_two_drives_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drives = list(made_up_drives(9))
    write_fleet(tmp_path, [*drives[:8], replace(drives[8], serial="SN000000")])
    assert run(["fleet", "report", str(tmp_path)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("All 9 drives")
    assert "Serial SN000000 is known on several hosts: a drive in each of them." in told


@pytest.mark.provokes("U009", "U052")
def test_nothing_to_compare_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    assert run(["fleet", "report"]) == 2
    assert "error[U009] there are no runs to compare" in capsys.readouterr().err
    write_fleet(tmp_path, list(made_up_drives(1)))
    assert run(["fleet", "report"]) == 2
    assert "error[U052] there is no number that two drives share" in capsys.readouterr().err
    assert run(["fleet", "report", "nowhere"]) == 2
    assert run(["fleet", "report", "--text", "--json"]) == 2


@pytest.mark.provokes("U052")
def test_where_all_trials_were_left_out_that_is_the_cause_and_its_remedy_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = {"code": "page-cache-answered", "severity": "invalid", "text": "memory", "advice": "use direct I/O"}
    for directory in write_fleet(tmp_path, list(made_up_drives(3))):
        trials = pq.read_table(directory / "trials.parquet")  # type: ignore[no-untyped-call]
        place, count = trials.column_names.index("findings_json"), len(trials)
        trials = trials.set_column(place, "findings_json", pa.array([json.dumps([finding])] * count))
        pq.write_table(trials, directory / "trials.parquet")  # type: ignore[no-untyped-call]
    assert run(["fleet", "report", str(tmp_path)]) == 2
    what, *_, do = capsys.readouterr().err.splitlines()
    assert re.match(
        r"error\[U052\] there is no number that two drives share: left out: \d+ trials that do not describe the drive "
        r"\(page-cache-answered\), of ",
        what,
    )
    assert what.endswith("; 3 drives with no number")
    assert do.strip() == "do:    use direct I/O"


def test_hosts_that_call_themselves_alike_have_the_names_that_their_fleet_gives_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet, _ = write_gathered_fleet(tmp_path)
    assert run(["fleet", "report", str(fleet.directory), "--json"]) == 0
    assert [one["host"] for one in json.loads(capsys.readouterr().out)["drives"]] == ["fir", "oak"]


def test_sql_knows_what_a_fleet_calls_a_host_also_where_the_counts_of_trials_are_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet, (first, _) = write_gathered_fleet(tmp_path)
    write_fleet(tmp_path / "alone", list(made_up_drives(1)))
    asked = ["sql", "select fleet_host from runs order by all", "--csv"]
    assert run([*asked, str(fleet.directory), str(tmp_path / "alone")]) == 0
    assert capsys.readouterr().out.splitlines() == ["fleet_host", "fir", "oak", '""']
    (fleet.directory / "fleet.json").write_text("{")
    assert run([*asked, str(first)]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == ["fleet_host", '""']
    assert told.err.startswith("fleet_host is not known: ")


def test_a_csv_has_a_row_for_each_drive(forty: Path, tmp_path: Path) -> None:
    assert run(["fleet", "report", str(forty), "--out", str(tmp_path / "drives.csv")]) == 0
    with (tmp_path / "drives.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len({row["serial"] for row in rows}) == len(rows) == 40


def io_of_host(parent: Path, host: int, *more: str) -> None:
    """A run of a simulated drive in a host of that number."""
    asked = ["--operation", "read", "--runtime", "100ms", "--out", str(parent / f"h{host}"), *more]
    assert run(["io", "sim:consumer-ssd", *asked]) == 0
    (file,) = (parent / f"h{host}").glob("*/run.json")
    document = json.loads(file.read_text())
    document["host"]["hostname"] = f"h{host}"
    file.write_text(json.dumps(document))


def report_of(parent: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(["fleet", "report", str(parent)]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_workload_that_asks_for_something_else_is_no_slow_drive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for host in range(5):
        io_of_host(tmp_path, host, "--block-size", "4KiB")
    io_of_host(tmp_path, 5, "--block-size", "256KiB")
    told = report_of(tmp_path, capsys)
    assert told.startswith("All 5 drives are alike (median latency of 4 KiB reads within ")
    assert "; 1 more drive has no number in common with others. " in told
    assert "Left out: 256 KiB reads (block size 256 KiB), which sim:consumer-ssd of h5 alone has." in told
    # with a second drive it is a number of its own
    io_of_host(tmp_path, 6, "--block-size", "256KiB")
    told = report_of(tmp_path, capsys)
    assert told.startswith("All 5 drives are alike (median latency of 4 KiB reads, block size 4 KiB within ")
    assert "2 drives had fewer than 3 others of the same model, and were not judged." in told
    assert "latency of 256 KiB reads" in told


def test_of_a_drive_that_was_measured_for_longer_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for host in range(3):
        io_of_host(tmp_path, host)
    io_of_host(tmp_path, 3, "--runtime", "200ms")
    told = report_of(tmp_path, capsys)
    assert told.startswith("All 4 drives are alike")
    assert "The length of 4 KiB reads was not the same for all of " in told
    assert ": 100 ms and 200 ms." in told


def test_an_experiment_that_was_changed_between_runs_is_another_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drives = [replace(one, slowness=2.0) if place == 5 else one for place, one in enumerate(made_up_drives(6))]
    changed = write_fleet(tmp_path, drives)[5] / "trials.parquet"
    trials = pq.read_table(changed)  # type: ignore[no-untyped-call]
    workloads = [json.loads(text) for text in trials["workload_json"].to_pylist()]
    for workload in workloads:
        workload["block_sizes"] = [{"bytes": 12288, "weight": 1.0}]
    column = trials.column_names.index("workload_json")
    trials = trials.set_column(column, "workload_json", pa.array([json.dumps(one) for one in workloads]))
    pq.write_table(trials, changed)  # type: ignore[no-untyped-call]
    told = report_of(tmp_path, capsys)
    assert told.startswith("All 5 drives are alike")
    assert "block size 12 KiB), which nvme5n1 of host000 (serial SN000005) alone has" in told


def test_without_a_name_all_runs_are_meant_as_with_that_of_their_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    drives = list(made_up_drives(4))
    write_fleet(tmp_path, drives[:1])
    fleet = new_fleet(FleetWork("run"), {"fir": HostEntry()}, tmp_path)
    write_fleet(fleet.directory, drives[1:])
    told = report_of(tmp_path, capsys)
    assert told.startswith("All 4 drives are alike")
    assert run(["fleet", "report"]) == 0
    assert " ".join(capsys.readouterr().out.split()) == told
    assert run(["sql", "select count(*) as runs from runs", "--csv"]) == 0
    assert capsys.readouterr().out.split() == ["runs", "4"]
    assert run(["history", "--all-drives", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["drives"]) == 4
    assert run(["runs", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 4


def test_a_tag_that_few_drives_have_is_not_the_same_for_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drives = [replace(one, tags={"rack": "r00"} if place == 0 else {}) for place, one in enumerate(made_up_drives(3))]
    write_fleet(tmp_path, drives)
    told = report_of(tmp_path, capsys)
    assert "one level, known of 1 of 3" in told
