"""The small histograms in the table: one axis for all, the same in words."""

from __future__ import annotations

import re
from collections.abc import Callable

from drivelab.model.histogram import Histogram
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.sparkline import WIDTH, SparklineAxis


def test_shapes_stay_within_their_box(check_content: ReportContent) -> None:
    axis = SparklineAxis(check_content.trials)
    for trial in check_content.trials:
        line = axis.draw(trial)
        positions = [float(x) for x in re.findall(r"H([0-9.]+)", line.outline)] + [x for _, x in line.marks]
        assert all(0 <= x <= WIDTH for x in positions)
        assert line.marks[-1][0] == "max"


def test_a_slower_trial_lies_further_right(
    trial: Callable[..., TrialContent], histogram: Callable[..., Histogram]
) -> None:
    fast, slow = (trial(histograms={("read", "total"): histogram(value)}) for value in (1000, 900_000))
    axis = SparklineAxis([fast, slow])
    assert axis.draw(fast).marks[0][1] < axis.draw(slow).marks[0][1]


def test_words_say_what_the_shape_shows(trial: Callable[..., TrialContent]) -> None:
    words = SparklineAxis([trial()]).draw(trial()).words
    assert words == "median 100\u00a0µs, p99 120\u00a0µs, max 120\u00a0µs"


def test_nothing_completed_is_said_and_not_drawn(
    trial: Callable[..., TrialContent], histogram: Callable[..., Histogram]
) -> None:
    empty = trial(histograms={("read", "total"): histogram()})
    line = SparklineAxis([empty]).draw(empty)
    assert (line.outline, line.marks, line.words) == ("", (), "nothing completed")
