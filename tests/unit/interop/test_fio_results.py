"""Results of fio: what its JSON says, in our units, as trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivelab.interop import json_place
from drivelab.interop.fio.result_options import asked_of, size_bytes
from drivelab.interop.fio.results import read_results
from drivelab.interop.foreign import ForeignFile, SourceText
from drivelab.interop.json_place import json_documents

FOREIGN = Path(__file__).resolve().parents[2] / "golden" / "foreign"


def read(name: str) -> ForeignFile:
    """What a stored file tells."""
    return read_results(SourceText(name, (FOREIGN / name).read_text()))


def document(name: str) -> Any:
    """The JSON of a stored file."""
    text = (FOREIGN / name).read_text()
    return json.JSONDecoder().raw_decode(text, text.index("{"))[0]


def read_changed(found: Any) -> ForeignFile:
    """What a changed document tells."""
    return read_results(SourceText("changed.json", json.dumps(found, indent=1)))


def test_numbers_of_a_job_are_those_of_the_file() -> None:
    job = document("fio-3.33.json")["jobs"][0]
    first, _ = read("fio-3.33.json").trials
    assert first.workload == "read4k"
    assert first.estimates["iops"].value == job["read"]["iops"]
    assert first.estimates["throughput_bytes_per_s"].value == job["read"]["bw_bytes"]
    assert first.estimates["total_latency_ns_mean"].value == job["read"]["lat_ns"]["mean"]
    assert first.operations["read"] == {"count": 512, "bytes": 2**21, "errors": 0}
    assert first.known.block_sizes[0].bytes == 4096
    assert first.known.direct
    assert first.drive == "vda"
    assert all(found.low is None and found.high is None for found in first.estimates.values())


def test_a_synchronous_engine_has_the_quantiles_of_its_calls() -> None:
    told = document("fio-3.33.json")["jobs"][0]["read"]["clat_ns"]["percentile"]
    found = read("fio-3.33.json").trials[0].estimates
    assert found["total_latency_ns_p50"].value == told["50.000000"]
    assert found["total_latency_ns_p99"].value == told["99.000000"]
    # 512 reads are too few for one in a thousand
    assert found["total_latency_ns_p999"].value is None
    assert found["total_latency_ns_p999"].observed == told["99.900000"]
    assert not any(name.startswith("completion") for name in found)


def test_a_durable_write_has_the_mean_of_both_and_no_quantiles() -> None:
    job = document("fio-3.33.json")["jobs"][1]
    second = read("fio-3.33.json").trials[1]
    both = job["write"]["lat_ns"]["mean"] + job["sync"]["lat_ns"]["mean"]
    assert second.operation == "durable_write"
    assert second.estimates["total_latency_ns_mean"].value == pytest.approx(both)
    assert second.estimates["sync_total_latency_ns_mean"].value == job["sync"]["lat_ns"]["mean"]
    assert second.estimates["write_total_latency_ns_mean"].value == job["write"]["lat_ns"]["mean"]
    assert "total_latency_ns_p50" not in second.estimates


def test_writes_that_overlap_are_durable_when_their_sync_call_is_over() -> None:
    """A real job: 4 outstanding, a sync call after 8 writes, in which fio waits; 4.5 write latencies would be 11 ms."""
    job = document("fio-3.33-deep-syncs.json")["jobs"][1]
    second = read("fio-3.33-deep-syncs.json").trials[1]
    batch_ns, sync_ns = 8e9 / job["write"]["iops"], job["sync"]["lat_ns"]["mean"]
    # the first of a batch waits for all of its writes, the last for one
    waits_ns = [(batch_ns - sync_ns) * (8 - place) / 8 for place in range(8)]
    found = second.estimates["total_latency_ns_mean"].value
    assert found == pytest.approx(sync_ns + sum(waits_ns) / 8)
    assert sync_ns < found < batch_ns


def test_how_long_overlapping_writes_wait_is_not_told_where_others_share_their_time() -> None:
    found = document("fio-3.33-deep-syncs.json")
    found["jobs"][1]["job options"]["numjobs"] = "2"
    assert "total_latency_ns_mean" not in read_changed(found).trials[1].estimates


def test_bins_become_a_histogram_with_the_same_quantiles() -> None:
    told = document("fio-3.33-plus-sync.json")["jobs"][0]["read"]["clat_ns"]
    found = read("fio-3.33-plus-sync.json").trials[0].histograms["read", "total"]
    assert found.total_count == told["N"] == sum(told["bins"].values())
    assert (found.minimum_ns, found.maximum_ns) == (told["min"], told["max"])
    # fio's bins are 1.6 % wide at most, and its percentile is the middle of one
    assert found.quantile_ns(0.5) == pytest.approx(told["percentile"]["50.000000"], rel=0.01)
    exact = np.repeat([int(name) for name in told["bins"]], list(told["bins"].values()))
    assert found.quantile_ns(0.9) == pytest.approx(np.quantile(exact, 0.9, method="inverted_cdf"), rel=0.002)


def test_clones_are_brought_together() -> None:
    jobs = document("fio-3.33-plus.json")["jobs"]
    (only,) = read("fio-3.33-plus.json").trials
    assert len(jobs) == 2
    assert only.known.job_count == 2
    assert only.operation == "read"
    assert only.estimates["read_iops"].value == pytest.approx(sum(job["read"]["iops"] for job in jobs))
    assert only.estimates["iops"].value == pytest.approx(sum(job[d]["iops"] for job in jobs for d in ("read", "write")))
    counts = [job["write"]["lat_ns"]["N"] for job in jobs]
    means = [job["write"]["lat_ns"]["mean"] for job in jobs]
    assert only.estimates["write_total_latency_ns_mean"].value == pytest.approx(np.average(means, weights=counts))
    assert only.histograms["write", "completion"].total_count == sum(counts)
    assert only.estimates["total_latency_ns_max"].value == max(job["read"]["lat_ns"]["max"] for job in jobs)


def test_latencies_that_were_not_measured_are_missing_and_not_zero() -> None:
    file = read("fio-3.33-gtod.json")
    assert not any("latency" in name for name in file.trials[0].estimates)
    assert any("were not measured" in note for note in file.notes)


def test_directions_that_fio_kept_together_stay_together() -> None:
    (only,) = read("fio-3.33-mixed.json").trials
    assert only.operation == "mixed"
    assert only.estimates["iops"].value == document("fio-3.33-mixed.json")["jobs"][0]["mixed"]["iops"]


def test_of_documents_of_one_run_the_last_counts() -> None:
    file = read("fio-3.33-status.json")
    text = (FOREIGN / "fio-3.33-status.json").read_text()
    last = json.JSONDecoder().raw_decode(text, text.rindex('{\n  "fio version"'))[0]
    (only,) = file.trials
    assert only.estimates["iops"].value == last["jobs"][0]["read"]["iops"]
    assert any("3 documents" in note and "the last is taken" in note for note in file.notes)


def test_documents_of_several_runs_all_count() -> None:
    found = document("fio-3.33-gtod.json")
    later = found | {"timestamp": found["timestamp"] + 3600}
    text = f"run 1\n{json.dumps(found, indent=1)}\nrun 2\n{json.dumps(later, indent=1)}"
    assert len(read_results(SourceText("two.json", text)).trials) == 2


def test_a_document_that_was_cut_off_is_named() -> None:
    text = (FOREIGN / "fio-3.33-status.json").read_text()
    file = read_results(SourceText("cut.json", text[:-200]))
    assert any("cut off" in note for note in file.notes)


def test_clients_are_machines_and_their_sum_is_left_out() -> None:
    file = read("fio-3.33-client.json")
    assert {trial.machine for trial in file.trials} == {"127.0.0.1"}
    assert [trial.workload for trial in file.trials] == ["read4k", "log"]
    # what all jobs have in common stands in the globals only
    assert all(trial.known.direct for trial in file.trials)
    assert any("sums over all clients" in note for note in file.notes)


def test_version_2_told_microseconds_and_kibibytes() -> None:
    (only,) = read("fio-2.21.json").trials
    assert only.estimates["total_latency_ns_mean"].value == 996_000
    assert only.estimates["total_latency_ns_p50"].value == 980_000
    assert only.estimates["throughput_bytes_per_s"].value == 4000 * 1024
    assert only.operations["read"]["bytes"] == 40_000 * 1024
    assert only.drive == "sdb"


def test_a_job_that_failed_says_why_and_one_that_issued_nothing_is_left_out() -> None:
    found = document("fio-3.33.json")
    found["jobs"][0]["error"] = 5
    for name in ("read", "write", "trim", "sync"):
        found["jobs"][1][name] = {}
    file = read_changed(found)
    (only,) = file.trials
    assert only.failure == "fio ended job read4k with error 5 (Input/output error)"
    assert "job log issued nothing: it is left out" in file.notes


def test_what_is_not_known_of_a_job_is_named() -> None:
    found = document("fio-3.33-gtod.json")
    found["jobs"][0]["zone_resets"] = 7
    assert any("'zone_resets'" in note for note in read_changed(found).notes)


@pytest.mark.parametrize(
    ("text", "base", "size"),
    [
        ("4k", "1024", 4096),
        ("4kb", "1024", 4096),
        ("4KiB", "1024", 4000),
        ("4KiB", "1000", 4096),
        ("4k", "1000", 4000),
        ("512", "1024", 512),
        ("1m", "1024", 2**20),
        ("x", "1024", None),
    ],
)
def test_sizes_are_those_of_fio(text: str, base: str, size: int | None) -> None:
    assert size_bytes(text, base) == size


def test_options_say_what_was_asked_for_and_nothing_else() -> None:
    asked = asked_of(
        {"rw": "randrw", "rwmixwrite": "30", "bssplit": "4k/50:8k/50", "ioengine": "rbd", "rate_iops": "70,30"}
    )
    told = asked.known.model_dump(mode="json", exclude_unset=True)
    assert {one["operation"]: one.get("weight", 1.0) for one in told["operations"]} == pytest.approx(
        {"read": 0.7, "write": 0.3}
    )
    assert [one["bytes"] for one in told["block_sizes"]] == [4096, 8192]
    # a flag without a value is not in the JSON: whether blocks come again, and what was written, is not known
    assert told["access"] == {"kind": "random"}
    assert not {"contents", "backend", "pacing"} & set(told)
    assert asked_of({}).is_known is False


@pytest.mark.parametrize(
    ("options", "batch", "own_files"),
    [
        ({"ioengine": "libaio", "iodepth": "8"}, 1, None),
        ({"ioengine": "io_uring", "iodepth": "8", "iodepth_batch_submit": "4"}, 4, None),
        ({"ioengine": "posixaio", "iodepth": "8", "iodepth_batch": "0"}, 0, None),
        ({"ioengine": "psync", "iodepth": "8", "numjobs": "4"}, 0, True),
        ({"ioengine": "libaio", "numjobs": "4", "filename": "/dev/sdx"}, 0, False),
        ({"ioengine": "libaio", "numjobs": "4", "filename_format": "shared"}, 0, None),
        ({"ioengine": "rbd", "iodepth": "8", "numjobs": "4"}, None, None),
    ],
)
def test_options_say_how_many_a_call_sends_and_whose_files_are(
    options: dict[str, str], batch: int | None, own_files: bool | None
) -> None:
    told = asked_of({"rw": "randread", **options}).known.model_dump(exclude_unset=True)
    assert (told.get("submission_batch"), told.get("own_files")) == (batch, own_files)


@pytest.mark.parametrize(
    ("options", "method", "every"),
    [
        ({"sync": "1"}, "o_sync", 1),
        ({"sync": "dsync"}, "o_dsync", 1),
        ({"fsync": "8"}, "fsync", 8),
        ({"fdatasync": "1"}, "fdatasync", 1),
        ({"end_fsync": "1"}, "fsync", 1),
        ({"bs": "4k"}, "none", 1),
    ],
)
def test_durability_is_that_of_the_options(options: dict[str, str], method: str, every: int) -> None:
    found = asked_of({"rw": "write", **options}).known.durability
    assert (found.method, found.every_writes) == (method, every)


def test_lines_of_thousands_of_jobs_are_found_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = ",\n".join(f'{{"jobname": "j{number}", "read": {{"total_ios": 1}}}}' for number in range(50))
    source = SourceText("many.json", f'before\n{{"jobs": [\n{jobs}\n]}}\n')
    (document,), _ = json_documents(source)
    read = []
    values = json_place._values
    monkeypatch.setattr(json_place, "_values", lambda *place: read.append(place) or values(*place))
    json_place._lines_of_items.cache_clear()
    found = [json_place.line_of_value(source.text, document, ("jobs", number)) for number in range(50)]
    assert found == [3 + number for number in range(50)]
    assert len(read) == 1
    assert json_place.line_of_value(source.text, document, ("jobs", 7, "read", "total_ios")) == found[7]
