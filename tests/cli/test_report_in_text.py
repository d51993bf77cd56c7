"""What several runs, or pages, come to in a terminal: at most 60 lines, and all of it where that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.cli.main import run
from drivelab.model.errors import EXIT_OK

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
LINES_MAX = 60


@pytest.mark.parametrize("name", sorted(path.name for path in RUNS.iterdir() if (path / "run.json").is_file()))
def test_every_stored_run_beside_pages_fits(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(RUNS / name), "--with-reference=ssd-latency", "--text"]) == EXIT_OK
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) <= LINES_MAX
    assert run(["report", str(RUNS / name), "--with-reference=ssd-latency", "--text", "--details"]) == EXIT_OK
    whole = capsys.readouterr().out.splitlines()
    if len(whole) > LINES_MAX:
        *kept, left = shown
        assert kept == whole[: len(kept)]
        assert left == f"... {len(whole) - len(kept)} more lines: --details"
    else:
        assert shown == whole
