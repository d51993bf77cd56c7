"""Simulated drives as targets of the commands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.main import run
from drivelab.simulated.load import model_names
from drivelab.store.read import open_run
from simulated_readings import READINGS, write_amplification
from small_simulated_drive import MODEL

EXPERIMENT = """
format = 1
name = "depths"
question = "How many at a time?"
repeats = { full = 2, quick = 1 }

[[factors]]
setting = "workload"
key = "queue_depth"
levels = [1, 4]

[[factors]]
setting = "precondition"
levels = ["sequential"]

[[workloads]]
name = "reads"
operation = "read"
access = "random"
block_size = "4KiB"
runtime = "100s"
"""


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(MODEL)
    (tmp_path / "depths.toml").write_text(EXPERIMENT)


def io_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["io", *arguments, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize("name", model_names())
def test_each_model_can_be_read_and_written(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for operation in ("read", "write"):
        assert run(["io", f"sim:{name}", "--operation", operation, "--runtime", "1s"]) == 0
        assert f"\nsim:{name}: simulated" in capsys.readouterr().out


def test_what_is_only_read_is_there_before(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("sim:consumer-ssd", "--operation", "read", "--queue-depth", "32", "--runtime", "2s")
    fresh = io_json(capsys, *arguments)["operations"]["read"]["count"]
    # flash that holds nothing answers 1.3 million in that time
    assert fresh < 800_000
    assert io_json(capsys, *arguments)["devices"][0]["writes"] == 0


def test_an_hour_takes_the_hour_of_the_drive_and_the_same_again(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("sim:./small.toml", "--operation", "write", "--durability", "fdatasync", "--rate", "20")
    hour = io_json(capsys, *arguments, "--runtime", "1h", "--interval", "10s")
    assert hour["clock"]["source"] == "virtual"
    assert hour["operations"]["write"]["count"] == pytest.approx(72_000, abs=2)
    first, again = (io_json(capsys, *arguments, "--runtime", "5min") for _ in range(2))
    assert (first["operations"], first["devices"]) == (again["operations"], again["devices"])


def test_an_experiment_runs_as_on_a_real_drive_and_says_what_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "./depths.toml", "sim:./small.toml", "--out", "runs"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0] == "depths on sim:./small.toml (simulated): 4 trials"
    assert shown.startswith("depths on sim:./small.toml (simulated): ")
    (directory,) = (tmp_path / "runs").iterdir()
    (target,) = open_run(directory).record.targets
    assert target["facts_before"]["kind"] == "simulated"
    assert target["facts_before"]["simulated"]["title"] == "small SSD"
    assert "simulated, nothing real was measured: small SSD" in (directory / "report.html").read_text()
    contexts = [trial["context_json"] for trial in open_run(directory).trials.to_pylist()]
    assert all(json.loads(text)["simulated"]["reads"] > 0 for text in contexts)


@pytest.mark.provokes("T106")
def test_a_drive_that_does_not_exist_is_refused_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["io", "sim:micron"]) == 2
    told = capsys.readouterr().err
    assert "T106" in told
    assert all(name in told for name in model_names())


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("units = 8", "unit = 8", "P703"),
        ('size = "64MiB"', 'size = "64 potatoes"', "P703"),
        ("[flash]", "[flash", "P702"),
        ('raw = "80MiB"', 'raw = "64MiB"', "E301"),
        ("[flash]", "[disk]", "P703"),
    ],
)
def test_a_model_that_cannot_be_is_refused(
    old: str, new: str, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wrong.toml").write_text(MODEL.replace(old, new))
    assert run(["io", "sim:./wrong.toml", "--runtime", "1s"]) != 0
    assert code in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", "pts-iops", "sim:consumer-ssd"], "P707"),
        (["run", "settings-scan", "sim:consumer-ssd"], "P708"),
        (["run", "./depths.toml", "sim:./small.toml", "--trace"], "R440"),
        (["io", "sim:consumer-ssd", "--backend", "uring"], "E313"),
        (["io", "sim:consumer-ssd", "--operation", "write", "--verify"], "E313"),
        (["io", "sim:consumer-ssd", "--operation", "create", "--files", "10"], "E316"),
        (["run", "queue-depth", "raid1:sim:consumer-ssd,sim:disk-7200"], "U042"),
    ],
)
def test_what_a_simulated_drive_does_not_have_is_refused(
    arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) != 0
    assert code in capsys.readouterr().err


@pytest.mark.usefixtures("no_page")
@pytest.mark.parametrize(("model", "is_limited"), [("gp2-100", True), ("consumer-ssd", False), ("disk-7200", False)])
def test_a_check_says_that_a_limited_rate_may_be_a_burst_and_when_one_would_know(
    model: str, is_limited: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["check", f"sim:{model}", "--for", "etcd", "--json"])
    told = json.loads(capsys.readouterr().out)
    # every trial of a check was done, in the drive's own time
    assert not told["failures"]
    assert len(told["trials"]) == 17
    found = [one for one in told["findings"] if one["code"] == "burst-possible"]
    assert bool(found) is is_limited
    if is_limited:
        assert found[0]["evidence"]["known_after_s"] == pytest.approx(5.4e6 / 2900, rel=0.02)
        # the verdict rests on it, whichever trial has shown it
        assert any("may be a burst" in caveat for caveat in told["verdict"]["caveats"])


@pytest.mark.usefixtures("no_page")
def test_the_screen_of_a_check_tells_a_burst_in_place_of_what_its_head_says(capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "sim:gp2-100", "--quick"])
    lines = capsys.readouterr().out.splitlines()
    assert "simulated, nothing real was measured" in lines[0]
    assert sum("simulated" in line for line in lines[1:] if not line.startswith(("all numbers", "report"))) == 0
    # with the verdicts that rest on it, and what to do right below them, before any number
    told = lines[: next(number for number, line in enumerate(lines) if line.startswith("fdatasync"))]
    assert sum("may be a burst" in line for line in told) == 1
    assert "?    Measure the base rate: drivelab run burst sim:gp2-100" in told


@pytest.mark.usefixtures("no_page")
def test_trials_that_tell_whether_something_compresses_are_compared_with_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        run(["check", "sim:consumer-ssd", "--quick", "--out", "runs"])
    runs = sorted((tmp_path / "runs").iterdir())
    capsys.readouterr()
    assert run(["compare", *map(str, runs), "--json"]) == 0
    told = capsys.readouterr().out
    assert "random-read-qd32" in told
    assert "compression-" not in told


@pytest.mark.usefixtures("no_page")
def test_a_burst_that_ends_in_a_check_is_told_and_rates_rest_on_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limited = MODEL + "\n[io_limit]\nrate = 300\nburst = 3_000\n"
    (tmp_path / "limited.toml").write_text(re.sub(r"command = .*", 'command = "333us"', limited))
    check = ["check", "sim:./limited.toml", "--for", "postgres", "--json"]
    # more than is left is not met, what is as good as that is undecided
    assert [run([*check, "--at-least", rate]) for rate in ("400", "310", "200")] == [1, 4, 0]
    told = json.loads(capsys.readouterr().out.split("\n}\n")[0] + "}")
    first = next(one for one in told["findings"] if one["code"] == "burst-ended")
    assert first["evidence"]["token"] == "I/Os"
    assert first["evidence"]["base_per_s"] == pytest.approx(300, rel=0.02)
    assert "looks like a burst" in told["verdict"]["checks"][0]["may_not_last"]


def test_two_drives_of_a_model_are_told_apart_where_they_are_called_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "./depths.toml", "sim:./small.toml", "sim:./small.toml", "--quick", "--out", "runs"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "depths on sim:./small.toml and sim:./small.toml-2 (simulated): " in shown
    # the title has said it
    assert "are simulated" not in shown
    (directory,) = (tmp_path / "runs").iterdir()
    assert run(["report", str(directory), "--format", "markdown", "--brief"]) == 0
    # told once, whatever the drives are called
    assert capsys.readouterr().out.count("simulated (") == 0


@pytest.mark.provokes("R424")
def test_workloads_that_run_together_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "jobs.fio").write_text("[global]\nruntime=1\ntime_based=1\n[a]\nrw=randread\n[b]\nrw=randread\n")
    assert run(["run", "jobs.fio", "sim:./small.toml", "--out", "runs"]) != 0
    assert "R424" in capsys.readouterr().err


def test_an_experiment_that_no_simulated_drive_can_carry_out_is_refused_with_those_that_one_can(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["plan", "write-size", "sim:./small.toml"]) == 2
    error = capsys.readouterr().err
    assert "P708" in error
    assert "holds no file system" in error
    (offered,) = re.findall(r"choose one of (.*), or another target", error)
    names = offered.split(", ")
    assert {"queue-depth", "burst"} <= set(names)
    assert "write-size" not in names
    assert [run(["plan", name, "sim:./small.toml"]) for name in names] == [0] * len(names)
    (reduced,) = re.findall(r"with --skip-unavailable also (.*)", error)
    assert "pts-iops" in reduced
    assert not {"large-read", "settings-scan", "ssd-latency"} & {*names, *reduced.split(", ")}


@pytest.mark.parametrize(
    ("depth", "times"), [(1, ("3s",)), (64, ("3s", "--ramp", "1s")), (64, ("20s", "--ramp", "2s"))]
)
def test_a_ramp_leaves_the_rate_and_the_depth_of_a_slow_drive_as_they_are(
    depth: int, times: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    document = io_json(capsys, "sim:disk-7200", "--access", "random", "--queue-depth", str(depth), "--runtime", *times)
    # one head: it does 75 a second whatever waits for it
    assert document["iops"] == pytest.approx(75, rel=0.04)
    assert document["estimates"]["iops"]["value"] == pytest.approx(document["iops"], rel=1e-3)
    assert document["achieved"]["queue_depth_mean"] == pytest.approx(depth, rel=0.04)


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drives", "--simulated"]) == 0
    assert all(
        f"sim:{name}" in capsys_line
        for name, capsys_line in zip(model_names(), capsys.readouterr().out.splitlines(), strict=False)
    )
    assert run(["drives", "--simulated", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["simulated"]
    assert [one["target"] for one in listed] == [f"sim:{name}" for name in model_names()]


@pytest.mark.parametrize("used_gib", [745, 522, 373])
def test_the_model_of_a_real_drive_has_the_write_amplification_of_that(used_gib: int) -> None:
    # a half of the model; `make prove` holds all readings to its own size
    found = write_amplification(used_gib, smaller=2)
    for reading in READINGS[used_gib]:
        assert found == pytest.approx(reading, rel=0.02)


def test_a_report_of_several_simulated_drives_answers_first_and_then_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for model in ("consumer-ssd", "gp2-100"):
        where = ["--out", str(tmp_path / "runs")]
        assert run(["run", "depths.toml", f"sim:{model}", "--quick", *where]) in (0, 4)
    capsys.readouterr()
    runs = [str(one) for one in sorted((tmp_path / "runs").iterdir())]
    assert run(["report", *runs, "--text"]) == 0
    told = capsys.readouterr().out
    answer, simulated = told.index("times as fast as sim:gp2-100 at"), told.index("Simulated: sim:")
    assert answer < simulated < told.index("Beside each other")
    card = tmp_path / "card.svg"
    assert run(["report", *runs, "--out", str(card)]) == 0
    assert card.read_text().count("no real drive was measured") == 1
    assert run(["report", *runs, "--format", "markdown", "--brief"]) == 0
    assert capsys.readouterr().out.count("no real drive was measured") == 1


ROUNDS = """
format = 1
name = "rounds"
question = "What is left?"
requires = "device"

