"""The tables that people publish, of result sets with every number known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from drivelab.model.result_set import Machine, PageForm, PublishedCell, PublishedTable, ResultSet
from drivelab.reference.load import load_reference
from drivelab.report.tables.disks import disks
from drivelab.report.tables.drive_rows import drive_rows
from drivelab.report.tables.drives import drives
from drivelab.report.tables.grid import built_in_views, grids
from drivelab.report.tables.hardware import hardware
from drivelab.report.tables.other_results import other_results
from drivelab.report.tables.published import published_tables
from drivelab.report.tables.table import Table
from drivelab.report.tables.write_cache_by_host import write_cache_by_host
from drivelab.report.tables.write_cache_effect import write_cache_effect
from made_result_sets import bandwidth, column_texts, latencies, observation

Make = Callable[..., ResultSet]


FILES = ("raw", "xfs", "raw", "xfs")


def pivot(sets: list[ResultSet]) -> Table | None:
    return next(iter(grids(built_in_views()["pivot"], sets)), None)


def results_by_setting(sets: list[ResultSet]) -> Table | None:
    return next(iter(grids(built_in_views()["results-by-setting"], sets)), None)


def texts(table: Table | None) -> list[list[str]]:
    """What stands in every cell."""
    assert table is not None
    return [[cell.text for cell in row] for row in table.rows]


def best(table: Table | None) -> list[tuple[int, int]]:
    """Row and column of every best value."""
    assert table is not None
    return [(y, x) for y, row in enumerate(table.rows) for x, cell in enumerate(row) if cell.is_best]


@pytest.fixture
def page(make: Make) -> ResultSet:
    """A published page: means of one drive, with a pivot that prints one cell wrong."""
    cells = (
        ("Old 256 GB", "raw", "", "on", 3.1, None, None),
        ("Old 256 GB", "ext4", "discard", "on", 40.1, None, None),
        ("Old 256 GB", "ext4", "nodiscard", "on", 41.3, None, None),
        ("Old 256 GB", "raw", "", "off", 2.9, None, None),
    )
    own = latencies(*cells, machine="rc01", metric="total_latency_ns_mean", workload="dd", title="dd bs=512")
    printed = ("3.10", "40.1", "41.3", "2.9")
    observations = [replace(one, printed=text) for one, text in zip(own, printed, strict=True)]
    rows = {"RAW + WC": "3.1", "Ext4 + WC": "40.1", "RAW - WC": "2.9"}
    return make(
        "reference:page",
        *observations,
        is_reference=True,
        measured="2016-01",
        cells=tuple(PublishedCell("pivot", "Old 256 GB", head, text) for head, text in rows.items()),
        tables=(PublishedTable("prices", "Prices", ("drive", "price"), (("Old", "$130"),)),),
    )


def test_the_pivot_has_drives_below_and_settings_side_by_side(two_drives: ResultSet) -> None:
    table = pivot([two_drives])
    assert table is not None
    heads = ["RAW + WC", "Ext4 + WC", "XFS + WC", "RAW - WC", "Ext4 - WC", "XFS - WC"]
    assert [column.full for column in table.columns] == ["drive", *(f"{head} [ms]" for head in heads)]
    assert texts(table)[0] == ["Quick 480 GB", "1.00", "3.06", "2.04", "0.250", "0.765", "0.510"]
    assert texts(table)[1] == ["Slow 1 TB", "10.0", "30.6", "20.4", "2.50", "7.65", "5.10"]


def test_trim_is_averaged_and_the_interval_spans_both(two_drives: ResultSet) -> None:
    table = pivot([two_drives])
    assert table is not None
    # 3.00 (2.91 to 3.09) without, 3.12 (3.026 to 3.214) with discard
    assert table.rows[0][2].interval == "2.91–3.21"
    row = dict(zip(table.plain().columns, table.plain().rows[0], strict=True))
    assert row["Ext4 + WC [ns]"] == pytest.approx(3.06e6)
    assert row["Ext4 + WC, low [ns]"] == pytest.approx(2.91e6)


def test_the_best_drive_of_each_column_is_marked(two_drives: ResultSet) -> None:
    assert best(pivot([two_drives])) == [(0, column) for column in range(1, 7)]


def test_drives_within_the_noise_are_not_ranked(make: Make) -> None:
    cells = [
        (drive, fs, "", "on", at, at * 0.9, at * 1.1) for drive, at in (("A", 1.0), ("B", 1.1)) for fs in ("raw", "xfs")
    ]
    assert best(pivot([make("run", *latencies(*cells))])) == []


def test_one_file_system_makes_no_pivot(make: Make) -> None:
    one = make("run", *latencies(("A", "raw", "", "on", 1.0, 0.9, 1.1), ("B", "ext4", "", "on", 3.0, 2.9, 3.1)))
    assert pivot([one]) is None


def test_other_file_systems_that_were_measured_have_columns_too(make: Make) -> None:
    table = pivot([make("run", *latencies(*(("A", fs, "", "", 1.0, 0.9, 1.1) for fs in ("btrfs", "raw", "f2fs"))))])
    assert table is not None
    assert [column.name for column in table.columns] == ["drive", "RAW", "Btrfs", "F2FS"]


def test_a_write_cache_that_nobody_could_read_heads_no_column(make: Make) -> None:
    cells = [("A", fs, "", cache, 1.0, 0.9, 1.1) for fs in ("raw", "xfs") for cache in ("as-found", "off")]
    table = pivot([make("run", *latencies(*cells))])
    assert table is not None
    assert [column.name for column in table.columns] == ["drive", "RAW - WC", "XFS - WC", "RAW", "XFS"]


def test_every_workload_and_every_other_level_has_a_pivot_of_its_own(make: Make) -> None:
    found = []
    for size, call in ((512, "fdatasync"), (512, "o_sync"), (4096, "fdatasync")):
        for filesystem in ("raw", "ext4"):
            levels = {"filesystem": filesystem, "durability": call}
            found.append(observation("A", 1e6, title="append", block_size_bytes=size, levels=levels))
    tables = [one for one in published_tables([make("run", *found)]) if one.key.startswith("pivot")]
    assert [table.title for table in tables] == [
        "Median latency: append, 512 B, durability fdatasync",
        "Median latency: append, 512 B, durability o_sync",
        "Median latency: append, 4 KiB",
    ]
    assert [table.key for table in tables] == ["pivot", "pivot-2", "pivot-3"]


def test_the_raw_table_has_a_row_per_setting_with_its_commands(make: Make) -> None:
    commands = {"device_writes_per_operation": (3.0, 3.0), "device_flushes_per_operation": (1.0, 2.0)}
    own = latencies(("A", "ext4", "discard", "off", 3.0, 2.9, 3.1), ("A", "raw", "", "on", 1.0, 0.9, 1.1))
    table = results_by_setting(
        [make("run", replace(own[0], commands=commands), own[1], drives={"A": {"firmware": "F1"}})]
    )
    assert table is not None
    found = column_texts(table)
    assert found["drive"] == ("A", "A")
    assert found["firmware"] == ("F1", "F1")
    assert found["write cache"] == ("off", "on")
    assert found["file system"] == ("ext4", "raw")
    assert found["TRIM"] == ("yes", "-")
    assert found["median latency [ms]"] == ("3.00", "1.00")
    assert found["device writes per operation"] == ("3.00", "–")
    assert found["device flushes per operation"] == ("1.00–2.00", "–")
    assert best(table) == [(1, 5)]


def test_sizes_are_not_ranked_against_each_other(make: Make) -> None:
    own = [
        observation("A", at * 1e6, at * 0.9e6, at * 1.1e6, block_size_bytes=size) for at, size in ((1, 512), (9, 16384))
    ]
    table = results_by_setting([make("run", *own)])
    assert best(table) == []
    assert column_texts(table)["workload"] == ("512 B synchronous appends", "512 B synchronous appends, 16 KiB")


def test_the_effect_of_the_write_cache_is_told_honestly(two_drives: ResultSet) -> None:
    table = write_cache_effect([two_drives])
    assert table is not None
    assert [column.full for column in table.columns] == [
        "drive",
        "write cache",
        "max bandwidth [MB/s]",
        "bandwidth degradation",
        "small write latency [ms]",
        "latency improvement",
    ]
    assert texts(table) == [
        ["Quick 480 GB", "on", "500", "", "1.00", ""],
        ["Quick 480 GB", "off", "125", "4.0x", "0.250", "4.0x"],
        ["Slow 1 TB", "on", "100", "", "10.0", ""],
        # 103 MB/s with the cache off: an interval of the ratio that holds 1 shows nothing
        ["Slow 1 TB", "off", "103", "0.97x (within the noise)", "2.50", "4.0x"],
    ]
    assert table.rows[1][3].interval == "3.77–4.25"
    assert best(table) == [(0, 2), (1, 4)]


@pytest.mark.parametrize(
    ("on", "off", "words"),
    [(100.0, 200.0, "0.50x (got faster)"), (200.0, 100.0, "2.0x"), (100.0, 101.0, "0.99x (within the noise)")],
)
def test_bandwidth_words(make: Make, on: float, off: float, words: str) -> None:
    one = make(
        "run", bandwidth("A", on, on * 0.97, on * 1.03, "on"), bandwidth("A", off, off * 0.97, off * 1.03, "off")
    )
    assert texts(write_cache_effect([one]))[1][3] == words


def test_a_latency_that_got_worse_says_so(make: Make) -> None:
    own = latencies(("A", "raw", "", "on", 0.21, 0.2, 0.22), ("A", "raw", "", "off", 1.1, 1.0, 1.2))
    assert texts(write_cache_effect([make("run", *own)]))[1][-1] == "0.19x (got slower)"


def test_a_latency_of_a_file_system_is_not_passed_off_as_the_drive(make: Make) -> None:
    own = latencies(("A", "ext4", "", "on", 3.0, 2.9, 3.1), ("A", "ext4", "", "off", 1.0, 0.9, 1.1))
    table = write_cache_effect([make("run", *own)])
    assert table is not None
    assert table.notes == ("latency measured on ext4, not on the bare drive",)
    assert table.rows[0][0].notes == (1,)


def test_hosts_and_disks_have_both_states_side_by_side(make: Make) -> None:
    cells = (("520", "ext4", "", "off", 0.1, 0.09, 0.11), ("520", "ext4", "", "on", 0.44, 0.43, 0.45))
    other = (("520", "ext4", "", "off", 1.7, 1.6, 1.8), ("520", "ext4", "", "on", 9.8, 9.5, 10.1))
    one = make("run", *latencies(*cells, machine="rcmonster"), *latencies(*other, machine="rc66"))
    table = write_cache_by_host([one])
    assert table is not None
    assert [column.full for column in table.columns] == [
        "host",
        "disk",
        "write caching off [µs]",
        "write caching on [µs]",
    ]
    assert texts(table) == [["rcmonster", "520", "100", "440"], ["rc66", "520", "1\u202f700", "9\u202f800"]]


def test_disks_tell_in_words_what_every_host_says(make: Make) -> None:
    own = [
        observation("Intel 520 120 GB", 440e3, machine=host, levels={"filesystem": "ext4"}) for host in ("rc66", "x1")
    ]
    facts = {"Intel 520 120 GB": {"model": "Intel 520", "serial": "S1", "printed": {"capacitor": "no"}}}
    table = disks([make("run", *own, drives=facts)])
    assert texts(table) == [
        ["Intel 520", "1", "no", "440\u00a0µs per write on rc66, 440\u00a0µs per write on x1 (ext4)"]
    ]


def test_quantity_counts_drives_and_not_runs(make: Make) -> None:
    def run(key: str, serial: str) -> ResultSet:
        return make(key, observation("M 1 TB", 1e6), drives={"M 1 TB": {"model": "M", "serial": serial}})

    table = disks([run("a", "S1"), run("b", "S1"), run("c", "S2")])
    assert table is not None
    assert column_texts(table)["quantity"] == ("2",)


def test_two_runs_of_one_drive_share_a_row_unless_they_measured_the_same(make: Make) -> None:
    facts = {"M": {"serial": "S1"}}
    raw = make("raw-run", *latencies(("M", "raw", "", "on", 1.0, 0.9, 1.1)), drives=facts)
    ext4 = make("ext4-run", *latencies(("M", "ext4", "", "on", 3.0, 2.9, 3.1)), drives=facts)
    assert [row.name for row in drive_rows([raw, ext4])] == ["M"]
    assert texts(pivot([raw, ext4])) == [["M", "1.00", "3.00"]]
    again = replace(raw, key="again")
    assert [row.name for row in drive_rows([raw, again])] == ["M (run raw-run)", "M (run again)"]


def test_two_drives_of_one_model_are_told_apart_by_their_serials(make: Make) -> None:
    sets = [
        make(key, observation("M", 1e6), drives={"M": {"serial": serial}})
        for key, serial in (("a", "AAA111"), ("b", "BBB222"))
    ]
    assert [row.name for row in drive_rows(sets)] == ["M (AAA111)", "M (BBB222)"]
    assert column_texts(drives(sets))["drive"] == ("M (AAA111)", "M (BBB222)")


def test_one_drive_on_two_machines_has_a_row_for_each(make: Make) -> None:
    sets = [
        make(host, observation("M", 1e6, machine=host), drives={"M": {"serial": "S1"}}) for host in ("pike", "carp")
    ]
    assert [row.name for row in drive_rows(sets)] == ["M on pike", "M on carp"]
    table = drives(sets)
    assert table is not None
    assert column_texts(table)["installed on"] == ("pike, carp",)


def test_machines_of_two_runs_are_told_once_with_all_their_links(make: Make) -> None:
    sata, pcie = (
        Machine("pike", kernel="6.12", links={kind: speed})
        for kind, speed in (("SATA", "6 Gbit/s"), ("PCIe", "8 GT/s x4"))
    )
    table = hardware([make("a", machines=(sata,)), make("b", machines=(pcie,))])
    assert texts(table) == [["pike", "6.12", "SATA 6 Gbit/s, PCIe 8 GT/s x4"]]


def test_reads_and_large_writes_have_a_table_of_their_own(two_drives: ResultSet) -> None:
    table = other_results([two_drives])
    assert table is not None
    assert column_texts(table)["throughput [MB/s]"] == ("500", "125", "100", "103")
    assert set(column_texts(table)["workload"]) == {"large synchronous appends"}


def test_published_rows_are_named_and_means_stand_beside_means(two_drives: ResultSet, page: ResultSet) -> None:
    means = [
        replace(
            one, metric="total_latency_ns_mean", estimate=replace(one.estimate, value=1.2 * (one.estimate.value or 0))
        )
        for one in two_drives.observations
        if one.metric == "total_latency_ns_p50"
    ]
    run = replace(two_drives, observations=(*two_drives.observations, *means))
    table = pivot([run, page])
    assert table is not None
    assert table.title == "Mean latency: 512 B synchronous appends"
    assert [row[0] for row in texts(table)] == ["Quick 480 GB", "Slow 1 TB", "published 2016: Old 256 GB"]
    assert texts(table)[0][1] == "1.20"
    assert [text for text in texts(table)[2] if text != "–"] == ["published 2016: Old 256 GB", "3.1", "40.1", "2.9"]
    # nothing is said of how sure the page's numbers are
    assert all(row != 2 for row, _ in best(table))
    assert "the page prints 40.1; its own raw table gives 40.7" in table.notes
    assert "published of: dd bs=512; only the size is the same" in table.notes


def test_a_median_beside_published_means_has_a_note(two_drives: ResultSet, page: ResultSet) -> None:
    table = pivot([two_drives, page])
    assert table is not None
    assert "a median, where others are means" in table.notes


def test_a_page_alone_is_printed_in_its_own_form(page: ResultSet) -> None:
    form = PageForm(
        "results-by-setting", "Raw", ("Drive Name/Model", "Write Cache", "Filesystem", "TRIM", "Latency (ms)")
    )
    found = {table.key: table for table in published_tables([replace(page, forms=(form,))])}
    assert list(found) == ["results-by-setting", "pivot", "prices"]
    assert texts(found["results-by-setting"])[1] == ["Old 256 GB", "Enabled", "Ext4", "Yes", "40.1"]
    assert [column.full for column in found["pivot"].columns] == ["RAW + WC", "Ext4 + WC", "RAW - WC"]
    assert texts(found["pivot"]) == [["3.1", "40.1", "2.9"]]
    assert found["pivot"].rows[0][1].notes == (1,)
    assert found["pivot"].notes == ("the page prints 40.1; its own raw table gives 40.7",)


def test_a_page_whose_heads_tell_no_unit_has_it_in_the_caption() -> None:
    table = pivot([load_reference("ssd-latency")])
    assert table is not None
    assert not any("ms" in column.name or column.unit for column in table.columns)
    assert table.caption.endswith("Latencies in ms; nothing is known of their scatter.")
    assert table.caption.startswith("+ WC: with the drive's write cache on")


def test_a_page_without_forms_keeps_its_digits_and_units(page: ResultSet) -> None:
    table = results_by_setting([replace(page, cells=())])
    assert table is not None
    assert column_texts(table)["mean latency [ms]"] == ("3.10", "40.1", "41.3", "2.9")
    told = [replace(one, printed=f"{one.printed}ms per write") for one in page.observations]
    table = results_by_setting([replace(page, observations=tuple(told), cells=())])
    assert table is not None
    assert column_texts(table)["mean latency"][0] == "3.10ms per write"


def test_no_two_tables_have_one_key(two_drives: ResultSet, page: ResultSet) -> None:
    other = replace(page, key="reference:other", measured="2017")
    keys = [table.key for table in published_tables([two_drives, page, other])]
    assert len(set(keys)) == len(keys)
    assert {"prices", "prices-2"} <= set(keys)


def test_nothing_comes_of_nothing(make: Make) -> None:
    assert published_tables([]) == ()
    assert published_tables([make("run")]) == ()
    assert [table.key for table in published_tables([make("run", observation("A", None, None))])] == [
        "hardware",
        "drives",
        "disks",
        "results-by-setting",
    ]
