"""Samples of many drives from whatever collects them, and what is said of files that are broken."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

from drivelab.interop.samples.columns import columns_of
from drivelab.interop.samples.read import Samples, read_samples
from drivelab.interop.samples.times import seconds_of_text
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet import HostSeries

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "fleet"
AT = 1_658_149_215
IOSTAT = """\
Linux 6.1.0 (store7) \t07/18/2022 \t_x86_64_\t(4 CPU)

07/18/2022 01:00:15 PM
Device            r/s     rkB/s  r_await     w/s     wkB/s w_await
sda             99.00      1.00    99.00    0.00      0.00    0.00

07/18/2022 01:00:30 PM
Device            r/s     rkB/s  r_await     w/s     wkB/s w_await
sda             30.00    100.00     2.00   10.00    100.00    6.00
loop0            1.00      1.00     1.00    0.00      0.00    0.00
sdb              0.00      0.00     0.00    0.00      0.00    0.00
"""
SAR = """\
Linux 6.1.0 (store8) \t18.07.2022 \t_x86_64_\t(4 CPU)

23:59:50          DEV       tps     rkB/s     wkB/s     await     %util
23:59:55          sda     22.00      0.00    244.00      0.91      2.00
00:00:05          sda     20.00      0.00    224.00      0.95      2.00
Average:          sda     21.00      0.00    234.00      0.93      2.00
"""


def written(path: Path, text: str) -> Path:
    """A file, with the directories it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def rows(count: int = 4, drives: int = 2, header: str = "ts,disk_id,throughput,latency", begin: int = AT) -> str:
    """A table of samples every 15 s."""
    lines = [
        f"{begin + 15 * row},disk{drive},{1000 + row},{50 + drive}" for row in range(count) for drive in range(drives)
    ]
    return "\n".join([header, *lines, ""])


def only(samples: Samples) -> HostSeries:
    """The one host that there is."""
    (host,) = samples.hosts
    return host


def refused(*paths: Path, unit: str = "") -> DrivelabError:
    """What files are refused with."""
    with pytest.raises(DrivelabError) as caught:
        read_samples(paths, unit)
    assert caught.value.what
    assert caught.value.do
    return caught.value


def test_real_samples_are_read_packed_and_their_folders_are_hosts() -> None:
    samples = read_samples([GOLDEN])
    assert [(host.cluster, host.host, len(host.drives)) for host in samples.hosts] == [
        ("cluster_A", "host_1", 12),
        ("cluster_A", "host_2", 12),
        ("cluster_A", "host_22", 12),
    ]
    assert samples.hosts[2].drives[1:3] == ("disk2", "disk3")
    assert samples.hosts[0].latency.shape == (720, 12)
    assert not samples.has_unit
    assert samples.file_count == 3


def test_columns_are_known_by_many_names() -> None:
    one = columns_of(["Timestamp", "NODE", "Serial_Number", "Model", "Latency (ms)", "bw"])
    assert (one.time, one.host, one.drive, one.roles) == ("Timestamp", "NODE", "Serial_Number", ("Model",))
    assert (one.latency, one.latency_unit, one.throughput) == (("Latency (ms)",), "ms", {"bw": 1.0})
    other = columns_of(["time", "dev", "r_await", "w_await", "r/s", "w/s", "rkB/s", "wkB/s"])
    assert (other.latency, other.rates, other.latency_unit) == (("r_await", "w_await"), ("r/s", "w/s"), "ms")
    assert other.throughput == {"rkB/s": 1024.0, "wkB/s": 1024.0}
    assert columns_of(["ts", "disk", "latency_us"]).latency_unit == "us"
    assert columns_of(["ts", "disk", "latency"]).latency_unit == ""
    assert columns_of(["size"]).missing == ["time", "drive", "latency"]


