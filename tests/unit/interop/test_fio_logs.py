"""Logs of fio, held against what the same job says in its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivelab.interop.foreign import ForeignFile, SourceText
from drivelab.interop.imported_plan import plan_import
from drivelab.interop.recognise import read_foreign, recognised_kind
from drivelab.model.errors import DrivelabError

FOREIGN = Path(__file__).resolve().parents[2] / "golden" / "foreign"
MIX, WINDOWS = "fio-3.33-mix", "fio-3.33-windows"
KINDS = {"lat": "total", "clat": "completion", "slat": "submission"}


def log(name: str) -> ForeignFile:
    return read_foreign(SourceText(f"{name}.log", (FOREIGN / f"{name}.log").read_text()))


def of_json(name: str) -> dict[str, Any]:
    return dict(json.loads((FOREIGN / f"{name}.json").read_text())["jobs"][0])


@pytest.mark.parametrize(("kind", "latency"), KINDS.items())
def test_single_ios_have_the_numbers_that_fio_tells_of_them(kind: str, latency: str) -> None:
    file = log(f"{MIX}_{kind}.1")
    assert [trial.operation for trial in file.trials] == ["read", "write"]
    for trial in file.trials:
        fio = of_json(MIX)[trial.operation]
        start = f"{latency}_latency_ns_"
        values = [
            int(value)
            for _, value, direction, *_ in (
                line.split(", ") for line in (FOREIGN / f"{MIX}_{kind}.1.log").read_text().splitlines()
            )
            if direction == ("0" if trial.operation == "read" else "1")
        ]
        found = {name.removeprefix(start): one.value for name, one in trial.estimates.items()}
        assert found["mean"] == pytest.approx(fio[f"{kind}_ns"]["mean"], rel=1e-6)
        assert (found["min"], found["max"]) == (fio[f"{kind}_ns"]["min"], fio[f"{kind}_ns"]["max"])
        # a bucket is 1/128 wide
        assert found["p50"] == pytest.approx(np.quantile(values, 0.5, method="inverted_cdf"), rel=1 / 128)
        # of fewer than 368 nothing is known of a p99
        assert "p99" not in found
        assert trial.operations[trial.operation] == {"count": len(values), "bytes": 4096 * len(values), "errors": 0}
        assert trial.histograms[trial.operation, latency].count.sum() == len(values)


@pytest.mark.parametrize(
    ("kind", "metric", "rel"),
    [
        ("lat", "total_latency_ns_mean", 0.1),
        ("iops", "iops", 0.02),
        ("bw", "throughput_bytes_per_s", 0.02),
    ],
)
def test_of_windows_only_the_mean_is_known(kind: str, metric: str, rel: float) -> None:
    (trial,) = log(f"{WINDOWS}_{kind}.1").trials
    fio = of_json(WINDOWS)["read"]
    told = {"lat": fio["lat_ns"]["mean"], "iops": fio["iops"], "bw": fio["bw_bytes"]}[kind]
    assert list(trial.estimates) == [metric]
    # fast and slow windows count alike
    assert trial.estimates[metric].value == pytest.approx(told, rel=rel)
    assert (trial.histograms, trial.operations) == ({}, {})
    assert any("no quantiles" in note for note in log(f"{WINDOWS}_{kind}.1").notes)


def test_the_logs_of_a_job_are_one_result_and_those_of_two_runs_are_two() -> None:
    files = [log(f"{MIX}_{kind}.1") for kind in ("bw", "clat", "iops", "lat", "slat")]
    plan = plan_import(files)
    assert [placed.trial.operation for placed in plan.trials] == ["read", "write"]
    for placed in plan.trials:
        assert {f"{latency}_latency_ns_mean" for latency in KINDS.values()} <= set(placed.trial.estimates)
        assert {latency for _, latency in placed.trial.histograms} == set(KINDS.values())
        assert set(placed.trial.details["logs"]) == {"bw", "clat", "iops", "lat", "slat"}
    again = plan_import([*files, *files])
    assert [placed.repeat for placed in again.trials] == [1, 1, 2, 2]


def test_rates_of_single_ios_are_those_of_the_log_and_none_of_a_moment() -> None:
    lines = "".join(f"{at}, 100000, 0, 4096, 0\n" for at in range(1, 1001))
    (trial,) = read_foreign(SourceText("a_lat.1.log", lines)).trials
    assert trial.estimates["iops"].value == pytest.approx(1000)
    assert trial.estimates["throughput_bytes_per_s"].value == pytest.approx(4096e3)
    assert "total_latency_ns_p99" in trial.estimates
    assert (trial.workload, trial.parameters["clone"], trial.parameters["block_size"]) == ("a", "1", "4KiB")
    (short,) = log(f"{MIX}_bw.1").trials[:1]
    assert not short.estimates


@pytest.mark.parametrize(
    "line",
    ["1, 2, 0, 4096", "1, 2, 1, 4096, 0", "100, 2, 2, 0, 0, 0", "1, 2, 0, 4096, 8192, 0x4001"],
    ids=["2", "3", "3.2", "3.30"],
)
def test_logs_of_every_version_are_recognised(line: str) -> None:
    assert recognised_kind(f"{line}\n{line}\n") == "fio"
    assert read_foreign(SourceText("x_lat.log", f"{line}\n{line}\n")).trials


@pytest.mark.provokes("I501", "I503", "I504")
@pytest.mark.parametrize(
    ("name", "text", "code", "where"),
    [
        ("latencies.log", "1, 2, 0, 4096, 0\n", "I501", "latencies.log"),
        ("a_lat.1.log", "1, 2, 0, 4096, 0\n1, x, 0, 4096, 0\n", "I503", "a_lat.1.log:2, column value"),
        ("a_lat.1.log", "1, 2, 0, 4096, 0\n1, 2, 7, 4096, 0\n", "I503", "a_lat.1.log:2, column direction"),
        ("a_lat.1.log", "1, 2, 0, 4096, 0\n1, -2, 0, 4096, 0\n", "I503", "a_lat.1.log:2, column value"),
        ("a_lat.1.log", "1, 2, 0, 4096, 0\n1, 2\n", "I504", "a_lat.1.log:2"),
        ("a_lat.1.log", f"1, 2, 0, 4096, 0\n1, {10**19}, 0, 4096, 0\n", "I503", "a_lat.1.log:2, column value"),
    ],
)
def test_what_is_broken_is_named_with_its_place(name: str, text: str, code: str, where: str) -> None:
    with pytest.raises(DrivelabError) as raised:
        read_foreign(SourceText(name, text), "fio")
    assert (raised.value.code, raised.value.where) == (code, where)
