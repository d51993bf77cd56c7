"""What a fio job asks for beside its I/O: logs, percentiles, zones."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from drivelab.interop.fio.asked_logs import asked_logs
from drivelab.interop.fio.exported_job import asked_result
from drivelab.interop.fio.exported_stats import BUCKETS, PERCENTILES
from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment, Translation
from drivelab.model.errors import DrivelabError

MS = 1_000_000
BEGIN_NS = 5_000 * MS
# of two jobs: a read of 4 KiB that takes 2 ms, one of 8 KiB that takes 1 ms, a write that fails
IOS = pa.table(
    {
        "job": pa.array([0, 1, 0], pa.uint16()),
        "operation": pa.array([0, 0, 1], pa.uint8()),
        "issue_ns": [BEGIN_NS, BEGIN_NS + 10 * MS, BEGIN_NS + MS],
        "offset_bytes": [4096, 81920, 0],
        "size_bytes": pa.array([4096, 8192, 4096], pa.int32()),
        "submission_latency_ns": pa.array([500_000, 250_000, 0], pa.int32()),
        "total_latency_ns": [2 * MS, MS, MS],
        "result": pa.array([4096, 8192, -5], pa.int32()),
    }
)


def logs(**options: str) -> dict[str, str]:
    return dict(asked_logs("job", options, IOS, 3))


def test_each_io_is_a_line_of_its_jobs_log() -> None:
    assert logs(write_lat_log="all", log_offset="1") == {
        "all_lat.3.log": "2, 2000000, 0, 4096, 4096, 0\n",
        "all_lat.4.log": "11, 1000000, 0, 8192, 81920, 0\n",
        "all_clat.3.log": "2, 1500000, 0, 4096, 4096, 0\n",
        "all_clat.4.log": "11, 750000, 0, 8192, 81920, 0\n",
        "all_slat.3.log": "2, 500000, 0, 4096, 4096, 0\n",
        "all_slat.4.log": "11, 250000, 0, 8192, 81920, 0\n",
    }


def test_what_is_not_submitted_apart_has_an_empty_log_of_it_as_with_fio() -> None:
    place = IOS.column_names.index("submission_latency_ns")
    for none in ([0, 0, 0], [None, None, None]):
        waited = IOS.set_column(place, "submission_latency_ns", [pa.array(none, pa.int32())])
        found = dict(asked_logs("job", {"write_lat_log": "all", "per_job_logs": "0"}, waited, 1))
        assert found["all_slat.log"] == ""
        assert found["all_clat.log"].count("\n") == 2


def test_a_log_without_a_name_has_that_of_the_job_and_may_be_one_for_all() -> None:
    assert logs(write_iops_log="", per_job_logs="0") == {"job_iops.log": "2, 1, 0, 4096, 0\n11, 1, 0, 8192, 0\n"}


def test_windows_have_means() -> None:
    assert logs(write_bw_log="w", log_avg_msec="8", per_job_logs="0") == {
        # the last one ended with its last I/O, after 3 ms
        "w_bw.log": "8, 500, 0, 0, 0\n11, 2667, 0, 0, 0\n"
    }


def test_what_is_done_after_the_runtime_belongs_to_the_window_that_ended_then() -> None:
    options = {"write_iops_log": "w", "log_avg_msec": "5", "per_job_logs": "0"}
    (text,) = dict(asked_logs("job", options, IOS, 1, runtime_ms=10)).values()
    assert text == "5, 200, 0, 0, 0\n10, 200, 0, 0, 0\n", "the read that ended after 11 ms is one of the last 5"


def test_the_last_window_of_a_runtime_ends_with_it_and_not_with_the_last_io() -> None:
    (text,) = dict(
        asked_logs("job", {"write_iops_log": "w", "log_avg_msec": "6", "per_job_logs": "0"}, IOS, 1, runtime_ms=12)
    ).values()
    assert text == "6, 167, 0, 0, 0\n12, 167, 0, 0, 0\n"


@pytest.mark.parametrize(("value", "told"), [("0", "1500000"), ("1", "2000000"), ("both", "1500000, 2000000")])
def test_windows_may_have_maxima(value: str, told: str) -> None:
    one = IOS.set_column(0, "job", [[0, 0, 0]])
    found = dict(asked_logs("job", {"write_lat_log": "w", "log_avg_msec": "100", "log_window_value": value}, one, 1))
    assert found["w_lat.1.log"] == f"11, {told}, 0, 0, 0\n"


def test_a_log_may_count_from_1970() -> None:
    found = dict(
        asked_logs("job", {"write_iops_log": "", "log_alternate_epoch": "1"}, IOS, 1, begun_ms=1_700_000_000_000)
    )
    assert found["job_iops.1.log"].startswith("1700000000002, 1, ")


def test_histograms_of_windows_are_in_the_buckets_of_fio() -> None:
    options = {"write_hist_log": "h", "log_hist_msec": "8", "log_hist_coarseness": "0"}
    found = dict(asked_logs("job", options, IOS, 3))
    fields = [int(each) for each in found["h_clat_hist.3.log"].split(",")]
    assert fields[:3] == [8, 0, 4096]
    assert len(fields) == 3 + BUCKETS
    # 1.5 ms without its submission: fio's plat_val_to_idx, written out
    octave = (1_500_000).bit_length() - 1
    assert [place for place, count in enumerate(fields[3:]) if count] == [
        ((octave - 6 + 1) << 6) + ((1_500_000 >> (octave - 6)) & 63)
    ]
    coarse = dict(asked_logs("job", options | {"log_hist_coarseness": "3"}, IOS, 3))["h_clat_hist.3.log"].split(",")
    assert len(coarse) == 3 + BUCKETS // 8
    assert dict(asked_logs("job", {"write_hist_log": "h"}, IOS, 3)) == {}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"clat_ns": PERCENTILES}),
        ({"clat_percentiles": "0", "lat_percentiles": "1"}, {"lat_ns": PERCENTILES}),
        ({"slat_percentiles": "", "percentile_list": "50:99.9"}, {"slat_ns": (50, 99.9), "clat_ns": (50, 99.9)}),
    ],
)
def test_percentiles_are_those_that_fio_would_write(options: dict[str, str], expected: dict[str, object]) -> None:
    assert asked_result(options).percentiles == expected


def translated(folder: Path, options: str) -> Translation:
    path = folder / "jobs.fio"
    path.write_text("[job]\nsize=1m\n" + "\n".join(options.split()) + "\n")
    return translate_file(path, Environment())


def test_zones_are_carried_out(tmp_path: Path) -> None:
    translation = translated(tmp_path, "rw=randread zonemode=strided zonesize=64k zonerange=16k zoneskip=48k")
    access = translation.jobs[0].pattern.access
    assert (access.zone_bytes, access.zone_io_bytes, access.zone_skip_bytes) == (16384, 65536, 49152)
    assert not translation.refused


def test_zones_of_a_mix_are_told_to_be_of_each_operation(tmp_path: Path) -> None:
    assert [note.option for note in translated(tmp_path, "rw=rw zonemode=strided zonesize=64k").refused] == ["zonemode"]


def test_zones_of_a_device_go_on_behind_the_size_that_is_moved(tmp_path: Path) -> None:
    path = tmp_path / "jobs.fio"
    lines = "[job]\nfilename=/dev/sdx\nrw=write\noffset=1m\nsize=2m\nzonemode=strided\nzonesize=64k\nzoneskip=64k\n"
    path.write_text(lines)
    pattern = translate_file(path, Environment(size_of=lambda _: 2**30)).jobs[0].pattern
    assert (pattern.bytes, pattern.offset, pattern.range_size) == (2 * 2**20, 2**20, 2**30 - 2**20)


@pytest.mark.parametrize("options", ["zonemode=strided", "zonemode=strided zonesize=2k"])
def test_zones_need_room_for_a_block(tmp_path: Path, options: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        translated(tmp_path, options)
    assert caught.value.code == "U033"


def test_every_io_is_kept_where_a_log_is_asked_for(tmp_path: Path) -> None:
    assert translated(tmp_path, "write_bw_log=x").jobs[0].pattern.record_ios
    assert translated(tmp_path, "write_iops_log").jobs[0].pattern.record_ios
    assert not translated(tmp_path, "rw=read").jobs[0].pattern.record_ios
