"""Holm's correction, against its own words."""

from __future__ import annotations

import numpy as np

from drivelab.model.holm import holm, holm_levels


def test_holm_is_what_its_definition_says() -> None:
    random = np.random.default_rng(4)
    for count in (1, 2, 5, 12):
        p_values = random.uniform(0, 0.2, count).tolist()
        adjusted = holm(p_values)
        for level in (0.01, 0.05, 0.1, 0.3):
            # Holm's own words: go through them from the smallest, and stop at the first that is too large
            refused = set()
            for rank, place in enumerate(sorted(range(count), key=p_values.__getitem__)):
                if p_values[place] > level / (count - rank):
                    break
                refused.add(place)
            assert {place for place in range(count) if adjusted[place] <= level} == refused
    assert holm([]) == []


def test_at_its_level_each_is_refused_or_not_as_the_adjusted_p_value_says() -> None:
    random = np.random.default_rng(6)
    for count in (1, 2, 5, 12):
        p_values = (random.uniform(0, 1, count) ** 3 * 0.2).tolist()
        levels = holm_levels(p_values, 0.05)
        refused = [adjusted <= 0.05 for adjusted in holm(p_values)]
        assert [p_value <= level for p_value, level in zip(p_values, levels, strict=True)] == refused
        assert all(0.05 / count <= level <= 0.05 for level in levels)
    assert holm_levels([0.001, 0.04, 0.03], 0.05) == [0.05 / 3, 0.025, 0.025]
    assert holm_levels([], 0.05) == []
