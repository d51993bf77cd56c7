"""A store takes a run whole, once, and from whoever was first; what is brought here of it is kept within bounds."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.store.find_run import runs_at
from drivelab.store.read import open_run
from drivelab.store.remote import cache, claims, push
from drivelab.store.remote.bring import bring, forget, host_of
from drivelab.store.remote.manifest import manifest_name, manifest_of, read_manifest
from drivelab.store.remote.objects import Objects
from drivelab.store.remote.push import Store

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "runs"
CHECK, GRID = GOLDEN / "check-directory", GOLDEN / "queue-depth-grid"


@pytest.fixture(autouse=True)
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    forget()
    yield
    forget()


@pytest.fixture(params=["memory", "directory", "other file system", "file address"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where runs may be put: an address of fsspec's own, and directories."""
    if request.param == "memory":
        yield f"memory://{secrets.token_hex(6)}/runs"
    elif request.param == "other file system":
        # what it is beside the one of temporary files does not matter: renames must stay within it
        parent = Path("/dev/shm") / f"drivelab-{secrets.token_hex(6)}"
        yield str(parent / "runs")
        shutil.rmtree(parent)
    else:
        yield f"{'file://' if request.param == 'file address' else ''}{tmp_path / 'store' / 'runs'}"


def renamed(run: Path, name: str, parent: Path) -> Path:
    shutil.copytree(run, parent / name)
    return parent / name


