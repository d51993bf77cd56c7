"""``drivelab fleet odd``: what is slow now comes first, what has recovered is told as such, with its end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "analyse"))

from simulated_fleet import MONDAY_S, Fleet, Slowdown

from drivelab.analyse.fleet import judge_fleet
from drivelab.model.fleet import FleetAnswer
from drivelab.report.sentences.fleet_odd import answer_sentence
from drivelab.report.terminal.fleet import fleet_lines

# a date of a minute a sample, from 13:00 on
DATE = Fleet(hosts=6, drives=8, dates=1, hours=24.0, step_s=60, wander=0.03)


def answer_of(*slowdowns: Slowdown, fleet: Fleet = DATE) -> FleetAnswer:
    """What is said of a fleet in which these were put."""
    made = {name: getattr(fleet, name) for name in ("hosts", "drives", "dates", "hours", "step_s", "wander")}
    return judge_fleet(Fleet(**made, slowdowns=slowdowns).made(1))


def between(host: str, drive: str, ratio: float, begin_h: float, end_h: float = 24.0) -> Slowdown:
    """Slow for hours of the 24."""
    return Slowdown(host, drive, ratio, begin_h / 24, end_h / 24)


def test_a_drive_that_recovered_was_slow_and_has_an_end() -> None:
    answer = answer_of(between("h3", "disk2", 2.0, 5, 8))
    (one,) = answer.drives
    assert (one.is_still_slow, one.has_recovered, one.last_s) == (False, True, MONDAY_S + 37 * 3600 - 60)
    assert abs(one.spans[-1].until_s - (MONDAY_S + 21 * 3600)) <= 180
    sentence = answer_sentence(answer)
    assert sentence.startswith("1 of 48 drives was slow: disk2 of h3 took ")
    assert "what the other drives of its host took for the same load, from 2023-11-20 18:0" in sentence
    assert sentence.endswith(", not since.")
    (row,) = (line for line in fleet_lines(answer, {}, plain=True) if line.startswith("disk2"))
    assert row.split()[2:4] == ["2023-11-20", sentence.split("-11-20 ")[1][:5]]
    assert row.split()[4][:2] in ("20", "21")


def test_a_host_that_recovered_was_slow() -> None:
    answer = answer_of(between("h3", "", 2.0, 5, 8))
    assert answer.hosts[0].has_recovered
    sentence = answer_sentence(answer)
    assert sentence.startswith("Host h3 as a whole was slow: ")
    assert "it should have taken beside the other hosts, from 2023-11-20 18:0" in sentence
    assert sentence.endswith(", not since.")


def test_what_is_slow_at_the_end_comes_first_and_says_is() -> None:
    worse = [between("h3", "disk2", 4.0, 5, 8), between("h5", "disk1", 3.0, 3, 7)]
    answer = answer_of(*worse, between("h2", "disk6", 1.6, 20))
    assert [one.host for one in answer.drives] == ["h2", "h5", "h3"]
    first, second = answer_sentence(answer).split(". ")
    assert first.startswith("1 of 48 drives is slow: disk6 of h2 takes 1.")
    assert abs(answer.drives[0].spans[0].since_s - (MONDAY_S + 33 * 3600)) <= 900
    assert second.startswith("2 more were slow, the worst: disk1 of h5 took ")
    rows = [line.split() for line in fleet_lines(answer, {}, plain=True) if line.startswith("disk")]
    assert [row[4] == "still" for row in rows] == [True, False, False]


def test_a_host_that_is_slow_comes_before_drives_that_have_recovered() -> None:
    answer = answer_of(between("h3", "disk2", 4.0, 2, 5), between("h5", "", 2.0, 18))
    first, second = answer_sentence(answer).split(". ")
    assert first.startswith("Host h5 as a whole is slow: ")
    assert second.startswith("1 of 48 drives was slow: disk2 of h3 took ")


def test_a_drive_that_flaps_is_told_how_often_and_how_long() -> None:
    flaps = [between("h2", "disk4", 2.2, begin_h, begin_h + 0.5) for begin_h in range(0, 24, 3)]
    answer = answer_of(*flaps)
    (one,) = answer.drives
    assert (len(one.spans), one.is_recurring, one.has_recovered) == (8, True, False)
    sentence = answer_sentence(answer)
    assert sentence.startswith("1 of 48 drives is slow: disk4 of h2 takes 2.")
    assert " 8 times for 2" in sentence
    assert " min, " in sentence
    assert "first sample" not in sentence
    assert "from 2023-11-20 13:00 to 2023-11-21 10:" in sentence


@pytest.mark.parametrize("pauses", [1, 3])
def test_what_stopped_flapping_long_ago_has_recovered(pauses: int) -> None:
    flaps = [between("h2", "disk4", 2.2, begin_h, begin_h + 0.5) for begin_h in (1, 5, 9)]
    fleet = Fleet(hosts=6, drives=8, dates=1, hours=9.5 + 4 * pauses, step_s=60, wander=0.03)
    whole_h = 9.5 + 4 * pauses
    scaled = [
        Slowdown(one.host, one.drive, one.ratio, one.begin_share * 24 / whole_h, one.end_share * 24 / whole_h)
        for one in flaps
    ]
    (one,) = answer_of(*scaled, fleet=fleet).drives
    assert (len(one.spans), one.has_recovered) == (3, pauses == 3)


def test_a_drive_that_is_slow_again_says_since_when() -> None:
    answer = answer_of(between("h2", "disk4", 2.2, 2, 4), between("h2", "disk4", 2.2, 20))
    sentence = answer_sentence(answer)
    assert "since 2023-11-21 09:0" in sentence
    assert " and before: 2 times for " in sentence
    assert ", first at 2023-11-20 15:0" in sentence
