"""Names, inodes and contents of a tree, taken out of memory and brought there."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.model.tree import Tree
from drivelab.model.workload import OperationShare, TargetRange, Workload
from drivelab.run import tree_cache
from drivelab.run.actions import achieved_actions


def workload(directory: Path, operation: str) -> Workload:
    share = OperationShare.model_validate({"operation": operation})
    return Workload(target=TargetRange(path=str(directory)), operations=(share,), tree=Tree(file_count=10))


@pytest.mark.parametrize("operation", ["stat", "read_file"])
def test_every_name_below_is_looked_up(tmp_path: Path, operation: str) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    for name in ("a/one", "a/b/two", "three"):
        (tmp_path / name).write_text("x")
    warmed = tree_cache.warm_cached(workload(tmp_path, operation))["warmed_page_cache"]
    assert (warmed["names"], warmed["method"]) == (3, "looked up")


def test_a_user_who_may_not_drop_caches_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_cache, "_DROP_CACHES", str(tmp_path / "missing" / "drop_caches"))
    context = tree_cache.drop_cached(workload(tmp_path, "stat"))
    assert context["dropped_page_cache"]["method"] == ""
    assert achieved_actions(context)["page-cache"].startswith("not dropped: names and inodes stay")


def test_one_file_is_dropped_by_itself(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(8192))
    asked = Workload(target=TargetRange(path=str(tmp_path / "data")))
    assert tree_cache.drop_cached(asked)["dropped_page_cache"]["method"] in ("cachestat", "mincore")
    assert tree_cache.warm_cached(asked)["warmed_page_cache"]["resident_bytes"] == 8192
