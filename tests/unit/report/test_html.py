"""The page: one file, everything escaped, nothing asked of anybody, small in memory, whole or not there."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from drivelab.joint_report import joint_report
from drivelab.model.errors import DrivelabError
from drivelab.report import html
from drivelab.report.html import write_html_report
from drivelab.report.placed import WIDTHS_PX
from drivelab.store.read import StoredRun, open_run
from drivelab.store.write import create_run
from golden_reports import golden_joint

PYTHON_SOURCE = Path(html.__file__).resolve().parents[2]
MEBIBYTE = 2**20


class Elements(HTMLParser):
    """Collects elements, the text of scripts, and everything else that is shown."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._inside != "style":
            self.text.append(data)


def page_of(run: StoredRun, directory: Path) -> str:
    """The text of a run's page."""
    return write_html_report(joint_report([run]), directory / "report.html").read_text(encoding="utf-8")


def parsed(text: str) -> Elements:
    """The elements of a page."""
    elements = Elements()
    elements.feed(text)
    return elements


def drawing(attributes: dict[str, str | None]) -> Any:
    """What is drawn in an element of the page."""
    return json.loads(gzip.decompress(base64.b64decode(attributes["data-packed"] or "")))


def scripts_run(elements: Elements) -> list[str]:
    """What the page runs."""
    return [text for _, text in elements.scripts]


def test_the_page_is_one_file_of_bearable_size(stored_run: StoredRun, tmp_path: Path) -> None:
    path = write_html_report(golden_joint(stored_run.name), tmp_path / "report.html")
    assert os.listdir(tmp_path) == ["report.html"]
    assert path.stat().st_size < (1_600_000 if len(stored_run.trials) > 9 else 900_000)


def test_the_same_run_gives_the_same_page(check_run: StoredRun, tmp_path: Path) -> None:
    first = write_html_report(joint_report([check_run]), tmp_path / "a.html").read_bytes()
    again = joint_report([open_run(check_run.directory)])
    assert first == write_html_report(again, tmp_path / "b.html").read_bytes()


def test_the_page_needs_nothing_beside_it(stored_run: StoredRun, tmp_path: Path) -> None:
    elements = parsed(page_of(stored_run, tmp_path))
    for tag, attributes in elements.tags:
        assert "src" not in attributes, tag
        link = attributes.get("href") or "#"
        assert link.startswith(("#", "data:text/csv", "data:application/gzip")), link
    assert not any(tag == "link" for tag, _ in elements.tags)


def test_strings_from_outside_are_text_and_never_markup(rebuilt_runs: list[Path], tmp_path: Path) -> None:
    text = page_of(open_run(rebuilt_runs[1]), tmp_path)
    assert "<script>alert" not in text
    assert "<b>data" not in text
    elements = parsed(text)
    assert not any("onload" in attributes for _, attributes in elements.tags)
    assert "<script>alert(1)</script>" in "".join(elements.text)
    executable = scripts_run(elements)
    assert len(executable) == 1
    assert not any("alert(1)" in script for script in executable)


def test_the_policy_allows_exactly_the_script_of_the_page(check_run: StoredRun, tmp_path: Path) -> None:
    elements = parsed(page_of(check_run, tmp_path))
    policy = next(a["content"] for tag, a in elements.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    allowed = set(re.findall(r"'(sha256-[^']+)'", policy))
    executable = scripts_run(elements)
    hashes = {f"sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}" for s in executable}
    assert hashes == allowed
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy


def test_every_drawing_is_there_for_wide_pages_and_narrow_ones(stored_run: StoredRun, tmp_path: Path) -> None:
    elements = parsed(page_of(stored_run, tmp_path))
    drawings = {a["data-source"]: drawing(a) for _, a in elements.tags if "data-packed" in a}
    assert len(drawings) == sum(a.get("class") == "plot" for _, a in elements.tags) > 0
    for drawn in drawings.values():
        assert [one["width"] for one in drawn] == list(WIDTHS_PX)
        assert all(one["svg"].startswith("<svg ") and one["told"] for one in drawn)


def test_the_first_drawing_is_there_without_a_script(stored_run: StoredRun, tmp_path: Path) -> None:
    text = page_of(stored_run, tmp_path)
    plots = re.findall(r'<div class="plot"[^>]*data-packed="([^"]*)"[^>]*>(.*?)</div>', text, re.DOTALL)
    assert plots[0][1].startswith("<svg")
    plain = [(packed, shown) for packed, shown in plots if shown]
    # the picture of the page, before it that of a trace; all others are packed
    assert len(plain) <= 2
    for packed, shown in plain:
        assert shown == json.loads(gzip.decompress(base64.b64decode(packed)))[0]["svg"]


def test_every_figure_has_a_table_and_a_csv_with_the_same_numbers(check_run: StoredRun, tmp_path: Path) -> None:
    elements = parsed(page_of(check_run, tmp_path))
    figures = [attributes["id"] for tag, attributes in elements.tags if tag == "figure"]
    links = {a["download"]: a["href"] for tag, a in elements.tags if tag == "a" and "download" in a}
    tables = [attributes["id"] for _, attributes in elements.tags if attributes.get("class") == "table-block"]
    assert {name.removesuffix(".gz") for name in links} == {f"{place}.csv" for place in (*figures, *tables)}
    assert sum(tag == "table" and a.get("class") == "data" for tag, a in elements.tags) == len(figures)
    link = links["latency-histogram.csv"]
    assert link is not None
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(link.partition(",")[2]).decode())))
    counted = sum(int(row["io_count"]) for row in rows if row["trial"] == "random-read-qd1")
    assert counted == check_run.trial("random-read-qd1")["operation_count"]


