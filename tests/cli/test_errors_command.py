"""`drivelab errors` explains codes."""

from __future__ import annotations

import json

import pytest

from drivelab.cli import main
from drivelab.model.errors import KINDS


def test_every_code_is_listed_with_what_it_means(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["errors"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{kind.code}  {kind.title}" for kind in KINDS.values()]
    usage = [line[:4] for line in lines if line.startswith("U")]
    assert usage == sorted(usage)


@pytest.mark.parametrize("typed", ["U001", "u001", "[U001]"])
def test_one_code_is_explained_however_it_is_typed(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["errors", typed]) == 0
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("U001", KINDS["U001"].title, KINDS["U001"].advice, "exit: 2"))


def test_codes_come_as_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["errors", "U001", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert entry == {"code": "U001", "title": KINDS["U001"].title, "advice": KINDS["U001"].advice, "exit_code": 2}


@pytest.mark.provokes("U005")
def test_an_unknown_code_leads_to_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["errors", "U01"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "error[U005] there is no error code 'U01'" in shown.err
    assert "do:    drivelab errors U0" in shown.err
