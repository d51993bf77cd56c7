"""What tests on real loop devices share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from device.program import Drivelab


@pytest.fixture
def drivelab(tmp_path: Path) -> Iterator[Drivelab]:
    program = Drivelab(tmp_path)
    yield program
    program.run("restore")
