"""Runs whose tables are missing or damaged: a store takes none, and one that it has is named by its place there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from s3_server import Bucket

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "runs"
CHECK, GRID = GOLDEN / "check-directory", GOLDEN / "queue-depth-grid"
Asked = Callable[..., tuple[int, str, str]]


def store_of(bucket: Bucket) -> str:
    return f"s3://{bucket.name}/team/runs"


def harmed_copy(harm: str, parent: Path) -> Path:
    """A whole run of which a table is missing, or has something behind its end."""
    directory = parent / f"{GRID.name}-{harm}"
    shutil.copytree(GRID, directory)
    table, what = harm.split("-")
    if what == "missing":
        (directory / f"{table}.parquet").unlink()
    elif what == "longer":
        with open(directory / f"{table}.parquet", "ab") as file:
            file.write(b"more than was stored")
    else:
        content = bytearray((directory / f"{table}.parquet").read_bytes())
        content[200:240] = bytes(40)
        (directory / f"{table}.parquet").write_bytes(content)
    return directory


@pytest.mark.provokes("S506")
@pytest.mark.parametrize("harm", ["trials-missing", "trials-longer", "trials-changed", "histograms-missing"])
def test_a_run_without_its_tables_is_no_whole_run(harm: str, bucket: Bucket, asked: Asked, tmp_path: Path) -> None:
    directory = harmed_copy(harm, tmp_path / "broken")
    table = f"{harm.partition('-')[0]}.parquet"
    for store in (store_of(bucket), str(tmp_path / "store")):
        status, out, err = asked("push", tmp_path / "broken", CHECK, "--to", store)
        assert (status, out) == (1, f"{store}: 1 stored, 1 failed\n")
        assert f"{directory.name}: {table} " in err
        assert "(S506)" in err
        assert [one["run"] for one in json.loads(asked("runs", store_of(bucket), "--json")[1])["runs"]] == [CHECK.name]


@pytest.mark.provokes("S506")
def test_damage_of_a_run_in_a_store_is_told_with_its_place_there(
    bucket: Bucket, asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as an older drivelab put them there
    monkeypatch.setattr("drivelab.store.remote.push.require_whole", lambda *_: None)
    for harm, told in (("trials-missing", ""), ("trials-longer", "/trials.parquet")):
        directory = harmed_copy(harm, tmp_path)
        # each is a run of its own
        record = directory / "run.json"
        record.write_text(json.dumps(json.loads(record.read_text()) | {"tags": {"harm": harm}}))
        asked("push", directory, "--to", store_of(bucket))
        status, _, err = asked("report", f"{store_of(bucket)}/{directory.name}", "--text")
        assert status == 1
        assert "error[S506] trials.parquet " in err
        assert f"where: {store_of(bucket)}/{directory.name}{told}\n" in err
    listed = json.loads(asked("runs", store_of(bucket), "--json")[1])["runs"]
    assert all(one["answer"].startswith("damaged: trials.parquet ") for one in listed)
