"""``drivelab explain`` refuses what it cannot do before it changes anything, and shows stored runs again."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

from traced_run import traced_run

from drivelab.cli import explain_result
from drivelab.cli.main import run
from drivelab.cli.run_results import print_results
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding
from drivelab.model.trace import TraceConduct
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import Durability
from drivelab.store.place import TrialPlace
from drivelab.store.read import open_run
from drivelab.store.write import create_run
from unit.store.conftest import make_trial
from unit.store.made_traces import events, operations

__all__ = ["make_trial"]

Capture = pytest.CaptureFixture[str]
GRID = Path(__file__).resolve().parents[1] / "golden" / "runs" / "queue-depth-grid"
MakeRun = Callable[..., Path]


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))


@pytest.fixture
def make_run(tmp_path: Path, make_trial: Callable) -> MakeRun:
    """Stores runs with traced trials: ``make_run("name", count=500, lost=0, reason="")``."""

    def make(
        name: str,
        *,
        trials: int = 3,
        count: int = 500,
        change: Any = None,
        findings: Sequence[Finding] = (),
        **trace: Any,
    ) -> Path:
        writer = create_run(tmp_path / "runs", "explain", name, datetime.now(UTC))
        writer.write_run_json({"status": "complete", "experiment": {"name": "explain"}, "targets": []})
        for number in range(1, trials + 1):
            store_trial(writer, make_trial, number, count=count, change=change, **trace)
        writer.finish(findings)
        return writer.directory

    return make


def store_trial(
    writer: Any,
    make_trial: Callable,
    number: int,
    *,
    count: int,
    change: Any,
    lost: int = 0,
    reason: str = "",
    untraced_ns: float = 250_000.0,
) -> None:
    name = f"{number:04}-explained-r{number}"
    measured, summary = make_trial(name, seed=number)
    cache = {"write_cache": "write back", "fua": "0"}
    conduct = TraceConduct("tracefs", "it disturbs nobody", device="loop0", lost_events=lost, environment=cache)
    context = {"trace": None if reason else conduct.to_json(), "trace_reason": reason}
    if not reason:
        with writer.trace_sink(name) as sink:
            rows = operations(count)
            sink.keep(change(rows) if change else rows, events(count))
    durable = measured.workload.model_copy(update={"durability": Durability(method="fdatasync")})
    measured = replace(measured, workload=durable, context=measured.context | context)
    median = Estimate(untraced_ns, 0.96 * untraced_ns, 1.04 * untraced_ns, "ns", 1000, 900.0, "rank-LR")
    estimates = {"total_latency_ns_p50": median}
    summary = TrialSummary(name, "4 KiB overwrite + fdatasync", "durable_write", estimates)
    place = TrialPlace(target="scratch", workload="explained", step=number, block=number, repeat=number)
    writer.add_trial(measured, summary, place=place)


def test_a_stored_run_is_explained_again(make_run: MakeRun, capsys: Capture) -> None:
    directory = make_run("one")
    assert run(["explain", str(directory)]) == 0
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= 30
    assert short.index("is the cache flush") < short.index("typical (")
    assert "residual" not in short
    assert run(["explain", str(directory), "--details"]) == 0
    out = capsys.readouterr().out
    assert "150 us" in out, "the flush"
    assert "residual 0 ns" in out
    assert str(directory) in out.replace("\n", "")


def test_a_traced_scan_says_first_why_a_level_matters(tmp_path: Path, capsys: Capture) -> None:
    scan = traced_run(tmp_path / "scan", workloads=("log-append",), repeats=5, tables=("effects", "results"))
    assert run(["explain", str(scan.directory)]) == 0
    explained = " ".join(capsys.readouterr().out.split())
    assert explained.index("because the flush is gone") < explained.index("typical (")
    # and so does the run itself, beside the effects
    print_results(scan)
    assert "because the flush is gone" in " ".join(capsys.readouterr().out.split())


def test_json_has_every_part_and_they_sum(make_run: MakeRun, capsys: Capture) -> None:
    directory = make_run("one")
    assert run(["explain", directory.name, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["run"] == str(directory)
    (explanation,) = document["explanations"]
    assert sum(part["mean_ns"]["value"] for part in explanation["parts"]) == pytest.approx(explanation["mean_ns"])
    assert explanation["residual_ns"] == 0
    assert explanation["work_per_operation"]["flushes"] == 1
    assert (document["without_trace"], document["status"]) == ({}, "complete")


def test_one_trial_of_a_run_alone(make_run: MakeRun, capsys: Capture) -> None:
    directory = make_run("one")
    assert run(["explain", str(directory), "--trial", "0002-explained-r2", "--json"]) == 0
    (explanation,) = json.loads(capsys.readouterr().out)["explanations"]
    assert explanation["trials"] == ["0002-explained-r2"]
    assert explanation["operations"] == 500


def slower_flush(rows: Any) -> Any:
    """Every flush 50 us longer."""
    for name in ("flush_ns", "latency_ns"):
        column = rows.column_names.index(name)
        rows = rows.set_column(column, name, [[value + 50_000 for value in rows[name].to_pylist()]])
    return rows


def test_two_runs_are_compared_part_by_part(make_run: MakeRun, capsys: Capture) -> None:
    base, new = make_run("base"), make_run("new", change=slower_flush)
    assert run(["explain", str(base), str(new), "--json"]) == 0
    (difference,) = json.loads(capsys.readouterr().out)["differences"]
    found = {part["part"]: part["difference_ns"]["value"] for part in difference["parts"]}
    assert found == {"total": 50_000, "flush": 50_000} | dict.fromkeys(
        ("fs_in", "queue", "device", "between", "return"), 0
    )
    assert run(["explain", str(base), str(new)]) == 0
    assert "flush" in capsys.readouterr().out


def _journal_now_and_then(rows: Any) -> Any:
    """More writes than were expected, which takes a remark of several lines; and some operations are slow."""
    extra = np.arange(rows.num_rows) % 3 == 0
    slow = np.where(np.arange(rows.num_rows) % 50 == 0, 5_000_000, 0)
    changes = {
        "device_writes": 1 + extra,
        "journal_writes": 1 * extra,
        "bytes_written": 4096 * (1 + extra),
        "between_ns": rows["between_ns"].to_numpy() + slow,
        "latency_ns": rows["latency_ns"].to_numpy() + slow,
    }
    for name, values in changes.items():
        field = rows.schema.field(name)
        rows = rows.set_column(rows.schema.get_field_index(name), field, pa.array(values).cast(field.type))
    return rows


def test_an_explanation_with_many_remarks_and_a_difference_fit_a_screen(make_run: MakeRun, capsys: Capture) -> None:
    long = f"they came{' again and again' * 5}, all the time"
    texts = {"foreign-work": long, "drive-hot": long, "run-resumed": long}
    noted = [Finding(code, "warning", text) for code, text in texts.items()]
    odd = [make_run(name, untraced_ns=900_000.0, change=_journal_now_and_then, findings=noted) for name in "ab"]
    assert run(["explain", str(odd[0])]) == 4
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 30
    for told in ("No answer yet", "Of a typical", "The slowest 1 %", "! they came"):
        assert told in out
    # what is no answer alone is none beside another
    assert run(["explain", *map(str, odd)]) == 4
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 30
    assert out.startswith("No answer yet for either of them: traced, an operation takes")


def test_what_waited_for_a_processor_is_said_to_be_in_the_software(make_run: MakeRun, capsys: Capture) -> None:
    used = {"other_processors": 1.9, "other_processor_share": 0.95}
    noted = [Finding("foreign-work", "warning", "others used 1.9 of 2 processors", evidence=used)]
    run(["explain", str(make_run("busy", findings=noted))])
    out = capsys.readouterr().out
    assert " ".join(out.split()).startswith(
        "The machine is busy: others used up to 1.9 of 2 processors, and what an operation waited for one counts as "
        "software. "
    )
    assert len(out.splitlines()) <= 30
    run(["explain", str(make_run("quiet"))])
    assert "busy" not in capsys.readouterr().out


def test_two_trials_of_a_run_are_compared(make_run: MakeRun, capsys: Capture) -> None:
    directory = make_run("one")
    trials = ["--trial", "0001-explained-r1", "--trial", "0003-explained-r3"]
    assert run(["explain", str(directory), *trials, "--json"]) == 0
    (difference,) = json.loads(capsys.readouterr().out)["differences"]
    assert (difference["base"], difference["new"]) == ("0001-explained-r1", "0003-explained-r3")


def test_lost_events_give_no_answer_and_say_so(make_run: MakeRun, capsys: Capture) -> None:
    directory = make_run("lost", lost=12)
    assert run(["explain", str(directory)]) == 4
    assert "12 events were lost" in " ".join(capsys.readouterr().out.split())


def test_what_took_another_time_while_traced_is_not_to_be_trusted(
    make_run: MakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_run("other", untraced_ns=600_000.0)
    assert run(["explain", str(made)]) == 4
    assert "No answer yet: a durable write took " in " ".join(capsys.readouterr().out.split())
    monkeypatch.setenv("DRIVELAB_RUNS", str(made.parent))
    assert run(["runs", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["runs"]
    assert listed["answer"].startswith("No answer yet: a durable write took ")


def without_flushes(rows: Any) -> Any:
    column = rows.column_names.index("flushes")
    return rows.set_column(column, rows.schema.field(column), pa.array([0] * rows.num_rows, pa.int32()))


def test_too_few_flushes_are_an_alarm(make_run: MakeRun, capsys: Capture) -> None:
    directory = make_run("unsafe", change=without_flushes)
    assert run(["explain", str(directory), "--json"]) == 4
    (explanation,) = json.loads(capsys.readouterr().out)["explanations"]
    assert explanation["check"]["verdict"] == "too_few_flushes"


@pytest.mark.provokes("U020")
def test_a_run_without_traces_says_how_to_make_one(capsys: Capture) -> None:
    assert run(["explain", str(GRID)]) == 2
    err = capsys.readouterr().err
    assert "error[U020]" in err
    assert "--trace" in err


@pytest.mark.provokes("R441")
def test_a_run_whose_traced_passes_all_failed_says_why(make_run: MakeRun, capsys: Capture) -> None:
    directory = make_run("failed", reason="the tracer is in use")
    assert run(["explain", str(directory)]) == 4
    err = capsys.readouterr().err
    assert "error[R441]" in err
    assert "the tracer is in use" in err


def test_a_trial_that_was_not_traced_says_why(make_run: MakeRun, capsys: Capture) -> None:
    directory = make_run("failed", reason="the tracer is in use")
    assert run(["explain", str(directory), "--trial", "0001-explained-r1"]) == 2
    assert "trial 0001-explained-r1 was not traced: the tracer is in use" in capsys.readouterr().err


@pytest.mark.provokes("U021")
@pytest.mark.parametrize(
    "arguments",
    [
        ["{run}", "."],
        [".", "/tmp"],
        ["{run}", "{run}", "{run}"],
        [".", "--trial", "x"],
        ["{run}", "{run}", "--trial", "x"],
        ["{run}", "{run}"],
    ],
    ids=["run and target", "two targets", "three runs", "a trial of a target", "a trial of two runs", "one run twice"],
)
def test_what_cannot_be_explained_at_once_is_refused(make_run: MakeRun, capsys: Capture, arguments: list[str]) -> None:
    directory = str(make_run("one"))
    assert run(["explain", *(word.format(run=directory) for word in arguments)]) == 2
    assert "error[U021]" in capsys.readouterr().err


@pytest.mark.provokes("U022")
def test_runs_with_nothing_in_common_are_not_compared(make_run: MakeRun, capsys: Capture) -> None:
    whole, lost = make_run("whole"), make_run("lost", lost=5)
    assert run(["explain", str(whole), str(lost)]) == 2
    assert "error[U022]" in capsys.readouterr().err


def test_a_trial_that_is_not_there_is_named(make_run: MakeRun, capsys: Capture) -> None:
    assert run(["explain", str(make_run("one")), "--trial", "0009"]) == 2
    err = capsys.readouterr().err
    assert "error[U005]" in err
    assert "choose: 0001-explained-r1, 0002-explained-r2, 0003-explained-r3\n" in err


def test_a_run_that_is_not_complete_says_how_to_go_on(make_run: MakeRun, capsys: Capture) -> None:
    directory = make_run("none", trials=0)
    document = json.loads((directory / "run.json").read_text())
    (directory / "run.json").write_text(json.dumps(document | {"status": "running"}))
    assert run(["explain", str(directory)]) == 2
    assert f"drivelab resume {directory}" in capsys.readouterr().err


@pytest.mark.provokes("S504")
def test_a_run_that_was_killed_at_once_is_not_measured_in(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "killed").mkdir()
    (tmp_path / "killed" / "journal.jsonl").touch()
    assert run(["explain", str(tmp_path / "killed")]) == 2
    assert "error[S504]" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "killed").iterdir()] == ["journal.jsonl"]


def test_what_was_measured_is_shown_also_when_the_report_cannot_be_written(
    make_run: MakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> Path:
        raise DrivelabError("O802", "no room left to store report.html")

    monkeypatch.setattr(explain_result, "write_page", full)
    with pytest.raises(DrivelabError, match="no room left"):
        explain_result.show_explanations(open_run(make_run("one")), "", as_json=False, writes_report=True)
    assert "is the cache flush" in capsys.readouterr().out


def test_an_explanation_is_given_also_where_no_page_can_be_made(
    make_run: MakeRun, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = open_run(make_run("one"))
    status = explain_result.show_explanations(stored, "", as_json=False, writes_report=True)
    (stored.directory / "report.html").unlink()
    with_page = capsys.readouterr()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert explain_result.show_explanations(stored, "", as_json=False, writes_report=True) == status
    without_page = capsys.readouterr()
    assert with_page.out.replace(f"report: {stored.directory}/report.html\n", "") == without_page.out
    assert (with_page.err, without_page.err.count("O801")) == ("", 1)


def test_without_root_nothing_is_begun(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "target"
    target.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert run(["explain", str(target)]) in (1, 2)
    err = capsys.readouterr().err
    assert "error[R4" in err
    assert list(target.iterdir()) == []
    assert not (tmp_path / "runs").exists()


@pytest.mark.needs_root
def test_a_file_of_the_users_is_never_written(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "mine"
    path.write_bytes(b"mine" * 4096)
    assert run(["explain", str(path), "--operation", "write"]) == 2
    assert "would write over a file that exists" in capsys.readouterr().err
    assert path.read_bytes() == b"mine" * 4096


def test_the_plan_shows_that_trials_are_traced(tmp_path: Path, capsys: Capture) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        'format = 1\nname = "own"\nquestion = "?"\n[[workloads]]\nname = "log"\nfile_state = "append"\n'
        'durability = "fdatasync"\ncount = 100\n'
    )
    assert run(["plan", str(own), str(tmp_path), "--trace"]) == 0
    out = capsys.readouterr().out
    assert "every trial once more after it was timed" in " ".join(out.split())
    assert "to trace operations" in " ".join(out.split())
    assert run(["plan", str(own), str(tmp_path), "--trace", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["trace"] == "auto"
    assert document["preparation"] == {"tracing": 5 * 100 * 4096}