def test_every_mark_leads_to_its_finding(check_run: StoredRun, tmp_path: Path) -> None:
    elements = parsed(page_of(check_run, tmp_path))
    ids = {attributes["id"] for _, attributes in elements.tags if "id" in attributes}
    inner = {str(a["href"])[1:] for tag, a in elements.tags if tag == "a" and str(a.get("href")).startswith("#")}
    assert inner <= ids
    assert {"finding-1", "finding-2"} <= inner


def test_the_page_begins_with_question_answer_and_numbers(check_run: StoredRun, tmp_path: Path) -> None:
    text = page_of(check_run, tmp_path)
    order = [
        "<h1>Is /var/lib/etcd fit",
        "Yes, this carries etcd",
        'id="numbers"',
        'id="findings"',
        'id="latency-overview"',
    ]
    order += ['id="latency-histogram"', 'id="latency-over-time"', 'id="settings"', 'id="facts"']
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_a_run_without_trials_has_a_page(tmp_path: Path) -> None:
    writer = create_run(tmp_path, "check", "nothing", datetime(2026, 1, 31, tzinfo=UTC))
    writer.write_run_json({"question": "Is it fit?"})
    assert "No trial was completed" in page_of(open_run(writer.directory), tmp_path)


def test_what_is_said_twice_of_the_run_as_a_whole_is_not_counted_in_trials(tmp_path: Path) -> None:
    writer = create_run(tmp_path, "check", "nothing", datetime(2026, 1, 31, tzinfo=UTC))
    said = [{"code": "virtual-drive", "severity": "note", "text": f"drive {name} is odd"} for name in "ab"]
    writer.write_run_json({"question": "Is it fit?", "findings": said})
    text = page_of(open_run(writer.directory), tmp_path)
    assert "drive a is odd" in text
    assert "All of this kind" in text
    assert "in all 0 trials" not in text


@pytest.mark.provokes("O802")
def test_a_page_that_cannot_be_written_leaves_nothing_behind(check_run: StoredRun, tmp_path: Path) -> None:
    with pytest.raises(DrivelabError) as caught:
        write_html_report(joint_report([check_run]), tmp_path / "missing" / "report.html")
    assert caught.value.code == "O802"
    (tmp_path / "report.html").mkdir()
    with pytest.raises(DrivelabError) as caught:
        write_html_report(joint_report([check_run]), tmp_path / "report.html")
    assert caught.value.code == "O802"
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_page_that_fails_midway_keeps_the_one_before(
    check_run: StoredRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("the page before")

    def broken(*_given: object) -> object:
        yield b"<!doctype html>"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(html, "html_pieces", broken)
    with pytest.raises(DrivelabError, match="no room"):
        write_html_report(joint_report([check_run]), path)
    assert path.read_text() == "the page before"
    assert os.listdir(tmp_path) == ["report.html"]


def test_the_page_of_a_check_takes_little_memory(check_run: StoredRun, tmp_path: Path) -> None:
    program = """
import resource, sys
from pathlib import Path
import drivelab.analyse.summary
from drivelab.store.read import open_run
run = open_run(sys.argv[1])
run.trials
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
from drivelab.joint_report import joint_report
from drivelab.report.html import write_html_report
write_html_report(joint_report([run]), Path(sys.argv[2]))
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""
    # a check holds Arrow's memory in the system's pool, too
    environment = {"PYTHONPATH": str(PYTHON_SOURCE), "ARROW_DEFAULT_MEMORY_POOL": "system"}
    arguments = [sys.executable, "-c", program, str(check_run.directory), str(tmp_path / "report.html")]
    answer = subprocess.run(arguments, capture_output=True, text=True, env=environment)
    assert answer.stderr == ""
    assert int(answer.stdout) < 60 * MEBIBYTE
