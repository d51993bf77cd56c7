"""What a notebook gets of a run: tables in three forms, figures and tables that show themselves, a report."""

from __future__ import annotations

import base64
import importlib
import json
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import drivelab
from drivelab.model.errors import DrivelabError
from drivelab.notebook import OpenedResults, OpenedRun, ShownFigure, ShownTable
from drivelab.notebook.frames import arrow_of_rows, as_frame
from drivelab.notebook.shown_figure import PLOTLY_MIME
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.joint import Joint
from drivelab.report.tables.table import Table, TableCell, TableColumn
from drivelab.store.read import open_run
from made_result_sets import observation, result_set
from made_up_operations import operations

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"


@pytest.fixture
def run() -> OpenedRun:
    """Large writes to 20, 60 and 100 % of a drive."""
    return drivelab.open(RUNS / "fill-level-drive")


@pytest.fixture
def make_factor_of_depth() -> OpenedResults:
    """A number at 4 I/Os outstanding of each of 2 jobs."""
    one = observation("A", 1e6, levels={"queue_depth": "4"}, queue_depth=8)
    return OpenedResults(Joint("t", "q", result_sets=(result_set("run", one),)))


def test_importing_drivelab_loads_nothing_of_it() -> None:
    script = (
        "import sys, drivelab; print(sorted(n for n in sys.modules if n.startswith(('drivelab.', 'pyarrow', 'numpy'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert {"open", "compare", "__version__"} <= set(dir(drivelab))
    with pytest.raises(AttributeError, match="has no attribute 'close'"):
        drivelab.close  # type: ignore[attr-defined] # noqa: B018


def test_a_run_says_in_one_line_what_it_is(run: OpenedRun) -> None:
    assert repr(run) == "<drivelab run fill-level-drive: fill-level, 6 trials on sdb, complete>"
    assert repr(drivelab.open(RUNS / "check-directory")).startswith(
        "<drivelab run check-directory: check, 9 trials on "
    )


def test_a_run_is_found_by_its_name(run: OpenedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivelab.store.find_run.default_parent", lambda: RUNS)
    assert drivelab.open("fill-level-drive").name == run.name
    with pytest.raises(DrivelabError) as caught:
        drivelab.open("no-such-run")
    assert caught.value.code == "S504"


@pytest.mark.parametrize(("frame", "kind"), [("arrow", pa.Table), ("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_tables_come_in_the_form_that_was_asked_for(frame: str, kind: type) -> None:
    opened = drivelab.open(RUNS / "settings-scan-drive", frame=frame)
    stored = open_run(RUNS / "settings-scan-drive")
    for table, rows in (
        (opened.trials, stored.trials.num_rows),
        (opened.intervals, stored.intervals.num_rows),
        (opened.histograms, stored.histograms.num_rows),
        (opened.combinations, 5),
        (opened.effects, 4),
        (opened.findings, len(stored.findings)),
        (opened.tables["trials"].frame(), None),
        (opened.figures["latency-histogram"].frame(), None),
    ):
        assert isinstance(table, kind)
        if rows is not None:
            assert len(table) == rows


def test_the_numbers_are_those_of_the_run() -> None:
    run = drivelab.open(RUNS / "fill-level-drive", frame="pandas")
    stored = open_run(RUNS / "fill-level-drive").trials
    assert run.trials["throughput_bytes_per_s"].tolist() == stored["throughput_bytes_per_s"].to_pylist()
    full = run.combinations.set_index("fill_level").loc["100%"]
    slow = run.trials[run.trials["asked_fill_level"] == "100%"]["throughput_bytes_per_s"]
    assert full["throughput_bytes_per_s"] == pytest.approx(slow.median())
    assert (full["throughput_bytes_per_s_lowest"], full["throughput_bytes_per_s_highest"]) == (slow.min(), slow.max())
    assert run.effects.set_index("level").loc["100%", "ratio"] == pytest.approx(0.36, abs=0.01)
    assert not [name for name in run.trials.columns if name.endswith("_json")]


def test_findings_are_the_stored_ones_the_gravest_first() -> None:
    found = drivelab.open(RUNS / "check-hostile-names").findings.to_pylist()
    stored = open_run(RUNS / "check-hostile-names").findings
    assert len(found) == len(stored) > 0
    assert [one["severity"] for one in found] == sorted(
        (one["severity"] for one in found), key=("invalid", "warning", "note").index
    )
    assert json.loads(found[0]["evidence_json"]) in [one.evidence for one in stored]


def test_single_ios_are_there_where_they_were_recorded() -> None:
    run = drivelab.open(RUNS / "check-directory")
    recorded = next(name for name in run.stored.trial_names if run.stored.ios(name) is not None)
    ios = run.ios(recorded)
    assert ios is not None
    assert "total_latency_ns" in ios.column_names
    missing = next(name for name in run.stored.trial_names if run.stored.ios(name) is None)
    assert run.ios(missing) is None
    with pytest.raises(DrivelabError) as caught:
        run.ios("nothing")
    assert caught.value.code == "U005"


def test_courses_tell_the_levels_of_every_trial(run: OpenedRun) -> None:
    assert run.courses["0003-random-write"].text == "511 MB/s until 612 MB, then 116 MB/s"
    cliff = run.courses["0003-random-write"].cliff
    assert cliff is not None
    assert cliff.at_bytes == 612368384


def test_explanations_go_by_the_first_trial_of_their_combination(tmp_path: Path, run: OpenedRun) -> None:
    assert len(run.explanations) == 0
    with pytest.raises(KeyError, match="no explanation 'x'; there are: none"):
        run.explanations["x"]
    directory = tmp_path / "traced"
    shutil.copytree(RUNS / "settings-scan-drive", directory)
    (directory / "operations").mkdir()
    for trial in ("0002-one-byte", "0003-one-byte"):
        pq.write_table(operations(50), directory / "operations" / f"{trial}.parquet")
    found = drivelab.open(directory).explanations
    assert list(found) == ["0002-one-byte", "0003-one-byte"]
    # nothing was stored of how it was traced
    assert "nothing is known" in found["0002-one-byte"].refusal


def test_the_answer_is_sentences(run: OpenedRun) -> None:
    assert run.answer[0].startswith("8 MiB random writes: fill level 20 % -> 100 %") or "MB/s" in run.answer[0]
    assert run.answer[0] in run._repr_markdown_()
    assert run.question.endswith("?")


def test_a_figure_shows_itself_as_data_for_plotly_and_as_html(run: OpenedRun) -> None:
    figure = run.figures["latency-histogram"]
    (plot,) = figure.plots
    bundle = figure._repr_mimebundle_(include=None, exclude=None)
    assert set(bundle) == {PLOTLY_MIME, "text/html", "text/plain"}
    assert bundle[PLOTLY_MIME] == plot.plotly()
    text = json.dumps(bundle[PLOTLY_MIME], allow_nan=False)
    # every colour has its value of the light theme
    assert "var(--" not in text
    assert "#0072b2" in text.lower()
    html = bundle["text/html"]
    assert "<script" not in html
    (drawn,) = _drawn(html)
    assert drawn == plot.svg()
    assert "share [%]" in drawn
    assert repr(figure) == bundle["text/plain"]


def _drawn(html: str) -> list[str]:
    """The pictures in what a notebook shows."""
    packed = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    return [base64.b64decode(one).decode() for one in packed]


def test_a_figure_of_several_drawings_shows_them_all(run: OpenedRun) -> None:
    figure = run.figures["throughput-over-time"]
    bundle = figure._repr_mimebundle_()
    # Plotly's form could hold the first only
    assert set(bundle) == {"text/html", "text/plain"}
    assert len(_drawn(bundle["text/html"])) == len(figure.plots) == 2
    for plot in figure.plots:
        assert PLOTLY_MIME in plot._repr_mimebundle_()
    assert repr(figure) == "<figure throughput-over-time: Throughput over time, 2 drawings>"
    assert figure.frame("pandas")["moved_bytes"].max() < 4e9
    assert "diamond" in figure.caption.lower()


def test_hostile_words_stay_words() -> None:
    plot = Plot([{"name": "</svg><script>alert(1)", "x": [1], "y": [1]}], {}, 100, '"><b>')
    figure = ShownFigure(Figure("key", "<i>title", "<caption>", (plot, plot), DataTable(("a",), [])))
    html = figure._repr_mimebundle_()["text/html"]
    for drawn in _drawn(html):
        assert "&lt;/svg&gt;&lt;script&gt;alert(1)" in drawn
        assert "<script" not in drawn
    for tag in ("<i>", "<caption>", "<script", "<b>"):
        assert tag not in html.replace("<b>&lt;i&gt;title</b>", "")
    cells = ((TableCell("<b>x</b>", "<u>", True, (1,)),),)
    table = ShownTable(Table("key", "<i>", (TableColumn("<p>", "ms", True),), cells, "<q>", ("<em>",)))
    for tag in ("<i>", "<p>", "<q>", "<em>", "<u>"):
        assert tag not in table._repr_html_()


def test_a_table_shows_itself_as_html_and_markdown(run: OpenedRun) -> None:
    table = run.tables["trials"]
    html, markdown = table._repr_html_(), table._repr_markdown_()
    assert html.count("<tr>") == len(table.table.rows) + 1
    assert markdown.count("\n| ") >= len(table.table.rows) + 1
    assert table.title in html
    assert repr(table).startswith("<table trials: ")
    long = ShownTable(Table("key", "title", (TableColumn("a"),), ((TableCell("1"),),) * 250))
    assert "50 rows more" in long._repr_html_()
    assert len(long.frame()) == 250


def test_a_factor_does_not_hide_a_column_of_its_name(make_factor_of_depth: OpenedResults) -> None:
    found = make_factor_of_depth.observations
    assert found["factor_queue_depth"].to_pylist() == ["4"]
    assert found["queue_depth"].to_pylist() == [8]


def test_published_pages_open_like_runs() -> None:
    page = drivelab.open("reference:ssd-latency", frame="pandas")
    assert page.is_reference
    assert len(page.observations) > 20
    assert {"drive", "filesystem", "value", "unit", "printed"} <= set(page.observations.columns)
    assert page.tables
    assert page.figures
    assert repr(page).startswith("<drivelab: ")
    with pytest.raises(DrivelabError) as caught:
        drivelab.open("reference:nothing")
    assert caught.value.code == "U005"


def test_several_are_one_report(run: OpenedRun) -> None:
    several = drivelab.open([run, RUNS / "settings-scan-drive", "reference:ssd-latency"])
    assert not isinstance(several, OpenedRun)
    assert len(several.result_sets) == 3
    assert not several.is_reference
    assert "3 sources" in repr(several)


def test_runs_are_compared(run: OpenedRun) -> None:
    found = drivelab.compare(run, [RUNS / "settings-scan-drive"])
    assert isinstance(found, OpenedResults)
    assert "fill-level-drive" in found.title
    assert found.answer
    with pytest.raises(DrivelabError) as caught:
        drivelab.compare(run, run)
    assert caught.value.code == "U012"


@pytest.mark.parametrize("name", ["report.html", "report.json", "report.csv"])
def test_a_report_is_written_in_the_format_of_its_name(run: OpenedRun, tmp_path: Path, name: str) -> None:
    path = run.report(tmp_path / name)
    text = path.read_text()
    assert path == tmp_path / name
    assert {"report.html": "<!doctype html>", "report.json": "{", "report.csv": "run,"}[name] in text[:300].lower()


def test_a_format_may_be_named(run: OpenedRun, tmp_path: Path) -> None:
    assert json.loads(run.report(tmp_path / "numbers", format="json").read_text())["schema"] == 1


@pytest.mark.provokes("O822")
def test_an_unknown_format_says_which_there_are(run: OpenedRun, tmp_path: Path) -> None:
    with pytest.raises(DrivelabError) as caught:
        run.report(tmp_path / "report.pdf", format="pdf")
    assert caught.value.code == "O822"
    assert "markdown" in caught.value.do


def test_a_report_that_cannot_be_written_says_so(run: OpenedRun, tmp_path: Path) -> None:
    for name in ("a.html", "a.json", "a.csv"):
        with pytest.raises(DrivelabError) as caught:
            run.report(tmp_path / "missing" / name)
        assert caught.value.code == "O802"


@pytest.mark.provokes("O820")
def test_a_missing_library_says_how_to_get_it(run: OpenedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named '{name}'")

    monkeypatch.setattr("drivelab.notebook.frames.import_module", without)
    table = run.tables["trials"]
    for name in ("pandas", "polars"):
        for asked in (partial(drivelab.open, RUNS / "check-directory", frame=name), partial(table.frame, name)):
            with pytest.raises(DrivelabError) as caught:
                asked()
            assert caught.value.code == "O820"
            assert str(caught.value) == f"error[O820] {name} is not installed\n  do:    pip install {name}"
    assert isinstance(run.trials, pa.Table)


@pytest.mark.provokes("O821")
def test_an_unknown_form_says_which_there_are() -> None:
    with pytest.raises(DrivelabError) as caught:
        drivelab.open(RUNS / "check-directory", frame="excel")
    assert (caught.value.code, caught.value.do) == ("O821", "one of arrow, pandas, polars")


@pytest.mark.provokes("O823")
def test_nothing_cannot_be_opened() -> None:
    for asked in (lambda: drivelab.open([]), lambda: drivelab.compare([], RUNS / "check-directory")):
        with pytest.raises(DrivelabError) as caught:
            asked()
        assert caught.value.code == "O823"


def test_columns_keep_their_kind() -> None:
    names = ("whole", "text", "number", "nothing", "mixed", "yes")
    table = arrow_of_rows(names, [[1, "a", 1.5, None, 1, True], [2, None, 2, None, "b", False]])
    kinds = [str(field.type) for field in table.schema]
    assert kinds == ["int64", "string", "double", "double", "string", "bool"]
    assert arrow_of_rows(("empty",), []).num_rows == 0
    assert as_frame(table, "polars")["mixed"].to_list() == ["1", "b"]


def test_the_layer_can_be_loaded_by_its_name() -> None:
    assert importlib.import_module("drivelab.notebook").open is drivelab.open


@pytest.mark.provokes("O823")
def test_what_is_no_run_at_all_is_said_to_be_none() -> None:
    for source in (None, 3, [None]):
        with pytest.raises(DrivelabError) as refusal:
            drivelab.open(source)
        assert refusal.value.code == "O823"
        assert "neither a path nor a name" in refusal.value.what


@pytest.mark.provokes("O822")
def test_an_ending_that_no_format_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DrivelabError) as refusal:
        drivelab.open("reference:ssd-latency").report(tmp_path / "report.pdf")
    assert refusal.value.code == "O822"
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_name_is_answered_with_the_names_there_are() -> None:
    opened = drivelab.open("reference:ssd-latency")
    with pytest.raises(KeyError, match=r"no table 'pivto'; there are: .*pivot"):
        opened.tables["pivto"]
    with pytest.raises(KeyError, match="no figure 'x'; there are: "):
        opened.figures["x"]