@pytest.mark.parametrize("large_bytes", [1000, 2**25])
def test_what_comes_back_is_what_was_put_there(large_bytes: int, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("push", "bring"):
        monkeypatch.setattr(f"drivelab.store.remote.{module}.LARGE_BYTES", large_bytes)
    assert Store(store).push(CHECK, "oak")
    assert not Store(store).push(CHECK)
    (found,) = runs_at(store)
    assert (found.name, host_of(found)) == (CHECK.name, "oak")
    run = open_run(found)
    assert run.trials.equals(open_run(CHECK).trials)
    assert run.histograms.equals(open_run(CHECK).histograms)
    names = [path.stem for path in (CHECK / "ios").iterdir()]
    for name in names:
        kept, there = run.ios(name), open_run(CHECK).ios(name)
        assert kept is not None
        assert kept.equals(there)


@pytest.mark.provokes("S516")
def test_the_first_of_two_runs_of_one_name_keeps_it(store: str, tmp_path: Path) -> None:
    Store(store).push(CHECK)
    with pytest.raises(DrivelabError) as refusal:
        Store(store).push(renamed(GRID, CHECK.name, tmp_path))
    assert refusal.value.code == "S516"
    assert open_run(runs_at(store)[0]).trials.equals(open_run(CHECK).trials)


def test_a_name_that_was_claimed_is_kept_for_the_run_that_claimed_it(tmp_path: Path) -> None:
    address = f"memory://{secrets.token_hex(6)}/runs"
    objects = Objects(address)
    claim = manifest_of(CHECK).content().replace(b'"is_whole": true', b'"is_whole": false')
    assert objects.create(manifest_name(CHECK.name), claim)
    assert not objects.create(manifest_name(CHECK.name), b"{}")
    with pytest.raises(DrivelabError) as refusal:
        Store(address).push(renamed(GRID, CHECK.name, tmp_path))
    assert refusal.value.code == "S516"
    assert objects.sizes(CHECK.name) == {}
    with pytest.raises(DrivelabError, match="no whole run"):
        runs_at(address)
    assert Store(address).push(CHECK)
    assert [one.name for one in runs_at(address)] == [CHECK.name]


@pytest.mark.provokes("S519")
@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        ("behind the first's claim", "renamed"),
        ("behind its begin", GRID.name),
        ("before a claim is taken over", GRID.name),
        ("at its end", GRID.name),
    ],
)
def test_of_two_that_put_a_run_there_under_two_names_at_once_one_goes_on(
    moment: str, kept: str, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, told = renamed(GRID, "renamed", tmp_path), list[str]()

    def put(run: Path) -> None:
        try:
            Store(store).push(run)
        except DrivelabError as refusal:
            told.append(refusal.code)

    def once(place: Any, name: str, do: Callable[[Callable[[], Any]], Any]) -> None:
        """At the next call of a function do something with it instead."""
        original = getattr(place, name)

        def called(*arguments: Any) -> Any:
            monkeypatch.setattr(place, name, original)
            return do(lambda: original(*arguments))

        monkeypatch.setattr(place, name, called)

    kind = claims.ClaimsOfObjects if "://" in store and not store.startswith("file") else claims.ClaimsOfDirectory
    if moment == "behind the first's claim":
        once(push, "claim", lambda original: (original(), put(other)))
    elif moment == "behind its begin":
        once(push, "require_claim", lambda original: (original(), put(other)))
    elif moment == "before a claim is taken over":
        # the first was killed right behind its claim, and is begun again while the other takes over
        assert Store(store)._claims.make(manifest_of(GRID).files["run.json"].sha256, GRID.name)
        once(kind, "replace", lambda original: (put(GRID), original()))
        put(other)
    put(GRID)
    put(other)
    assert set(told) == {"S519"}
    forget()
    assert [one.name for one in runs_at(store)] == [kept]
    # nobody else gets a third name, either
    put(renamed(GRID, "third", tmp_path))
    forget()
    assert [one.name for one in runs_at(store)] == [kept]


def test_who_puts_a_run_there_asks_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"memory://{secrets.token_hex(6)}/runs"
    Store(address).push(CHECK)
    asked: list[str] = []
    content = Objects.content

    def noted(objects: Objects, name: str) -> bytes | None:
        asked.append(name)
        return content(objects, name)

    monkeypatch.setattr(Objects, "content", noted)
    monkeypatch.setattr(Objects, "names", lambda _objects, below: pytest.fail(f"all of {below} are listed"))
    assert Store(address).push(GRID)
    record = manifest_of(GRID).files["run.json"].sha256
    assert asked == [manifest_name(GRID.name), f"manifests/records/{record}"]


def test_a_directory_shows_no_run_before_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    seen: list[list[str]] = []
    copied = shutil.copyfile

    def copy(one: Path, other: Path, *, follow_symlinks: bool) -> None:
        seen.append([path.parent.name for path in store.glob("*/run.json") if path.parent.name[0] != "."])
        copied(one, other, follow_symlinks=follow_symlinks)
        if other.name == "run.json":
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("drivelab.store.remote.push.shutil.copyfile", copy)
    with pytest.raises(DrivelabError) as failure:
        Store(str(store)).push(GRID)
    assert failure.value.code == "S502"
    assert seen == [[]] * len(seen)
    assert sorted(path.name for path in store.iterdir()) == ["manifests"]


def test_a_run_that_lies_there_without_a_manifest_gets_one(tmp_path: Path) -> None:
    shutil.copytree(CHECK, tmp_path / "store" / CHECK.name)
    assert not Store(str(tmp_path / "store")).push(CHECK)
    content = (tmp_path / "store" / manifest_name(CHECK.name)).read_bytes()
    assert read_manifest(content, CHECK.name, "") == manifest_of(CHECK)


@pytest.mark.provokes("S517")
def test_a_run_that_changes_while_it_is_put_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = renamed(CHECK, "changing", tmp_path)
    address = f"memory://{secrets.token_hex(6)}/runs"
    create = Objects.create

    def changed(objects: Objects, name: str, content: bytes) -> bool:
        (run / "histograms.parquet").write_bytes(b"other")
        return create(objects, name, content)

    monkeypatch.setattr(Objects, "create", changed)
    with pytest.raises(DrivelabError) as refusal:
        Store(address).push(run)
    assert refusal.value.code == "S517"
    with pytest.raises(DrivelabError, match="no whole run"):
        runs_at(address)


@pytest.mark.parametrize("name", ["../run.json", "/etc/passwd", "ios/../../x", "", "a\\b", "./run.json"])
@pytest.mark.provokes("S515")
def test_no_manifest_leads_elsewhere(name: str) -> None:
    content = manifest_of(CHECK).content().replace(b'"histograms.parquet"', f'"{name}"'.replace("\\", "\\\\").encode())
    with pytest.raises(DrivelabError) as refusal:
        read_manifest(content, CHECK.name, "")
    assert refusal.value.code == "S515"


@pytest.mark.provokes("S505")
def test_a_manifest_of_a_newer_drivelab_is_told() -> None:
    content = manifest_of(CHECK).content().replace(b'"schema": 1', b'"schema": 2')
    with pytest.raises(DrivelabError) as refusal:
        read_manifest(content, CHECK.name, "")
    assert refusal.value.code == "S505"


def in_store(*runs: Path) -> list[Path]:
    address = f"memory://{secrets.token_hex(6)}/runs"
    for run in runs:
        Store(address).push(run)
    return runs_at(address)


def test_what_was_long_unused_is_removed_and_comes_again() -> None:
    check, grid = in_store(CHECK, GRID)
    bring([check, grid], "trials.parquet")
    long_ago = time.time() - cache.UNUSED_S_MAX - 1
    os.utime(check.parent, (long_ago, long_ago))
    cache.remove_unused(cache.cache_root(), cache.UNUSED_S_MAX, cache.BYTES_MAX)
    assert (check.exists(), grid.exists()) == (False, True)
    cache.remove_unused(cache.cache_root(), cache.UNUSED_S_MAX, 1)
    assert not grid.exists()
    address = (grid.parent.parent / "address").read_text()
    forget()
    assert [one.name for one in runs_at(address)] == [CHECK.name, GRID.name]
    assert open_run(check).trials.equals(open_run(CHECK).trials)


def test_a_file_system_without_locks_is_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _what: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    (check,) = in_store(CHECK)
    assert open_run(check).trials.num_rows == open_run(CHECK).trials.num_rows


def test_nothing_is_removed_that_another_process_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = in_store(CHECK)
    root = cache.cache_root()
    os.utime(check.parent, (0, 0))
    os.utime(root / "tidied", (0, 0))
    with open(root / "lock") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        cache._hold.cache_clear()
        (again,) = runs_at((check.parent.parent / "address").read_text())
    assert again == check
    assert check.exists()
