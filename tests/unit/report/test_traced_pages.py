"""What a traced run says in every format, alone, beside others and compared; and what it says without an answer."""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "golden"))

from traced_run import traced_run

from drivelab.answers.comparison import compare_runs
from drivelab.answers.explanations import explanation_differences
from drivelab.cli.report import print_joint
from drivelab.joint_report import joint_report
from drivelab.model.comparison import Comparison
from drivelab.report.card.content import card_of
from drivelab.report.comparison_joint import joint_of_comparison
from drivelab.report.flat_csv import write_csv_report
from drivelab.report.gather import labels_told_apart
from drivelab.report.html import write_html_report
from drivelab.report.joint import Joint
from drivelab.report.joint_page import joint_page_of
from drivelab.report.json_report import report_json
from drivelab.report.markdown.comparison import comparison_markdown
from drivelab.report.markdown.report import markdown_text
from drivelab.report.sentences.explanation_difference import difference_sentences
from drivelab.report.tables.device_work import device_work_table
from drivelab.report.tables.parts import parts_table
from drivelab.report.tables.trace_conduct import trace_conduct_table
from drivelab.report.terminal.comparison import comparison_text
from drivelab.report.terminal.explanation_difference import parts_lines
from drivelab.store.read import StoredRun, open_run
from golden_reports import golden_joint

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"
FIGURES = {"waterfall", "parts-over-time", "part-cdf", "offset-map"}
TABLES = ["parts", "device-work", "trace-conduct"]


@pytest.fixture(scope="module")
def explained() -> Joint:
    """The report of the stored run that was traced."""
    return golden_joint("explained-appends")


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[StoredRun, StoredRun]:
    """Appends with the write cache on, three times, and with it off."""
    parent = tmp_path_factory.mktemp("sides")
    options = {"workloads": ("log-append",), "repeats": 3}
    on = traced_run(parent / "on", levels=("on",), **options)
    return on, traced_run(parent / "off", levels=("off",), seed=900, **options)


@pytest.fixture(scope="module")
def compared(sides: tuple[StoredRun, StoredRun]) -> Comparison:
    """The one beside the other."""
    return compare_runs([sides[0]], [sides[1]])


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Joint:
    """A scan of the write cache in five blocks, traced."""
    options = {"workloads": ("log-append",), "repeats": 5, "tables": ("effects", "results")}
    return joint_report([traced_run(tmp_path_factory.mktemp("scan") / "scan", **options)])


def page_text(joint: Joint, directory: Path) -> str:
    """The page."""
    return write_html_report(joint, directory / "page.html").read_text(encoding="utf-8")


def test_the_page_has_a_part_that_says_where_the_time_goes(explained: Joint, tmp_path: Path) -> None:
    text = page_text(explained, tmp_path)
    parts = ['id="numbers"', 'id="traced"', "Where the time goes</h2>", "598\u00a0µs is the cache flush"]
    # the first picture, then tables, then the other pictures
    parts += ['id="waterfall"', *(f'id="table-{key}"' for key in TABLES), 'id="parts-over-time"', 'id="part-cdf"']
    places = [text.index(part) for part in [*parts, 'id="offset-map"']]
    assert places == sorted(places)
    assert text.count('href="#traced"') == 1


def test_a_run_that_was_made_to_be_explained_begins_with_it(sides: tuple[StoredRun, StoredRun], tmp_path: Path) -> None:
    joint = joint_report([sides[0]])
    assert "is the cache flush (2 per operation)" in joint.sentences[0]
    # the untraced median is in the first of them, and not told again
    assert len(joint.sentences) == 3
    assert not any("a median of" in sentence for sentence in joint.sentences)
    text = page_text(joint, tmp_path)
    assert text.index('id="traced"') < text.index('id="numbers"')
    page = joint_page_of(joint).alone
    assert page is not None
    assert page.traced is not None
    assert page.overview is not None
    numbers = [int(placed.number) for placed in (*page.traced.figures, page.overview, *page.figures)]
    assert numbers == list(range(1, page.figure_count + 1))


def test_anchors_and_files_are_unique_where_several_runs_were_traced(
    sides: tuple[StoredRun, StoredRun], tmp_path: Path
) -> None:
    joint = joint_report(list(sides))
    text = page_text(joint, tmp_path)
    for key in ("waterfall", "table-parts", "table-device-work"):
        assert [text.count(f'id="run-{number}-{key}"') for number in (1, 2)] == [1, 1]
    assert text.index('id="why"') < text.index('id="run-1"')
    page = joint_page_of(joint)
    assert [placed.figure.key for placed in page.part_figures] == ["part-differences"]
    assert not any(placed.table.key.startswith("part-differences") for placed in page.tables)
    assert any("the flush is gone" in sentence for sentence in joint.sentences)


