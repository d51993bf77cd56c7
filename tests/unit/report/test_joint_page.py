"""The page of several runs: one file, every anchor once, nothing from outside as markup, not too heavy."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from made_up_results import observed, result_set

from drivelab.joint_report import joint_report
from drivelab.model.finding import Finding
from drivelab.reference.load import load_reference, reference_names
from drivelab.report import joint_page
from drivelab.report.figures.figure import DataTable, Figure, Plot
from drivelab.report.html import write_html_report
from drivelab.report.joint import Joint
from drivelab.report.joint_of import joint_of
from drivelab.report.joint_page import RUN_BYTES, joint_page_of
from drivelab.report.reported_findings import reported
from drivelab.report.tables.table import Table, TableCell, TableColumn
from drivelab.store.read import open_run
from golden_reports import golden_joint

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"
PAGE_BYTES_MAX = 8_000_000
HOSTILE = "</script><script>alert(1)</script>'\"><img src=x onerror=alert(2)>\n`|*_{{ 7*7 }}"


class Elements(HTMLParser):
    """Collects elements, text, and drawings."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.drawings: list[str] = []
        self._is_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._is_script = tag == "script"
        if packed := dict(attrs).get("data-packed"):
            self.drawings.append(gzip.decompress(base64.b64decode(packed)).decode())

    def handle_endtag(self, tag: str) -> None:
        self._is_script = False

    def handle_data(self, data: str) -> None:
        if not self._is_script:
            self.text.append(data)

    @property
    def ids(self) -> list[str]:
        """All anchors."""
        return [str(attributes["id"]) for _, attributes in self.tags if "id" in attributes]


def written(joint: Joint, directory: Path) -> tuple[str, Elements]:
    """The page's text, and what it is made of."""
    text = write_html_report(joint, directory / "joint.html").read_text(encoding="utf-8")
    elements = Elements()
    elements.feed(text)
    return text, elements


@pytest.fixture(scope="module")
def golden() -> Joint:
    """All stored runs, and published pages beside them."""
    runs = [open_run(path) for path in sorted(RUNS.iterdir())]
    return joint_report(runs, [load_reference(name) for name in reference_names()])


@pytest.fixture(scope="module")
def golden_page(golden: Joint, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Elements]:
    """Their page, and what it is made of."""
    return written(golden, tmp_path_factory.mktemp("golden"))


def test_every_anchor_stands_once_and_every_link_leads_somewhere(
    golden: Joint, golden_page: tuple[str, Elements]
) -> None:
    _, elements = golden_page
    assert [name for name, count in Counter(elements.ids).items() if count > 1] == []
    inner = {str(a["href"])[1:] for tag, a in elements.tags if tag == "a" and str(a.get("href")).startswith("#")}
    assert inner <= set(elements.ids)
    assert {f"run-{number}" for number in range(1, len(golden.runs) + 1)} <= inner
    downloads = [a["download"] for tag, a in elements.tags if tag == "a" and "download" in a]
    assert len(downloads) == len(set(downloads))


def test_the_page_begins_with_what_a_busy_reader_wants(golden: Joint, golden_page: tuple[str, Elements]) -> None:
    text, _ = golden_page
    first_table, first_figure = golden.tables[0], golden.figures[0]
    order = [f"<h1>{golden.question}", 'class="sentence"', f'id="{first_figure.key}"', f'id="table-{first_table.key}"']
    order += ['id="differences"', f'id="table-{golden.tables[1].key}"', 'id="run-1"', 'id="run-2"', 'id="sources"']
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_the_page_of_all_runs_and_pages_is_of_bearable_size(golden_page: tuple[str, Elements]) -> None:
    text, elements = golden_page
    assert len(text.encode()) < PAGE_BYTES_MAX
    assert text.count("<script>") == 1
    assert all(json.loads(drawing) for drawing in elements.drawings)


def test_runs_that_would_make_the_page_too_heavy_come_without_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joint = golden_joint("check-hostile-names", "ssd-latency-scratch")
    monkeypatch.setattr(joint_page, "ROOM_BYTES", PAGE_BYTES_MAX)
    whole = joint_page_of(joint)
    used = sum(page.figure_bytes for page in whole.runs) + sum(placed.byte_count for placed in whole.figures)
    needed = used + RUN_BYTES * len(joint.runs)
    monkeypatch.setattr(joint_page, "ROOM_BYTES", needed)
    assert not any(page.has_figures_left_out for page in joint_page_of(joint).runs)
    monkeypatch.setattr(joint_page, "ROOM_BYTES", needed - 1)
    cut = joint_page_of(joint)
    left_out = [page for page in cut.runs if page.has_figures_left_out]
    assert [page.number for page in left_out] == [len(joint.runs)]
    assert left_out[0].figures == ()
    text, _ = written(joint, tmp_path)
    assert text.count("Its figures are left out here") == 1


