"""What is wrong for every host of a fleet is told before one of them is asked, and leaves nothing behind."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.fleet_options import reach_of
from drivelab.cli.main import run
from drivelab.fleet.record import HostRecord, new_fleet, open_fleet
from drivelab.model.fleet_hosts import HostEntry
from drivelab.model.fleet_plan import FleetItem, FleetWork, ItemPlan
from made_up_fleet import write_gathered_fleet


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    path = tmp_path / "hosts.toml"
    path.write_text('format = 1\n[hosts.one]\naddress = "192.0.2.1"\ntargets = ["/srv"]\n')
    return str(path)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", "queue-depth", "--only", "block_size=4KiB"), "P712"),
        (("run", "no-such-experiment"), "P701"),
        (("run", "ssd-latency", "--silent-for", "3s"), "U003"),
        (("io", "--block-size", "3x"), "U001"),
        (("io", "--operation", "writ"), "U005"),
        (("io", "--no-such-option"), "U006"),
        (("check", "--for", "nothing"), "U005"),
        (("check", "--erase-list", "/no/such/list"), "F902"),
    ],
)
def test_a_mistake_is_told_at_once(
    hosts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: str
) -> None:
    assert run(["fleet", *words, "--hosts", hosts]) == 2
    assert f"error[{code}]" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.provokes("F901")
@pytest.mark.parametrize("words", [("run", "ssd-latency"), ("check",), ("io", "--operation", "read")])
def test_a_host_of_which_nothing_is_meant_is_a_mistake_where_something_is_measured(
    hosts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    with Path(hosts).open("a") as file:
        file.write('[hosts.two]\naddress = "192.0.2.1"\n')
    assert run(["fleet", *words, "--hosts", hosts]) == 2
    said = capsys.readouterr().err
    assert "error[F901] two has no drives and no targets" in said
    assert 'do:    say which are meant: drives = [{ transport = "nvme" }], or targets = ["DIR"]' in said
    assert not (tmp_path / "runs").exists()


def test_the_status_of_a_fleet_names_it_and_says_what_is_missing(
    hosts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    item = FleetItem("one/S1", "one", "/dev/sda", state="measuring", now="step 8 of 17")
    fleet = new_fleet(FleetWork("run", experiment="small"), {"one": HostEntry(), "two": HostEntry()})
    fleet.with_items([item]).keep()
    with fleet.held():
        assert run(["fleet", "status"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"{fleet.name}, which is being measured"
    assert told[1] == "small: 0 of 1 target on 1 of 2 hosts is measured; 1 measuring."
    assert "one/S1  step 8 of 17" in told
    assert not [line for line in told if "resume" in line]
    assert run(["fleet", "status"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == [fleet.name, "small: 0 of 1 target on 1 of 2 hosts is measured; 1 cut off."]
    assert "- one/S1: the command was ended while it was measured" in told
    assert told[-1] == f"go on: drivelab fleet resume {fleet.name}"
    assert run(["fleet", "status", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["items"][0]["state"] == "cut_off"


def test_a_fleet_that_was_measured_but_is_not_to_be_trusted_says_so_by_its_status(
    hosts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    item = FleetItem("one/S1", "one", "/dev/sda", state="complete")
    fleet = new_fleet(FleetWork("run", experiment="small"), {"one": HostEntry()})
    for doubt, code in (("", 0), ("2 of 2 trials do not describe the drive (page-cache-answered)", 4)):
        fleet.with_items([replace(item, doubt=doubt)]).keep()
        assert run(["fleet", "status"]) == code
        assert ("measured, but 2 of 2 trials" in capsys.readouterr().out) == bool(doubt)


def test_a_fleet_that_lies_elsewhere_is_called_by_its_directory(
    hosts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [
        FleetItem(f"one/S{number}", "one", "/dev/sda", state="failed", reason="T101: no drive", gathered="x")
        for number in range(2)
    ]
    (tmp_path / "my fleets").mkdir()
    monkeypatch.chdir(tmp_path)
    fleet = new_fleet(FleetWork("run", experiment="small"), {"one": HostEntry()}, Path("my fleets"))
    fleet.with_items(items).keep()
    directory = tmp_path / "my fleets" / fleet.name
    assert run(["fleet", "status", str(directory)]) == 1
    *_, compare, go_on = capsys.readouterr().out.splitlines()
    assert compare == f"compare the drives: drivelab fleet report '{directory}'"
    assert go_on == f"go on: drivelab fleet resume '{directory}'"
    # a copy among the fleets that are kept has the name of another
    kept = tmp_path / "runs" / fleet.name
    shutil.copytree(directory, kept)
    shutil.copytree(directory, tmp_path / "runs" / "copy")
    for typed, called in ((fleet.name, fleet.name), ("copy", str(tmp_path / "runs" / "copy"))):
        assert run(["fleet", "status", typed]) == 1
        assert capsys.readouterr().out.splitlines()[-1] == f"go on: drivelab fleet resume {called}"


def test_how_to_go_on_names_the_list_and_how_hosts_are_reached(hosts: str, capsys: pytest.CaptureFixture[str]) -> None:
    def told(**known: Any) -> str:
        plan = ItemPlan(refused="C201: nobody listed it")
        item = FleetItem("one/S1", "one", "/dev/sda", state="failed", reason="C201: nobody listed it", plan=plan)
        fleet = new_fleet(FleetWork("run", experiment="small"), {"one": HostEntry()}, **known).with_items([item])
        fleet.keep()
        assert run(["fleet", "status", fleet.name]) == 1
        return capsys.readouterr().out.splitlines()[-1].removeprefix(f"go on: drivelab fleet resume {fleet.name}")

    assert told() == " --erase-list FILE"
    assert told(erase_list=Path("lists/my list.txt")) == " --erase-list 'lists/my list.txt'"
    reach = reach_of(scheduler="tls://10.0.0.1:8786", keys=Path("my keys"), join_within="10min")
    options = "--scheduler tls://10.0.0.1:8786 --keys 'my keys' --join-within 10min"
    assert told(erase_list=Path("e"), options=reach.to_go_on(False)) == f" --erase-list e {options}"
    slurm = reach_of(slurm=True, listen="eth0", deadline="24h", silent_for="1min")
    assert slurm.to_go_on(True) == ("--slurm", "--listen", "eth0", "--silent-for", "1min", "--no-gather")
    pods = reach_of(kubernetes="registry/drivelab:1.0", listen="eth0")
    assert pods.to_go_on(False) == ("--kubernetes", "registry/drivelab:1.0", "--listen", "eth0")
    assert reach_of().to_go_on(False) == ()


def test_a_list_may_name_hosts_that_are_not_meant_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    (tmp_path / "hosts.toml").write_text('format = 1\n[defaults]\ntargets = ["/srv"]\n[hosts.fir]\n[hosts.oak]\n')
    (tmp_path / "erase.txt").write_text("fir:loop0\noak:loop1\n")
    words = ["--hosts", str(tmp_path / "hosts.toml"), "--erase-list", str(tmp_path / "erase.txt"), "--host", "oak"]
    # what is wrong stands behind the list
    assert run(["fleet", "run", "queue-depth", "--only", "block_size=4KiB", *words]) == 2
    assert "error[P712]" in capsys.readouterr().err


@pytest.mark.provokes("F903")
def test_what_begins_together_is_measured_again_by_the_command_that_began_it(
    hosts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"drivelab fleet io --hosts {hosts} --operation read"
    fleet = new_fleet(FleetWork("io", ("--operation", "read")), {"one": HostEntry()}, command_line=line)
    assert run(["fleet", "resume", "LAST"]) == 2
    *_, what, _where, do = capsys.readouterr().err.splitlines()
    assert what.startswith("error[F903] what begins at one moment on all hosts cannot go on")
    assert do == f"  do:    {line}"
    assert run(["fleet", "status", fleet.name]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == f"go on: {line}"


@pytest.mark.parametrize(("is_here", "code", "first"), [(True, 0, "2 of 2 runs are"), (False, 1, "1 of 2 runs is")])
def test_gather_says_first_whether_all_runs_are_here_and_asks_only_hosts_of_which_some_are_missing(
    tmp_path: Path, is_here: bool, code: int, first: str
) -> None:
    fleet, directories = write_gathered_fleet(tmp_path / "runs")
    for directory in directories:
        listed = [(one.name, one.stat().st_size, sha256(one.read_bytes()).hexdigest()) for one in directory.iterdir()]
        directory.with_name(f".{directory.name}.files.json").write_text(json.dumps({"files": listed}))
    # of elm nothing was known when it was asked last, and nobody is at the address of any
    hosts = {name: HostRecord(HostEntry(address="127.0.0.1", port=1)) for name in ("fir", "oak")}
    hosts["elm"] = HostRecord(HostEntry(address="127.0.0.1", port=1), reason="it did not join within 60 s")
    replace(open_fleet(str(fleet.directory)), hosts=hosts).keep()
    if not is_here:
        shutil.rmtree(directories[0])
    words = ["fleet", "gather", str(fleet.directory), "--listen", "127.0.0.1", "--to", str(tmp_path / "store")]
    # as a process of its own: it has a loop, and in this one that of a browser may be at work
    told = subprocess.run([sys.executable, "-m", "drivelab", *words], capture_output=True, text=True)
    assert told.returncode == code, told.stdout + told.stderr
    assert told.stdout.splitlines()[0] == f"{first} stored in {tmp_path / 'store'}"
    reasons = {name: host.reason for name, host in open_fleet(str(fleet.directory)).hosts.items()}
    assert reasons["elm"] == "it did not join within 60 s"
    assert bool(reasons["fir"]) != is_here
