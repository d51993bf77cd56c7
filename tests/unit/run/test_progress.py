"""Progress on a terminal are three lines that change in place; elsewhere each finished step is a line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from drivelab.experiments.load import load_experiment
from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.plan import Plan
from drivelab.model.target import TargetFacts
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.workload import Limits
from drivelab.plan.awaited import awaited_of_check, awaited_of_run, fillings_of_run
from drivelab.plan.check import plan_check
from drivelab.plan.make import make_plan
from drivelab.plan.time_left import AwaitedStep
from drivelab.run.engine import Progress
from drivelab.run.progress import RunProgress, found_text, share_done
from drivelab.run.progress_lines import Look, finished_line, left_text, live_lines, now_texts
from drivelab.streams import PROGRESS_AS_JSON

S = 10**9
LOOK = Look(
    title="run ssd-latency on Alpha, Beta",
    share=0.523,
    left="about 59 min left",
    place="12 of 156",
    name="small-write ext4 discard on Alpha",
    now=("98 500/s", "typical 2.03 ms", "slowest 60.1 ms"),
    found=tuple(f"small-write {name} 1.{place} ms" for place, name in enumerate(["raw", "ext4", "xfs"] * 3)),
)


class Clock:
    """A clock that is set."""

    now_ns = 7 * S

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def plan() -> Plan:
    scratch = TargetFacts("scratch:1GiB", "scratch", "", False, None, (), (), 2**30, 512, False)
    return make_plan(load_experiment("ssd-latency"), [scratch], seed=1, quick=True)


def estimate(value: float | None, unit: str = "ns") -> Estimate:
    return Estimate(value, value, value, unit, 1000, 900.0, "")  # type: ignore[arg-type]


SUMMARY = TrialSummary(
    "x",
    "x",
    "durable_write",
    {
        "total_latency_ns_p50": estimate(333_000.0),
        "total_latency_ns_p99": estimate(None),
        "iops": estimate(3000.0, "1/s"),
        "throughput_bytes_per_s": estimate(1.5e6, "B/s"),
    },
)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("plain", [False, True])
def test_three_lines_fit_and_the_time_left_stays(width: int, plain: bool) -> None:
    lines = live_lines(LOOK, width, plain=plain)
    assert len(lines) == 3
    assert all(len(line) <= width for line in lines)
    assert lines[0].endswith("52 %   about 59 min left")
    assert ("━" in lines[0]) != plain
    assert "12 of 156" in lines[1]
    assert "98 500/s" in lines[1]
    assert ("slowest 60.1 ms" in lines[1]) == (width >= 80)
    assert lines[2].endswith("small-write xfs 1.8 ms"), "the latest is there at any width"
    if plain:
        assert "".join(lines).isascii()


def test_nothing_found_and_no_step_are_no_lines() -> None:
    assert len(live_lines(Look("check x", left="about 21 s left", now=("getting ready",)), 80)) == 2
    assert len(live_lines(Look("check x"), 80)) == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("log", ["median 333 us", "p99 1.2 ms", "3 000/s"]),
        ("a workload with a very long name and many a level, all of which are told", ["median 333 us", "p99 1.2 ms"]),
        ("log", ["failed [E305]: " + "the drive does not answer any more " * 5]),
    ],
)
def test_a_finished_step_is_a_line_of_80(name: str, told: list[str]) -> None:
    line = finished_line("12 of 156", (name, ""), told, "about 12 min left", 80)
    assert len(line) <= 80
    assert line.startswith("step 12 of 156, ")
    assert told[0][:14] in line
    assert line.endswith("; about 12 min left")


def test_a_short_name_leaves_room_for_the_numbers() -> None:
    names, told = ("512 B appended + fdatasync", "512 B appended"), ["median 4 ms", "p99 8.02 ms", "272/s"]
    line = finished_line("1 of 17", names, told, "about 16 s left", 80)
    assert line == "step 1 of 17, 512 B appended: median 4 ms, p99 8.02 ms, 272/s; about 16 s left"
    assert finished_line("1 of 17", names, told[:1], "", 80) == f"step 1 of 17, {names[0]}: median 4 ms"


def test_what_goes_on_is_told_as_it_goes() -> None:
    assert now_texts(Progress(0, True, {}, {})) == ("making its file ready",)
    assert now_texts(Progress(S, True, {}, {})) == ("warming up",)
    assert now_texts(Progress(S, False, {}, {})) == ("measuring",)
    durable = {"durable_write": (2_000_000, 60_000_000), "write": (1, 2)}
    going = Progress(3 * S, False, {"write": 600, "sync": 600}, {"write": 6}, durable, 2 * S)
    assert now_texts(going) == ("300/s", "typical 2 ms", "slowest 60 ms")
    mixed = Progress(S, False, {"write": 30, "read": 70}, {}, {"read": (1000, 2000), "durable_write": (7, 8)}, S)
    assert now_texts(mixed) == ("reads 70/s", "writes 30/s", "typical 1 us", "slowest 2 us")
    assert left_text(21 * S) == "about 21 s left"
    assert left_text(S // 10) == "less than 1 s left"


def test_a_part_is_done_by_the_limit_that_is_met_first() -> None:
    progress = Progress(2 * S, False, {"write": 50}, {"write": 600})
    assert share_done(Limits(runtime_ns=10 * S), progress) == 0, "the plan knows"
    assert share_done(Limits(runtime_ns=10 * S, count=1000), progress) == 0
    assert share_done(Limits(runtime_ns=10 * S, count=100), progress) == 0.5
    assert share_done(Limits(bytes=600, count=100), progress) == 1
    assert share_done(Limits(), progress) == 0


def test_the_one_number_of_a_step_is_what_it_is_measured_for() -> None:
    assert found_text(SUMMARY) == "333 us"
    large = {"throughput_bytes_per_s": estimate(1.5e9, "B/s"), "iops": estimate(1430.0, "1/s")}
    assert found_text(TrialSummary("x", "x", "read", large)) == "1.5 GB/s"
    small = {"throughput_bytes_per_s": estimate(4.1e7, "B/s"), "iops": estimate(10_000.0, "1/s")}
    assert found_text(TrialSummary("x", "x", "read", small)) == "10 000/s"
    assert found_text(TrialSummary("x", "x", "read", {})) == ""


def test_a_look_has_the_share_of_the_time_and_not_of_the_steps() -> None:
    clock = Clock()
    steps = [AwaitedStep("short", "short", S), AwaitedStep("long", "long", 9 * S)]
    progress = RunProgress("run", steps, io.StringIO(), now_ns=clock)
    progress.begins(1)
    clock.now_ns += S
    progress.done(1, SUMMARY)
    look = progress.look()
    assert (look.share, look.left) == (pytest.approx(0.1), "about 9 s left")
    assert look.found == ("short 333 us",)
    progress.begins(2)
    progress.doing("counting its commands")
    clock.now_ns += 3 * S
    look = progress.look()
    assert (look.share, look.left, look.place) == (pytest.approx(0.4), "about 6 s left", "2 of 2")
    assert look.now == ("counting its commands",)
    progress.failed(2, DrivelabError("E305", "it failed"))
    assert progress.look().found[-1] == "long failed [E305]"
    assert progress.look().share == 1


def test_steps_that_are_not_needed_are_not_counted() -> None:
    stream = io.StringIO()
    progress = RunProgress("run", [AwaitedStep(f"step {n}", "", S) for n in range(1, 7)], stream, completed={1})
    progress.begins(2)
    assert progress.look().place == "2 of 6"
    progress.not_needed([3, 4])
    progress.done(2, SUMMARY)
    progress.begins(5)
    progress.not_needed([3, 6])
    progress.done(5, SUMMARY)
    assert [line.partition(",")[0] for line in stream.getvalue().splitlines()] == ["step 2 of 4", "step 3 of 3"]


def test_a_count_that_rounds_may_shorten_is_a_maximum() -> None:
    stream = io.StringIO()
    steps = [AwaitedStep(f"step {n}", "", S, may_be_left_out=n in (3, 4)) for n in range(1, 6)]
    progress = RunProgress("run", steps, stream)
    progress.begins(2)
    assert progress.look().place == "1 of at most 5"
    progress.done(2, SUMMARY)
    progress.not_needed([3, 4])
    progress.done(5, SUMMARY)
    assert [line.partition(",")[0] for line in stream.getvalue().splitlines()] == ["step 1 of at most 5", "step 2 of 3"]


def test_what_is_over_stays_over_when_the_rest_turns_out_longer() -> None:
    clock = Clock()
    progress = RunProgress("run", [AwaitedStep("a", "a", S)] * 10, io.StringIO(), now_ns=clock)
    shares = []
    for number in range(1, 11):
        progress.begins(number)
        clock.now_ns += number * S
        shares.append(progress.look().share)
        progress.done(number, SUMMARY)
    assert shares == sorted(shares)


def test_of_what_nobody_could_plan_the_time_is_told_once_a_part_is_done() -> None:
    clock = Clock()
    progress = RunProgress("io", [AwaitedStep("", "", 0, Limits(count=100))], io.StringIO(), now_ns=clock)
    progress.begins(1)
    clock.now_ns += S
    progress.goes_on(Progress(S, False, {"write": 2}, {}))
    assert (progress.look().share, progress.look().left) == (0, "")
    progress.goes_on(Progress(S, False, {"write": 25}, {}))
    assert (progress.look().share, progress.look().left) == (0.25, "about 3 s left")


def test_filling_a_scratch_drive_tells_nothing_of_steps(plan: Plan) -> None:
    clock = Clock()
    progress = RunProgress("run", awaited_of_run(plan), io.StringIO(), fillings=fillings_of_run(plan), now_ns=clock)
    planned_ns = sum(step.expected_ns for step in plan.steps)
    progress.begins(1)
    progress.preparing("filling scratch:1GiB with random data")
    progress.filling_goes_on(0.01)
    clock.now_ns += 100 * S
    progress.filling_goes_on(0.5)
    look = progress.look()
    assert look.now == ("filling scratch:1GiB with random data: 50%",)
    assert 0.3 < look.share < 0.5
    clock.now_ns += 100 * S
    progress.goes_on(Progress(0, True, {}, {}))
    clock.now_ns += plan.steps[0].expected_ns
    progress.done(1, SUMMARY)
    assert progress.look().left == left_text(planned_ns - plan.steps[0].expected_ns)


def test_steps_at_the_same_time_take_the_time_of_all_once(plan: Plan) -> None:
    awaited = awaited_of_run(plan)
    assert sum(step.expected_ns for step in awaited) == sum(step.expected_ns for step in plan.steps)
    assert awaited[0].name.startswith(plan.steps[0].workload)


def test_trials_of_a_check_are_awaited_with_what_counts_their_commands(tmp_path: Path) -> None:
    plan = plan_check(resolve_target(str(tmp_path))).plan
    awaited = awaited_of_check(plan)
    assert [step.name for step in awaited] == [step.label for step in plan.steps]
    assert awaited[0].short == "512 B appended"
    assert awaited[-1].short.endswith(" QD8")
    pairs = [(one, step) for one, step in zip(awaited, plan.steps, strict=True) if step.pattern.is_durable]
    # behind the last window of each
    assert {one.is_part for one, step in pairs if step.window < step.window_count} == {True}
    assert all(
        one.expected_ns > one.limits.runtime_ns > 0 and not one.is_part for one, step in pairs if step.ends_trial
    )


def test_windows_of_a_trial_count_as_one_step(tmp_path: Path) -> None:
    plan = plan_check(resolve_target(str(tmp_path))).plan
    stream = io.StringIO()
    progress = RunProgress("check", awaited_of_check(plan), stream)
    trials = len({step.trial for step in plan.steps})
    for step in plan.steps:
        progress.begins(step.number)
        assert f" of {trials}" in progress.look().place
        if step.ends_trial:
            progress.done(step.number, SUMMARY)
        else:
            progress.window_done(step.number)
    lines = stream.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == [f"step {1 + place} of {trials}" for place in range(trials)]


class Deaf(io.StringIO):
    """A stream whose reader has gone away."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_reader_that_has_gone_away_does_not_end_a_run(plan: Plan) -> None:
    progress = RunProgress("run", awaited_of_run(plan), Deaf())
    progress.preparing("putting everything back")
    progress.failed(1, DrivelabError("E305", "it failed"))