def test_variances_and_what_one_repeat_does_not_tell_stand_on_the_page_of_a_run(tmp_path: Path) -> None:
    text, _ = written(golden_joint("write-size-two-drives"), tmp_path)
    begin = text.index("<summary>For statisticians</summary>")
    titles = [place.start() for place in re.finditer("Which factor matters how much", text)]
    # closed, at the end of the numbers
    assert begin < min(titles) < max(titles) < text.index("</details>", max(titles)) < text.index("More figures</h2>")
    assert text[:begin].endswith('<details class="part">')
    assert "would come again was not tried, as there was 1 repeat." in text
    several, _ = written(golden_joint("write-size-two-drives", "queue-depth-grid"), tmp_path)
    assert several.count("For statisticians") == 1


def test_published_numbers_alone_have_a_page(tmp_path: Path) -> None:
    for name in reference_names():
        text, elements = written(joint_of([], [load_reference(name)]), tmp_path)
        assert "table-block" in text, name
        assert 'id="sources"' in text
        assert not any(str(one).startswith("run-") for one in elements.ids)


def test_hostile_names_of_drives_hosts_and_levels_are_text(tmp_path: Path) -> None:
    names = (HOSTILE, (HOSTILE * 60)[:4096])
    sets = []
    for number, name in enumerate(names):
        one = observed(name, 50 + number, 45, 90, levels={"filesystem": HOSTILE}, title=HOSTILE, note=HOSTILE)
        sets.append(result_set(f"{HOSTILE}{number}", one, question=HOSTILE, source=HOSTILE, notes=(HOSTILE,)))
    page = replace(sets[1], is_reference=True)
    contents = golden_joint("check-hostile-names").runs
    run = replace(contents[0], name=f"{HOSTILE}0", question=HOSTILE)
    joint = joint_of([run], [sets[0], page])
    _, elements = written(joint, tmp_path)
    assert len([tag for tag, _ in elements.tags if tag == "script"]) == 1
    assert not any(tag == "img" or "onerror" in attributes for tag, attributes in elements.tags)
    shown = "".join(elements.text)
    assert "<script>alert(1)</script>" in shown
    assert "{{ 7*7 }}" in shown


def test_courses_are_open_where_a_finding_of_few_trials_is_about_them() -> None:
    joint = golden_joint("ssd-latency-scratch")
    for count, is_open in ((0, False), (2, True), (40, False)):
        findings = reported([Finding("drift", "warning", "it rose", f"trial-{number}") for number in range(count)])
        page = joint_page_of(replace(joint, runs=(replace(joint.runs[0], findings=findings),)))
        assert ("latency-over-time" in page.open_figures) is is_open


def test_notes_and_the_best_stand_at_their_cells(tmp_path: Path) -> None:
    columns = (TableColumn("drive"), TableColumn("latency", "ms", is_number=True))
    rows = (
        (TableCell("A"), TableCell("1.5", "1.4–1.6", is_best=True)),
        (TableCell("B"), TableCell("2.5", notes=(1,))),
    )
    table = Table("pivot", "Latency", columns, rows, "How to read it.", ("one trial does not describe the drive",))
    number = Figure("f", "F", "C", (Plot([], {}, 100),), DataTable(("x",), [[1]]))
    sets = (result_set("a", observed("A", 1)), result_set("b", observed("B", 2)))
    text, elements = written(Joint("2 runs", "Which?", ("A.",), (table,), (number,), (), sets), tmp_path)
    (link,) = [a for tag, a in elements.tags if tag == "a" and a.get("href") == "#table-pivot-note-1"]
    assert link["title"] == "one trial does not describe the drive"
    star = '<span aria-hidden="true">\u202f★</span><span class="visually-hidden"> (best)</span>'
    assert f'title="1.4–1.6" class="n best">1.5{star}' in text
    assert '<span class="interval">1.4–1.6</span>' in text
    assert '<span class="unit">[ms]</span>' in text
    assert "How to read it." in text


def test_a_figure_of_many_drawings_shows_the_first_and_folds_the_rest(tmp_path: Path) -> None:
    plots = tuple(Plot([], {"height": 100}, 100, f"part {number}") for number in range(3))
    figure = Figure("f", "F", "C", plots, DataTable(("x",), [[1]]))
    sets = (result_set("a", observed("A", 1)), result_set("b", observed("B", 2)))
    text, _ = written(Joint("2 runs", "Which?", figures=(figure,), result_sets=sets), tmp_path)
    assert (
        text.index("part 0") < text.index("2 more drawings of figure 1") < text.index("part 1") < text.index("part 2")
    )
    # but those that the answer is about
    asked = (replace(figure, open_count=2),)
    text, _ = written(Joint("2 runs", "Which?", figures=asked, result_sets=sets), tmp_path)
    assert text.index("part 1") < text.index("1 more drawing of figure 1") < text.index("part 2")


def test_a_single_run_carries_the_published_tables_folded(tmp_path: Path) -> None:
    joint = golden_joint("settings-scan-drive")
    text, elements = written(joint, tmp_path)
    folded = text.index('<details class="part published">')
    assert text.index('id="numbers"') < folded < text.index(f'id="table-{joint.tables[0].key}"')
    assert len(elements.ids) == len(set(elements.ids))
    assert not any(one.startswith("run-") for one in elements.ids)
