"""Commands that several files of tests here run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from btt_command import Btt
from drivelab.cli import check_results, run_end
from drivelab.cli.main import run
from drivelab.store.remote.bring import forget
from s3_server import KEYS, Bucket, Wire, s3_server

Asked = Callable[..., tuple[int, str, str]]


@pytest.fixture
def btt(capsys: pytest.CaptureFixture[str]) -> Btt:
    """Exit status, stdout and stderr of ``drivelab btt``."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        status = run(["btt", *map(str, arguments)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """The port of a store."""
    with s3_server() as port:
        yield port


@pytest.fixture
def wire(server: int) -> Iterator[Wire]:
    """What leads to the store, and can be cut."""
    made = Wire(server)
    yield made
    made.close()


@pytest.fixture
def bucket(server: int, wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """An empty bucket, reached by the wire, and nothing of it here yet."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{wire.port}")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    forget()
    made = Bucket(server)
    yield made
    made.close()
    forget()


@pytest.fixture
def asked(capsys: pytest.CaptureFixture[str]) -> Asked:
    """Exit status, stdout and stderr of a command that asks stores anew."""

    def ask(*words: str | Path) -> tuple[int, str, str]:
        forget()
        status = run([*map(str, words)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return ask


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that measure end as where what pages are made with is not installed; a page is a third of a check."""
    for command in (check_results, run_end):
        monkeypatch.setattr(command, "write_page", lambda *_: None)