@pytest.mark.parametrize(
    "text",
    [
        "2022-07-18T13:00:15Z",
        "2022-07-18 13:00:15",
        "2022-07-18T15:00:15+02:00",
        "07/18/2022 01:00:15 PM",
        "18.07.22 13:00:15",
        "18/07/2022 13:00:15",
        "2022-07-18 13:00:15 UTC",
        "2022-07-18 13:00:15,250",
    ],
)
def test_times_are_read_however_they_are_written(text: str) -> None:
    assert seconds_of_text(text, is_day_first=text.startswith("18/")) == AT


def test_what_is_no_time_is_none() -> None:
    assert seconds_of_text("yesterday") == -1
    assert seconds_of_text("2022-13-40 99:00:00") == -1


@pytest.mark.parametrize("factor", [1, 1000, 10**6, 10**9])
def test_numbers_count_seconds_or_parts_of_them(tmp_path: Path, factor: int) -> None:
    lines = [f"{(AT + 15 * row) * factor},a,1,{row + 1}" for row in range(3)]
    host = only(read_samples([written(tmp_path / "h" / "a.csv", "\n".join(["ts,drive,bw,latency", *lines]))]))
    assert host.time_s.tolist() == [AT, AT + 15, AT + 30]


def test_a_table_may_tell_host_cluster_and_model(tmp_path: Path) -> None:
    text = (
        "date;cluster;node;device;model;throughput;await\n"
        "2022-07-18 13:00:15;east;n1;sda;X 100;1000;2.5\n"
        "2022-07-18 13:00:30;east;n1;sda;X 100;1000;NaN\n"
        "2022-07-18 13:00:15;west;n1;sdb;Y;1000;-1\n"
    )
    samples = read_samples([written(tmp_path / "all.csv", text)])
    east, west = samples.hosts
    assert (east.cluster, east.host, east.drives, east.roles) == ("east", "n1", ("sda",), ("X 100",))
    assert east.latency[0, 0] == 2500
    assert np.isnan(east.latency[1, 0])
    assert np.isnan(west.latency).all()
    assert samples.has_unit
    assert samples.notes["latencies below 0"] == 1


def test_lines_in_any_order_and_headers_within_are_as_good(tmp_path: Path) -> None:
    lines = rows(20).splitlines()
    random.Random(1).shuffle(body := lines[1:])
    mixed = "\n".join([lines[0], *body[:10], lines[0], *body[10:]])
    straight = only(read_samples([written(tmp_path / "h" / "a.csv", rows(20))]))
    found = only(read_samples([written(tmp_path / "b" / "h" / "a.csv", mixed)]))
    np.testing.assert_array_equal(found.latency, straight.latency)
    np.testing.assert_array_equal(found.time_s, straight.time_s)


def test_drives_that_are_sampled_one_after_the_other_stand_in_one_row(tmp_path: Path) -> None:
    lines = [f"{AT + 60 * row + drive},d{drive},1,1" for row in range(10) for drive in range(5)]
    host = only(read_samples([written(tmp_path / "h" / "a.csv", "\n".join(["ts,drive,bw,latency", *lines]))]))
    assert host.latency.shape == (10, 5)
    assert np.isfinite(host.latency).all()


def test_a_clock_that_repeats_an_hour_is_told(tmp_path: Path) -> None:
    again = rows(60) + rows(10, header="").lstrip()
    samples = read_samples([written(tmp_path / "h" / "a.csv", again)])
    assert samples.notes == {"samples at a time that the drive has another one at": 20}


def test_iostat_is_read_with_its_times_and_host(tmp_path: Path) -> None:
    host = only(read_samples([written(tmp_path / "iostat.txt", IOSTAT)]))
    assert (host.cluster, host.host, host.drives) == ("", "store7", ("sda", "sdb"))
    assert host.time_s.tolist() == [AT + 15]
    assert host.latency[0, 0] == 3000
    assert host.throughput[0, 0] == 200 * 1024


def test_sar_goes_on_after_midnight(tmp_path: Path) -> None:
    host = only(read_samples([written(tmp_path / "sar.txt", SAR)]))
    assert (host.host, host.drives) == ("store8", ("sda",))
    assert np.diff(host.time_s).tolist() == [10]
    assert host.latency[:, 0].tolist() == pytest.approx([910, 950])


