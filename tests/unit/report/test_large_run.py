"""A run of thousands of trials has a page that a browser opens, and a text that a person reads."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "golden"))

from large_run import SIZES, write_large_run
from recorded_ios import record_trials

from counted_time import at_most_processor_s
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run, findings_of_run
from drivelab.cli.run_results import ROWS_MAX, print_results, results_json
from drivelab.joint_report import joint_report
from drivelab.model.run_answer import RunAnswer
from drivelab.report.combinations_table import ROWS_MAX as PAGE_ROWS_MAX
from drivelab.report.gather import TRIALS_SELECTED, gather
from drivelab.report.html import write_html_report
from drivelab.store import layout
from drivelab.store.read import StoredRun, open_run

SHIFTS, REPEATS = 5, 3
COMBINATIONS = len(SIZES) * SHIFTS * 2 * 2
TRIALS = COMBINATIONS * REPEATS
PAGE_BYTES_MAX = 8_000_000
PROCESSOR_S_MAX = 30
# as a table they are 235 MB, and those columns that the figure needs 155 MB
ROWS = 5_000_000
HELD_BYTES_MAX = 110_000_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """A run of 1 260 trials, and four of a reference."""
    return open_run(write_large_run(tmp_path_factory.mktemp("runs") / "large", shifts=SHIFTS, repeats=REPEATS))


@pytest.fixture(scope="module")
def answer(large: StoredRun) -> RunAnswer:
    """What it came to."""
    return answer_of_run(large, SHOWN_METRICS)


def test_every_trial_is_behind_the_combinations(answer: RunAnswer) -> None:
    assert (answer.trial_count, len(answer.combinations)) == (TRIALS, COMBINATIONS)
    assert {one.trial_count for one in answer.combinations} == {REPEATS}
    assert len({name for one in answer.combinations for name in one.trials}) == TRIALS


def test_a_page_of_bearable_size_is_written_in_time(large: StoredRun, answer: RunAnswer, tmp_path: Path) -> None:
    with at_most_processor_s(PROCESSOR_S_MAX):
        path = write_html_report(joint_report([large], answers=[answer]), tmp_path / "report.html")
    assert path.stat().st_size < PAGE_BYTES_MAX
    text = path.read_text(encoding="utf-8")
    assert f"The first {PAGE_ROWS_MAX} of {COMBINATIONS} combinations." in text
    assert f"{TRIALS_SELECTED} of the 1\u202f260 trials" in text
    drawings = drawings_of(text)
    assert drawings
    told = sum(len(json.loads(drawing)[0]["told"]) for drawing in drawings)
    assert 0 < told < 300


def test_the_trials_that_are_shown_are_first_repeats_of_combinations_far_apart(
    large: StoredRun, answer: RunAnswer
) -> None:
    content = gather(large, answer)
    assert (len(content.trials), content.trial_count) == (TRIALS_SELECTED, TRIALS)
    assert {trial.row["repeat"] for trial in content.trials} == {1}
    assert len({trial.block_size_bytes for trial in content.trials}) > 15
    assert all(trial.histogram.total_count for trial in content.trials)
    assert all(trial.intervals is not None and trial.intervals.num_rows for trial in content.trials)


def test_findings_of_many_trials_are_one_sentence(large: StoredRun) -> None:
    found = {finding.code: finding for finding in findings_of_run(large)}
    assert found["no-flush-sent"].trial_count == TRIALS // 2
    # four measurements of the reference are too few to tell a drift from chance
    assert set(found) == {"no-flush-sent", "interval-reach"}


def test_the_text_is_cut_and_says_so(
    large: StoredRun, answer: RunAnswer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_results(large, answer)
    text = capsys.readouterr().out
    assert f"the first {ROWS_MAX} of {COMBINATIONS} combinations" in text
    assert "(+18 %; 4 repeats are too few" in text
    assert max(len(line) for line in text.splitlines() if not line.startswith("run:")) <= 80
    assert text.count("\n") < 250


def test_the_json_of_a_large_run_comes_in_pieces(large: StoredRun, answer: RunAnswer) -> None:
    pieces = list(results_json(large, Path("report.html"), answer))
    assert max(len(piece) for piece in pieces[1:]) < 50_000
    document = json.load(io.StringIO("".join(pieces)))
    assert len(document["trials"]) == TRIALS + REPEATS + 1
    assert sum(trial["is_reference"] for trial in document["trials"]) == REPEATS + 1
    assert document["trials"][1]["estimates"]["total_latency_ns_p50"]["unit"] == "ns"
    assert len(document["results"]) == COMBINATIONS
    assert document["reference"][0]["is_beyond_noise"] is None
    assert {effect["factor"] for effect in document["effects"]} == {"block_size", "shift", "direct", "write-cache"}


@pytest.mark.parametrize("form", ["html", "json"])
def test_a_report_of_millions_of_ios_holds_few_of_them_at_a_time(large: StoredRun, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"report.{form}"
    without_bytes = peak_of_report(large.directory, "--format", form, "--out", path)
    record_trials(large.directory, ROWS, [gather(large).trials[0].name])
    try:
        held_bytes = peak_of_report(large.directory, "--format", form, "--out", path) - without_bytes
    finally:
        shutil.rmtree(large.directory / layout.IOS)
    assert held_bytes < HELD_BYTES_MAX
    if form == "html":
        assert path.stat().st_size < PAGE_BYTES_MAX
        # a durable write is two rows, and each is in a cell of the figure
        drawn = "".join(drawings_of(path.read_text(encoding="utf-8")))
        assert f"{ROWS // 2:,} I/Os".replace(",", "\u202f") in drawn


def drawings_of(page: str) -> list[str]:
    """The drawings of a page, unpacked."""
    return [gzip.decompress(base64.b64decode(packed)).decode() for packed in re.findall(r'data-packed="([^"]*)"', page)]


def peak_of_report(*arguments: object) -> int:
    """Peak memory in bytes of a process that writes a report.

    It tells its own peak: what its parent is told begins with the memory of the parent.
    """
    program = (
        "import sys; from drivelab.cli.main import run; status = run(sys.argv[1:]); "
        "lines = open('/proc/self/status').read().splitlines(); "
        "print(next(line.split()[1] for line in lines if line.startswith('VmHWM:')), file=sys.stderr); sys.exit(status)"
    )
    words = [sys.executable, "-c", program, "report", *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stderr.split()[-1]) * 1024
