"""``drivelab history``: what checks said of programs."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

from kept_checks import TARGET, Kept

from drivelab.analyse.fitness import judge_fitness
from drivelab.analyse.verdict import judge_need
from drivelab.answers.history import history_of
from drivelab.cli.history import history_lines
from drivelab.model.estimate import Estimate
from drivelab.model.trial_summary import TrialSummary
from drivelab.needs.load import load_need
from drivelab.report.history_joint import joint_of_history, outcome
from drivelab.report.outcome_words import short_verdict


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_the_rate_that_a_check_was_asked_for_stands_in_its_row_and_in_the_first_sentence(kept: Kept) -> None:
    mean = Estimate(2e6, 1.9e6, 2.1e6, "ns", 1000, 900.0, "")
    writes = TrialSummary("sync-write-postgres", "", "durable_write", {"total_latency_ns_mean": mean})
    for wanted in (600, 250):
        kept.check()
        verdict = judge_need(load_need("postgres"), [writes], [], at_least_per_s=wanted)
        kept.last_with(verdict=verdict.to_json())
    history = history_of(kept.runs(), TARGET)
    assert [row.wanted_per_s for row in history.rows] == [600, 250]
    assert [outcome(row) for row in history.rows] == ["no postgres at 600/s", "yes postgres at 250/s"]
    told = history_lines(history, plain=False)
    assert told[1].startswith("The newest check (2026-02-02 12:00) says yes to PostgreSQL at 250/s: ")
    assert short_verdict(kept.runs()[-1].record.verdict).endswith("/s, wanted 250/s")


def test_the_number_that_was_judged_stands_with_its_row(kept: Kept) -> None:
    for p99 in (46.8e6, 1.25e6):
        kept.check()
        found = Estimate(p99, p99 - 1, p99 + 1, "ns", 9000, 9000.0, "")
        trials = [
            TrialSummary("sync-write-2300", "", "durable_write", {"total_latency_ns_p99": found}),
            TrialSummary("sync-write-16384", "", "durable_write", {"iops": Estimate(900, 890, 910, "1/s", 9, 9.0, "")}),
        ]
        kept.last_with(verdict=judge_need(load_need("etcd"), trials, []).to_json())
    history = history_of(kept.runs(), TARGET)
    judged = "99 % of 2300-byte log writes were durable within 46.8 ms; limit 10 ms"
    assert [row.to_json()["judged"] for row in history.rows] == [judged, ""]
    lines = history_lines(history, plain=False)
    (place,) = (number for number, line in enumerate(lines) if line == f"  {judged}")
    assert "no etcd" in lines[place - 1]
    (table,) = (one for one in joint_of_history(history).tables if one.key == "history")
    assert "judged by" in [column.name for column in table.columns]
    assert judged in [cell.text for cell in table.rows[0]]


def test_a_check_for_several_programs_tells_how_many_ended_how(kept: Kept) -> None:
    kept.check()
    slow = Estimate(20e6, 18e6, 22e6, "ns", 9000, 9000.0, "")
    log = TrialSummary("sync-write-2300", "", "durable_write", {"total_latency_ns_p99": slow})
    kept.last_with(verdict=judge_fitness([load_need("etcd"), load_need("consul")], [log], []).to_json())
    (row,) = history_of(kept.runs(), TARGET).rows
    assert outcome(row) == "1 no, 1 ?"
    assert row.to_json()["outcomes"] == {"fail": 1, "undecided": 1}


def test_a_check_of_another_directory_on_the_drive_is_told_with_its_place(kept: Kept) -> None:
    for label in (TARGET, "/srv/other"):
        kept.check(label=label)
    history = history_of(kept.runs(), TARGET)
    told = " ".join(history_lines(history, plain=False))
    assert "The newest check (2026-02-02 12:00, of /srv/other): Yes, this carries etcd" in told
    assert "Runs at /srv/other are of the same drive" in told
    assert "of /srv/other" not in " ".join(history_lines(history_of(kept.runs(), "/srv/other"), plain=False))[:80]
    # on a screen there are those of the place that was asked for
    screen = " ".join(history_lines(history, plain=False, lines_max=25))
    assert "1 elsewhere on the same drive: --all" in screen
    assert "2026-02-02" not in screen.partition("flushes")[2]
    # and no row says that the place was another one before, which no row has
    kept.check(label=TARGET)
    between = " ".join(history_lines(history_of(kept.runs(), TARGET), plain=False, lines_max=25))
    assert "↑ target" not in between
    assert "↑ target" in " ".join(history_lines(history_of(kept.runs(), TARGET), plain=False))
    # a third place on the drive has no check of its own, and is not said to have
    third = " ".join(history_lines(replace(history, target="/srv/third"), plain=False))
    assert third.startswith(f"No check of /srv/third itself is kept, but of its drive, at /srv/other, {TARGET}.")
    assert not history.is_of_other_places
