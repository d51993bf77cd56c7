"""The order of levels that are numbers."""

from __future__ import annotations

import math

from drivelab.model.level_words import level_size


def test_numbers_stand_by_size_and_names_behind_them() -> None:
    levels = ["none", "1MiB", "4KiB", "512", "20%", "8"]
    assert sorted(levels, key=level_size) == ["8", "20%", "512", "4KiB", "1MiB", "none"]
    assert level_size("ext4") == math.inf
