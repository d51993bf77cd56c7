"""A run directory is data: whatever somebody wrote into it, resuming it writes where the run began and nowhere else."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from device.program import Drivelab, wait_for_line
from drivelab.cli import run_end
from drivelab.cli.main import run as run_command
from drivelab.store.read import open_run

pytestmark = [pytest.mark.needs_root]

TINY = """
format = 1
name = "tiny"
question = "Where does it write?"
repeats = { full = 4, quick = 4 }

[[workloads]]
name = "log"
block_size = "4KiB"
file_size = "64KiB"
backend = "sync"
count = 4
interval = "5ms"
"""
CASES = 150
MEGABYTE = 2**20


class Place:
    """A run that was cut off half way, its target, and what nobody may touch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.target = folder / "target"
        self.canaries = folder / "canaries"
        self.target.mkdir()
        (self.canaries / "target").mkdir(parents=True)
        self.victim = self.canaries / "victim.bin"
        self.victim.write_bytes(os.urandom(MEGABYTE))
        (self.canaries / "target" / "trial.data").write_bytes(b"mine")
        self.original = self._half_a_run()
        self.document = json.loads((self.original / "run.json").read_text())
        self.run = folder / "copies" / "a" / "b" / "run"

    def _half_a_run(self) -> Path:
        program = Drivelab(self.folder)
        (self.folder / "tiny.toml").write_text(TINY)
        process = program.start("run", str(self.folder / "tiny.toml"), str(self.target))
        wait_for_line(process, "step 2 of 4")
        process.kill()
        process.communicate()
        assert program.run("restore").returncode == 0
        (directory,) = program.runs.iterdir()
        return directory

    def changed(self, change: Callable[[dict[str, Any]], object]) -> Path:
        """A copy of the run whose run.json somebody has changed."""
        document = copy.deepcopy(self.document)
        change(document)
        return self.written(document)

    def written(self, document: Any) -> Path:
        shutil.rmtree(self.folder / "copies", ignore_errors=True)
        shutil.copytree(self.original, self.run)
        (self.run / "run.json").write_text(json.dumps(document))
        return self.run

    def untouched(self) -> dict[str, str]:
        """Everything outside the copy of the run and the target, with what it holds."""
        return {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"
            for path in self.folder.rglob("*")
            if not path.is_relative_to(self.run) and not path.is_relative_to(self.folder / "state")
        }


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("half"))


