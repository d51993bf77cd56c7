"""Figures as files: all of every golden run, in the page's light colours, the same bytes every time."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.reference.load import load_reference, reference_names
from drivelab.report.content import ReportContent
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.joint import Joint
from drivelab.report.joint_of import joint_of
from drivelab.report.named_figures import NamedFigure, named_figures
from drivelab.report.static_figure import PNG_SCALE, WIDTH_PX, FigureFile, page_colours, plot_svg, write_figures
from drivelab.report.svg.drawing import draw
from drivelab.store.read import StoredRun
from golden_reports import golden_content

HOSTILE = "</text><script>alert(1)</script><a href='http://x'>\x1b[31m&amp; \ud800\x00"
ELEMENTS = {
    "svg",
    "title",
    "defs",
    "linearGradient",
    "stop",
    "pattern",
    "clipPath",
    "g",
    "path",
    "rect",
    "text",
    "tspan",
}
SIMPLE = Figure(
    "simple",
    "Simple",
    "",
    tuple(
        Plot([{"x": [1, 2], "y": [3, 1], "line": {"color": "var(--series-1)"}}], {"xaxis": {"title": {"text": t}}}, 200)
        for t in ("first [s]", "second [s]")
    ),
    DataTable((), ()),
)


def axis_titles(plot: Plot) -> Iterator[str]:
    """What stands at the axes of a drawing."""
    for key, value in plot.layout.items():
        if re.match("[xy]axis", key) and value.get("title", {}).get("text"):
            yield " ".join(value["title"]["text"].split())


def words_of(svg: str) -> str:
    """All text of a picture."""
    return " ".join(" ".join(ElementTree.fromstring(svg).itertext()).split())


def assert_harmless(svg: str) -> None:
    """A picture is well-formed, and holds no script, no address and no element but those that draw."""
    for element in ElementTree.fromstring(svg).iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in ELEMENTS
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert "href" not in name
            assert "url(" not in value or re.fullmatch(r"url\(#part\d+\)", value)
    assert "var(--" not in svg


def joint_of_one(content: ReportContent) -> Joint:
    return Joint(content.title, content.question, runs=(content,))


def test_every_figure_of_a_run_is_drawn_with_its_axes_and_all_its_marks(stored_run: StoredRun, tmp_path: Path) -> None:
    named = named_figures(joint_of_one(golden_content(stored_run.name)))
    written = write_figures([(one.name, one.figure) for one in named], tmp_path / "figures")
    assert len(written) == sum(len(one.figure.plots) for one in named) > 0
    for one in written:
        svg = one.path.read_text(encoding="utf-8")
        words = words_of(svg)
        assert [title for title in axis_titles(one.plot) if title not in words] == [], one.path.name
        assert f'width="{WIDTH_PX}"' in svg[:400]
        assert_harmless(svg)


def test_every_published_figure_is_drawn_with_its_axes() -> None:
    for one in named_figures(joint_of([], [load_reference(name) for name in reference_names()])):
        for plot in one.figure.plots:
            svg = plot_svg(plot, one.figure.title)
            assert [title for title in axis_titles(plot) if title not in words_of(svg)] == [], one.name
            assert_harmless(svg)


def test_what_is_told_of_each_point_is_what_the_figure_says(stored_run: StoredRun) -> None:
    for one in named_figures(joint_of_one(golden_content(stored_run.name))):
        for plot in one.figure.plots:
            told = draw(plot, WIDTH_PX).told
            count = sum(len(points["text"]) for points in told)
            assert count == sum(map(_told_count, plot.data)), one.name
            for points in told:
                assert len(points["x"]) == len(points["y"]) == len(points["text"])
                assert all(0 <= x <= WIDTH_PX for x in points["x"])


def _told_count(trace: Any) -> int:
    """Points of a trace that have words and a place."""
    if "customdata" in trace:
        return sum(bool(text) for row in trace["customdata"] for text in row)
    if trace.get("hoverinfo") != "text":
        return 0
    texts = trace.get("hovertext") or trace.get("text") or []
    places = zip(texts, trace["x"], trace["y"], strict=False)
    return sum(None not in place and bool(place[0]) for place in places)


def test_the_same_picture_has_the_same_bytes(stored_run: StoredRun) -> None:
    for one in named_figures(joint_of_one(golden_content(stored_run.name))):
        drawn = [[plot_svg(plot, one.figure.title) for plot in one.figure.plots] for _ in range(2)]
        assert drawn[0] == drawn[1]


def test_the_same_png_has_the_same_bytes_on_a_machine_with_other_fonts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pngs = []
    for name in ("a", "b"):
        pngs += [one.path.read_bytes() for one in write_figures([(name, SIMPLE)], tmp_path / name, "png")]
        monkeypatch.setenv("HOME", str(tmp_path))
    assert pngs[:2] == pngs[2:]


def test_text_from_outside_is_text() -> None:
    note = {"name": "panel", "text": HOSTILE, "xref": "paper", "x": 0, "yref": "paper", "y": 1}
    axis = {"title": {"text": HOSTILE}, "tickvals": [1, 2], "ticktext": [HOSTILE, HOSTILE]}
    trace = {"name": HOSTILE, "x": [1, 2], "y": [1, 2], "text": [HOSTILE] * 2, "hoverinfo": "text", "mode": "text"}
    traces = [trace, trace | {"mode": "markers", "marker": {"color": "var(--ink)"}}]
    plot = Plot(traces, {"annotations": [note], "xaxis": axis, "yaxis": axis}, 300, HOSTILE)
    drawn = draw(plot, WIDTH_PX, colours=page_colours(), title=HOSTILE)
    assert_harmless(drawn.svg)
    assert "alert(1)" in words_of(drawn.svg)
    for text in drawn.told[0]["text"]:
        assert "<" not in text
        assert "\x1b" not in text


@pytest.mark.parametrize("kind", ["linear", "log", "date"])
def test_axes_without_extent_are_drawn(kind: str) -> None:
    value = "2026-01-01T00:00:00Z" if kind == "date" else 0 if kind == "linear" else 1e300
    for axis in ({"type": kind}, {"type": kind} if kind == "date" else {"type": kind, "range": [0, 0]}):
        for values in ([value], [None], []):
            plot = Plot([{"x": values, "y": [1] * len(values), "mode": "lines+markers"}], {"xaxis": axis}, 200)
            assert_harmless(plot_svg(plot, ""))
            assert "nan" not in plot_svg(plot, "")


def test_each_drawing_of_a_figure_has_a_file_of_its_own(tmp_path: Path) -> None:
    written = write_figures([("simple", SIMPLE)], tmp_path / "new" / "folder", "svg")
    assert written == tuple(
        FigureFile("simple", SIMPLE, plot, tmp_path / "new" / "folder" / name)
        for plot, name in zip(SIMPLE.plots, ("simple.svg", "simple-2.svg"), strict=True)
    )
    assert ["first [s]" in words_of(one.path.read_text()) for one in written] == [True, False]


def test_files_of_several_drawings_are_called_after_what_each_shows(tmp_path: Path) -> None:
    names = ("sdb, write-cache on: map", "sdc: map " * 40, "twice", "twice")
    plots = tuple(replace(SIMPLE.plots[0], name=name) for name in names)
    written = write_figures([("map", replace(SIMPLE, plots=plots))], tmp_path)
    shown = [one.path.name for one in written]
    assert shown[0] == "map-sdb-write-cache-on-map.svg"
    assert len(shown[1]) < 100
    assert shown[2:] == ["map-3.svg", "map-4.svg"]


def test_a_png_has_two_dots_for_each_pixel_and_its_words_are_drawn(tmp_path: Path) -> None:
    wordless = replace(SIMPLE, plots=(replace(SIMPLE.plots[0], layout={"xaxis": {"tickvals": []}}),))
    first, other = (
        write_figures([(name, figure)], tmp_path, "png")[0].path.read_bytes()
        for name, figure in (("words", SIMPLE), ("none", wordless))
    )
    assert first.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", first[16:24]) == (PNG_SCALE * WIDTH_PX, PNG_SCALE * 200)
    assert len(first) > len(other) + 1000


def test_figures_of_several_runs_have_names_of_their_own(check_content: ReportContent) -> None:
    shared = Figure("latency-overview", "Together", "", (), DataTable((), ()))
    joint = Joint("two", "Which?", figures=(shared, shared), runs=(check_content, check_content))
    named: tuple[NamedFigure, ...] = named_figures(joint)
    names = [one.name for one in named]
    assert names[:2] == ["latency-overview", "latency-overview-b2"]
    assert "check-directory-latency-overview" in names
    assert "check-directory-latency-overview-b2" in names
    assert len(set(names)) == len(names)
    assert {one.run for one in named} == {None, 0, 1}


def test_colours_are_those_of_the_page_in_light() -> None:
    colours = page_colours()
    assert colours["ink"] == "#1a1e23"
    assert colours["fill"] == "rgba(0, 114, 178, 0.16)"
    svg = plot_svg(SIMPLE.plots[0], "")
    assert 'stroke="#0072b2"' in svg
    assert f'fill="{colours["paper"]}"' in svg
    # the page has its own
    assert 'stroke="var(--series-1)"' in draw(SIMPLE.plots[0], WIDTH_PX).svg


def test_labels_that_are_too_long_are_cut() -> None:
    long = "&lt;b&gt; " + "x" * 300
    notes = [
        {"name": name, "text": text, "xref": "paper", "x": 0, "yref": "paper", "y": 1}
        for name, text in (("panel", f"<b>{long}</b> 12 I/Os"), ("row", long))
    ]
    plot = Plot([{"name": long, "x": [1], "y": [1]}], {"annotations": notes}, 100)
    texts = [words for words in re.findall(r"<text[^>]*>(.*?)</text>", plot_svg(plot, "")) if "xxx" in words]
    assert len(texts) == 3
    assert all(text.removesuffix("</tspan>").endswith("x…") for text in texts)
    assert notes[1]["text"] == long, "the figure itself is left alone"


@pytest.mark.provokes("O803")
def test_without_what_pngs_are_made_with_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(DrivelabError) as caught:
        write_figures([("simple", SIMPLE)], tmp_path / "png", "png")
    assert caught.value.code == "O803"
    assert caught.value.do == "pip install 'drivelab[pictures]'"
    assert not (tmp_path / "png").exists()
    assert write_figures([("simple", SIMPLE)], tmp_path / "svg")


@pytest.mark.provokes("O802")
def test_a_place_that_takes_no_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DrivelabError) as caught:
        write_figures([("simple", SIMPLE)], tmp_path / "file" / "folder")
    assert caught.value.code == "O802"


def test_pictures_that_could_not_all_be_written_are_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_after_the_first(path: Path, data: bytes) -> None:
        if path.parent.exists():
            raise DrivelabError("O802", "no room left", where=str(path))
        path.parent.mkdir()
        path.write_bytes(data)

    monkeypatch.setattr("drivelab.report.static_figure._write", full_after_the_first)
    for is_new in (True, False):
        with pytest.raises(DrivelabError, match="no room"):
            write_figures([("one", SIMPLE), ("two", SIMPLE)], tmp_path / "folder")
        assert (tmp_path / "folder").exists() is not is_new
        # a folder that was there is left as it is
        (tmp_path / "folder").mkdir(exist_ok=True)


def test_a_line_without_a_point_keeps_its_place_in_the_legend() -> None:
    marker: dict[str, Any] = {"symbol": [], "color": [], "size": []}
    empty = {"type": "scatter", "mode": "lines+markers", "x": [], "y": [], "marker": marker, "name": "p99"}
    full = {"type": "scatter", "mode": "lines+markers", "x": [1, 2], "y": [3, 4], "name": "median"}
    text = plot_svg(Plot([empty, full], {"showlegend": True}, 300), "over dates")
    assert "p99" in text
    assert "median" in text
