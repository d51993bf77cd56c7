"""Workloads that run at the same time stay together, in a plan of an experiment and in one of a list of jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from drivelab.experiments.load import parse_experiment
from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment
from drivelab.model.plan import Plan
from drivelab.model.stored_experiment import workload_titles
from drivelab.model.target import TargetFacts
from drivelab.model.workload_pattern import WorkloadPattern
from drivelab.plan.listed import JobList, ListedJob, listed_experiment, listed_plan
from drivelab.plan.make import longest_alone, make_plan

MIB = 2**20
READER = {"name": "reader", "operation": "read", "file_size": "1MiB", "runtime": "2s", "together": "both"}
WRITER = {"name": "writer", "file_size": "1MiB", "runtime": "5s", "durability": "fdatasync", "together": "both"}
ALONE = {"name": "alone", "operation": "read", "file_size": "1MiB", "runtime": "1s"}


def experiment_of(*workloads: dict[str, Any], **keys: Any) -> Experiment:
    document = {"format": 1, "name": "x", "question": "?", "repeats": {"full": 3, "quick": 1}, "workloads": workloads}
    return Experiment.model_validate(document | keys)


def varied(*workloads: str) -> dict[str, Any]:
    return {"setting": "workload", "key": "queue_depth", "levels": [1, 4], "workloads": list(workloads)}


def units_of(plan: Plan) -> list[tuple[str, ...]]:
    return [tuple(step.workload for step in unit) for unit in plan.units]


def test_a_group_is_one_unit_of_the_random_order(directory: TargetFacts) -> None:
    plan = make_plan(experiment_of(READER, WRITER, ALONE, factors=[varied()]), [directory], seed=4)
    assert set(units_of(plan)) == {("reader", "writer"), ("alone",)}
    numbers = [unit[0].together for unit in plan.units if len(unit) > 1]
    assert numbers == sorted(set(numbers)), "each group has a number of its own"
    for unit in plan.units:
        assert len({step.together for step in unit}) == 1
        assert len({tuple(step.levels.items()) for step in unit}) == 1, "all of a group have the same levels"
        assert bool(unit[0].together) == (len(unit) > 1)
    assert Plan.from_json(plan.to_json()).units == plan.units


def test_what_varies_one_of_a_group_is_a_level_of_all_and_changes_only_that_one(directory: TargetFacts) -> None:
    plan = make_plan(experiment_of(READER, WRITER, factors=[varied("reader")]), [directory], seed=4)
    depths = {
        (step.workload, step.levels["queue_depth"]): step.pattern.queue_depth for unit in plan.units for step in unit
    }
    assert depths == {("reader", "1"): 1, ("reader", "4"): 4, ("writer", "1"): 1, ("writer", "4"): 1}


def test_a_group_takes_as_long_as_its_longest_and_counts_no_commands(directory: TargetFacts) -> None:
    group = make_plan(experiment_of(READER, WRITER), [directory], seed=4)
    alone = make_plan(experiment_of(*(one | {"together": ""} for one in (READER, WRITER))), [directory], seed=4)
    assert 3 * 5e9 < group.expected_ns < 3 * 6e9
    assert alone.expected_ns > 3 * 7e9
    assert "counting" in alone.preparation
    assert "counting" not in group.preparation
    # each has a file of its own
    assert group.preparation["file"] >= 3 * MIB


def test_only_the_longest_of_a_group_counts() -> None:
    assert longest_alone([3, 5, 4, 2, 7], [0, 1, 1, 2, 2]) == [3, 5, 0, 0, 7]
    assert longest_alone([3, 5], [0, 0]) == [3, 5]


def test_tables_say_with_whom(directory: TargetFacts) -> None:
    experiment = experiment_of(READER | {"title": "reads"}, WRITER, ALONE)
    titles = workload_titles(experiment.model_dump(mode="json"))
    assert titles == {"reader": "reads (with writer)", "writer": "writer (with reads)", "alone": "alone"}
    plan = make_plan(experiment, [directory], seed=1)
    assert {step.label for step in plan.steps} == set(titles.values())
    crowd = [READER | {"name": f"r{number}"} for number in range(6)]
    assert workload_titles({"workloads": crowd})["r0"] == "r0 (with 5 others)"


@pytest.mark.parametrize(
    ("workloads", "keys", "what", "line"),
    [
        ((READER, ALONE), {}, "it would run alone", "workloads.1.together"),
        ((READER, ALONE, WRITER), {}, "do not follow each other", "workloads.3.together"),
        (
            (READER, WRITER),
            {"factors": [{"setting": "scheduler", "levels": ["none"], "workloads": ["reader"]}]},
            "writer runs at the same time",
            "factors.1.workloads",
        ),
        ((READER, WRITER, ALONE), {"reference": {"workload": "writer"}}, "a reference runs alone", "reference"),
    ],
)
@pytest.mark.provokes("P703")
def test_a_group_that_cannot_be_is_named(
    workloads: tuple[dict[str, Any], ...], keys: dict[str, Any], what: str, line: str
) -> None:
    tables = ["\n".join(f"{key} = {value!r}".replace("'", '"') for key, value in one.items()) for one in workloads]
    text = 'format = 1\nname = "x"\nquestion = "?"\n'
    text += "".join(f"[[workloads]]\n{table}\n" for table in tables)
    for one in keys.get("factors", ()):
        text += "[[factors]]\n" + "\n".join(f"{key} = {value!r}".replace("'", '"') for key, value in one.items())
    if "reference" in keys:
        text += '[reference]\nworkload = "writer"\n'
    with pytest.raises(DrivelabError, match=what) as caught:
        parse_experiment(text, "own.toml")
    assert caught.value.code == "P703"
    assert caught.value.what.startswith(line)


@pytest.mark.provokes("P705")
def test_the_files_of_a_group_must_have_room_together(directory: TargetFacts) -> None:
    large = {"file_size": "6GiB"}
    make_plan(experiment_of(READER | large | {"together": ""}, WRITER | large | {"together": ""}), [directory], seed=1)
    with pytest.raises(DrivelabError, match=r"reader, writer run at the same time and need 12 GiB") as caught:
        make_plan(experiment_of(READER | large, WRITER | large), [directory], seed=1)
    assert caught.value.code == "P705"


def job(name: str, group: int, **keys: Any) -> ListedJob:
    pattern = WorkloadPattern.model_validate({"operation": "read", "count": 8, "file_size": MIB} | keys)
    return ListedJob(name, name, pattern, target=0, group=group, file_name="data", file_bytes=MIB, seed=7)


def test_a_list_of_jobs_keeps_its_order_and_its_groups(directory: TargetFacts) -> None:
    jobs = (job("a", 1), job("b", 1, operation="write"), job("c", 2))
    listed = JobList("list", "?", jobs)
    plan = listed_plan(listed, [directory], seed=1, repeats=2)
    assert units_of(plan) == [("a", "b"), ("c",)] * 2
    assert [step.repeat for step in plan.steps] == [1, 1, 1, 2, 2, 2]
    assert {(step.seed, step.file_name) for step in plan.steps} == {(7, "data")}
    assert plan.is_listed
    assert [plan.is_file_needed_after(step) for step in plan.steps] == [True, True, False] * 2
    experiment = listed_experiment(listed, repeats=2)
    assert [len(unit) for unit in experiment.units] == [2, 1]
    assert experiment.repeats.full == 2


@pytest.mark.provokes("P706")
def test_a_file_that_exists_is_read_and_never_written(directory: TargetFacts) -> None:
    file = replace(directory, text="/srv/data/x", path="/srv/data/x", kind="file", size_bytes=MIB)
    assert listed_plan(JobList("list", "?", (job("a", 1),)), [file], seed=1).steps
    with pytest.raises(DrivelabError, match="would write over a file that exists") as caught:
        listed_plan(JobList("list", "?", (job("a", 1, operation="write"),)), [file], seed=1)
    assert caught.value.code == "P706"
    with pytest.raises(DrivelabError, match="the file has 512 KiB"):
        listed_plan(JobList("list", "?", (job("a", 1),)), [replace(file, size_bytes=MIB // 2)], seed=1)