def test_figures_that_are_too_heavy_take_those_of_traces_with_them(sides: tuple[StoredRun, StoredRun]) -> None:
    page = joint_page_of(joint_report(list(sides))).runs[0]
    assert page.traced is not None
    bare = page.without_figures()
    assert bare.figure_bytes == 0
    assert bare.traced is not None
    assert bare.traced.tables == page.traced.tables


def test_markdown_has_the_part_with_its_tables(explained: Joint) -> None:
    lines = markdown_text(explained).splitlines()
    first = lines.index("## Where the time goes")
    heads = [line for line in lines[first + 1 :] if line.startswith("#")]
    assert heads[:3] == [
        "### The parts of the latency",
        "### What the drive was told for each operation",
        "### How the traces were taken",
    ]
    assert any(line.startswith("**4 KiB appended + fdatasync, write-cache on:** Of a typical 817") for line in lines)


def test_csv_has_a_file_for_each_table_and_figure(explained: Joint, tmp_path: Path) -> None:
    names = {path.name for path in write_csv_report(explained, tmp_path / "csv")}
    assert {f"figure-{key}.csv" for key in FIGURES} <= names
    assert {f"table-{key}.csv" for key in TABLES} <= names
    with (tmp_path / "csv" / "table-parts.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for trial in {row["trial"] for row in rows}:
        means = {row["part"]: float(row["mean_ns"]) for row in rows if row["trial"] == trial}
        whole = means.pop("latency")
        assert sum(means.values()) == pytest.approx(whole, rel=1e-9)


def test_json_has_the_explanations(explained: Joint) -> None:
    (run,) = json.loads(json.dumps(report_json(explained), allow_nan=False))["runs"]
    assert len(run["explanations"]) == 4
    first = run["explanations"][0]
    assert first["residual_ns"] == 0
    assert sum(part["mean_ns"]["value"] for part in first["parts"]) == pytest.approx(first["mean_ns"])
    assert {one["key"] for one in run["figures"]} >= FIGURES
    assert [one["key"] for one in run["tables"]][:3] == TABLES


def test_of_each_level_that_matters_the_effects_say_which_part_makes_it(scan: Joint, tmp_path: Path) -> None:
    (content,) = scan.runs
    assert [effect.verdict for effect in content.answer.effects] == ["matters"]
    reason = "because the flush is gone"
    text = page_text(scan, tmp_path)
    effects = text[text.index('class="effects"') : text.index('id="traced"')]
    assert reason in effects
    assert reason in markdown_text(scan)
    (run,) = report_json(scan)["runs"]
    (level,) = run["level_explanations"]
    assert (level["factor"], level["level"]) == ("write-cache", "off")
    assert reason in level["says"]
    # the numbers answer first, and where the time goes comes after them
    assert scan.sentences[0].startswith("4 KiB appended + fdatasync: write-cache off is ")


def test_a_comparison_says_which_part_differs_in_every_format(compared: Comparison, tmp_path: Path) -> None:
    (difference,) = compared.part_differences
    assert difference.part("flush").is_beyond_noise
    text = " ".join(comparison_text(compared).split())
    assert "Why they differ:" in text
    assert "the flush is gone" in text
    assert max(map(len, comparison_text(compared).splitlines())) <= 80
    assert comparison_text(compared, plain=True).isascii()
    markdown = comparison_markdown(compared)
    assert markdown.index("**Why they differ") < markdown.index("What differs between the two sides")
    document = json.loads(json.dumps(compared.to_json(), allow_nan=False))
    assert document["part_differences"][0]["parts"][0]["part"] == "total"
    joint = joint_of_comparison(compared)
    assert any("the flush is gone" in sentence for sentence in joint.sentences)
    page = page_text(joint, tmp_path)
    assert page.index('id="numbers"') < page.index('id="why"')
    # the write cache is what is compared, and nothing else differs
    assert 'id="differences"' not in page


def test_a_report_of_two_explained_runs_begins_as_their_explanations_beside_each_other_do(
    sides: tuple[StoredRun, StoredRun], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    joint = joint_report(sides)
    (difference,) = joint.part_differences
    (first, *_) = difference_sentences(difference)
    assert joint.sentences[0] == first
    assert (joint.tables[0].key, joint.figures[0].key) == ("part-differences", "part-differences")
    assert joint.tables[0] in joint.leading_tables
    for text in (page_text(joint, tmp_path), markdown_text(joint)):
        assert text.index("the flush is gone") < text.index("median latency")
    # figures and tables are numbered in the order of the page
    shared = page_text(joint, tmp_path).partition('id="run-1"')[0]
    for kind in ("Figure", "Table"):
        numbers = [int(number) for number in re.findall(rf"{kind} (\d+)\.", shared)]
        assert numbers == [*range(1, len(numbers) + 1)]
    assert shared.index("Why they differ</h2>") < shared.index("The numbers</h2>")
    assert "Measured without tracing" in shared
    print_joint(joint)
    assert "\n".join(["off against on", *parts_lines(difference, 80)]) in capsys.readouterr().out
    card = card_of(joint)
    assert card.sentence == first
    assert card.rows is not None
    flush = difference.part("flush")
    assert [(row.name, row.value) for row in card.rows.rows if row.name.startswith("flush")] == [
        (f"flush, {difference.base}", flush.base_ns),
        (f"flush, {difference.new}", flush.new_ns),
    ]
    # where a run was not made to be explained, its numbers come first
    untraced = joint_report([open_run(RUNS / "explained-appends"), *sides])
    assert untraced.sentences[0] != difference_sentences(untraced.part_differences[0])[0]


def test_runs_with_all_but_their_times_in_common_are_called_by_these(tmp_path: Path) -> None:
    times = ("20260101T000000Z", "20260102T000000Z")
    runs = [shutil.copytree(RUNS / "explained-appends", tmp_path / f"{time}-explain-d") for time in times]
    difference, *_ = explanation_differences(*map(open_run, runs))
    assert (difference.base, difference.new) == times
    other = shutil.copytree(runs[1], tmp_path / "20260103T000000Z-explain-e")
    difference, *_ = explanation_differences(open_run(runs[0]), open_run(other))
    assert (difference.base, difference.new) == (runs[0].name, other.name)


def test_nothing_is_said_of_parts_where_one_side_was_not_traced(sides: tuple[StoredRun, StoredRun]) -> None:
    untraced = open_run(RUNS / "ssd-latency-scratch")
    assert compare_runs([untraced], [sides[0]]).part_differences == ()
    assert joint_report([untraced, sides[0]]).part_differences == ()


def test_of_several_traced_runs_of_a_side_it_is_said_that_none_is_chosen(
    sides: tuple[StoredRun, StoredRun], tmp_path: Path
) -> None:
    third = traced_run(tmp_path / "third", levels=("off",), workloads=("log-append",), seed=4000)
    several = compare_runs([sides[0]], [sides[1], third])
    assert several.part_differences == ()
    assert any("Several runs of a side were traced" in note for note in several.notes)


def test_a_trace_that_lost_events_shows_its_numbers_and_why_there_are_no_parts(tmp_path: Path) -> None:
    run = traced_run(tmp_path / "lost", levels=("on",), workloads=("log-append",), repeats=1, lost_events=12)
    joint = joint_report([run])
    (content,) = joint.runs
    assert [one.is_answered for one in content.traced] == [False]
    assert parts_table(content.traced) is None
    assert device_work_table(content.traced) is None
    conduct = trace_conduct_table(content.traced)
    assert conduct is not None
    assert any(note.startswith("no answer: ") and "12 events were lost" in note for note in conduct.notes)
    text = page_text(joint, tmp_path)
    assert 'id="waterfall"' not in text
    assert 'id="offset-map"' in text
    assert "The parts are not given: " in text
    assert "The parts are not given: " in markdown_text(joint)


def test_combinations_are_told_apart_by_what_differs(explained: Joint) -> None:
    explanations = [one.explanation for one in explained.runs[0].traced]
    assert labels_told_apart(explanations) == [
        "4 KiB appended + fdatasync, write-cache on",
        "4 KiB appended + fdatasync, write-cache off",
        "4 KiB random read, write-cache on",
        "4 KiB random read, write-cache off",
    ]
    assert labels_told_apart(explanations[:1]) == ["4 KiB appended + fdatasync"]
    alike = [explanations[0], replace(explanations[0], trial="0007-log-append")]
    title = "4 KiB appended + fdatasync"
    assert labels_told_apart(alike) == [f"{title}, 0001-log-append", f"{title}, 0007-log-append"]


def test_where_each_combination_changes_one_thing_that_is_its_label(explained: Joint) -> None:
    explanations = [one.explanation for one in explained.runs[0].traced][:2]
    assert labels_told_apart(explanations, ["appends, baseline", ""]) == [
        "appends, baseline",
        "4 KiB appended + fdatasync, write-cache off",
    ]
