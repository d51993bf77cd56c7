"""A run is found by its directory or by its name, and nothing else is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.store.find_run import all_kept, find_run, kept_runs, name_to_type, runs_at, stored_in


def test_a_path_comes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.store.find_run.default_parent", lambda: tmp_path / "runs")
    (tmp_path / "runs" / "monday").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert find_run("monday") == tmp_path / "runs" / "monday"
    (tmp_path / "monday").mkdir()
    assert find_run("monday") == Path("monday")


@pytest.mark.provokes("S504")
@pytest.mark.parametrize("name", ["", "tuesday", "no/such/run"])
def test_what_is_neither_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.store.find_run.default_parent", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DrivelabError) as refusal:
        find_run(name)
    assert refusal.value.code == "S504"


def test_the_only_run_of_a_name_is_found_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.store.find_run.default_parent", lambda: tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    for name in ("20260101T000000Z-old-disk-vda", "20260102T000000Z-check-old", "20260103T000000Z-check-vda"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text("{}")
    assert find_run("Old disk").name == "20260101T000000Z-old-disk-vda"
    for several_or_none in ("check", "vda", "ol"):
        with pytest.raises(DrivelabError) as refusal:
            find_run(several_or_none)
        assert refusal.value.code == "S504"


def test_last_is_the_newest_run_that_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.store.find_run.default_parent", lambda: tmp_path)
    with pytest.raises(DrivelabError, match="no run is kept") as refusal:
        find_run("LAST")
    assert refusal.value.code == "S504"
    for name in ("20260102T000000Z-check-b", "20260101T000000Z-check-a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    (tmp_path / "20260103T000000Z-no-run").mkdir()
    assert find_run("LAST") == tmp_path / "20260102T000000Z-check-b"


def test_numbers_count_from_the_newest_and_names_come_before_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drivelab.store.find_run.default_parent", lambda: tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    for name in ("20260101T000000Z-a", "20260102T000000Z-b"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text("{}")
    assert [find_run(number).name[-1] for number in ("1", "2")] == ["b", "a"]
    for number in ("0", "3", "-1"):
        with pytest.raises(DrivelabError, match=f"no run {number}"):
            find_run(number)
    (tmp_path / "2").mkdir()
    assert find_run("2") == Path("2")


def test_what_is_printed_to_be_typed_means_the_same_run_when_others_came_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drivelab.store.find_run.default_parent", lambda: tmp_path / "runs")

    def keep(name: str) -> Path:
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text("{}")
        return tmp_path / "runs" / name

    first, second = keep("20260101T000000Z-check-a"), keep("20260102T000000Z-check-b")
    assert name_to_type(second) == "LAST"
    typed = name_to_type(first)
    assert typed == "20260101T000000Z"
    third = keep("20260103T000000Z-check-c")
    assert find_run(typed) == stored_in(typed) == first
    # two that began in one second have their whole names
    other = keep("20260103T000000Z-check-d")
    assert (name_to_type(other), name_to_type(third)) == ("LAST", third.name)
    assert name_to_type(tmp_path / "elsewhere") == str(tmp_path / "elsewhere")
    with pytest.raises(DrivelabError, match="no run 20260103T000000Z"):
        find_run("20260103T000000Z")


def test_runs_of_fleets_are_kept_too_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.store.find_run.default_parent", lambda: tmp_path)
    names = ("20260102T000000Z-io-b", "20260101T000000Z-fleet-io-ab/20260103T000000Z-io-c", "20260101T000000Z-io-a")
    fleet = "20260101T000000Z-fleet-io-ab"
    for name in (*names, f"{names[0]}/within", f"{fleet}/.20260104T000000Z-io-d.partial", f"{fleet}/too/deep"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text("{}")
    kept = kept_runs()
    assert [one.name[-1] for one in kept] == ["a", "b", "c"]
    assert sorted(kept) == runs_at(str(tmp_path))
    assert all_kept() == kept[::-1]
    assert find_run("LAST") == find_run("20260103T000000Z-io-c") == find_run("20260103T000000Z") == kept[-1]
