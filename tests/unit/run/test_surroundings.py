"""What goes on around a trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.run import surroundings
from drivelab.run.surroundings import SurroundingsReading, read_surroundings, surroundings_between, temperature_celsius


def reading(at_ns: int, cpu_us: int, ticks: tuple[int, ...], celsius: float | None = None) -> SurroundingsReading:
    return SurroundingsReading(at_ns, {"cpu_some": cpu_us}, ticks, celsius)


def test_shares_are_of_the_time_between_the_readings() -> None:
    before = reading(0, 1000, (0,) * 8, 30.0)
    after = reading(2_000_000_000, 501_000, (100, 0, 50, 800, 30, 0, 0, 20), 31.5)
    found = surroundings_between(before, after)
    assert found["pressure"]["cpu_some_share"] == 0.25
    assert found["pressure"]["io_full_share"] is None
    assert found["cpu_steal_share"] == 0.02
    assert found["cpu_busy_share"] == pytest.approx(0.17)
    assert (found["temperature_celsius_before"], found["temperature_celsius_after"]) == (30.0, 31.5)


def test_no_time_at_all_divides_by_nothing() -> None:
    found = surroundings_between(reading(5, 0, (1,) * 8), reading(5, 0, (1,) * 8))
    assert found["cpu_steal_share"] is None


def test_this_computer_can_be_read_twice() -> None:
    before = read_surroundings()
    found = surroundings_between(before, read_surroundings(["no-such-drive"]))
    assert 0 <= (found["cpu_busy_share"] or 0) <= 1


@pytest.mark.parametrize("place", ["device/hwmon3", "device/hwmon/hwmon3", "device/device/hwmon/hwmon3"])
def test_the_temperature_is_found_where_the_driver_puts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(surroundings, "SYSFS_BLOCK", tmp_path)
    (tmp_path / "nvme0n1" / place).mkdir(parents=True)
    (tmp_path / "nvme0n1" / place / "temp1_input").write_text("41850\n")
    assert temperature_celsius("nvme0n1") == 41.85
    assert read_surroundings(["nvme0n1", "sda"]).temperature_celsius == 41.85
    assert temperature_celsius("sda") is None