[[factors]]
setting = "purge"
levels = ["any"]
workloads = ["fill"]

[[factors]]
setting = "workload"
key = "queue_depth"
levels = [8, 1]
workloads = ["writes"]

[[workloads]]
name = "fill"
capacities = 1
block_size = "64KiB"
direct = true

[[workloads]]
name = "writes"
access = "random"
direct = true
runtime = "{runtime}"
interval = "20ms"

[[workloads]]
name = "most"
access = "random"
direct = true
runtime = "200ms"
interval = "10ms"
point = {{ of = "writes", which = "max" }}

[[phases]]
name = "fill"
workloads = ["fill"]

[[phases]]
name = "until-steady"
workloads = ["writes"]
rounds = 20
track = [{{ workload = "writes", levels = {{ queue_depth = 8 }} }}]

[[phases]]
name = "most"
workloads = ["most"]
"""


@pytest.mark.provokes("R421")
def test_rounds_go_on_until_what_is_tracked_is_steady(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rounds.toml").write_text(ROUNDS.format(runtime="400ms"))
    # both depths write what the flash can do; one I/O at a time waits the least for it
    assert run(["run", "rounds.toml", "sim:./small.toml", "--json", "--seed", "4"]) == 0
    told = json.loads(capsys.readouterr().out)
    phase = next(one for one in told["rounds"] if one["tracked"])
    assert (phase["ended_by"], phase["is_steady"]) == ("steady", True)
    assert 5 <= phase["rounds"] < 20
    assert phase["window"] == [phase["rounds"] - 4, phase["rounds"]]
    values = phase["tracked"][0]["values"]
    assert phase["tracked"][0]["window"]["average"] == pytest.approx(sum(values[-5:]) / 5)
    # what is reported is of the window alone, and the point took over the levels of what was measured
    assert {one["workload"]: len(one["trials"]) for one in told["results"]} == {"fill": 1, "writes": 5, "most": 1}
    (stored,) = [open_run(path) for path in (tmp_path / "runs").iterdir()]
    rows = {row["trial"]: row for row in stored.trials.to_pylist()}
    assert len(rows) == 2 + 2 * phase["rounds"]
    (point,) = told["points"]
    assert (point["which"], rows[point["trial"]]["asked_queue_depth"]) == ("max", 1)
    assert next(row for row in rows.values() if row["workload"] == "most")["asked_queue_depth"] == 1
    # what was left out is not missing
    assert run(["resume", str(stored.directory)]) == 2
    assert f"error[R421] {len(rows)} of {len(rows)} trials are there" in capsys.readouterr().err
    assert run(["report", str(stored.directory), "--text"]) == 0
    assert f"Steady state reached in round {phase['rounds']}: " in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.provokes("R425")
def test_a_point_that_nothing_can_be_is_no_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "slow.toml").write_text(MODEL.replace('write_latency = "9us"', 'write_latency = "6ms"'))
    text = ROUNDS.format(runtime="100ms").replace("rounds = 20", "rounds = 1").replace("capacities = 1", "count = 1")
    (tmp_path / "rounds.toml").write_text(text)
    assert run(["run", "rounds.toml", "sim:./slow.toml"]) == 1
    assert "failed [R425]" in capsys.readouterr().err
    (stored,) = [open_run(path) for path in (tmp_path / "runs").iterdir()]
    (told,) = stored.record.failures.values()
    assert "no combination of writes had a mean latency below 5 ms" in told


def test_how_full_a_drive_is_tells_what_is_left_once_its_cache_is_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "fill-level", "sim:consumer-ssd", "--quick", "--json"]) in (0, 4)
    document = json.loads(capsys.readouterr().out)
    rates = [one["metrics"]["throughput_bytes_per_s"]["median"] for one in document["results"]]
    # a model whose cache takes 0.6 GB at more than 2 GB/s, and which writes 470 MB/s then
    assert len(rates) == 5
    assert all(455e6 < rate < 480e6 for rate in rates), rates
