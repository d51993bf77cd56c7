"""What became of whole distributions: how it is drawn and told, and what the sides are called."""

from __future__ import annotations

import pytest

from drivelab.model.comparison import DistributionShift, QuantileShift
from drivelab.report.figures.comparison_ratios import comparison_ratios
from drivelab.report.figures.quantile_shift import DRAWN_AT_MOST, quantile_shift_figure
from drivelab.report.markdown.comparison import comparison_markdown
from drivelab.report.tables.comparison import comparison_table
from made_comparisons import comparison, row

HOSTILE = "</script><script>alert(1)</script> | `x` \x1b[31m\n# y"


def distribution(runs: int = 3, **changes: object) -> DistributionShift:
    """Twice as slow in the tail."""
    points = tuple(
        QuantileShift(at, 1e5, 1e5 * ratio, ratio, *((0.9 * ratio, 1.1 * ratio) if runs > 2 else (None, None)))
        for at, ratio in ((0.01, 1.0), (0.5, 1.0), (0.9, 1.1), (0.99, 2.0))
    )
    given: dict[str, object] = {"workload": "log", "label": "appends", "target": "sdb", "levels": {"filesystem": "xfs"}}
    given |= {"operation": "write", "points": points, "runs": (runs, runs)}
    return DistributionShift(**(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("runs", [1, 3])
def test_the_ratio_at_every_height_is_drawn_with_its_band_and_both_distributions(runs: int) -> None:
    figure = quantile_shift_figure(comparison(row(), distributions=(distribution(runs),)))
    assert figure is not None
    ratios, both = figure.plots
    assert ratios.name == "appends, xfs, write: tuesday over monday"
    assert [trace["name"] for trace in both.data] == ["monday", "tuesday"]
    assert ratios.data[-1]["y"] == [1.0, 1.0, 1.1, 2.0]
    assert len(ratios.data) == (3 if runs > 2 else 1)
    assert len(figure.table.rows) == 4
    assert {len(one) for one in figure.table.rows} == {len(figure.table.columns)}
    assert quantile_shift_figure(comparison(row())) is None


def test_only_some_distributions_are_drawn_and_all_are_in_the_data() -> None:
    figure = quantile_shift_figure(comparison(row(), distributions=(distribution(),) * (DRAWN_AT_MOST + 3)))
    assert figure is not None
    assert len(figure.plots) == 2 * DRAWN_AT_MOST
    assert len(figure.table.rows) == 4 * (DRAWN_AT_MOST + 3)
    assert "The first 6 of 9 distributions are drawn" in figure.caption


def test_markdown_folds_the_ratio_at_some_heights() -> None:
    text = comparison_markdown(comparison(row(), distributions=(distribution(label=HOSTILE),)))
    folded = text.split("<details><summary>NEW over BASE", 1)[1]
    assert "| combination | p10 | p50 | p90 | p99 | p99.9 | p99.99 |" in folded
    assert "2.00 (1.80 to 2.20) | - | - |" in folded
    assert "<script>" not in text.replace("\\<script", "")


def test_table_and_figures_of_a_page_call_the_sides_by_their_names() -> None:
    shown = comparison(row(target_base="Alpha", target_new="Beta"), distributions=(distribution(),))
    table = comparison_table(shown)
    assert table.title == "Beta against Alpha"
    assert [column.name for column in table.columns][3:6] == ["Alpha", "Beta", "ratio"]
    assert "Ratio is Beta over Alpha" in table.caption
    ratios, shift = comparison_ratios(shown), quantile_shift_figure(shown)
    assert ratios is not None
    assert shift is not None
    above, both = shift.plots
    assert above.name.endswith(": Beta over Alpha")
    assert [trace["name"] for trace in both.data] == ["Alpha", "Beta"]
    drawn = f"{shift.caption} {[*above.data, above.layout, *both.data, *ratios.plots[0].data]}"
    assert "BASE" not in drawn
    assert "NEW" not in drawn