def test_the_json_of_iostat_and_sadf_is_read(tmp_path: Path) -> None:
    disk = {"disk_device": "sda", "r/s": 10.0, "w/s": 0.0, "rkB/s": 8.0, "wkB/s": 0.0, "r_await": 2.0, "w_await": 0.0}
    stats = [{"timestamp": f"2022-07-18T13:00:{second}Z", "disk": [disk]} for second in ("00", "15", "30")]
    iostat = {"sysstat": {"hosts": [{"nodename": "n1", "statistics": stats}]}}
    host = only(read_samples([written(tmp_path / "a.json", json.dumps(iostat))]))
    assert (host.host, host.time_s.tolist(), host.latency[0, 0]) == ("n1", [AT, AT + 15], 2000)
    sadf_disk = {"disk-device": "sda", "tps": 3.0, "rkB": 1.0, "wkB": 1.0, "await": 4.0}
    stamp = {"date": "2022-07-18", "time": "13:00:15", "utc": 1}
    sadf = {"sysstat": {"hosts": [{"nodename": "n2", "statistics": [{"timestamp": stamp, "disk": [sadf_disk]}]}]}}
    host = only(read_samples([written(tmp_path / "b.json", json.dumps(sadf))]))
    assert (host.host, host.latency[0, 0], host.throughput[0, 0]) == ("n2", 4000, 2048)


def test_sadf_for_databases_is_a_table(tmp_path: Path) -> None:
    text = "# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;await\nn3;15;2022-07-18 13:00:15 UTC;sda;5;1;1;0.5\n"
    host = only(read_samples([written(tmp_path / "sadf.csv", text)]))
    assert (host.host, host.time_s.tolist(), host.latency[0, 0], host.throughput[0, 0]) == ("n3", [AT], 500, 2048)


def counters(device: str, instance: str = "n1:9100") -> dict[str, list[float]]:
    """Readings of the counters of a drive, of which the last began anew."""
    names = (
        "read_time_seconds",
        "reads_completed",
        "write_time_seconds",
        "writes_completed",
        "read_bytes",
        "written_bytes",
    )
    values = (
        [1, 1.2, 1.5, 0.1],
        [100, 200, 200, 5],
        [2, 2.2, 2.2, 0],
        [50, 150, 150, 0],
        [0, 1500, 1500, 0],
        [0, 1500, 1500, 0],
    )
    label = f'{{device="{device}",instance="{instance}"}}'
    return {f"node_disk_{name}_total{label}": list(one) for name, one in zip(names, values, strict=True)}


def test_counters_of_node_exporter_become_latencies(tmp_path: Path) -> None:
    lines = [
        f"{name} {value} {AT + 15 * place}"
        for drive in ("sda", "loop1")
        for name, values in counters(drive).items()
        for place, value in enumerate(values)
    ]
    text = "# TYPE node_disk_reads_completed_total counter\n" + "\n".join(lines) + "\n# EOF\n"
    host = only(read_samples([written(tmp_path / "dump.prom", text)]))
    assert (host.host, host.drives, host.time_s.tolist()) == ("n1", ("sda",), [AT + 15, AT + 30, AT + 45])
    assert host.latency[0, 0] == pytest.approx(0.4 / 200 * 1e6)
    # nothing was done in the second step, and in the third the counter began anew
    assert np.isnan(host.latency[1:, 0]).all()
    assert host.throughput[:2, 0].tolist() == [200, 0]
    result = []
    for name, values in counters("sda").items():
        metric = {"__name__": name.partition("{")[0], "device": "sda", "instance": "n1:9100"}
        result.append({"metric": metric, "values": [[AT + 15 * at, str(one)] for at, one in enumerate(values)]})
    answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    again = only(read_samples([written(tmp_path / "range.json", json.dumps(answer))]))
    np.testing.assert_array_equal(again.latency, host.latency)
    # one question for each counter, on two days
    for day in (0, 86400):
        for number, one in enumerate(result):
            later = {**one, "values": [[when + day, value] for when, value in one["values"]]}
            answer = {"status": "success", "data": {"resultType": "matrix", "result": [later]}}
            written(tmp_path / "questions" / f"{day}-{number}.json", json.dumps(answer))
    samples = read_samples([tmp_path / "questions"])
    twice = only(samples)
    np.testing.assert_array_equal(twice.latency, np.concatenate([host.latency, host.latency]))
    assert samples.notes == {}
    assert refused(tmp_path / "questions" / "0-0.json").code == "I510"


