"""What `drivelab io` advises after a trial that was too short."""

from __future__ import annotations

import pytest

from drivelab.cli.io import longer_runtime

SECOND_NS = 1_000_000_000


@pytest.mark.parametrize(
    ("took_s", "advised"), [(0, "60s"), (10, "60s"), (30, "90s"), (600, "1800s"), (1200, "1h"), (21_600, "18h")]
)
def test_longer_is_longer_than_it_was(took_s: int, advised: str) -> None:
    assert longer_runtime(took_s * SECOND_NS) == advised
