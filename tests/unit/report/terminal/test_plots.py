"""The small plots of a terminal: never wider than it, in ASCII too, and bars as long as their numbers."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from drivelab.answers.result_set import result_set_of
from drivelab.cli.run_results import print_results
from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import CombinationResult, LevelEffect, RepeatedMetric, RunAnswer
from drivelab.report.content import ReportContent
from drivelab.report.terminal.bars import ROWS_MAX, Bar, BarGroup, bar_plot
from drivelab.report.terminal.curve import ROWS, curve_plot
from drivelab.report.terminal.effects import effects_plot
from drivelab.report.terminal.plots import TextPlots, answer_plots
from drivelab.report.terminal.scale import ASCII, UNICODE, Scale, TextPlot, tick_text
from drivelab.report.terminal.size_series import Panel, SizePoint, SizeSeries
from drivelab.report.terminal.text import render_content, text_console
from drivelab.store.read import StoredRun, open_run
from golden_reports import golden_answer, golden_content

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "runs"
WIDTHS = (40, 60, 80, 100, 200)


def group(*values: float | None, unit: str = "ns", **more: object) -> BarGroup:
    bars = tuple(Bar((f"row {number}",), value) for number, value in enumerate(values))
    return replace(BarGroup("Made up", unit, bars), **more)  # type: ignore[arg-type]


def lines_of(plot: TextPlot | None) -> tuple[str, ...]:
    assert plot is not None
    return plot.lines


def combination(filesystem: str, cache: str, median_ns: float) -> CombinationResult:
    metric = RepeatedMetric(median_ns, 0.9 * median_ns, 1.2 * median_ns, "ns", 3)
    levels = {"filesystem": filesystem, "write-cache": cache}
    name = "total_latency_ns_p50"
    return CombinationResult("sdb", "append", "512 B appended", levels, {}, {name: metric}, name, ("a", "b", "c"), 512)


def effect(level: str, value: float, low: float | None, high: float | None, verdict: str) -> LevelEffect:
    ratio = Estimate(value, low, high, "1", 5, 5.0, "made up")
    metric = "total_latency_ns_p50"
    return LevelEffect("sdb", "w", "mode", level, "base", metric, ratio, (value,), verdict, 0.05, None, None, 1)  # type: ignore[arg-type]


def test_no_line_is_wider_than_the_terminal(stored_run: StoredRun) -> None:
    answer, trials = golden_answer(stored_run.name), golden_content(stored_run.name).trials
    sets = [replace(result_set_of(stored_run, answer), key=f"run-{number}") for number in range(3)]
    for width, plain in product(WIDTHS, (False, True)):
        own = TextPlots(answer, trials, plain=plain).plots(width)
        together = TextPlots(result_sets=sets, plain=plain).plots(width)
        assert together
        for plot in (*own, *together):
            assert max(map(cell_len, plot.lines)) <= width
            assert not any(line != line.rstrip() for line in plot.lines)
            assert not plain or "".join((plot.title, *plot.lines)).isascii()


def test_a_console_prints_them_for_its_width_without_colour(stored_run: StoredRun) -> None:
    answer = golden_answer(stored_run.name)
    file = io.StringIO()
    plots = TextPlots(answer, golden_content(stored_run.name).trials)
    Console(file=file, width=60).print(plots, end="")
    text = file.getvalue()
    assert "\x1b" not in text
    assert max(map(cell_len, text.splitlines()), default=0) <= 60
    assert all(line.rstrip() in text for plot in plots.plots(60) for line in plot.lines)


def test_the_answer_of_a_check_has_its_curve_before_its_findings(check_content: ReportContent) -> None:
    file = io.StringIO()
    text_console(file).print(render_content(check_content))
    text = file.getvalue()
    assert (
        0 < text.index("Durable writes") < text.index("median latency over the size of an I/O") < text.index("Warning:")
    )


def test_the_results_of_a_run_end_with_its_plots(capsys: pytest.CaptureFixture[str]) -> None:
    print_results(open_run(GOLDEN / "settings-scan-drive"))
    text = capsys.readouterr().out
    table, plot = text.index("commands per op"), text.index("● matters   × not judged   ○ no effect of 5 % or more")
    assert table < plot < text.index("the reference drifted:")


def test_a_bar_is_as_long_as_its_number() -> None:
    rows = lines_of(bar_plot(group(1e6, 2e6, 4e6), 80))[:3]
    lengths = [row.count(UNICODE.full) for row in rows]
    assert lengths[2] == pytest.approx(4 * lengths[0], abs=4)
    assert lengths[2] == pytest.approx(2 * lengths[1], abs=2)
    assert [row.split("  ")[-1].strip() for row in rows] == ["1 ms", "2 ms", "4 ms"]


def test_an_interval_shows_as_shades_and_only_where_it_is_seen() -> None:
    bars = (Bar(("wide",), 100.0, 50.0, 200.0), Bar(("narrow",), 100.0, 99.9, 100.1))
    wide, narrow, *_, note = lines_of(bar_plot(BarGroup("T", "ns", bars, span="95 % interval"), 100))
    assert wide.count("█") == pytest.approx(wide.count("▓"), abs=1)
    assert wide.count("░") == pytest.approx(2 * wide.count("▓"), abs=2)
    assert not set("▓░") & set(narrow)
    assert note.endswith("░ to the high end of the 95 % interval")
    without = lines_of(bar_plot(BarGroup("T", "ns", bars[1:] * 2, span="95 % interval"), 100))
    assert "interval" not in "".join(without)


def test_numbers_far_apart_are_points_on_a_logarithmic_axis() -> None:
    plot = bar_plot(group(1e3, 1e5, 1e7), 80)
    assert plot is not None
    assert plot.title.endswith(", log axis")
    places = [row.index("●") for row in plot.lines[:3]]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=1)


def test_a_lower_bound_is_no_number() -> None:
    bars = (Bar(("bound",), None, 5e6), Bar(("number",), 5e6), Bar(("nothing",), None))
    plot = lines_of(bar_plot(BarGroup("T", "ns", bars), 80))
    assert ">  ≥" in plot[0]
    assert plot[0].endswith("≥ 5 ms")
    assert ">" not in plot[1]
    assert not any("nothing" in line for line in plot)
    assert lines_of(bar_plot(BarGroup("T", "ns", bars), 80, plain=True))[0].endswith(">= 5 ms")


def test_a_single_row_is_no_plot() -> None:
    assert bar_plot(group(1.0), 80) is None
    assert bar_plot(group(1.0, None), 80) is None


def test_more_rows_than_anybody_reads_are_counted() -> None:
    plot = lines_of(bar_plot(group(*range(1, ROWS_MAX + 9)), 80))
    assert plot[-1] == f"the first {ROWS_MAX} of {ROWS_MAX + 8}"


def test_trials_that_do_not_describe_the_drive_are_marked() -> None:
    plot = lines_of(bar_plot(group(1.0, 2.0, bars=(Bar(("a",), 1.0, mark="!"), Bar(("b",), 2.0))), 80))
    assert plot[0].endswith("1 ns !")
    assert plot[-1] == "! some of its trials do not describe the drive"


def test_labels_repeat_only_where_they_change() -> None:
    answer = RunAnswer(
        tuple(
            combination(filesystem, cache, median_ns)
            for filesystem, cache, median_ns in (
                ("ext4", "on", 9e5),
                ("ext4", "off", 3e5),
                ("xfs", "on", 8e5),
                ("xfs", "off", 2e5),
            )
        )
    )
    (plot,) = answer_plots(answer, 80)
    assert plot.title == "512 B appended on sdb: median latency"
    heads, *rows = plot.lines[:5]
    assert heads.split() == ["filesystem", "write-cache"]
    assert [row.split("█")[0].split() for row in rows] == [["ext4", "on"], ["off"], ["xfs", "on"], ["off"]]
    assert "range of 3 repeats" in plot.lines[-1]


@pytest.mark.parametrize("label", ["\x1b[31mred", "宽" * 60, "a\nb", "x" * 500])
def test_labels_from_outside_neither_colour_nor_widen(label: str) -> None:
    bars = (Bar((label, "one"), 1.0), Bar((label, "two"), 2.0))
    plot = lines_of(bar_plot(BarGroup(label, "ns", bars, ("what", "which")), 60))
    assert max(map(cell_len, plot)) <= 60
    assert "\x1b" not in "".join(plot)
    assert "one" in plot[1]
    assert "two" in plot[2]


def test_an_effect_stands_left_or_right_of_no_change() -> None:
    effects = [
        effect("faster", 0.5, 0.4, 0.6, "matters"),
        effect("same", 1.0, 0.99, 1.01, "no effect"),
        effect("slower", 2.0, None, None, "not settled"),
    ]
    faster, same, slower, *rest = lines_of(effects_plot(effects, RunAnswer(effects=tuple(effects)), 80))
    middle = faster.index("│")
    assert faster.index("├") < faster.index("●") < faster.index("┤") < middle
    assert same.index("○") == middle
    assert slower.index("◇") - middle == pytest.approx(middle - faster.index("●"), abs=1)
    assert "● matters   ○ no effect of 5 % or more   ◇ not settled" in rest[2]
    assert faster.endswith("0.500")
    plain = effects_plot(effects, RunAnswer(), 80, plain=True)
    assert [mark for mark, line in zip("*o?", lines_of(plain), strict=False) if mark not in line] == []


def test_effects_without_a_ratio_are_no_plot() -> None:
    nothing = replace(effect("x", 1.0, None, None, "not settled"), ratio=Estimate(None, None, None, "1", 0, 0.0, ""))
    assert effects_plot([nothing], RunAnswer(), 80) is None


def test_a_curve_rises_where_latency_does() -> None:
    rising = [SizePoint(size, 1e5 * size / 512, None, None) for size in (512, 1024, 4096, 16384)]
    flat = [SizePoint(size, 3e5, 2e5, 4e5) for size in (512, 16384)]
    panel = Panel((SizeSeries("a", rising), SizeSeries("b", flat)), "", "Two")
    plot = curve_plot(panel, 80, span="95 % interval")
    assert plot is not None
    assert plot.title == "Two: median latency over the size of an I/O, both axes log"
    rows = plot.lines[:ROWS]
    marks = [(row, line.index("●")) for row, line in enumerate(rows) if "●" in line]
    assert [row for row, _ in marks] == sorted(row for row, _ in marks)
    assert [column for _, column in marks] == sorted((column for _, column in marks), reverse=True)
    assert len({row for row, line in enumerate(rows) if "○" in line}) == 1
    assert "● a   ○ b   │ 95 % interval" in plot.lines[-1]
    assert plot.lines[ROWS + 1].split() == ["512", "B", "1", "KiB", "4", "KiB", "16", "KiB"]
    assert curve_plot(replace(panel, series=(SizeSeries("a", rising[:1]),)), 80) is None


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (Scale(0, 1000, 60), [0, 200, 400, 600, 800, 1000]),
        (Scale(0, 0.7, 24), [0, 0.5]),
        (Scale(1e3, 1e6, 60, "log"), [1e3, 1e4, 1e5, 1e6]),
        (Scale(0.25, 4, 60, "log"), [0.5, 1, 2]),
    ],
)
def test_ticks_are_round_and_within_the_axis(scale: Scale, expected: list[float]) -> None:
    found = scale.ticks()
    assert all(scale.low <= tick <= scale.high * 1.0001 for tick in found)
    assert len(found) <= scale.cells // 7
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "ns", "0"),
        (5e5, "ns", "500\u00a0µs"),
        (1.5e8, "B/s", "150 MB/s"),
        (1e9, "B/s", "1 GB/s"),
        (100000, "1/s", "100000"),
        (0.5, "1", "0.5"),
    ],
)
def test_ticks_in_words(value: float, unit: str, text: str) -> None:
    assert tick_text(value, unit) == text


def test_ascii_has_a_character_for_each_thing() -> None:
    assert "".join(str(getattr(ASCII, name)) for name in ASCII.__slots__).isascii()
    assert len(ASCII.marks) == len(UNICODE.marks)
    assert len({*ASCII.marks, ASCII.several}) == 5


def test_what_is_only_below_a_number_is_an_upper_bound() -> None:
    bars = (Bar(("usb",), None, 0.0, 1e6), Bar(("some",), 2e6), Bar(("slow",), None, 3e6))
    lines = "\n".join(lines_of(bar_plot(BarGroup("Made up", "ns", bars), 80)))
    assert "≤ 1 ms" in lines
    assert "≥ 3 ms" in lines


def test_names_that_begin_alike_are_cut_so_that_they_stay_apart() -> None:
    def labels(*names: str) -> list[str]:
        plot = bar_plot(BarGroup("latency", "ns", tuple(Bar((name,), 1e6) for name in names)), 80)
        assert plot is not None
        return [line.partition("  ")[0] for line in plot.lines[: len(names)]]

    long = "Intel 530 attached over a USB-to-SATA adapter of no name on"
    first, second = labels(f"{long} rc66", f"{long} flygecko")
    assert first.startswith("Intel 530 attached")
    assert (first[-4:], second[-8:]) == ("rc66", "flygecko")
    # the number of a model goes first where the name is enough
    named = labels("Intel 520 (SSDSC2CW120A3) on the machine rcmonster", "Intel 530 (SSDSC2BW120A4) on rc66")
    assert named == ["Intel 520 on the machine rcmonster", "Intel 530 on rc66"]