@pytest.mark.parametrize("first", ["time,drive,latency", "time,drive,latency\n", SAR.partition("23:59:55")[0]])
def test_a_file_with_only_a_first_line_stops_no_directory_and_is_named(first: str, tmp_path: Path) -> None:
    empty = written(tmp_path / "h" / "a.csv", first)
    whole = written(tmp_path / "h" / "b.csv", rows(50))
    for paths in ([tmp_path / "h"], [empty, whole]):
        samples = read_samples(paths)
        assert samples.notes == {f"no sample in {empty}": 1}
        assert only(samples).host
    assert refused(empty).code == "I505"


def test_a_file_cut_in_the_middle_of_a_line_is_read_and_told(tmp_path: Path) -> None:
    samples = read_samples([written(tmp_path / "h" / "a.csv", rows(50)[:-12])])
    assert samples.notes == {"lines that are cut off or have more fields than the first": 1}


@pytest.mark.provokes("I506")
def test_a_packed_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(rows(20_000).encode())
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    assert refused(tmp_path / "a.csv.gz").code == "I506"
    (tmp_path / "b.csv.gz").write_text("no gzip")
    assert refused(tmp_path / "b.csv.gz").code == "I506"
    assert refused(tmp_path / "none.csv").code == "I506"


@pytest.mark.provokes("I510")
def test_tables_without_a_time_a_drive_or_a_latency_are_refused(tmp_path: Path) -> None:
    error = refused(written(tmp_path / "a.csv", "ts,throughput\n1,2\n"))
    assert (error.code, error.what) == ("I510", "no column is a drive or a latency: ts, throughput")
    backblaze = "date,serial_number,model,capacity_bytes,failure,smart_1_normalized\n2022-07-18,Z1,M,1,0,100\n"
    error = refused(written(tmp_path / "b.csv", backblaze))
    assert error.code == "I510"
    assert "Backblaze" in error.what
    assert refused(written(tmp_path / "c.prom", 'node_disk_io_now{device="sda"} 0 1658149215\n')).code == "I510"
    no_times = IOSTAT.replace("07/18/2022 01:00:15 PM\n", "").replace("07/18/2022 01:00:30 PM\n", "")
    assert "iostat -xt" in refused(written(tmp_path / "d.txt", no_times)).do


@pytest.mark.provokes("I511")
def test_units_that_differ_or_cannot_be_told_are_asked_for(tmp_path: Path) -> None:
    known = written(tmp_path / "h1" / "a.csv", rows(header="ts,disk,throughput,latency_ms"))
    unknown = written(tmp_path / "h2" / "a.csv", rows())
    error = refused(known, unknown)
    assert error.code == "I511"
    assert "h2" in error.where
    first, second = read_samples([known, unknown], "us").hosts
    assert (first.latency[0, 0], second.latency[0, 0]) == (50_000, 50)
    far = written(tmp_path / "h3" / "a.csv", rows().replace(",50\n", ",50000\n").replace(",51\n", ",51000\n"))
    assert "h3 are 1,000 times those of host h2" in refused(unknown, far).what


