"""Explanations of stored runs: repeats together, self-check from what was stored, differences of runs and levels."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drivelab.answers.explanations import (
    difference_of_cells,
    explanation_differences,
    explanations_of,
    level_differences,
    traced_cells,
)
from drivelab.answers.run_answer import answer_of_run, experiment_order
from drivelab.model.errors import DrivelabError
from drivelab.model.trace import ExplanationDifference, TraceConduct
from drivelab.report.sentences.explanation_difference import explained_levels
from drivelab.store import layout
from drivelab.store.read import StoredRun, open_run
from made_up_operations import APPEND_NS, APPEND_WORK, CONDUCT, bio, events, operations

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"
SCAN = "settings-scan-drive"
Draw = Callable[[Mapping[str, Any], int], pa.Table]


def scan_operations(row: Mapping[str, Any], number: int) -> pa.Table:
    """What the made-up scan measured, taken apart: without the cache there is no flush."""
    if row["asked_write-cache"] == "off":
        return operations(300, {**APPEND_NS, "flush": 0}, APPEND_WORK | {"flushes": 0}, seed=number)
    return operations(300, APPEND_NS, APPEND_WORK, seed=number)


def traced_run(
    parent: Path,
    name: str = SCAN,
    draw: Draw = scan_operations,
    conducts: Mapping[str, TraceConduct] | None = None,
    only: Callable[[str], bool] = lambda _trial: True,
) -> StoredRun:
    """A copy of a golden run whose trials were traced."""
    directory = parent / name
    shutil.copytree(RUNS / name, directory)
    table = pq.read_table(directory / layout.TRIALS)
    (directory / layout.OPERATIONS).mkdir()
    (directory / layout.EVENTS).mkdir()
    contexts = []
    for number, row in enumerate(table.to_pylist()):
        context = json.loads(row["context_json"])
        if only(row["trial"]):
            file = layout.ios_name(row["trial"])
            pq.write_table(draw(row, number), directory / layout.OPERATIONS / file)
            pq.write_table(events(bio(1000, 46_000)), directory / layout.EVENTS / file)
            context["trace"] = (conducts or {}).get(row["trial"], CONDUCT).to_json()
        contexts.append(json.dumps(context))
    place = table.column_names.index("context_json")
    changed = table.set_column(place, table.schema.field(place), pa.array(contexts, pa.string()))
    pq.write_table(changed, directory / layout.TRIALS)
    return open_run(directory)


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    return traced_run(tmp_path_factory.mktemp("scan"))


def test_a_run_without_traces_has_nothing_to_explain() -> None:
    run = open_run(RUNS / SCAN)
    assert explanations_of(run) == ()
    assert level_differences(run, answer_of_run(run)) == ()


def test_every_combination_is_explained_with_its_repeats_together(scan: StoredRun) -> None:
    found = explanations_of(scan)
    combinations = {tuple(sorted(one.levels.items())): one.trials for one in answer_of_run(scan).combinations}
    assert {tuple(sorted(one.levels.items())): one.trials for one in found} == combinations
    assert all(one.operations == 5 * 300 and len(one.trials) == 5 for one in found)
    order = experiment_order(scan.run_json["experiment"])
    assert [one.levels for one in found] == sorted((one.levels for one in found), key=order.level_places)
    assert set(order.level_places(found[0].levels)) == {0}
    baseline = found[0]
    assert (baseline.target, baseline.workload, baseline.operation) == ("sdb", "one-byte", "durable_write")
    assert baseline.label == scan.run_json["experiment"]["workloads"][0]["title"]
    assert baseline.q2c_ns == 45_000
    assert baseline.refusal == ""
    assert sum(one.mean.value or 0 for one in baseline.parts) == pytest.approx(baseline.mean_ns)


def test_the_untraced_median_is_that_of_the_timed_passes(scan: StoredRun) -> None:
    found = explanations_of(scan)[0]
    medians = [scan.estimates(trial)["total_latency_ns_p50"] for trial in found.trials]
    known = [one.value if one.value is not None else one.observed for one in medians]
    assert found.untraced_ns is not None
    # as tables have it
    assert found.untraced_ns.value == pytest.approx(median(value for value in known if value is not None))
    assert found.tracing_cost is not None
    assert found.tracing_cost.low is not None


def test_commands_are_checked_against_what_the_stack_should_issue(tmp_path: Path) -> None:
    def check(write_cache: object, fua: object = "0") -> tuple[str, str]:
        environment = {"write_cache": write_cache, "fua": fua}
        conducts = dict.fromkeys(names, replace(CONDUCT, environment=environment))
        run = traced_run(tmp_path / str(len(list(tmp_path.iterdir()))), conducts=conducts)
        found = explanations_of(run)[0].check
        return found.verdict, found.text

    names = open_run(RUNS / SCAN).trial_names
    # the raw drive, a byte and fdatasync: one write and one flush are due, three and two came
    verdict, text = check("write back")
    assert verdict == "too_many"
    assert "2.00 flushes instead of 1" in text
    assert "3.00 writes instead of 1" in text
    assert check({"before": "write back", "after": "write through"})[0] == "too_many"
    assert "instead of 0" in check("write through")[1]
    # nothing was stored with the trace: then it is the drive's facts from before the run, and they have FUA
    assert "1.00 fua writes instead of 0" in check("")[1]


def test_a_repeat_with_losses_is_left_out_and_all_of_them_refuse(tmp_path: Path) -> None:
    names = open_run(RUNS / SCAN).trial_names
    lost = replace(CONDUCT, lost_events=3)
    first = traced_run(tmp_path / "one", conducts={"0002-one-byte": lost, "0001-one-byte": lost})
    left = [one for one in explanations_of(first) if one.left_out]
    assert len(left) == 1
    assert left[0].left_out[0].startswith("0002-one-byte: 3 events were lost")
    assert left[0].operations == 4 * 300
    every = traced_run(tmp_path / "all", conducts=dict.fromkeys(names, lost))
    assert all(one.refusal and not one.parts for one in explanations_of(every))
    assert level_differences(every, answer_of_run(every)) == ()


def test_a_trial_of_which_nobody_knows_how_it_was_traced_is_refused(tmp_path: Path) -> None:
    nothing = TraceConduct(source="", reason="")
    names = open_run(RUNS / SCAN).trial_names
    run = traced_run(tmp_path, conducts=dict.fromkeys(names, nothing))
    assert "nothing is known" in explanations_of(run)[0].refusal


def test_of_the_levels_that_matter_the_traces_say_why(scan: StoredRun) -> None:
    answer = answer_of_run(scan)
    matters = [(one.factor, one.level) for one in answer.effects if one.verdict == "matters"]
    found = level_differences(scan, answer)
    assert [(effect.factor, effect.level) for effect, _ in found] == matters
    by_level = {(effect.factor, effect.level): difference for effect, difference in found}
    off = by_level["write-cache", "off"]
    assert (off.base, off.new, off.units) == ("write-cache as-found", "write-cache off", "repeats")
    assert off.part("flush").is_beyond_noise
    assert off.part("flush").new_ns == 0
    assert off.work == {"flushes": (2.0, 0.0)}
    assert sum_of_parts(off) == pytest.approx(off.total.difference_ns.value)
    sentences = list(explained_levels(found))
    assert sentences[0].startswith("write-cache off is ")
    assert "because the flush is gone" in sentences[0]
    # slower in the timed passes, and not in the traced ones: then they do not say why
    assert any(text.startswith("Why scheduler bfq is") for text in sentences)


def sum_of_parts(difference: ExplanationDifference) -> float:
    return sum(one.difference_ns.value or 0.0 for one in difference.parts[1:])


def test_two_runs_are_compared_combination_by_combination(scan: StoredRun, tmp_path: Path) -> None:
    def slower(row: Mapping[str, Any], number: int) -> pa.Table:
        return operations(300, {**APPEND_NS, "device": 3 * APPEND_NS["device"]}, APPEND_WORK, seed=1000 + number)

    other = traced_run(tmp_path, draw=slower)
    found = explanation_differences(scan, other)
    assert len(found) == len(traced_cells(scan))
    assert all(one.part("device").is_beyond_noise for one in found)
    assert all(one.operation == "durable_write" and one.label for one in found)


def test_a_factor_with_one_level_on_each_side_is_what_is_compared(scan: StoredRun, tmp_path: Path) -> None:
    cells = {cell.levels["write-cache"]: cell for cell in traced_cells(scan) if cell.levels["scheduler"] == "as-found"}
    names = {level: set(cell.trials) for level, cell in cells.items()}
    on = traced_run(tmp_path / "on", only=lambda trial: trial in names["as-found"])
    off = traced_run(tmp_path / "off", only=lambda trial: trial in names["off"])
    (found,) = explanation_differences(on, off)
    assert found.part("flush").is_beyond_noise
    own = difference_of_cells((scan, cells["as-found"]), (scan, cells["off"]), names=("on", "off"))
    assert own is not None
    assert (own.base, own.new) == ("on", "off")
    assert own.parts == found.parts


def test_what_is_not_whole_or_not_alike_has_no_difference(scan: StoredRun, tmp_path: Path) -> None:
    cell = traced_cells(scan)[0]
    lost = traced_run(tmp_path, conducts=dict.fromkeys(cell.trials, replace(CONDUCT, lost_events=1)))
    assert difference_of_cells((scan, cell), (lost, cell)) is None
    assert len(explanation_differences(scan, lost)) == len(traced_cells(scan)) - 1
    reads = traced_run(tmp_path / "reads", draw=lambda _row, number: operations(50, operation="read", seed=number))
    assert difference_of_cells((scan, cell), (reads, cell)) is None


@pytest.mark.provokes("S506")
@pytest.mark.parametrize("damage", [{"lost_events": None}, {"clock": 3}, {"environment": []}, {"open_at_end": True}])
def test_a_damaged_conduct_of_a_trace_is_named(damage: dict[str, object]) -> None:
    with pytest.raises(DrivelabError, match=f"{next(iter(damage))} of a stored trace") as caught:
        TraceConduct.from_json({**CONDUCT.to_json(), **damage})
    assert caught.value.code == "S506"
