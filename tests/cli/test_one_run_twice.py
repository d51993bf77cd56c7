"""A store has a run once, whatever its directory is called and wherever it lay."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from s3_server import Bucket

GRID = Path(__file__).resolve().parents[1] / "golden" / "runs" / "queue-depth-grid"
Asked = Callable[..., tuple[int, str, str]]


@pytest.mark.provokes("S519")
@pytest.mark.parametrize("is_bucket", [False, True])
def test_a_run_under_another_name_is_not_put_there_again(
    is_bucket: bool, bucket: Bucket, asked: Asked, tmp_path: Path
) -> None:
    store = f"s3://{bucket.name}/runs" if is_bucket else str(tmp_path / "store")
    renamed = tmp_path / "renamed"
    shutil.copytree(GRID, renamed)
    assert asked("push", GRID, "--to", store)[0] == 0
    status, out, err = asked("push", renamed, "--to", store)
    assert (status, out) == (1, f"{store}: 1 failed\n")
    assert f"renamed: it is there already, as {GRID.name} (S519)" in err
    assert asked("sql", "select count(*) as n from runs", store)[1].split() == ["n", "1"]
    other = f"{store}-other"
    assert asked("push", GRID, renamed, "--to", other)[:2] == (1, f"{other}: 1 stored, 1 failed\n")


@pytest.mark.provokes("S520")
def test_a_directory_is_no_store_for_runs_that_lie_in_it(asked: Asked, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(GRID, runs / "oak" / GRID.name)
    (tmp_path / "link").symlink_to(runs)
    before = sorted(runs.rglob("*"))
    for source in (runs, runs / "oak", runs / "oak" / GRID.name):
        for store in (runs, tmp_path / "link"):
            status, _, err = asked("push", source, "--to", store)
            assert status == 2
            assert "error[S520]" in err
    assert sorted(runs.rglob("*")) == before
    assert json.loads(asked("sql", "select count(*) as n from runs", runs, "--json")[1])["rows"] == [{"n": 1}]
