"""The one picture of a report: the same in every format, and of a check its limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from traced_run import traced_run

from drivelab.joint_report import joint_report
from drivelab.model.estimate import Estimate
from drivelab.report.figures.limit_gauge import gauges_of, limit_gauge
from drivelab.report.in_short import hero_of
from drivelab.report.joint_page import joint_page_of
from drivelab.store.read import open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"
HEROES = {
    "check-directory": "limit-gauge",
    "explained-appends": "bar-groups",
    "ssd-latency-scratch": "bar-groups",
    "queue-depth-grid": "queue-depth",
}


@pytest.mark.parametrize("name", HEROES)
def test_the_picture_of_a_run_is_the_same_on_its_page_and_elsewhere(name: str) -> None:
    joint = joint_report([open_run(RUNS / name)])
    hero, page = hero_of(joint), joint_page_of(joint)
    assert hero is not None
    assert page.hero is not None
    assert (page.hero.figure.key, page.hero.number, hero.key) == (HEROES[name], "1", HEROES[name])


def test_the_picture_of_a_run_that_was_made_to_be_explained_is_where_its_time_goes(tmp_path: Path) -> None:
    joint = joint_report([traced_run(tmp_path / "run", workloads=("log-append",), levels=("on",), repeats=1)])
    hero, page = hero_of(joint), joint_page_of(joint)
    assert hero is not None
    assert page.alone is not None
    assert page.alone.traced is not None
    # it leads the part that comes first
    assert page.hero is None
    assert [one.figure.key for one in page.alone.traced.figures][:1] == [hero.key] == ["waterfall"]


def verdict(unit: str, direction: str, limit: float, ends: Sequence[float | None], **more: Any) -> dict[str, Any]:
    value, low, high = ends
    text = "{value} log writes a second" if unit == "1/s" else "log writes were durable within {value}"
    threshold = {"unit": unit, "direction": direction, "limit": limit, "text": text, "force": "required"} | more
    estimate = Estimate(value, low, high, "1/s" if unit == "1/s" else "ns", 9, 9.0, "").to_json()
    return {"title": "<etcd>", "checks": [{"threshold": threshold, "estimate": estimate, "outcome": "pass"}]}


def test_the_allowed_side_of_a_limit_is_below_what_is_asked_at_most_and_above_what_is_asked_at_least() -> None:
    for unit, direction, tints in (("ns", "at_most", ("pass", "fail")), ("1/s", "at_least", ("fail", "pass"))):
        figure = limit_gauge(verdict(unit, direction, 1e7, (2e6, 1e6, 3e6)))
        assert figure is not None
        below, above, line = figure.plots[0].layout["shapes"]
        assert (below["fillcolor"], above["fillcolor"]) == tuple(f"var(--{tint}-tint)" for tint in tints)
        assert below["x1"] == above["x0"] == line["x0"] == 1e7
        (marks,) = figure.plots[0].data
        assert (marks["x"], marks["error_x"]["array"], marks["error_x"]["arrayminus"]) == ([2e6], [1e6], [1e6])


def test_a_gauge_says_who_asks_for_what_and_what_was_measured() -> None:
    figure = limit_gauge(verdict("1/s", "at_least", 500, (480, 400, 600), force="recommended"))
    assert figure is not None
    texts = [note["text"].replace("\u00a0", " ") for note in figure.plots[0].layout["annotations"]]
    assert texts == ["&lt;etcd&gt; recommends: 500 log writes a second", "≥ 500 a second", "<b>480 a second</b>"]
    # away from each other: the limit is above what was measured
    assert [note["xanchor"] for note in figure.plots[0].layout["annotations"][1:]] == ["left", "right"]


def test_a_bar_without_an_end_reaches_the_edge_a_bound_is_an_arrow_and_nothing_measured_is_no_gauge() -> None:
    for ends, symbol, place in (((4e6, 2e6, None), "circle", 4e6), ((None, 2e6, None), "arrow-right-open", 2e6)):
        figure = limit_gauge(verdict("ns", "at_most", 1e7, ends))
        assert figure is not None
        (plot,) = figure.plots
        (marks,) = plot.data
        assert (marks["marker"]["symbol"], marks["x"]) == ([symbol], [place])
        assert marks["error_x"]["array"][0] + place == pytest.approx(10 ** plot.layout["xaxis"]["range"][1], rel=1e-5)
        assert "reaches the edge" in figure.caption
    whole = limit_gauge(verdict("ns", "at_most", 1e7, (2e6, 1e6, 3e6)))
    assert whole is not None
    assert "edge" not in whole.caption
    assert limit_gauge(verdict("ns", "at_most", 1e7, (None, None, None))) is None
    assert limit_gauge(None) is None


def test_limits_of_two_units_are_two_drawings() -> None:
    checks = [
        *verdict("ns", "at_most", 1e7, (2e6, 1e6, 3e6))["checks"],
        *verdict("1/s", "at_least", 500, (480, 400, 600))["checks"],
    ]
    figure = limit_gauge({"verdicts": [{"title": "etcd", "checks": checks}]})
    assert figure is not None
    assert [plot.name for plot in figure.plots] == ["Latency", "Rate"]


def test_a_limit_is_drawn_with_what_it_is_judged_by() -> None:
    one = verdict("1/s", "at_least", 600, (729, 661, 743))
    (first,) = gauges_of(one)
    one["checks"][0] |= {"lasting_per_s": 300.0, "outcome": "fail"}
    (lasting,) = gauges_of(one)
    assert (first.value, first.low) == (729, 661)
    assert (lasting.value, lasting.low, lasting.high) == (300.0, None, None)
    assert lasting.text.startswith("300")
