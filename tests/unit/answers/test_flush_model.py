"""Which observations tell what a write and a flush cost: those of the published page, those of a run, and none else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.answers.flush_model import flush_fits
from drivelab.answers.result_set import result_set_of
from drivelab.answers.run_answer import answer_of_run
from drivelab.model.estimate import Estimate
from drivelab.model.flush_fit import FlushFit
from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet
from drivelab.reference.load import load_reference, reference_names
from drivelab.store.read import open_run

RUNS = Path(__file__).resolve().parents[2] / "golden" / "runs"
MIXTURES = {"raw": (1.0, 1.0), "ext4": (3.0, 2.0), "xfs": (2.0, 2.0)}


def observation(filesystem: str, **changes: object) -> Observation:
    writes, flushes = MIXTURES[filesystem]
    latency = writes * 1e5 + flushes * 4e5
    counts = {"device_writes_per_operation": (writes, writes), "device_flushes_per_operation": (flushes, flushes)}
    made = Observation(
        drive="sda",
        machine="host",
        workload="small-write",
        title="appends",
        operation="write",
        metric="total_latency_ns_p50",
        estimate=Estimate(latency, latency * 0.99, latency * 1.01, "ns", 1000, 5.0, "median of 5 repeats"),
        levels={"filesystem": filesystem},
        block_size_bytes=512,
        queue_depth=1,
        is_durable=True,
        commands=counts,
        trial_count=5,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def results(*observations: Observation) -> ResultSet:
    return ResultSet("run", "", "", "", drives=(MeasuredDrive("sda", machine="host"),), observations=observations)


def one(*observations: Observation) -> FlushFit:
    (found,) = flush_fits([results(*observations)])
    return found


def whole(**changes: object) -> list[Observation]:
    return [observation(filesystem, **changes) for filesystem in MIXTURES]


def test_the_published_page_is_taken_apart() -> None:
    fits = {fit.drive: fit for fit in flush_fits([load_reference("ssd-latency")])}
    assert {name: fit.verdict for name, fit in fits.items()} == {
        "Samsung 850 PRO 256 GB": "explains",
        "Crucial M4 128GB": "another mechanism",
        "Intel 520 120GB": "explains",
        "Crucial M550 1TB": "explains",
        "Western Digital 7200RPM 1TB": "refused",
    }
    intel, samsung = fits["Intel 520 120GB"], fits["Samsung 850 PRO 256 GB"]
    assert (intel.write.value, intel.flush.value) == pytest.approx((80e3, 360e3))
    assert (samsung.write.value, samsung.flush.value) == pytest.approx((1.8e6, 1.3e6))
    assert fits["Western Digital 7200RPM 1TB"].rms_residual == pytest.approx(0.26, abs=0.005)
    assert "seeks" in fits["Western Digital 7200RPM 1TB"].candidates[0]
    # with and without discard the commands are the same: one cell each, their mean
    assert [len(fit.cells) for fit in fits.values()] == [6] * 5
    ext4 = next(cell for cell in intel.cells if (cell.filesystem, cell.cache) == ("ext4", "off"))
    assert ext4.observed_ns == pytest.approx(245e3)
    assert not intel.has_counts


def test_no_other_page_tells_of_mixtures() -> None:
    others = [load_reference(name) for name in reference_names() if name != "ssd-latency"]
    assert len(others) == 4
    assert flush_fits(others) == ()


def test_a_stored_run_is_taken_apart_by_its_own_counts() -> None:
    run = open_run(RUNS / "ssd-latency-scratch")
    (fit,) = flush_fits([result_set_of(run, answer_of_run(run))])
    # it was made with 80 us for a write and 360 us for a flush, and some microseconds on top
    assert fit.write.value == pytest.approx(80e3, rel=0.15)
    assert fit.flush.value == pytest.approx(360e3, rel=0.08)
    assert (fit.has_counts, fit.verdict, fit.metric) == (True, "explains", "total_latency_ns_p50")
    for name in ("settings-scan-drive", "fill-level-drive", "check-directory"):
        other = open_run(RUNS / name)
        assert flush_fits([result_set_of(other, answer_of_run(other))]) == ()


def test_costs_of_a_run_have_intervals_from_its_repeats() -> None:
    fit = one(*whole())
    assert (fit.write.value, fit.flush.value) == pytest.approx((1e5, 4e5))
    assert fit.write.low is not None
    assert fit.write.low < 1e5
    assert one(*whole(trial_count=2)).write.low is None


@pytest.mark.parametrize(
    "changes",
    [
        {"is_durable": False},
        {"operation": "read"},
        {"metric": "total_latency_ns_p99"},
        {"block_size_bytes": 1 << 20},
        {"queue_depth": 32},
        {"invalid_trials": 1},
        {"commands": {}},
        {"estimate": Estimate(None, 1e6, None, "ns", 10, 10.0, "bound")},
        {"commands": {"device_writes_per_operation": (1.0, 3.0), "device_flushes_per_operation": (2.0, 2.0)}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_tells_nothing_of_single_commands_is_left_out(changes: dict[str, object]) -> None:
    assert flush_fits([results(*whole()[:2], observation("xfs", **changes))]) == ()
    assert len(flush_fits([results(*whole())])) == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"fua": 1.0}, "Force Unit Access"),
        ({"cache": "off"}, "flushes with the cache off"),
        ({"cache": "on", "flushes": 0.0}, "nothing was flushed"),
    ],
)
def test_what_is_left_out_of_a_fit_is_said(changes: dict[str, object], why: str) -> None:
    counts = {
        "device_writes_per_operation": (4.0, 4.0),
        "device_flushes_per_operation": (changes.get("flushes", 2.0),) * 2,
        "fua_writes_per_operation": (changes.get("fua", 0.0),) * 2,
    }
    levels = {"filesystem": "raw", "mount": "discard"} | (
        {"write-cache": changes["cache"]} if "cache" in changes else {}
    )
    fit = one(*whole(), observation("raw", levels=levels, commands=counts))
    assert fit == replace(one(*whole()), notes=fit.notes)
    assert why in fit.notes[0]
    assert "raw, discard" in fit.notes[0]


def test_other_factors_are_not_mixed() -> None:
    slow = [
        replace(
            each,
            levels={**each.levels, "scheduler": "bfq"},
            estimate=replace(each.estimate, value=(each.estimate.value or 0) * 2),
        )
        for each in whole()
    ]
    fits = flush_fits([results(*whole(), *slow)])
    assert [fit.flush.value for fit in fits] == pytest.approx([4e5, 8e5])


def test_means_are_taken_where_there_are_no_medians() -> None:
    assert one(*whole(metric="total_latency_ns_mean")).metric == "total_latency_ns_mean"
    both = [*whole(), *whole(metric="total_latency_ns_mean")]
    assert one(*both).metric == "total_latency_ns_p50"
