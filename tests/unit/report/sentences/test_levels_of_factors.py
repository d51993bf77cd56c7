"""Where a factor explains what drives differ by, the report says which of its levels it is, and by how much."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from drivelab.analyse.drive_comparison import compare_drives
from drivelab.analyse.drive_spread import drive_medians
from drivelab.model.drive_values import FleetAnswerOfRuns, FleetDrive, FleetNumber, FleetNumbers, NumberKey
from drivelab.report.fleet_joint import joint_of_fleet
from drivelab.report.joint import Joint

RATE = NumberKey("tiny-read", "reads", "random reads", "read", (), "iops")
LATENCY = NumberKey("tiny-read", "reads", "random reads", "read", (), "completion_latency_ns_p50")


def told(drives: Sequence[tuple[FleetDrive, float]], key: NumberKey) -> tuple[FleetAnswerOfRuns, Joint]:
    """What drives come to that have such medians, half a percent of chance and three repeats each."""
    random = np.random.default_rng(1)
    values = {
        drive.key: [[median * float(np.exp(0.005 * random.standard_normal() + 0.001 * far)) for far in (-1, 0, 1)]]
        for drive, median in drives
    }
    number = FleetNumber(key, True, values)  # type: ignore[arg-type]
    answer = compare_drives(FleetNumbers(tuple(drive for drive, _ in drives), (number,)))
    return answer, joint_of_fleet(answer, {key: drive_medians(number)})


def drive(number: int, **facts: object) -> FleetDrive:
    """A drive of a host of its own."""
    return FleetDrive(**{"key": f"h{number}/d", "host": f"h{number}", "name": "d", "model": "m"} | facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "factor", "words"),
    [
        (RATE, 1 / 1.1, r"are (8\.\d|9\.\d) % slower"),
        (LATENCY, 1.1, r"take (9\.\d|10) % longer"),
        (RATE, 1.1, r"are (9\.\d|10) % faster"),
    ],
)
def test_the_rack_that_explains_it_is_named_in_text_table_and_json(key: NumberKey, factor: float, words: str) -> None:
    fleet = [
        (
            drive(number, model="ab"[number % 2], tags={"rack": f"r{number % 5:02d}"}),
            (100.0 if number % 2 else 900.0) * (factor if number % 5 == 3 else 1.0),
        )
        for number in range(110)
    ]
    answer, joint = told(fleet, key)
    sentence = next(text for text in joint.sentences if "drives of rack" in text).replace("\u00a0", " ")
    expected = rf"The 22 drives of rack r03 {words} than the others of the same model \(median .*\)\."
    assert re.fullmatch(expected, sentence), sentence
    table = next(one for one in joint.tables if one.key == "factors")
    (row,) = (row for row in table.rows if row[0].text == "rack")
    assert row[-1].text.startswith("r03 (22): ")
    (share,) = (one for one in answer.to_json()["explained"][0]["shares"] if one["factor"] == "rack")
    assert [one["drive_count"] for one in share["levels"]] == [22] * 5
    assert share["levels"][0]["level"] == "r03"
    assert share["levels"][0]["ratio"] == pytest.approx(factor, rel=0.005)
    assert all(one["ratio"] == pytest.approx(1.0, abs=0.03) for one in share["levels"][1:])


def test_the_model_that_is_slower_is_named() -> None:
    fleet = [
        (drive(number, model="old" if number % 5 == 3 else "new"), 80.0 if number % 5 == 3 else 100.0)
        for number in range(40)
    ]
    _, joint = told(fleet, RATE)
    sentence = next(text for text in joint.sentences if text.startswith("The 8 drives of model old are "))
    assert re.search(r"are (19|20|21).% slower than the others \(median (79|80)", sentence), sentence


def test_what_explains_nothing_has_no_level() -> None:
    answer, joint = told([(drive(number, tags={"rack": f"r{number % 5}"}), 100.0) for number in range(40)], RATE)
    assert all(one.levels == () for one in answer.explained[0].shares)
    assert not [text for text in joint.sentences if text.startswith("The ")]


def test_of_few_drives_the_slowest_is_named_though_nothing_can_be_called_odd() -> None:
    medians = (43_500.0, 34_300.0, 43_500.0, 34_300.0)
    answer, joint = told([(drive(number), median) for number, median in enumerate(medians)], RATE)
    first = joint.sentences[0].replace("\u00a0", " ")
    assert first.startswith("Whether 4 drives are alike cannot be told: d of h")
    assert answer.worst is not None
    assert answer.worst.drive in ("h1/d", "h3/d")
    assert re.search(r", the worst, is 2[012] % slower than the median of the 3 others of its model \(3\d", first), (
        first
    )
    assert "but calling one odd takes at least four that agree, and here only a difference of more than" in first
    assert (answer.alike_count, answer.unknown_count, answer.judged_count) == (0, 4, 4)


def test_drives_that_are_alike_are_counted_as_the_sentence_counts_them() -> None:
    answer, joint = told([(drive(number), 70.0 if number == 7 else 100.0) for number in range(20)], RATE)
    assert joint.sentences[0].startswith("19 of 20 drives are alike")
    plain = answer.to_json()
    assert (plain["alike_count"], plain["judged_count"], plain["same_model_count"]) == (19, 20, 20)
