"""Commands that several files of tests here run."""

from __future__ import annotations

from pathlib import Path

import pytest

from btt_command import Btt
from drivelab.cli.main import run


@pytest.fixture
def btt(capsys: pytest.CaptureFixture[str]) -> Btt:
    """Exit status, stdout and stderr of ``drivelab btt``."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        status = run(["btt", *map(str, arguments)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call
