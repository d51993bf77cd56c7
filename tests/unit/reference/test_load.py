"""Published pages load: their names, their sources, and every number in a unit of ours."""

from __future__ import annotations

import re

import pytest

from drivelab.experiments.load import load_experiment
from drivelab.model.errors import DrivelabError
from drivelab.model.result_set import Observation
from drivelab.reference.load import load_reference, read_printed, reference_names

PAGES = ("intel-530", "samsung-840", "ssd-evaluation", "ssd-latency", "ssd-vs-raid")
FACTORS = {"ns": 1, "us": 1e3, "ms": 1e6, "MB/s": 1e6, "GB/s": 1e9, "/second": 1}
# tables whose numbers have their unit in the head of the column
HEAD_UNITS = {("ssd-latency", "small-write"): "ms", ("ssd-latency", "bandwidth"): "MB/s"}


def observations() -> list[tuple[str, Observation]]:
    """Every number of every page, with the page."""
    return [(page, one) for page in PAGES for one in load_reference(page).observations]


def test_all_five_pages_are_there() -> None:
    assert reference_names() == PAGES


@pytest.mark.provokes("U005")
@pytest.mark.parametrize("name", ["ssd-latencies", "reference:ssd-latency", "../load", ""])
def test_an_unknown_page_names_those_there_are(name: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        load_reference(name)
    assert caught.value.code == "U005"
    assert name in caught.value.what
    assert all(page in caught.value.do for page in PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_tells_where_its_numbers_come_from_and_what_limits_them(page: str) -> None:
    one = load_reference(page)
    assert one.key == f"reference:{page}"
    assert one.is_reference
    assert one.title in one.source
    assert one.question.endswith("?")
    # no page tells its address, and none may be made up
    assert "http" not in one.source
    assert len(one.notes) >= 5
    assert all(note.endswith(".") and "\n" not in note for note in one.notes)


@pytest.mark.parametrize(
    ("page", "author", "date"),
    [
        ("intel-530", "D. Ongaro", "2014-02-25 to 2014-03-01"),
        ("samsung-840", "author not named", ""),
        ("ssd-evaluation", "RAMCloud project wiki", "2011"),
        ("ssd-latency", "RAMCloud project wiki", ""),
        ("ssd-vs-raid", "Ben Martin", "2008-07-30"),
    ],
)
def test_the_source_has_author_title_and_date(page: str, author: str, date: str) -> None:
    one = load_reference(page)
    assert one.source == f'{author}, "{one.title}"' + ("" if date else " (no date)")
    assert one.measured == date


@pytest.mark.parametrize("page", PAGES)
def test_everything_that_is_named_exists(page: str) -> None:
    one = load_reference(page)
    machines, drives = [each.name for each in one.machines], [each.name for each in one.drives]
    assert len(set(machines)) == len(machines)
    assert len(set(drives)) == len(drives)
    assert {each.machine for each in one.drives} <= {*machines, ""}
    assert {(each.drive, each.machine) for each in one.observations} <= {(d, m) for d in drives for m in machines}
    assert {cell.row.partition(" / ")[0] for cell in one.cells} <= set(drives)
    tables = [table.key for table in one.tables] + [form.table for form in one.forms]
    assert len(set(tables)) == len(tables)
    assert {cell.table for cell in one.cells} <= {form.table for form in one.forms}
    for table in one.tables:
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_no_combination_has_two_numbers() -> None:
    keys = [
        (page, one.drive, one.machine, one.workload, one.metric, *sorted(one.levels.items()))
        for page, one in observations()
    ]
    assert len(set(keys)) == len(keys) == 50 + 10 + 20 + 1 + 2 + 4


def test_every_number_is_what_is_printed() -> None:
    for page, one in observations():
        numbers = [float(text.replace(",", "")) for text in re.findall(r"\d[\d,.]*", one.printed)]
        own = re.search(r"\d ?(ms|us|MB/s|GB/s|/second)", one.printed)
        scale = FACTORS[own[1] if own else HEAD_UNITS[page, one.workload]]
        scaled = [pytest.approx(number * scale, rel=1e-12) for number in numbers]
        if one.printed.startswith("<"):
            assert (one.estimate.value, one.estimate.low, one.estimate.high) == (None, 0.0, *scaled)
        elif one.printed.startswith("between"):
            assert (one.estimate.value, one.estimate.low, one.estimate.high) == (None, *scaled)
        else:
            assert (one.estimate.value, one.estimate.low, one.estimate.high) == (*scaled, None, None)


def test_the_graph_of_larger_writes_is_held_as_read_off_and_in_no_table() -> None:
    page = load_reference("intel-530")
    found = {
        (one.drive.split(" (")[0], one.machine, one.levels["write-cache"], one.block_size_bytes): one.estimate.value
        for one in page.read_off
    }
    # 18 curves of 21 sizes, one of which ends at 256 KiB
    assert len(found) == len(page.read_off) == 18 * 21 - 2
    assert found["Intel 530", "rcmonster", "off", 1] == pytest.approx(10.6e6)
    assert found["Intel 530", "rcmonster", "off", 2**20] == pytest.approx(378e6)
    assert ("SanDisk X100", "x1", "off", 2**19) not in found
    # the text tells the same of one byte, within what one night and the next may differ
    told = {(one.drive.split(" (")[0], one.machine, one.levels["write-cache"]): one for one in page.observations}
    for (drive, machine, cache, size), value in found.items():
        printed = told.get((drive, machine, cache))
        if size == 1 and printed and printed.estimate.value and value:
            assert 0.7 < value / printed.estimate.value < 1.5, (drive, machine, cache)
    assert not {one.workload for one in page.observations} & {one.workload for one in page.read_off}


def test_no_page_counted_commands() -> None:
    assert not [one for _, one in observations() if one.commands]


def test_what_the_experiment_also_measures_has_its_names() -> None:
    experiment = load_experiment("ssd-latency")
    workloads = {each.name: each for each in experiment.workloads}
    factors = {factor.name: {getattr(level, "name", level) for level in factor.levels} for factor in experiment.factors}
    for one in load_reference("ssd-latency").observations:
        pattern = workloads[one.workload].pattern(quick=False)
        assert one.title == workloads[one.workload].title
        assert one.block_size_bytes == pattern.block_size
        assert one.is_durable
        assert one.estimate.sample_count == pattern.count
        assert set(one.levels) <= set(factors)
        assert one.levels["write-cache"] in factors["write-cache"]
        assert one.levels.get("mount", "discard") in factors["mount"]


@pytest.mark.parametrize(
    ("page", "experiment", "workload"),
    [
        ("intel-530", "write-size", "reserved"),
        ("samsung-840", "honest-throughput", "buffered"),
        ("ssd-evaluation", "large-read", "direct"),
        ("ssd-latency", "ssd-latency", "small-write"),
        ("ssd-latency", "ssd-latency", "bandwidth"),
    ],
)
def test_a_page_is_found_by_the_workload_of_the_experiment_that_repeats_it(
    page: str, experiment: str, workload: str
) -> None:
    repeated = next(one for one in load_experiment(experiment).workloads if one.name == workload)
    pattern = repeated.pattern(quick=False)
    found = [one for one in load_reference(page).observations if one.workload == workload]
    assert found
    durability = {(one.operation, one.is_durable) for one in found}
    assert (
        durability
        == {
            "none": {(str(pattern.operation), False)},
            "o_sync": {("write", True)},
            "fdatasync": {("durable_write", True)},
        }[str(pattern.durability)]
    )


@pytest.mark.parametrize("text", ["", "n/a", "-", "fast", "3 parsecs", "3", "1.2.3ms"])
def test_what_is_no_number_with_a_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a number in a known unit"):
        read_printed(text)


@pytest.mark.parametrize(
    ("text", "unit", "value", "low", "high", "is_approximate"),
    [
        ("~8", "ms", 8e6, None, None, True),
        ("0.048", "ms", 48_000.0, None, None, False),
        ("<1ms per write", "", None, 0.0, 1e6, False),
        ("about 6,200/second", "", 6200.0, None, None, True),
        ("between 260 and 270 MB/s", "", None, 260e6, 270e6, False),
        ("48µs", "", 48_000.0, None, None, False),
        ("2.5 GB/s", "", 2.5e9, None, None, False),
    ],
)
def test_a_printed_number_is_read(
    text: str, unit: str, value: float | None, low: float | None, high: float | None, is_approximate: bool
) -> None:
    number = read_printed(text, unit)
    assert (number.value, number.low, number.high, number.is_approximate) == (value, low, high, is_approximate)
