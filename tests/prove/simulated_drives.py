"""The model of a Micron 7450 MAX against the counter of a real one, at its own size."""

from __future__ import annotations

import pytest

from simulated_readings import READINGS, write_amplification


@pytest.mark.parametrize("used_gib", READINGS)
def test_the_model_has_the_write_amplification_of_the_drive(used_gib: int) -> None:
    found = write_amplification(used_gib, smaller=1)
    for reading in READINGS[used_gib]:
        assert found == pytest.approx(reading, rel=0.02)
