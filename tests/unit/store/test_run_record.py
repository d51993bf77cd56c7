"""A run.json has one form: what is written is read, and what older versions wrote is read as the same."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import cache
from pathlib import Path
from threading import Barrier
from time import sleep
from typing import Any

import pytest

from drivelab.store import json_types
from drivelab.store.json_types import JsonTypeError
from drivelab.store.read import open_run
from drivelab.store.run_record import RunRecord, require_run_record

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
STORED = sorted(path for folder in ("runs", "schema_1") for path in (GOLDEN / folder).iterdir())
TARGET = {"text": "/dev/sdx", "path": "/dev/sdx", "kind": "block_device"}


@pytest.mark.parametrize("run", STORED, ids=lambda run: f"{run.parent.name}-{run.name}")
def test_a_kept_run_is_read_and_written_again_as_the_same(run: Path) -> None:
    record = open_run(run).record
    stored = json.loads((run / "run.json").read_text())
    assert RunRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert record.to_json() == {k: v for k, v in stored.items() if v not in (None, {})} | (
        {"drivelab_version": stored["host"]["drivelab_version"]}
    )


def test_an_io_of_an_older_version_has_the_keys_of_every_run() -> None:
    older = {"schema": 2, "experiment": "io", "target": TARGET, "command": ["/usr/bin/drivelab", "io", "/my disk"]}
    require_run_record(older)
    record = RunRecord.from_json(older)
    assert record.command_line == "drivelab io '/my disk'"
    assert record.experiment == {"name": "io"}
    assert [(one["label"], one["facts_before"]) for one in record.targets] == [("/dev/sdx", TARGET)]
    assert record.more == {}


def test_null_is_for_what_is_not_known() -> None:
    nothing = {one.name: None for one in fields(RunRecord) if one.name not in ("schema", "more")}
    require_run_record(nothing)
    assert RunRecord.from_json(nothing) == RunRecord()
    assert RunRecord().to_json() == {"schema": 2}


def test_keys_of_a_newer_version_are_kept() -> None:
    record = RunRecord.from_json({"schema": 2, "weather": {"wind": "west"}})
    assert record.changed({"status": "complete"}).to_json() == {
        "schema": 2,
        "status": "complete",
        "weather": {"wind": "west"},
    }


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"targets": "text"}, "targets is 'text'"),
        ({"targets": [None]}, r"targets\[0\]"),
        ({"targets": [{"facts_before": [1]}]}, r"targets\[0\].facts_before"),
        ({"target": {"drives": 7}}, r"targets\[0\].facts_before.drives"),
        ({"host": {"cpu_count": "two"}}, "host.cpu_count"),
        ({"plan": {"steps": [{"trial": 1, "levels": {}}]}}, r"plan.steps\[0\].trial"),
        ({"experiment": 5}, "experiment"),
        ({"status": "asleep"}, "status"),
        ({"started_utc": "yesterday"}, "started_utc is 'yesterday', which is no moment"),
        ({"failures": {"0001": 5}}, "failures.0001"),
        ({"verdict": {"outcome": 1}}, "verdict"),
    ],
)
def test_a_value_of_another_type_is_named_by_its_place(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(JsonTypeError, match=place):
        require_run_record(wrong)


def test_runs_are_looked_at_by_several_threads_for_the_first_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made, all_of_them = json_types._check_of.__wrapped__, Barrier(8)

    def slowly(kind: Any, are_partial: bool) -> Any:
        sleep(1e-3)
        return made(kind, are_partial)

    def look(place: int) -> None:
        all_of_them.wait()
        sleep(3e-3 * place)
        require_run_record({"schema": 2, "plan": {"steps": [{"trial": "0001", "levels": {}}]}})

    for _ in range(20):
        monkeypatch.setattr(json_types, "_check_of", cache(slowly))
        with ThreadPoolExecutor(8) as threads:
            assert [*threads.map(look, range(8))] == [None] * 8
