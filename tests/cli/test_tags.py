"""``--tag``: kept by run, check and io, shown by ``drivelab runs --tags``, asked for in SQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from drivelab.cli.main import run

TAGS = ["--tag", "rack=r07", "--tag", "delivery=2026-10"]
TOLD = {"rack": "r07", "delivery": "2026-10"}


def stored(runs: Path) -> dict[str, Any]:
    (directory,) = runs.iterdir()
    document: dict[str, Any] = json.loads((directory / "run.json").read_text())
    return document


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where runs are kept."""
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "queue-depth", "sim:micron-7450-max", "--only", "queue_depth=1", "--repeats", "1", "--quick"],
        ["check", "sim:consumer-ssd", "--quick"],
        ["io", "null:", "--count", "100", "--out", "runs"],
    ],
    ids=lambda words: words[0],
)
def test_a_run_keeps_its_tags(kept: Path, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kept.parent)
    assert run([*words, *TAGS]) in (0, 4)
    assert stored(kept)["tags"] == TOLD


def test_tags_are_kept_by_resume_and_shown_where_asked(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "queue-depth", "sim:micron-7450-max", "--only", "queue_depth=1", "--repeats", "1", "--quick"]
    assert run([*words, *TAGS]) == 0
    (directory,) = kept.iterdir()
    document = stored(kept) | {"status": "interrupted"}
    (directory / "run.json").write_text(json.dumps(document))
    (directory / "trials.parquet").unlink()
    assert run(["resume", "LAST"]) == 0
    assert stored(kept)["tags"] == TOLD
    capsys.readouterr()
    assert run(["runs", "--tags"]) == 0
    assert "rack=r07, delivery=2026-10" in capsys.readouterr().out
    assert run(["runs"]) == 0
    assert "rack" not in capsys.readouterr().out
    assert run(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["tags"] == TOLD
    assert run(["sql", "select tags['rack'] as rack, tags['none'] as none from runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [{"rack": "r07", "none": None}]


@pytest.mark.provokes("U051")
@pytest.mark.parametrize("words", [["run", "queue-depth", "sim:micron-7450-max"], ["check", "."], ["io", "null:"]])
def test_a_wrong_form_ends_before_anything_is_measured(
    kept: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--tag", "rack"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error[U051] 'rack' is no key with a value")
    assert "do:    write KEY=VALUE: --tag rack=r07" in err
    assert not kept.exists()


def test_a_workload_that_is_not_stored_has_no_use_for_a_tag(capsys: pytest.CaptureFixture[str]) -> None:
    run(["io", "null:", "--count", "100", *TAGS])
    assert "note: --tag has no effect without --out" in capsys.readouterr().err
