"""``drivelab history --all-drives``: which of many drives became slower, got another firmware, or wore."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.main import run
from made_up_fleet import BASE, MadeUpDrive, made_up_drives, write_fleet

SLOWER, UPDATED, MOVED = 5, 2, 3
EARLIER = 6
COUNT = 15
SEVERAL = BASE.parent / "write-size-two-drives"


def change(document: dict[str, Any], drive: MadeUpDrive, number: int) -> None:
    """One drive gets another firmware, one moves, and every third wears by 2 % a run."""
    place = int(drive.serial.removeprefix("SN"))
    for target in document["targets"]:
        target["smart_before"] = [{"drive": "/dev/x", "percentage_used": 1 + 2 * number * (place % 3 == 0)}]
        for facts in filter(None, (target["facts_before"], target["facts_after"])):
            if place == UPDATED and number >= EARLIER - 1:
                facts["drives"][0]["firmware"] = "B7"
    if place == MOVED and number >= 1:
        document["host"]["hostname"] = "host099"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifteen drives with six runs each, and a seventh in which one of them is slower."""
    parent = tmp_path_factory.mktemp("history")
    drives = list(made_up_drives(COUNT))
    write_fleet(parent / "runs", drives, runs_each=EARLIER, change=change)
    slower = [replace(one, slowness=one.slowness * (1.3 if place == SLOWER else 1)) for place, one in enumerate(drives)]

    def later(document: dict[str, Any], drive: MadeUpDrive, _: int) -> None:
        change(document, drive, EARLIER)
        document["started_utc"] = document["started_utc"].replace("-02-", "-06-")

    for directory in write_fleet(parent / "later", slower, seed=2, change=later):
        directory.rename(parent / "runs" / directory.name.replace("202602", "202606"))
    return parent / "runs"