def test_who_asked_for_it_hears_rates_of_now_and_the_time_left_as_lines_of_json(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in PROGRESS_AS_JSON.items():
        monkeypatch.setenv(name, text)
    clock, stream = Clock(), io.StringIO()
    progress = RunProgress("run", awaited_of_run(plan), stream, now_ns=clock)

    def told() -> list[dict[str, Any]]:
        lines = [json.loads(line)["progress"] for line in stream.getvalue().splitlines() if line.startswith("{")]
        stream.seek(0)
        stream.truncate()
        return lines

    def measured(seconds: float, count: int) -> None:
        clock.now_ns = round((8 + seconds) * S)
        counts = {"write": count}
        progress.goes_on(Progress(round(seconds * S), False, counts, {"write": 4096 * count}, {}, round(seconds * S)))

    with progress:
        progress.begins(1)
        (first,) = told()
        assert (first["operations_per_s"], first["line"].split("  ")[1:2]) == (0, ["getting ready"])
        assert first["left_ns"] > 0
        measured(1, 1000)
        measured(1.5, 1500)
        measured(2.5, 4000)
        one, two = told()
        assert (one["operations_per_s"], one["bytes_per_s"]) == (1000, 4096e3)
        assert (two["operations_per_s"], two["bytes_per_s"]) == (2000, 8192e3)
        # at once, since nothing is measured any more
        progress.doing("counting its commands")
        progress.doing("and something else")
        (paused,) = told()
        assert (paused["operations_per_s"], paused["bytes_per_s"]) == (0, 0)
        assert paused["line"].count("counting its commands") == 1
