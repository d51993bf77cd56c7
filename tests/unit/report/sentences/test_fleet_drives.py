"""Whether drives are alike is said only where their numbers can tell."""

from __future__ import annotations

import re

import numpy as np
import pytest

from drivelab.analyse.drive_comparison import compare_drives
from drivelab.model.drive_values import FleetDrive, FleetNumber, FleetNumbers, NumberKey
from drivelab.report.sentences.fleet_drives import fleet_sentences

KEY = NumberKey("tiny-write", "writes", "random writes", "write", (), "iops")


def first_sentence(medians: list[float], scatter: float) -> str:
    """What is said first of drives with such medians, whose three repeats lie so far apart."""
    drives = [FleetDrive(key=f"h/{place}", host="h", model="m") for place in range(len(medians))]
    values = {
        drive.key: [[median * float(np.exp(far)) for far in (-scatter, 0.0, scatter)]]
        for drive, median in zip(drives, medians, strict=True)
    }
    return fleet_sentences(compare_drives(FleetNumbers(tuple(drives), (FleetNumber(KEY, True, values),))))[0]


def test_drives_are_alike_where_repeats_hardly_scatter() -> None:
    assert first_sentence([100, 101, 99, 102, 98, 100], 0.01).startswith("All 6 drives are alike (")


@pytest.mark.parametrize("medians", [[100, 101, 99, 102, 98, 100], [100, 400, 80, 250, 60, 120]])
def test_drives_whose_repeats_scatter_cannot_be_told_apart_also_where_their_medians_agree(medians: list[float]) -> None:
    told = first_sentence(medians, 1.18)
    assert told.startswith("6 drives cannot be told apart: repeats of one scatter by 225 %; ")
    # a difference that would have shown is larger than the scatter that hides it
    assert re.search(r"(more than a factor of \d+\.\d|not even a hundredfold difference) would have shown\.$", told)
