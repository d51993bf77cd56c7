"""``drivelab history`` where runs of many hosts are kept together: whose drive is meant, and which host it was in."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.main import run
from made_up_fleet import MadeUpDrive, made_up_drives, write_fleet

CHECK = Path(__file__).resolve().parents[1] / "golden" / "runs" / "check-directory"
MOVED, CHANGED = "SN000001", "SN000002"


def change(document: dict[str, Any], drive: MadeUpDrive, number: int) -> None:
    """One drive moves to another host, one gets another firmware."""
    if drive.serial == MOVED and number >= 2:
        document["host"]["hostname"] = "host099"
    for target in document["targets"]:
        for facts in (target["facts_before"], target["facts_after"]):
            if facts and drive.serial == CHANGED and number >= 1:
                facts["drives"][0]["firmware"] = "B7"


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three checks of each of four drives at the same path in four hosts."""
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    write_fleet(tmp_path, list(made_up_drives(4, per_host=1)), runs_each=3, base=CHECK, change=change)
    return tmp_path


def rows(target: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert run(["history", target, "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    return found


def test_a_drive_that_moved_has_one_history_which_tells_so(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["changes"] for row in rows(MOVED, capsys)] == [[], [], ["host host001 -> host099"]]
    assert [row["changes"] for row in rows(CHANGED, capsys)] == [[], ["firmware A1 -> B7"], []]


@pytest.mark.provokes("U053")
def test_a_path_that_several_hosts_have_wants_a_host(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for target in ("/var/lib/etcd", "nvme0n1"):
        assert run(["history", target]) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"error[U053] {target} means drives of 5 hosts: host000, host001, host002, ...")
        assert f"do:    name one, or a serial: drivelab history host000:{target}" in told
        found = rows(f"host002:{target}", capsys)
        assert {row["facts"]["host"] for row in found} == {"host002"}
        assert len(found) == 3


def test_this_computer_is_meant_where_it_has_such_a_drive(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = os.uname().nodename
    for file in fleet.glob("*SN000003/run.json"):
        file.write_text(file.read_text().replace('"host003"', json.dumps(here)))
    assert {row["facts"]["host"] for row in rows("nvme0n1", capsys)} == {here}