@pytest.mark.provokes("I512")
def test_two_hosts_in_one_folder_are_not_thrown_together(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / "all" / f"{name}.csv", rows(30))
    error = refused(tmp_path / "all")
    assert (error.code, error.where) == ("I512", "host all")
    assert "column 'host'" in error.do


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "I501", "empty"),
        ("hello\nworld\n", "I501", "no table of samples"),
        ('{"a": 1}', "I501", "no table of samples"),
        ("ts,disk,latency\n", "I505", "no sample"),
        ("ts,disk,latency\n1658149215,a,x\n", "I503", "invalid value 'x'"),
        ("ts,disk,latency\nsoon,a,1\n", "I503", "no date with a time"),
        ("\n\nts,disk,latency\n12,a,1\n", "I503", "no time between 2000 and 2100"),
        ("ts,disk,latency\n1658149215,a,nan\n", "I505", "no sample"),
        ("ts,disk,latency\n1658149215,2,3\n1,2,3,4\n1,2\n3\n", "I504", "line 3: 4 fields"),
        ('{"sysstat": {"hosts": [{}]}}', "I504", "iostat or sadf"),
        ('{"sysstat": ', "I502", "no JSON"),
        ('{"data": {"result": [{"metric": {"__name__": "node_disk_a"}', "I502", "no JSON"),
    ],
)
def test_broken_files_are_refused_by_code(tmp_path: Path, text: str, code: str, words: str) -> None:
    error = refused(written(tmp_path / "a.csv", text))
    assert error.code == code
    assert words in error.what


def test_a_line_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    text = rows(10).splitlines()
    text[7] = text[7].replace(",50", ",fast")
    error = refused(written(tmp_path / "a.csv", "\n".join(text)))
    assert (error.code, error.where) == ("I503", f"{tmp_path / 'a.csv'}:8")


@pytest.mark.provokes("I509")
def test_a_file_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path / "h" / "a.csv", rows())
    assert refused(file, tmp_path / "h").code == "I509"


def test_a_directory_is_read_but_for_what_is_no_samples(tmp_path: Path) -> None:
    written(tmp_path / "h" / "a.csv", rows())
    written(tmp_path / "h" / "._a.csv", "\0\5\x16")
    written(tmp_path / "README.md", "# drives")
    written(tmp_path / "notes.txt", "nothing\n")
    samples = read_samples([tmp_path])
    assert samples.notes == {"files that hold no samples": 1}
    (tmp_path / "empty").mkdir()
    assert refused(tmp_path / "empty").code == "I505"


def test_no_rubble_brings_a_reader_down(tmp_path: Path) -> None:
    random_ = random.Random(7)
    wholes = [rows(30), IOSTAT, SAR, "\n".join(f"{name} 1 {AT}" for name in counters("sda"))]
    rubble = ["", ",", ";", '"', "\n", "\0", "{", "node_disk_", '"sysstat"', "NaN", "1e999", "-1", "9" * 400, "ä", "\r"]
    for place in range(300):
        text = random_.choice(wholes)
        for _ in range(random_.randint(1, 4)):
            at = random_.randrange(len(text))
            text = text[:at] + random_.choice(rubble) + text[at + random_.randint(0, 9) :]
        path = tmp_path / f"{place}.csv"
        path.write_bytes(text.encode())
        try:
            read_samples([path])
        except DrivelabError as error:
            assert error.code.startswith("I5")


def test_numbers_with_a_decimal_comma_are_read_where_commas_part_no_fields(tmp_path: Path) -> None:
    lines = [f"{AT + 15 * row};d{drive};{drive},25;1000,5" for row in range(4) for drive in range(2)]
    path = written(tmp_path / "a.csv", "\n".join(["time;drive;latency;throughput", *lines]))
    (host,) = read_samples([path]).hosts
    assert host.latency[0].tolist() == [0.25, 1.25]
    assert host.throughput[0].tolist() == [1000.5, 1000.5]


def test_a_report_that_is_still_written_is_read_up_to_its_last_line(tmp_path: Path) -> None:
    (host,) = read_samples([written(tmp_path / "a.log", IOSTAT.rstrip()[:-20])]).hosts
    assert host.drives == ("sda",)
    broken = IOSTAT.replace("sda             30.00    100.00", "sda             30.00")
    with pytest.raises(DrivelabError, match="not one number for each column"):
        read_samples([written(tmp_path / "b.log", broken)])
