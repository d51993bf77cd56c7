"""Whether a trial was alone: found when it was not, and never said of a computer that only waits for the drive."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from simulated_neighbours import Trial, any_trial, neighbour_share, own_bytes, with_neighbours
from simulated_trials import (
    counted,
    drive,
    durable_values,
    durable_workload,
    evidence,
    filesystem,
    latencies,
    measured,
    target,
    workload,
)

from drivelab.analyse.findings import foreign_work
from drivelab.model.finding import Finding
from drivelab.model.target import BlockLayer
from drivelab.model.workload import BlockSizeShare

# two whole checks of one quiet virtual machine with 2 processors: share of the time in which tasks waited for a
# processor, part of both processors that was at work, and the job thread's time as a part of one
RECORDED = {
    "sync-write-512": [(0.189, 0.40 / 2, 0.38), (0.191, 0.37 / 2, 0.38)],
    "random-read-qd1": [(0.196, 0.36 / 2, 0.48), (0.172, 0.36 / 2, 0.45)],
    "random-write-qd32": [(0.198, 0.36 / 2, 0.30), (0.213, 0.37 / 2, 0.30)],
    "sequential-read-qd1": [(0.039, 0.09 / 2, 0.12), (0.045, 0.12 / 2, 0.14)],
    # passes of 0.15 s with the interpreter around them
    "probe": [(0.2, 0.60 / 2, 0.30)],
    # other programs of one thread on the idle computer: direct reads, sleeps of 50 us, nothing at all
    "direct reads": [(0.21, 0.43 / 2, 0.45)],
    "sleeping": [(0.15, 0.08 / 2, 0.27)],
    "nothing": [(0.009, 0.07 / 2, 0.0)],
}


USED_BY_OTHERS = {"count": 2, "duration_ns": 2e9, "busy": 1.4, "own": 0.3, "kernel_threads": 0.1}


def judged(pressure: float, processors: dict[str, Any]) -> list[Finding]:
    context = {"pressure": {"cpu_some_share": pressure}, "processors": processors}
    return foreign_work.find(evidence(measured(devices=[counted(reads=2000)], context=context)))


def used(busy: float, own: float, count: int = 2, kernel_threads: float | None = 0.0, seconds: float = 2.0) -> Any:
    return {
        "count": count,
        "duration_ns": seconds * 1e9,
        "busy": busy,
        "own": own,
        "kernel_threads": kernel_threads,
    }


@pytest.mark.parametrize("name", RECORDED)
def test_a_thread_that_sleeps_for_every_io_is_no_neighbour(name: str) -> None:
    for pressure, busy_share, own in RECORDED[name]:
        for kernel_threads in (0.0, 0.05, None):
            assert judged(pressure, used(2 * busy_share, own, kernel_threads=kernel_threads)) == []


@pytest.mark.parametrize("name", RECORDED)
def test_a_program_that_burns_one_of_two_processors_is_told(name: str) -> None:
    for pressure, busy_share, own in RECORDED[name]:
        (found,) = judged(pressure, used(2 * busy_share + 1.0, own))
        assert "of 2 processors" in found.text
        assert found.evidence["other_processors"] == pytest.approx(2 * busy_share + 1.0 - own)
        assert ("waited" in found.text) == (pressure > 0.05)


def test_half_a_processor_or_a_tenth_of_all_is_the_least_whichever_is_more() -> None:
    for count, others, is_told in (
        (1, 0.45, False),
        (1, 0.55, True),
        (4, 0.55, True),
        (64, 6.0, False),
        (64, 6.6, True),
    ):
        assert bool(judged(0.0, used(others + 0.3, 0.3, count))) == is_told


def test_threads_of_the_kernel_are_nobody_else() -> None:
    assert judged(0.3, used(1.2, 0.3, kernel_threads=0.7)) == []
    assert judged(0.3, used(1.2, 0.3, kernel_threads=0.1)) != []


def test_a_few_ticks_are_too_few_to_tell() -> None:
    assert judged(0.3, used(1.0, 0.2, seconds=0.05)) == []


def test_a_trial_of_an_older_drivelab_says_nothing_of_processors() -> None:
    context = {"pressure": {"cpu_some_share": 0.2}, "cpu_busy_share": 0.2}
    assert foreign_work.find(evidence(measured(devices=[counted(reads=2000)], context=context))) == []


@pytest.mark.parametrize("own", ["read", "write"])
@pytest.mark.parametrize("foreign", ["reads", "writes"])
def test_bytes_of_neighbours_are_found(own: str, foreign: str) -> None:
    random = np.random.default_rng(len(own + foreign))
    told = 0
    for _ in range(30):
        trial = any_trial(random, own)
        if foreign == "writes" and trial.durability != "none" and trial.filesystem != "raw":
            # what their own journals write for durable writes cannot be told from a neighbour's
            trial = replace(trial, durability="none")
        share = {foreign: neighbour_share(random)}
        told += bool(foreign_work.find(with_neighbours(trial, own_bytes(random, trial), **share)))
    assert told >= 29


@pytest.mark.parametrize("own", ["read", "write"])
def test_journals_and_metadata_are_no_neighbours(own: str) -> None:
    random = np.random.default_rng(len(own))
    for _ in range(60):
        trial = any_trial(random, own)
        made = with_neighbours(trial, own_bytes(random, trial))
        assert foreign_work.find(made) == [], trial


def test_the_direction_and_the_share_are_told() -> None:
    trial = Trial("read", "raw", "overwrite", "none", 4096, 10_000, 5)
    (found,) = foreign_work.find(with_neighbours(trial, (trial.issued, 0), writes=0.5))
    assert found.evidence == {"excess_write_share": pytest.approx(0.5)}
    assert "the drive wrote" in found.text


def test_parts_of_blocks_are_read_before_they_are_written() -> None:
    trial = Trial("write", "ext4", "overwrite", "none", 512, 10_000, 5)
    assert foreign_work.find(with_neighbours(trial, (trial.count * 4096, trial.issued))) == []
    whole = replace(trial, block=4096)
    assert foreign_work.find(with_neighbours(whole, (whole.count * 2048, whole.issued))) != []


def test_nothing_is_said_where_nobody_can_account_for_every_byte() -> None:
    values, block = {"write": latencies(3000)}, BlockSizeShare(bytes=4096)
    asked = workload("write", block_sizes=(block,))
    twice = [counted(writes=6000)]
    assert foreign_work.find(evidence(measured(asked, values, devices=twice))) != []
    trees = target(filesystem("btrfs"))
    assert foreign_work.find(evidence(measured(asked, values, devices=twice), trees)) == []
    buffered = measured(workload("write", direct=False), values, devices=twice)
    assert foreign_work.find(evidence(buffered)) == []
    mapped = replace(target(filesystem()), devices=(layer("dm"),))
    assert foreign_work.find(evidence(measured(asked, values, devices=twice), mapped)) == []
    mirrored = target(None, [drive(), drive(name="sdb")])
    members = [counted(writes=3000), counted(writes=3000, device="sdb")]
    assert foreign_work.find(evidence(measured(asked, values, devices=members), mirrored)) == []


def layer(kind: str) -> BlockLayer:
    return BlockLayer("dm-0", "/dev/dm-0", "253:0", kind, 10**9, 0, 512, 4096, None, None, False, False, None)


def test_a_quiet_computer_says_nothing() -> None:
    quiet = {"cpu_steal_share": 0.001, "pressure": {"cpu_some_share": 0.01}, "other_work": None}
    assert foreign_work.find(evidence(measured(devices=[counted(reads=2000)], context=quiet))) == []


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({"cpu_steal_share": 0.2}, "hypervisor"),
        (
            {"processors": USED_BY_OTHERS, "pressure": {"cpu_some_share": 0.3}},
            "others used 1.0 of 2 processors, and tasks waited for a processor 30 % of the time",
        ),
        (
            {"command_counts": {"foreign_requests": 40, "data_writes": 400, "foreign": {"postgres": 40}}},
            "postgres",
        ),
        (
            {
                "other_work": {
                    "duration_ns": 50_000_000,
                    "reads": 100,
                    "writes": 0,
                    "bytes_read": 1 << 20,
                    "bytes_written": 0,
                }
            },
            "other work kept the drive busy",
        ),
    ],
    ids=["steal", "processors", "requests", "before"],
)
def test_each_sign_of_others_is_told(context: dict[str, object], words: str) -> None:
    (found,) = foreign_work.find(evidence(measured(devices=[counted(reads=2000)], context=context)))
    assert words in found.text
    assert found.severity == "warning"


@pytest.mark.parametrize(("share", "severity"), [(0.012, "note"), (0.05, "note"), (0.051, "warning")])
def test_the_little_that_a_hypervisor_always_takes_is_no_alarm(share: float, severity: str) -> None:
    context: dict[str, object] = {"cpu_steal_share": share}
    (found,) = foreign_work.find(evidence(measured(devices=[counted(reads=2000)], context=context)))
    assert found.severity == severity
    (found,) = foreign_work.find(evidence(measured(devices=[counted(reads=2380)], context=context)))
    assert found.severity == "warning", "others read from the drive as well"


def test_a_single_write_of_a_journal_is_not_a_neighbour() -> None:
    idle = {"duration_ns": 50_000_000, "reads": 0, "writes": 1, "bytes_read": 0, "bytes_written": 1 << 20}
    assert foreign_work.find(evidence(measured(devices=[counted(reads=2000)], context={"other_work": idle}))) == []


def test_reads_that_nobody_asked_for_here_are_told() -> None:
    assert "19 %" in foreign_work.find(evidence(measured(devices=[counted(reads=2380)])))[0].text
    assert foreign_work.find(evidence(measured(devices=[counted(reads=2010)]))) == []


def test_foreign_requests_in_the_trial_itself_are_told() -> None:
    counts = counted(reads=2000, foreign_requests=500)
    assert "25 %" in foreign_work.find(evidence(measured(devices=[counts])))[0].text


def test_what_was_over_when_it_began_is_told_last_and_what_disturbed_it_most_first_and_names_by_how_much_they_did() -> (
    None
):
    before = {"duration_ns": 50_000_000, "reads": 0, "writes": 90, "bytes_read": 0, "bytes_written": 1 << 30}
    foreign = {"cargo": 3, "dd": 30, "awk": 3}
    context = {
        "cpu_steal_share": 0.02,
        "command_counts": {"foreign_requests": 36, "data_writes": 1200, "foreign": foreign},
        "other_work": before,
    }
    (found,) = foreign_work.find(evidence(measured(devices=[counted(reads=2000)], context=context)))
    first, second, third = found.text.split("; ")
    assert first == "this trial was not alone: 3 % of all requests were others' (dd, awk, cargo)"
    assert second.startswith("the hypervisor took 2 %")
    assert third.startswith("other work kept the drive busy just before")


@pytest.mark.parametrize(
    ("backend", "block", "is_told"), [("sync", 4096, True), ("sync", 512, False), ("mmap", 4096, False)]
)
def test_reads_beside_durable_writes_of_whole_blocks_through_the_page_cache_are_others(
    backend: str, block: int, is_told: bool
) -> None:
    asked = durable_workload(backend=backend, file_state="overwrite", block_sizes=(BlockSizeShare(bytes=block),))
    made = measured(asked, durable_values(4000), devices=[counted(reads=400, writes=4000, flushes=4000)])
    assert [finding.code for finding in foreign_work.find(evidence(made))] == [foreign_work.CODE] * is_told


def test_others_never_use_more_processors_than_there_are() -> None:
    used = {"busy": 2.4, "own": 0.1, "kernel_threads": 0.0, "count": 2, "duration_ns": 2_000_000_000}
    (found,) = foreign_work.find(evidence(measured(devices=[counted(reads=2000)], context={"processors": used})))
    assert found.text.endswith("others used 2.0 of 2 processors")
