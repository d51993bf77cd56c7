"""``drivelab fleet``: the answer first, in few lines, and everything as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "analyse"))

from simulated_fleet import Fleet, Slowdown

from drivelab.analyse.fleet import judge_fleet
from drivelab.cli.main import run
from drivelab.model.fleet import FleetAnswer, HostSeries
from drivelab.report.terminal.fleet import fleet_lines

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "fleet"


def lines_of(fleet: Fleet, seed: int = 1, *, has_details: bool = False) -> list[str]:
    """What is printed of a made-up fleet."""
    return fleet_lines(judge_fleet(fleet.made(seed)), {}, plain=True, has_details=has_details)


def test_the_slow_drive_is_named_in_the_first_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "odd", str(GOLDEN)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 of 36 drives is slow: disk11 of host_22 takes 2.")
    assert "since its first sample, 2022-07-20 13:00" in " ".join(lines[:3])
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert "whole host is slow cannot be judged" in " ".join(lines)


def test_json_has_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "odd", str(GOLDEN), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["host"], one["drive"]) for one in found["drives"]] == [("host_22", "disk11")]
    assert found["latency_unit"] is None
    assert (found["file_count"], found["drive_count"], found["judged_drive_count"]) == (3, 36, 36)
    assert found["drives"][0]["severities"]["high"] == 1


def test_details_name_all_times(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", "odd", str(GOLDEN), "--details", "--latency-unit", "us"]) == 0
    assert "2022-07-20 13:00 to 2022-07-20 16:00" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "do"),
    [
        (["fleet", "odd"], "drivelab fleet odd DIR"),
        (["fleet", "samples/"], "drivelab fleet --help"),
        (["import", "samples", "a b"], "drivelab fleet odd 'a b'"),
    ],
)
def test_a_question_that_is_not_understood_says_what_is(
    arguments: list[str], do: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert f"do:    {do}\n" in capsys.readouterr().err


def test_what_cannot_be_judged_is_not_told_as_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{1658149215 + 15 * row},d{drive},5" for row in range(200) for drive in range(2)]
    (tmp_path / "a.csv").write_text("\n".join(["ts,drive,latency", *lines]))
    assert run(["fleet", "odd", str(tmp_path)]) == 4
    printed = capsys.readouterr()
    assert printed.out.startswith("No drive can be judged: 2 drives of one kind in the host, and it takes 4")
    assert printed.err == "nothing could be judged\n"


def test_many_slow_drives_leave_the_answer_within_25_lines() -> None:
    many = [Slowdown(f"h{host}", f"disk{host}", 2.5) for host in range(1, 13)]
    fleet = Fleet(hosts=14, dates=1, slowdowns=[*many, Slowdown("h9", "", 1.5)])
    lines = lines_of(fleet)
    assert len(lines) <= 25
    assert lines[0].startswith("12 of 168 drives are slow, the worst: ")
    assert any("more: --details" in line for line in lines)
    assert len(lines_of(fleet, has_details=True)) > 40


def test_a_fleet_without_a_slow_drive_says_so_in_one_line() -> None:
    assert lines_of(Fleet(), 3)[0] == "No drive stays slower than its peers: all 96 drives were compared."


def test_a_whole_host_is_told_with_its_ratio() -> None:
    lines = lines_of(Fleet(hosts=12, dates=5, slowdowns=[Slowdown("h5", "", 1.4, 0.3, date=1)]), 3)
    assert " ".join(lines).startswith("Host h5 as a whole was slow: 1.")
    assert any(line.startswith("whole host  h5") for line in lines)


def test_from_which_slowdown_on_a_drive_and_a_host_are_found_is_told() -> None:
    told = " ".join(" ".join(lines_of(Fleet(), 3)).split())
    assert "found is, by most of its samples, a drive from " in told
    assert ", and a host from " in told


def test_without_throughput_nothing_is_said_of_the_same_load() -> None:
    hosts = Fleet(slowdowns=[Slowdown("h3", "disk7", 2.5)]).made(1)
    blind = [replace(host, throughput=np.full_like(host.throughput, np.nan)) for host in hosts]
    told, without = (" ".join(fleet_lines(judge_fleet(one), {}, plain=True)) for one in (hosts, blind))
    assert "for the same load" in told
    assert "no throughput is told" not in told
    assert "for the same load" not in without
    assert "whatever their loads" in without
    assert "no throughput is told: a drive that has more to do than the others looks slow" in without


def test_drives_that_are_slow_in_most_hosts_may_be_of_another_kind() -> None:
    places = [("h1", 3.0), ("h2", 3.1), ("h3", 3.0), ("h4", 2.9), ("h5", 3.0)]
    fleet = Fleet(slowdowns=[Slowdown(host, "disk7", ratio) for host, ratio in places])
    told = " ".join(" ".join(lines_of(fleet)).split())
    assert "disk7 slow in most hosts: drives of another kind? tell it in a column 'model'" in told
    assert "another kind" not in " ".join(lines_of(Fleet(slowdowns=[Slowdown("h1", "disk7", 3.0)])))


def test_a_drive_of_which_samples_end_is_named() -> None:
    hosts = Fleet().made(1)
    assert judge_fleet(hosts).silent == ()
    hosts[2].latency[-100:, 4] = np.nan
    # the last 5 min and no more
    hosts[3].latency[-20:, 4] = np.nan
    answer = judge_fleet(hosts)
    assert [(one.host, one.drive, one.last_s) for one in answer.silent] == [("h3", "disk5", hosts[2].time_s[-101])]
    assert any(line.startswith("- no samples any more: disk5 of h3 since ") for line in lines_from(answer))


def lines_from(answer: FleetAnswer) -> list[str]:
    return fleet_lines(answer, {}, plain=True)


def test_without_loads_the_first_sentence_is_less_sure() -> None:
    hosts = Fleet(busy={"disk4": 1.8}, dates=1).made(5)
    blind = [replace(one, throughput=np.full_like(one.throughput, np.nan)) for one in hosts]
    first = " ".join(fleet_lines(judge_fleet(blind), {}, plain=True)[:3])
    assert "slow or have more to do, the worst: disk4 of" in first
    sure = " ".join(lines_of(Fleet(slowdowns=[Slowdown("h2", "disk1", 2.0)]))[:3])
    assert sure.startswith("1 of 96 drives is slow: disk1 of h2")


def test_drives_that_stopped_reporting_are_in_the_first_sentence() -> None:
    hosts = Fleet(dates=1).made(5)
    hosts[1].latency[300:, 2] = np.nan
    first = " ".join(fleet_lines(judge_fleet(hosts), {}, plain=True)[:3])
    assert "96 drives were compared; disk3 of h2 stopped reporting at 2023-11-20 14:14." in first
    hosts[3].latency[400:, 4] = np.nan
    lines = fleet_lines(judge_fleet(hosts), {}, plain=True)
    assert "disk3 of h2 (and 1 more) stopped reporting at 2023-11-20 14:14." in " ".join(lines[:3])
    assert "- no samples any more: disk3 of h2 since 2023-11-20 14:14, disk5 of h4 since" in "\n".join(lines)
    slow = Fleet(dates=1, slowdowns=[Slowdown("h2", "disk1", 2.0)]).made(1)
    slow[4].latency[300:, 2] = np.nan
    assert ". disk3 of h5 stopped reporting at" in " ".join(fleet_lines(judge_fleet(slow), {}, plain=True)[:4])


def test_a_slow_drive_that_stopped_reporting_is_slow_until_its_last_sample() -> None:
    hosts = Fleet(dates=1, slowdowns=[Slowdown("h2", "disk1", 4.0, 0.25)]).made(1)
    hosts[1].latency[400:, 0] = np.nan
    lines = fleet_lines(judge_fleet(hosts), {}, plain=True)
    (row,) = (line for line in lines if line.split()[:2] == ["disk1", "h2"])
    assert "2023-11-20 13:45  14:39 (silent)  " in row
    assert max(map(len, lines)) <= 80


def of_two_kinds(fleet: Fleet, ratio: float) -> list[HostSeries]:
    """The same with every other host of hardware that takes so many times as long."""
    return [
        replace(host, latency=host.latency * ratio) if number % 2 else host for number, host in enumerate(fleet.made(1))
    ]


def test_hosts_of_two_kinds_are_told_and_a_slow_one_is_named() -> None:
    fleet = Fleet(drives=6, dates=1, hours=12.0, step_s=60, slowdowns=[Slowdown("h6", "", 3.0, 0.5)])
    told = " ".join(line.strip() for line in fleet_lines(judge_fleet(of_two_kinds(fleet, 7.5)), {}, plain=True))
    assert told.startswith("Host h6 as a whole is slow: 3.")
    assert "- hosts of model fast are of 2 kinds by what they take, and each is compared with its own: h1, h3," in told
    kinds = "h1, h3, h5, h7 (1.00x); "
    assert f"{kinds}h2, h4, h6, h8 (7." in told


def test_hosts_that_cannot_be_judged_for_want_of_models_are_in_the_first_sentence() -> None:
    for slowdowns, before in (([], "compared; whether"), ([Slowdown("h2", "disk1", 2.0)], "of data). Whether")):
        hosts = Fleet(hosts=6, dates=1, slowdowns=slowdowns).made(1)
        for number, host in enumerate(hosts):
            host.latency[:] *= 2**number
        told = " ".join(fleet_lines(judge_fleet(hosts), {}, plain=True))
        assert (
            f"{before} h1, h2, h3 and 3 more are slow as a whole cannot be told: they differ too much from each other: "
            "tell their models in a column 'model'." in told
        )
        assert "a host from" not in told


def test_times_that_may_be_read_otherwise_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stamps = [
        f"0{1 + day}/11/2026 {hour:02}:{minute:02}:00" for day in (0, 1) for hour in (1, 2) for minute in range(60)
    ]
    lines = [f"{stamp},h,d{drive},{50 + drive}" for stamp in stamps for drive in range(5)]
    (tmp_path / "a.csv").write_text("\n".join(["time,host,drive,latency", *lines, ""]))
    assert run(["fleet", "odd", str(tmp_path / "a.csv")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "is read with the day first, so that dates follow one another" in shown
    assert "2026-11-01 01:00 to 2026-11-02 02:59 (UTC)" in shown
    assert run(["fleet", "odd", str(tmp_path / "a.csv"), "--json"]) == 0
    assert "day first" in json.loads(capsys.readouterr().out)["remarks"][0]
