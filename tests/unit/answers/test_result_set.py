"""A stored run as a result set: on what, with which levels, which numbers, and nothing that is not known."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivelab.answers.measured_on import link_text, machine_of, measured_targets
from drivelab.answers.result_set import result_set_of
from drivelab.answers.run_answer import SHOWN_METRICS, answer_of_run
from drivelab.model.result_set import Observation, ResultSet
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.reference.load import load_reference
from drivelab.report.sentences.several_drives import joint_sentences
from drivelab.report.tables.grid import built_in_views, grids
from drivelab.store.read import StoredRun, open_run
from drivelab.store.run_record import RunRecord

FLUSHES = "device_flushes_per_operation"
RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"
DRIVE = {
    "name": "sdb",
    "vendor": "ATA",
    "model": "SAMSUNG MZ7LH480HAHQ",
    "firmware": "GXA7801Q",
    "serial": "S45P",
    "size_bytes": 480103981056,
    "is_rotational": False,
    "link": {"kind": "sata", "rate_bits_per_s": 6000000000},
    "write_cache": {"drive_enabled": True},
}


def stored(name: str) -> StoredRun:
    """A golden run."""
    return open_run(RUNS / name)


def set_of(run: StoredRun) -> ResultSet:
    """What it comes to."""
    return result_set_of(run, answer_of_run(run, SHOWN_METRICS))


def with_facts(name: str, **facts: Any) -> StoredRun:
    """A golden run with other facts in its run.json."""
    run = stored(name)
    return StoredRun(run.directory, copy.deepcopy(run.run_json) | facts)


def target(label: str, drive: Mapping[str, Any] | None, **facts: Any) -> dict[str, Any]:
    """A target as it is stored."""
    before = {"kind": "block_device", "drives": [drive] if drive else []} | facts
    return {"label": label, "facts_before": before, "facts_after": None}


def one(found: ResultSet, metric: str, **levels: str) -> Observation:
    """The only observation of a metric with such levels."""
    (match,) = [
        each
        for each in found.observations
        if each.metric == metric and all(each.levels.get(name) == level for name, level in levels.items())
    ]
    return match


def test_machine_and_drive_are_those_of_the_run() -> None:
    found = set_of(stored("settings-scan-drive"))
    (machine,) = found.machines
    assert (machine.name, machine.kernel, machine.kind) == ("pike", "6.12.41", "physical machine")
    assert (machine.model, machine.distribution) == ("Example Systems Box 9", "Debian GNU/Linux 13 (trixie)")
    assert machine.links == {"PCIe": "8 GT/s x4"}
    (drive,) = found.drives
    assert drive.name == "SAMSUNG MZ7LH480HAHQ 480 GB"
    assert (drive.firmware, drive.serial, drive.machine, drive.kind) == ("GXA7801Q", "S45P", "pike", "SSD")
    assert found.key == "settings-scan-drive"
    assert found.measured == "2026-01-31 14:00"
    assert found.source == "run settings-scan-drive, drivelab 0.1.0"


def test_repeats_come_as_their_median_and_range() -> None:
    run = stored("ssd-latency-scratch")
    found, answer = set_of(run), answer_of_run(run, SHOWN_METRICS)
    for combination in answer.combinations:
        metric = combination.metrics["total_latency_ns_mean"]
        estimate = one(found, "total_latency_ns_mean", **combination.levels).estimate
        assert (estimate.value, estimate.low, estimate.high) == (metric.median, metric.lowest, metric.highest)
        assert estimate.sample_count == sum(run.trial(name)["operation_count"] for name in combination.trials)
    ext4 = one(found, "total_latency_ns_p50", filesystem="ext4")
    assert ext4.commands["device_writes_per_operation"] == (3.0, 3.0)
    assert (ext4.is_durable, ext4.block_size_bytes, ext4.queue_depth) == (True, 512, 1)
    assert (ext4.operation, ext4.title, ext4.trial_count) == ("durable_write", "512 B written + fdatasync", 2)


def test_a_single_repeat_comes_with_its_own_interval() -> None:
    run = stored("ssd-latency-scratch")
    answer = answer_of_run(run, SHOWN_METRICS)
    first = answer.combinations[0]
    metric = replace(first.metrics["total_latency_ns_p50"], repeat_count=1, low=449e3, high=459e3)
    single = replace(first, metrics={"total_latency_ns_p50": metric}, trials=first.trials[:1])
    (found,) = result_set_of(run, RunAnswer((single,))).observations
    assert (found.estimate.low, found.estimate.high) == (449e3, 459e3)
    assert found.estimate.method == "one repeat, 95 % interval"


def test_bounds_and_invalid_trials_are_kept() -> None:
    run = stored("ssd-latency-scratch")
    first = answer_of_run(run, SHOWN_METRICS).combinations[0]
    changed = replace(first, metrics={}, bounds={"total_latency_ns_p99": (9e5, None)}, invalid_trials=1)
    (found,) = result_set_of(run, RunAnswer((changed,))).observations
    assert (found.estimate.value, found.estimate.low, found.estimate.high) == (None, 9e5, None)
    assert (found.trial_count, found.invalid_trials) == (2, 1)


def test_what_was_found_stands_for_as_found_and_refusals_are_told() -> None:
    found = set_of(stored("settings-scan-drive"))
    schedulers = {each.levels["scheduler"] for each in found.observations}
    assert "as-found" not in schedulers
    refused = one(found, "total_latency_ns_p50", scheduler="none")
    assert "scheduler: none was asked for, mq-deadline was read back" in refused.note
    assert {each.levels["write-cache"] for each in found.observations} == {"on", "off"}


def test_a_cache_that_nobody_could_read_is_on_where_flushes_were_counted() -> None:
    run = with_facts("write-size-two-drives", targets=[])
    found = result_set_of(run, RunAnswer(tuple(_as_found(each) for each in answer_of_run(run, SHOWN_METRICS).rows)))
    flushed = {(each.commands[FLUSHES][0] > 0, each.levels["write-cache"]) for each in found.observations}
    assert flushed == {(True, "on"), (False, "as-found")}
    assert all("because flushes were counted" in each.note for each in found.observations if each.levels == "on")


def _as_found(one: CombinationResult) -> CombinationResult:
    return replace(one, levels={**one.levels, "write-cache": "as-found"}, achieved={})


def test_a_run_whose_cache_is_as_found_is_compared_with_a_page() -> None:
    run = with_facts("write-size-two-drives", targets=[])
    measured = next(each for each in answer_of_run(run, SHOWN_METRICS).rows if each.block_size_bytes == 512)
    mean = replace(measured.metrics["total_latency_ns_p50"], median=2e6, low=1.9e6, high=2.1e6)
    rows = tuple(
        replace(
            _as_found(measured),
            workload="small-write",
            label="512 B synchronous appends",
            levels={"filesystem": filesystem, "write-cache": "as-found"},
            metrics=measured.metrics | {"total_latency_ns_mean": mean},
        )
        for filesystem in ("raw", "ext4", "xfs")
    )
    sets = (result_set_of(run, RunAnswer(rows)), load_reference("ssd-latency"))
    (placed,) = joint_sentences(sets)
    assert placed.replace("\u00a0", " ") == (
        "sdb with 2.00 ms (95 %: 1.90 to 2.10 ms) is behind Intel 520 120GB (440 µs) and ahead of Samsung 850 PRO "
        "256 GB (3.10 ms), as published; by mean latency of 512 B synchronous appends (raw, write-cache on)."
    )
    (pivot,) = grids(built_in_views()["pivot"], sets)
    assert [column.name for column in pivot.columns[1:4]] == ["RAW + WC", "Ext4 + WC", "XFS + WC"]
    assert len(pivot.columns) == 7


def test_the_file_system_that_was_there_stands_for_as_found() -> None:
    run = with_facts(
        "write-size-two-drives", targets=[{"label": "sdb", "facts_before": {"filesystem": {"type": "xfs"}}}]
    )
    rows = (
        replace(one, levels={**one.levels, "filesystem": "as-found"}, achieved={})
        for one in answer_of_run(run, SHOWN_METRICS).rows
        if one.target == "sdb"
    )
    found = result_set_of(run, RunAnswer(tuple(rows)))
    assert {each.levels["filesystem"] for each in found.observations} == {"xfs"}


def test_a_check_has_an_observation_per_trial_and_metric() -> None:
    found = set_of(stored("check-directory"))
    titles = {each.title for each in found.observations}
    assert {"512 B appended + fdatasync", "4 KiB appended + fdatasync"} <= titles
    assert len(titles) == 9
    p99 = one(set_of_only(found, "sync-write-2300"), "total_latency_ns_p99")
    estimate = stored("check-directory").estimates("sync-write-2300")["total_latency_ns_p99"]
    assert p99.estimate == estimate
    assert p99.levels == {"filesystem": "ext4", "write-cache": "on"}
    assert found.drives[0].kind == "directory on ext4, SSD"
    assert found.notes == ("Throughput fell to 34 % after 1.7 s: what was measured before is a cache, not the drive.",)


def set_of_only(found: ResultSet, workload: str) -> ResultSet:
    """The same with one workload only."""
    return replace(found, observations=tuple(each for each in found.observations if each.workload == workload))


def test_a_scratch_drive_says_what_it_is() -> None:
    (drive,) = set_of(stored("ssd-latency-scratch")).drives
    assert (drive.name, drive.kind, drive.model) == ("scratch", "scratch drive of 1 GiB on a file", "")


def test_hardly_any_fact_need_be_there() -> None:
    for name in ("settings-scan-drive", "check-directory"):
        run = stored(name)
        bare = StoredRun(run.directory, {"schema": run.run_json["schema"]})
        found = result_set_of(bare, answer_of_run(bare, SHOWN_METRICS))
        assert found.observations
        assert found.machines[0].name == "unknown machine"
        assert found.drives[0].name == {"settings-scan-drive": "sdb", "check-directory": "/var/lib/etcd"}[name]


def test_two_drives_of_one_model_get_the_ends_of_their_serials() -> None:
    twin = DRIVE | {"serial": "XYZ123456"}
    found = measured_targets(RunRecord(targets=[target("sdb", DRIVE), target("sdc", twin)]))
    names = {label: each.drive.name for label, each in found.items()}
    assert names == {"sdb": "SAMSUNG MZ7LH480HAHQ 480 GB (S45P)", "sdc": "SAMSUNG MZ7LH480HAHQ 480 GB (123456)"}


def test_a_simulated_drive_is_called_by_its_label_and_known_by_its_model() -> None:
    facts = {"kind": "simulated", "text": "sim:./A.toml", "simulated": {"title": "drive A"}}
    found = measured_targets(RunRecord(targets=[target("old", None, **facts)]))["old"].drive
    assert (found.name, found.label, found.model) == ("old", "old", "sim:./A.toml")


def test_two_directories_of_one_drive_are_told_apart_by_their_labels() -> None:
    found = measured_targets(
        RunRecord(targets=[target("/a", DRIVE, kind="directory"), target("/b", DRIVE, kind="directory")])
    )
    assert [each.drive.name[-5:] for each in found.values()] == [" (/a)", " (/b)"]


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"drives": [DRIVE | {"is_rotational": True}]}, "hard disk"),
        ({"drives": [DRIVE | {"virtual": "virtio drive of a virtual machine"}]}, "virtio drive of a virtual machine"),
        ({"drives": [DRIVE, DRIVE], "kind": "file", "filesystem": {"type": "xfs"}}, "file on xfs, 2 drives together"),
        ({"drives": [], "kind": "directory"}, "directory"),
        (
            {"drives": [DRIVE] * 3, "raid": {"level": "raid5", "members": [{"text": "/dev/sdb"}] * 3}},
            "raid5 of 3 drives",
        ),
        ({"raid": {"level": "raid1", "members": [{"text": "scratch:1GiB"}] * 2}}, "raid1 of 2 scratch drives"),
    ],
)
def test_kinds_of_drives_are_readable(facts: dict[str, Any], kind: str) -> None:
    (found,) = measured_targets(RunRecord(targets=[target("t", None, **facts)])).values()
    assert found.drive.kind == kind


@pytest.mark.parametrize(
    ("vendor", "name"),
    [("ATA", "SAMSUNG MZ7LH480HAHQ"), ("Samsung", "SAMSUNG MZ7LH480HAHQ"), ("HP", "HP SAMSUNG MZ7LH480HAHQ")],
)
def test_the_maker_is_named_once(vendor: str, name: str) -> None:
    (found,) = measured_targets(RunRecord(targets=[target("t", DRIVE | {"vendor": vendor})])).values()
    assert found.drive.model == name


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ({"kind": "sata", "rate_bits_per_s": 6000000000}, "SATA 6 Gbit/s"),
        ({"kind": "usb", "rate_bits_per_s": 480000000}, "USB 480 Mbit/s"),
        ({"kind": "pcie", "rate_bits_per_s": 16000000000, "lanes": 2}, "PCIe 16 GT/s x2"),
        ({"kind": "carrier pigeon", "rate_bits_per_s": 1}, ""),
        ({"kind": "sata"}, ""),
    ],
)
def test_links_are_told_as_negotiated(link: dict[str, Any], text: str) -> None:
    assert link_text(link) == text


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ({"hypervisor": "kvm"}, "virtual machine (kvm)"),
        ({"hypervisor": "kvm", "container": "docker"}, "virtual machine (kvm), container (docker)"),
        ({"hypervisor": "", "container": ""}, "physical machine"),
        ({"hypervisor": None}, ""),
    ],
)
def test_machines_say_what_they_are_as_far_as_it_is_known(host: dict[str, Any], kind: str) -> None:
    assert machine_of(RunRecord(host=host)).kind == kind


def test_a_run_that_was_cut_off_says_so() -> None:
    found = set_of(with_facts("ssd-latency-scratch", status="interrupted"))
    assert found.notes[0] == "the run is not complete: interrupted"
