"""Figures as files: all of every golden run, in the page's light colours, the same bytes every time."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.report.chromium import PROGRAMS, Chromium, find_chromium
from drivelab.report.content import ReportContent
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.gather import gather
from drivelab.report.joint import Joint
from drivelab.report.named_figures import NamedFigure, named_figures
from drivelab.report.static_figure import (
    PNG_SCALE,
    WIDTH_PX,
    FigureFile,
    figure_png,
    figure_svg,
    page_colours,
    static_plot,
    write_figures,
    write_report_figures,
)
from drivelab.store.read import StoredRun

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


def joint_of_one(content: ReportContent) -> Joint:
    return Joint(content.title, content.question, runs=(content,))


@pytest.mark.needs_tool("chromium")
def test_every_figure_of_a_run_is_drawn_with_its_axes(stored_run: StoredRun, tmp_path: Path) -> None:
    named = named_figures(joint_of_one(gather(stored_run)))
    written = write_figures([(one.name, one.figure) for one in named], tmp_path / "figures")
    assert len(written) == sum(len(one.figure.plots) for one in named) > 0
    for one in written:
        svg = one.path.read_text(encoding="utf-8")
        words = words_of(svg)
        assert [title for title in axis_titles(one.plot) if title not in words] == [], one.path.name
        assert "var(--" not in svg
        assert f'width="{WIDTH_PX}" height="{one.plot.height_px}"' in svg[:400]
        assert "<script" not in svg


@pytest.mark.needs_tool("chromium")
def test_the_same_picture_has_the_same_bytes() -> None:
    assert figure_svg(SIMPLE) == figure_svg(SIMPLE)


@pytest.mark.needs_tool("chromium")
def test_each_drawing_of_a_figure_has_a_file_of_its_own(tmp_path: Path) -> None:
    written = write_figures([("simple", SIMPLE)], tmp_path / "new" / "folder", "svg")
    assert written == tuple(
        FigureFile("simple", SIMPLE, plot, tmp_path / "new" / "folder" / name)
        for plot, name in zip(SIMPLE.plots, ("simple.svg", "simple-2.svg"), strict=True)
    )
    assert ["first [s]" in words_of(one.path.read_text()) for one in written] == [True, False]


@pytest.mark.needs_tool("chromium")
def test_files_of_several_drawings_are_called_after_what_each_shows(tmp_path: Path) -> None:
    names = ("sdb, write-cache on: map", "sdc: map " * 40, "twice", "twice")
    plots = tuple(replace(SIMPLE.plots[0], name=name) for name in names)
    written = write_figures([("map", replace(SIMPLE, plots=plots))], tmp_path)
    shown = [one.path.name for one in written]
    assert shown[0] == "map-sdb-write-cache-on-map.svg"
    assert len(shown[1]) < 100
    assert shown[2:] == ["map-3.svg", "map-4.svg"]


@pytest.mark.needs_tool("chromium")
def test_a_png_has_two_dots_for_each_pixel() -> None:
    first, _ = figure_png(SIMPLE)
    assert first.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", first[16:24]) == (PNG_SCALE * WIDTH_PX, PNG_SCALE * 200)


@pytest.mark.needs_tool("chromium")
def test_the_figures_of_a_report_are_written_under_their_names(tmp_path: Path) -> None:
    joint = Joint("made up", "Which?", figures=(SIMPLE, SIMPLE))
    paths = write_report_figures(joint, tmp_path)
    assert [path.name for path in paths] == ["simple.svg", "simple-2.svg", "simple-b2.svg", "simple-b2-2.svg"]
    assert all(path.is_file() for path in paths)


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
    drawn = static_plot(SIMPLE.plots[0], colours)
    assert drawn["data"][0]["line"]["color"] == "#0072b2"
    assert drawn["layout"]["paper_bgcolor"] == colours["paper"]


def test_labels_that_are_too_long_are_cut_as_on_the_page() -> None:
    long = "&lt;b&gt; " + "x" * 300
    notes = [{"name": "panel", "text": f"<b>{long}</b> 12 I/Os"}, {"name": "row", "text": long}, {"text": long}]
    plot = Plot([{"name": long}], {"annotations": notes}, 100)
    drawn = static_plot(plot, page_colours())
    panel, row, other = (note["text"] for note in drawn["layout"]["annotations"])
    assert panel.startswith("<b>&lt;b&gt; xxx")
    assert panel.endswith("x…</b>")
    assert row.endswith("x…")
    assert other == long
    assert drawn["data"][0]["name"].endswith("x…")
    assert notes[1]["text"] == long, "the figure itself is left alone"


@pytest.mark.provokes("O803")
def test_without_chromium_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DrivelabError) as caught:
        figure_svg(SIMPLE)
    assert caught.value.code == "O803"
    assert caught.value.do == "apt-get install chromium"


def test_chromium_is_found_under_any_of_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in reversed(PROGRAMS):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert find_chromium() == tmp_path / name


@pytest.mark.provokes("O804")
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo no display >&2; exit 1", "it ended; it said: no display"),
        ("exec sleep 60", "it did not answer within 0.2 s"),
    ],
)
def test_a_browser_that_fails_is_named_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    program = tmp_path / "chromium"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr("drivelab.report.chromium._CLOSING_S", 0.1)
    with pytest.raises(DrivelabError, match=reason) as caught, Chromium(timeout_s=0.2):
        pass
    assert caught.value.code == "O804"
    assert caught.value.where == str(program)


@pytest.mark.provokes("O804")
@pytest.mark.needs_tool("chromium")
def test_a_script_that_fails_is_an_error_and_the_browser_is_gone(tmp_path: Path) -> None:
    with Chromium() as browser:
        profile = Path(browser._profile.name)
        assert browser.evaluate("6 * 7") == 42
        assert browser.evaluate("new Promise((found) => setTimeout(() => found('later'), 20))") == "later"
        with pytest.raises(DrivelabError, match="no such drawing") as caught:
            browser.evaluate("throw new Error('no such drawing')")
    assert caught.value.code == "O804"
    assert not profile.exists()
    left = subprocess.run(["pgrep", "-f", str(profile)], capture_output=True, text=True)
    assert left.stdout == ""


@pytest.mark.provokes("O802")
def test_a_place_that_takes_no_files_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.report.static_figure._drawn", lambda plots, kind: [b""] * len(plots))
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

    monkeypatch.setattr("drivelab.report.static_figure._drawn", lambda plots, kind: [b""] * len(plots))
    monkeypatch.setattr("drivelab.report.static_figure._write", full_after_the_first)
    for is_new in (True, False):
        with pytest.raises(DrivelabError, match="no room"):
            write_figures([("one", SIMPLE), ("two", SIMPLE)], tmp_path / "folder")
        assert (tmp_path / "folder").exists() is not is_new
        # a folder that was there is left as it is
        (tmp_path / "folder").mkdir(exist_ok=True)