@pytest.fixture
def place(half: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("XDG_STATE_HOME", str(half.folder / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(half.folder / "runs"))
    monkeypatch.setenv("DRIVELAB_SCRATCH", str(half.folder / "scratch"))
    monkeypatch.chdir(half.canaries)
    # the report is written into the run's directory, and takes longer than all else
    monkeypatch.setattr(run_end, "show", lambda *_, **__: 0)
    yield half
    assert list(half.target.iterdir()) == []


def steps_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document["plan"]["steps"]
    return found


def a_file_as_target(place: Place) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["plan"]["targets"][0] |= {"kind": "file", "text": str(place.victim)}
        facts = document["targets"][0]["facts_before"]
        facts |= {"kind": "file", "path": str(place.victim), "inode": place.victim.stat().st_ino}

    return change


def in_every_step(**values: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for step in steps_of(document):
            step |= values

    return change


def named(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda document: steps_of(document)[-1].update(trial=name)


NAMED_CASES: dict[str, tuple[Callable[[Place], Callable[[dict[str, Any]], object]], str]] = {
    "a file as the target": (a_file_as_target, "P706"),
    "a file above the directory": (lambda _: in_every_step(file_name="../../canaries/victim.bin"), "R422"),
    "an absolute file": (lambda place: in_every_step(file_name=str(place.victim)), "R422"),
    "a file called ..": (lambda _: in_every_step(file_name=".."), "R422"),
    "a file with a zero": (lambda _: in_every_step(file_name="x\0y"), "R422"),
    "a trial above the run": (lambda _: named("../../escaped"), "R422"),
    "an absolute trial": (lambda place: named(str(place.canaries / "escaped")), "R422"),
    "a trial named as one that failed": (lambda _: named("0004-log-r4.failed1"), "R422"),
    "a trial twice": (lambda place: named(steps_of(place.document)[0]["trial"]), "R422"),
    "steps in another order": (lambda _: lambda document: steps_of(document).reverse(), "R422"),
    "no steps": (lambda _: lambda document: steps_of(document).clear(), "R422"),
    "a target that is not there": (lambda _: in_every_step(target="other"), "R422"),
    "a pattern that is not there": (lambda _: in_every_step(pattern=9), "R422"),
    "another action": (lambda _: in_every_step(actions={"page-cache": "burn"}), "R422"),
    "another setting": (lambda _: in_every_step(settings={"../../x": "1"}), "R422"),
    "a seed as text": (lambda _: in_every_step(seed="x"), "S506"),
    "a file system on a directory": (
        lambda _: (
            lambda document: (
                document["plan"].update(filesystems=[{"type": "ext4", "name": "ext4"}]),
                in_every_step(filesystem=0)(document),
            )
        ),
        "P704",
    ),
    "a trim of the device": (lambda _: in_every_step(actions={"trim": "device"}), "P707"),
    "a target elsewhere": (
        lambda place: lambda document: document["targets"][0]["facts_before"].update(path=str(place.canaries)),
        "C207",
    ),
    "no target": (lambda _: lambda document: document["targets"].clear(), "R422"),
}


@pytest.mark.provokes("R422")
@pytest.mark.parametrize("case", NAMED_CASES)
def test_a_plan_that_was_changed_is_refused(place: Place, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    change, code = NAMED_CASES[case]
    run = place.changed(change(place))
    before = place.untouched()
    status = run_command(["resume", str(run)])
    said = capsys.readouterr().err
    assert f"error[{code}]" in said
    assert status != 0
    assert place.untouched() == before


@pytest.mark.parametrize("link", ["journal.jsonl", "parts/000001.log", "run.json", "ios"])
def test_a_link_in_the_run_is_refused(place: Place, link: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = place.changed(lambda _: None)
    elsewhere = place.folder / "copies" / "linked"
    path = run / link
    if path.exists():
        path.rename(elsewhere)
    else:
        elsewhere.mkdir()
    path.symlink_to(elsewhere)
    before = place.untouched()
    assert run_command(["resume", str(run)]) != 0
    assert "error[S506]" in capsys.readouterr().err
    assert place.untouched() == before


def hostile_values(place: Place) -> list[Any]:
    paths = ["../../x", "../canaries/victim.bin", str(place.victim), str(place.canaries), "a/b", "x\0y", "", ".", ".."]
    return [*paths, None, 0, -1, 1, 2**31, 2**64, 1.5, True, [], {}, ["x"], {"a": "b"}, "file", "missing_file", "raid"]


def places_in(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in items:
        yield (*above, key)
        yield from places_in(held, (*above, key))


def changed_somewhere(document: dict[str, Any], values: list[Any], generator: random.Random) -> tuple[Any, ...]:
    """Change or remove one value of what a run is resumed from; where, and to what."""
    chosen = generator.choice(["plan", "plan", "plan", "targets"])
    at = generator.choice([(chosen, *below) for below in places_in(document[chosen])])
    holder: Any = document
    for key in at[:-1]:
        holder = holder[key]
    if generator.random() < 0.2:
        del holder[at[-1]]
        return (*at, "removed")
    holder[at[-1]] = generator.choice(values)
    return (*at, holder[at[-1]])


def test_whatever_is_changed_nothing_else_is_written(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    generator, values = random.Random(20260101), hostile_values(place)
    refused = 0
    for _ in range(CASES):
        document = copy.deepcopy(place.document)
        changes = [changed_somewhere(document, values, generator) for _ in range(generator.choice([1, 1, 1, 2]))]
        run = place.written(document)
        before = place.untouched()
        status = run_command(["resume", str(run)])
        said = capsys.readouterr().err
        assert "bug" not in said, (changes, said)
        assert "Traceback" not in said, (changes, said)
        assert place.untouched() == before, changes
        refused += status != 0
    assert refused > CASES // 2


def test_an_untouched_run_is_resumed(place: Place) -> None:
    run = place.changed(lambda _: None)
    assert run_command(["resume", str(run)]) == 0
    assert len(open_run(run).trial_names) == 4
    assert open_run(run).run_json["status"] == "complete"


def test_a_run_is_resumed_where_it_began(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # the text means another directory here, and would have been measured
    run = place.changed(lambda document: document["plan"]["targets"][0].update(text="target"))
    before = place.untouched()
    monkeypatch.chdir(place.canaries)
    assert run_command(["resume", str(run)]) == 0
    facts = [open_run(run).run_json["targets"][0][when]["path"] for when in ("facts_before", "facts_after")]
    assert facts == [str(place.target), str(place.target)]
    assert place.untouched() == before


@pytest.mark.provokes("C207")
def test_another_directory_in_its_place_is_refused(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    run = place.changed(lambda _: None)
    place.target.rename(place.folder / "moved")
    place.target.mkdir()
    try:
        assert run_command(["resume", str(run)]) == 3
        assert "error[C207]" in capsys.readouterr().err
    finally:
        place.target.rmdir()
        (place.folder / "moved").rename(place.target)


def test_a_run_that_lacks_only_its_end_is_given_one(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    run = place.changed(lambda _: None)
    assert run_command(["resume", str(run)]) == 0
    whole = json.loads((run / "run.json").read_text())
    started = open_run(run).trials["started_utc"].to_pylist()
    cut_off = {key: value for key, value in whole.items() if key not in ("findings", "finished_utc", "verdict")}
    cut_off["targets"] = [{"label": one["label"], "facts_before": one["facts_before"]} for one in whole["targets"]]
    (run / "run.json").write_text(json.dumps(cut_off | {"status": "running"}))
    assert run_command(["resume", str(run)]) in (0, 4)
    assert "4 of 4 trials are there; only its end is missing" in capsys.readouterr().err
    ended = open_run(run)
    assert ended.run_json["status"] == "complete"
    assert ended.run_json["targets"][0]["facts_after"]["path"] == str(place.target)
    assert [one.code for one in ended.findings] == [one["code"] for one in whole["findings"]]
    assert ended.trials["started_utc"].to_pylist() == started
    # now there is nothing left
    assert run_command(["resume", str(run)]) == 2


@pytest.mark.provokes("R423")
@pytest.mark.parametrize("name", [".", "run.json", "parts", "parts/000001.log", "journal.jsonl"])
def test_root_does_not_obey_files_of_another_user(place: Place, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = place.changed(lambda _: None)
    os.chown(run / name, 65534, 65534)
    before = place.untouched()
    assert run_command(["resume", str(run)]) == 3
    said = capsys.readouterr().err
    assert "error[R423]" in said
    assert "user 65534" in said
    assert "--trust" in said
    assert place.untouched() == before
    assert run_command(["resume", str(run), "--trust"]) == 0


def test_root_does_not_obey_files_that_everybody_can_write(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    run = place.changed(lambda _: None)
    (run / "run.json").chmod(0o666)
    assert run_command(["resume", str(run)]) == 3
    assert "can be written by everybody" in capsys.readouterr().err