def history(runs: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    assert run(["history", str(runs), "--all-drives", *more]) == 0
    return capsys.readouterr().out


def test_what_became_slower_comes_first_in_few_lines(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = history(runs, capsys).splitlines()
    told = " ".join(" ".join(lines).split())
    assert told.startswith(
        "1 of 15 drives that have runs enough became slower; most nvme5n1 of host000 (serial SN000005)"
    )
    assert "than in 6 earlier ones like it." in told
    assert "405 comparisons were made and corrected for" in told
    assert "Another firmware came to 1 drive: nvme2n1 of host000 (serial SN000002): A1 -> B7 (2026-03-08)." in told
    assert "Wear is known of 15 drives, now 1 to 13 % of their life" in told
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    table = lines[lines.index("") + 1 :]
    assert table[1].startswith("host000:nvme5n1")
    assert "slower" in table[1]
    assert table[2].startswith("host000:nvme2n1")
    assert "A1 -> B7" in table[2]
    assert table[-1].endswith("more: --all; as a page: --out history.html")
    assert len(history(runs, capsys, "--all").splitlines()) > COUNT


def test_json_has_every_drive_with_its_runs(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(history(runs, capsys, "--json"))
    assert (found["schema"], len(found["drives"])) == (1, COUNT)
    first, second, *_ = found["drives"]
    assert (first["drive"]["serial"], first["is_slower"]) == ("SN000005", True)
    assert [one["is_slower"] for one in found["drives"][1:]] == [False] * (COUNT - 1)
    assert [(one["before"], one["after"]) for one in second["firmware_changes"]] == [("A1", "B7")]
    assert len(first["runs"]) == EARLIER + 1
    worn = next(one for one in found["drives"] if one["drive"]["serial"] == "SN000000")
    assert [wear for _, wear in worn["wear_percent"]] == [1, 3, 5, 7, 9, 11, 13]
    # a drive that moved is one drive, and is where it is now
    moved = next(one for one in found["drives"] if one["drive"]["serial"] == f"SN{MOVED:06d}")
    assert (moved["drive"]["host"], len(moved["runs"])) == ("host099", EARLIER + 1)
    count = sum(len(one["rows"]) for drive in found["drives"] for one in drive["judged"])
    assert found["comparison_count"] == count == 405
    p_values = [row["p_value"] for one in first["judged"] for row in one["rows"]]
    adjusted = [row["adjusted_p_value"] for one in first["judged"] for row in one["rows"]]
    assert min(adjusted) == pytest.approx(min(p_values) * count)


@pytest.mark.parametrize("name", ["history.html", "history.md", "history.json"])
def test_it_is_written_as_any_report(runs: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = history(runs, capsys, "--out", str(tmp_path / name)).splitlines()
    assert Path(printed[0]).name == name
    assert any("SN000005" in Path(path).read_text() for path in printed if not path.endswith(".svg"))


def test_with_few_runs_it_says_how_many_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    write_fleet(tmp_path, list(made_up_drives(3)), runs_each=2)
    assert run(["history", "--all-drives"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith(
        "No drive of 3 can be judged yet (6 runs): it takes 7 runs of one kind on a quiet machine, and nvme0n1 of "
        "host000 (serial SN000000) has most with 2. "
    )
    assert told.count("5 more runs to judge") == 3


def test_drives_at_one_place_and_long_names_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # a drive that was replaced by another, and two directories below one
    replaced = [MadeUpDrive("fir", f"SN00000{number}", name="nvme0n1") for number in (1, 2)]
    deep = [MadeUpDrive("fir", f"SN00000{n}", name=f"dm-{'x' * 70}-{n}-y") for n in (3, 4)]
    write_fleet(tmp_path, [*replaced, *deep])
    lines = history(tmp_path, capsys).splitlines()
    names = sorted(line.split("  ")[0] for line in lines[-4:])
    assert names[2:] == ["fir:nvme0n1 (000001)", "fir:nvme0n1 (000002)"]
    assert [name[-4:] for name in names[:2]] == ["-3-y", "-4-y"]
    assert max(map(len, lines)) <= 80


def test_a_device_is_one_drive_however_it_was_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def typed(document: dict[str, Any], drive: MadeUpDrive, number: int) -> None:
        for target in document["targets"]:
            target["label"] = ("loop3", "/dev/loop3")[number]
            for facts in filter(None, (target["facts_before"], target["facts_after"])):
                facts |= {"kind": "block_device", "text": "/dev/loop3"}
                facts["drives"][0] |= {"serial": None, "serials": []}

    write_fleet(tmp_path, [MadeUpDrive("fir", "SN000001", name="loop3")], runs_each=2, change=typed)
    (row,) = json.loads(history(tmp_path, capsys, "--json"))["drives"]
    assert len(row["runs"]) == 2


def test_of_simulated_drives_it_says_why_none_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for model in ("industrial-card", "disk-7200"):
        asked = ["--operation", "read", "--count", "1000", "--out", str(tmp_path)]
        assert run(["io", f"sim:{model}", *asked]) == 0
    capsys.readouterr()
    lines = history(tmp_path, capsys).splitlines()
    assert " ".join(lines).startswith("No drive of 2 can be judged: all are simulated, and a model does the same again")
    assert all("simulated" in line for line in lines[-2:])


@pytest.mark.provokes("U004", "U009")
def test_neither_a_target_nor_runs_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    assert run(["history"]) == 2
    assert "error[U004] no TARGET is named" in capsys.readouterr().err
    assert run(["history", "--all-drives"]) == 2
    assert "error[U009] there are no runs to compare" in capsys.readouterr().err
    write_fleet(tmp_path, list(made_up_drives(1)))
    next(tmp_path.glob("*/run.json")).write_text("{")
    assert run(["history", "--all-drives"]) == 2
    assert "error[U009] left out: 1 run that cannot be read" in capsys.readouterr().err


def test_a_run_of_several_targets_is_one_of_the_drive_of_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tuple(target["label"] for target in json.loads((SEVERAL / "run.json").read_text())["targets"])

    def with_serials(document: dict[str, Any], drive: MadeUpDrive, number: int) -> None:
        for target in document["targets"]:
            for facts in filter(None, (target["facts_before"], target["facts_after"])):
                facts["drives"][0] |= {"serial": target["label"], "serials": [f"{drive.serial}-{target['label']}"]}
                facts["drives"][0]["name"] = target["label"]

    write_fleet(tmp_path / "runs", list(made_up_drives(1)), runs_each=EARLIER + 1, base=SEVERAL, change=with_serials)
    found = json.loads(history(tmp_path / "runs", capsys, "--json"))
    assert [one["drive"]["name"] for one in found["drives"]] == list(labels)
    assert [len(one["runs"]) for one in found["drives"]] == [EARLIER + 1] * 2
    for one in found["drives"]:
        (judged,) = one["judged"]
        assert judged["earlier_count"] == EARLIER
        assert {row["target_base"] for row in judged["rows"]} == {one["drive"]["name"]}
    assert found["notes"] == [
        f"{EARLIER + 1} runs of several targets count for the drive of each: it was idle while the others were measured"
    ]
