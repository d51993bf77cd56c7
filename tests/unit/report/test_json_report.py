"""The report as JSON: complete, plain, and every key described."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivelab.answers.explanations import explanation_differences, explanations_of
from drivelab.answers.result_set import result_set_of
from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import LevelEffect
from drivelab.report.gather import gather
from drivelab.report.joint import Joint
from drivelab.report.json_report import SCHEMA, plain, report_json
from drivelab.report.tables.table import Table, TableCell, TableColumn
from drivelab.store.read import StoredRun
from golden_reports import golden_answer

PAGE = Path(__file__).resolve().parents[3] / "docs" / "report_json.md"
# what is below these is described elsewhere, or its keys are names
OPEN = ("facts", "verdict", "workload", "engine", "context", "devices", "headline", "estimates", "levels", "achieved")
OPEN += ("operations",)
OPEN += ("metrics", "bounds", "links", "printed", "commands", "factorial", "courses", "pairs", "overall")
# estimates, and what is named after parts and kinds of work
OPEN += (
    "untraced_median_ns",
    "traced_median_ns",
    "traced_p99_ns",
    "traced_mean_ns",
    "tracing_cost_ratio",
    "mean_ns",
    "p50_ns",
    "p99_ns",
)
OPEN += ("work_per_operation", "environment", "drives", "difference_ns", "difference", "typical", "slowest")
RATIO = Estimate(0.8, 0.75, 0.85, "1", 5, 5.0, "made up")
EFFECT = LevelEffect(
    "sdb", "log-append", "write-cache", "off", "on", "total_latency_ns_p50", RATIO, (), "matters", 0.05, 0.01, 0.01, 1
)


@pytest.fixture
def joint(stored_run: StoredRun) -> Joint:
    """A report of one golden run with a table of its own."""
    answer = golden_answer(stored_run.name)
    content = gather(stored_run, answer if "plan" in stored_run.run_json else None, explanations_of(stored_run))
    cell = TableCell("1.5", "1.4–1.6", is_best=True, notes=(1,))
    own = Table("own", "Own", (TableColumn("x", "ms", is_number=True),), ((cell,),), notes=("why",))
    sets = (result_set_of(stored_run, answer),)
    differences = explanation_differences(stored_run, stored_run)
    if differences:
        content = replace(content, level_differences=((EFFECT, differences[0]),))
    more = {"result_sets": sets, "notes": ("odd",), "part_differences": differences}
    return Joint("T", "Q", ("So it is.",), (own,), runs=(content,), **more)  # type: ignore[arg-type]


def keys_of(value: Any, above: str = "") -> Iterator[str]:
    """Every key with the keys above it: ``runs.trials.name``."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield f"{above}{key}"
            if key not in OPEN:
                yield from keys_of(item, f"{above}{key}.")
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item, above)


def described_keys() -> set[str]:
    """The keys of the tables of the page; each table is below a heading that says where its keys stand."""
    found, above = set(), ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        heading = re.match(r"#+ .*?(?:`([\w.]+)`)?$", line)
        if heading and line.startswith("#"):
            above = f"{heading[1]}." if heading[1] else ""
        elif line.startswith("| `"):
            found |= {f"{above}{key}" for key in re.findall(r"`(\w+)`", line.split("|")[1])}
    return found


def test_every_key_is_described_and_nothing_else(joint: Joint) -> None:
    described = described_keys()
    # tables and figures of a run have the form of those of all runs
    known = {re.sub(r"^runs\.(tables|figures)\.", r"\1.", key) for key in keys_of(report_json(joint))}
    assert sorted(known - described) == []
    assert {key for key in described if "." not in key} == set(report_json(joint))


def test_it_is_json_without_loss(joint: Joint) -> None:
    document = report_json(joint)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["schema"] == SCHEMA


def test_it_holds_what_the_report_says(joint: Joint) -> None:
    document = report_json(joint)
    (content,), (results,) = joint.runs, joint.result_sets
    (run,) = document["runs"]
    assert document["sentences"] == ["So it is."]
    assert document["notes"] == ["odd"]
    assert document["tables"][0]["rows"] == [[{"text": "1.5", "interval": "1.4–1.6", "is_best": True, "notes": [1]}]]
    assert document["tables"][0]["data"] == {"columns": ["x [ms]"], "rows": [["1.5"]]}
    assert [one["name"] for one in run["trials"]] == [trial.name for trial in content.trials]
    assert [one["estimates"].keys() for one in run["trials"]] == [trial.estimates.keys() for trial in content.trials]
    assert [one["mark"] for one in run["findings"]] == [finding.mark for finding in content.findings]
    assert run["facts"] == plain(content.facts)
    assert [len(one["data"]["rows"]) > 0 for one in run["figures"]] == [True] * len(run["figures"])
    observed = document["result_sets"][0]["observations"]
    assert [one["estimate"]["value"] for one in observed] == [one.estimate.value for one in results.observations]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        (float("inf"), None),
        (np.float64(1.5), 1.5),
        (np.int64(3), 3),
        (np.array([1.0, np.nan]), [1.0, None]),
        ({1: ("a", {"b"})}, {"1": ["a", ["b"]]}),
        (Path("x"), "x"),
        (True, True),
    ],
)
def test_values_become_plain(value: object, expected: object) -> None:
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)
