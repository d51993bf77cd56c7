"""Published pages are reports like any other, by their own names."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.cli.main import run
from drivelab.model.errors import EXIT_OK, EXIT_USAGE


def test_a_published_page_is_named_as_it_is_called(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    for name in ("intel-530", "reference:intel-530"):
        assert run(["report", name, "--text"]) == EXIT_OK
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert told[0].startswith("Why does the Intel 530 take 10 ms")
    # what is there under that name is no page
    monkeypatch.chdir(tmp_path)
    (tmp_path / "intel-530").mkdir()
    assert run(["report", "intel-530", "--text"]) == EXIT_USAGE
