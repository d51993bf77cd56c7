"""The figures of a single run, in the order of its page."""

from __future__ import annotations

from drivelab.report.answer import thresholds_of
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.figures.commit_scale import commit_scale
from drivelab.report.figures.effects_overview import effects_overview
from drivelab.report.figures.figure import Figure
from drivelab.report.figures.io_scatter import io_scatter
from drivelab.report.figures.latency_cdf import latency_cdf
from drivelab.report.figures.latency_histogram import latency_histogram
from drivelab.report.figures.latency_over_time import latency_over_time
from drivelab.report.figures.latency_overview import latency_overview
from drivelab.report.figures.limit_gauge import limit_gauge
from drivelab.report.figures.offset_map import offset_map
from drivelab.report.figures.part_cdf import part_cdf
from drivelab.report.figures.parts_over_time import parts_over_time
from drivelab.report.figures.throughput_over_time import throughput_over_time
from drivelab.report.figures.waterfall import waterfall
from drivelab.report.headline import measured_words

# the figure that experiments name which ask how the throughput changes
OVER_TIME = "throughput-over-time"
# the most telling one first
OF_TRACES = ("waterfall", "parts-over-time", "part-cdf", "offset-map")


def overview_of_run(content: ReportContent) -> Figure | None:
    """The one picture beside the numbers; None when no trial has any latency."""
    return latency_overview(_parts(content), thresholds_of(content.verdict))


def traced_figures_of_run(content: ReportContent) -> list[Figure]:
    """Where the time goes, of what was traced."""
    made = [make(content.traced) for make in (waterfall, parts_over_time, part_cdf, offset_map)]
    return [figure for figure in made if figure is not None]


def is_of_traces(figure: Figure) -> bool:
    """Whether a figure says where the time goes."""
    return figure.key in OF_TRACES


def figures_of_run(content: ReportContent) -> list[Figure]:
    """All the others that the run has the data for."""
    trials, answer, parts = content.trials, content.answer, _parts(content)
    made = [
        limit_gauge(content.verdict),
        commit_scale(content.verdict, measured_words(content)),
        effects_overview(answer),
        throughput_over_time(trials, answer) if asks_over_time(content) else None,
        latency_histogram(parts),
        latency_cdf(parts),
        latency_over_time(parts),
        io_scatter(trials),
    ]
    return [figure for figure in made if figure is not None]


def _parts(content: ReportContent) -> tuple[TrialContent, ...]:
    """The trials as figures of latencies show them: a mix by each of its operations."""
    return tuple(part for trial in content.trials for part in trial.parts)


def asks_over_time(content: ReportContent) -> bool:
    """Whether the experiment asks how the throughput changes."""
    return OVER_TIME in content.experiment.get("figures", ())


def compares_tenths(content: ReportContent) -> bool:
    """Whether the last tenth beside the first says how: not where a trial rests to see a burst come again."""
    return asks_over_time(content) and not content.answer.buckets
