"""Needs without a limit are held against published drives, in the figure, the card and the short form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.analyse.forecast import commit_rate
from drivelab.model.commit_scale import MARKS
from drivelab.model.estimate import Estimate
from drivelab.model.programs import PROGRAMS
from drivelab.report.card.content import card_of
from drivelab.report.card.rows import rows_of_commits
from drivelab.report.figures.commit_scale import commit_scales
from drivelab.report.in_short import hero_of
from drivelab.report.joint_page import joint_page_of
from drivelab.report.markdown.report import write_markdown_report
from drivelab.store.read import StoredRun, open_run
from golden_reports import golden_joint

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "runs"


def golden(name: str) -> StoredRun:
    return open_run(GOLDEN / name)


def committing(names: tuple[str, ...], checks: tuple[object, ...] = ()) -> dict[str, object]:
    """The verdict on needs without a limit, at 2.7 ms a log write: as on a Crucial M4."""
    needs = []
    for name in names:
        latency = Estimate(2.7e6, 2.4e6, 3.0e6, "ns", 900, 900.0, "")
        rate = commit_rate(PROGRAMS[name], latency)
        told = {"commits_per_s": rate.to_json(), "own_time_ns": PROGRAMS[name].own.one_ns}
        needs.append({"need": name, "title": PROGRAMS[name].title, "checks": checks, "forecast": told})
    return {"outcome": "no_limit", "sentence": "It would commit 6 050 times a second.", "verdicts": needs}


def test_a_need_without_a_limit_is_held_against_published_drives(tmp_path: Path) -> None:
    joint = golden_joint("check-directory")
    joint = replace(joint, runs=(replace(joint.runs[0], verdict=committing(("postgres",))),))
    hero, page, card = hero_of(joint), joint_page_of(joint), card_of(joint)
    assert hero is not None
    assert page.hero is not None
    assert (page.hero.figure.key, page.hero.number, hero.key) == ("commit-scale", "1", "commit-scale")
    assert card.rows is not None
    assert [(row.name, row.is_published) for row in card.rows.rows] == [
        ("Hard disk of 7200 rpm", True),
        ("Intel 530", True),
        ("Crucial M4", True),
        ("SAMSUNG MZQL2480HCHQ 480 GB", False),
        ("SanDisk X100", True),
        ("Intel 320 with capacitors", True),
    ]
    assert card.rows.title == "PostgreSQL: commits a second by one client, beside published drives under ext4"
    here = card.rows.rows[3]
    assert here.low is not None
    assert here.high is not None
    assert here.low < 1e9 / (2.7e6 + PROGRAMS["postgres"].own.one_ns) < here.high
    assert (
        f"| Measured here | {here.text} ({here.span}) |"
        in write_markdown_report(joint, tmp_path / "a.md", None, is_brief=True).read_text()
    )
    (plot,) = hero.plots
    assert plot.data[0]["error_x"]["array"][3] == pytest.approx(here.high - (here.value or 0), rel=1e-4)


def test_published_drives_are_placed_with_the_own_time_of_the_computer_that_was_measured() -> None:
    """On a slow computer a drive like a published one stands beside it, and not behind it."""
    program = PROGRAMS["postgres"].with_own_time(300e3)
    for mark in MARKS:
        rate = commit_rate(program, Estimate(mark.latency_ns, None, None, "ns", 900, 900.0, ""))
        told = {"commits_per_s": rate.to_json(), "own_time_ns": 300e3}
        verdict = {"verdicts": [{"need": "postgres", "title": "PostgreSQL", "checks": (), "forecast": told}]}
        (scale,) = commit_scales(verdict, "here")
        assert sum(place.rate == pytest.approx(rate.value) for place in scale.places) == 2


def test_a_simulated_drive_is_on_the_scale_by_its_name() -> None:
    joint = golden_joint("check-directory")
    target = {"label": "sim:gp2-100", "facts_before": {"simulated": {"title": "A model"}}}
    run = joint.runs[0]
    run = replace(run, verdict=committing(("postgres",)), facts={**run.facts, "targets": [target]})
    hero = hero_of(replace(joint, runs=(run,)))
    assert hero is not None
    assert "sim:gp2-100" in [row[1] for row in hero.table.rows]
    assert "Measured here" not in f"{hero}"
    assert "here" not in hero.caption


def test_two_needs_without_a_limit_are_a_bar_each_and_a_need_with_one_is_none() -> None:
    joint = golden_joint("check-directory")
    two = replace(joint.runs[0], verdict=committing(("postgres", "mariadb")))
    rows = rows_of_commits(two, "sda")
    assert rows is not None
    assert [row.name for row in rows.rows] == [PROGRAMS[name].title for name in ("postgres", "mariadb")]
    assert rows_of_commits(replace(two, verdict=committing(("postgres",), checks=({},))), "sda") is None
