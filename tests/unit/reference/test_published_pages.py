"""A report of a published page prints the page's tables cell by cell, and says where they contradict themselves."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from statistics import fmean

import pytest

from drivelab.joint_report import joint_report
from drivelab.reference.load import load_reference, reference_names
from drivelab.report.joint_of import joint_of
from drivelab.report.markdown.report import markdown_text
from drivelab.report.tables.published import published_tables
from drivelab.report.tables.table import Table
from published_pages import tables as page_tables
from published_pages.tables import cells_of, filled_down

# page, table, what the page prints, and how many columns have cells that span rows and are repeated by us
TABLES = [
    ("ssd-latency", "hardware", page_tables.SSD_LATENCY_HARDWARE, 0),
    ("ssd-latency", "drives", page_tables.SSD_LATENCY_DRIVES, 0),
    ("ssd-latency", "results-by-setting", page_tables.SSD_LATENCY_RAW, 4),
    ("ssd-latency", "pivot", page_tables.SSD_LATENCY_PIVOT, 0),
    ("ssd-latency", "write-cache-effect", page_tables.SSD_LATENCY_WRITE_CACHE, 0),
    ("intel-530", "hardware", page_tables.INTEL_530_MACHINES, 0),
    ("intel-530", "disks", page_tables.INTEL_530_DISKS, 0),
    ("intel-530", "write-cache-by-host", page_tables.INTEL_530_WRITE_CACHE, 0),
    ("intel-530", "btt-intel-530", page_tables.BTT_INTEL_530, 0),
    ("intel-530", "btt-intel-x25-m", page_tables.BTT_INTEL_X25_M, 0),
    ("ssd-evaluation", "drives", page_tables.SSD_EVALUATION_DRIVES, 0),
    ("ssd-evaluation", "controllers", page_tables.SSD_EVALUATION_CONTROLLERS, 0),
    ("samsung-840", "write-buffer", page_tables.SAMSUNG_840_BUFFERS, 0),
]
# numbers that a page tells in its text: page, table, name of the row, what is printed
TOLD = [
    ("ssd-latency", "summary", "xfs beside ext4", "1-2x faster"),
    ("samsung-840", "throughput", "no sync", "2.5 GB/s"),
    ("samsung-840", "claimed", "Samsung 840 Evo", "410MB/s"),
    ("samsung-840", "conditions", "in use", "74% capacity"),
    ("samsung-840", "conditions", "over-provisioned", "25%"),
    ("ssd-evaluation", "random-reads", "all", "between 260 and 270 MB/s"),
    ("ssd-evaluation", "reasons", "read bandwidth beside disks", "roughly 2-2.5x"),
    ("ssd-evaluation", "reasons", "price", "~$1.6/GB"),
    ("ssd-vs-raid", "seeks", "ext3", "about 6,200/second"),
    ("ssd-vs-raid", "seeks", "xfs", "about 3,800/second"),
    ("ssd-vs-raid", "prices", "MOBI SSD", "around $500"),
    ("ssd-vs-raid", "prices", "MOBI SSD", "32GB"),
    ("ssd-vs-raid", "prices", "SATA drive", "about $130"),
    ("ssd-vs-raid", "prices", "SATA drive", "750GB"),
    ("ssd-vs-raid", "professional-drive", "price", "about 25-35% more expensive"),
    ("ssd-vs-raid", "file-systems", "xfslcnb", "nobarrier"),
    ("ssd-vs-raid", "file-systems", "ext3wbnobh", "data=writeback,nobh"),
    ("intel-530", "negative-results", "raw block device rather than ext4", "only slightly: from 10ms to about 9ms"),
    ("intel-530", "negative-results", "firmware DC33 instead of DC22", "No effect"),
]


@cache
def rendered(page: str) -> dict[str, Table]:
    """What a report of nothing but the page shows, by the tables' keys."""
    return {table.key: table for table in published_tables([load_reference(page)])}


def texts_of(table: Table) -> list[list[str]]:
    """The shown cells."""
    return [[cell.text for cell in row] for row in table.rows]


@pytest.mark.parametrize(("page", "key", "text", "spanning"), TABLES, ids=[f"{page}-{key}" for page, key, *_ in TABLES])
def test_a_table_is_that_of_the_page(page: str, key: str, text: str, spanning: int) -> None:
    heads, rows = cells_of(text)
    table = rendered(page)[key]
    assert [column.full for column in table.columns] == heads
    assert texts_of(table) == filled_down(rows, spanning)


@pytest.mark.parametrize(("page", "key", "name", "printed"), TOLD)
def test_a_number_of_the_text_stands_in_a_table(page: str, key: str, name: str, printed: str) -> None:
    assert [row for row in texts_of(rendered(page)[key]) if row[0] == name and printed in row]


def shown_notes(page: str, key: str) -> dict[tuple[str, str], list[str]]:
    """The notes of a table by the name of the row (its last one that is not empty) and the head of the column."""
    table, names, found = rendered(page)[key], [""], {}
    for row in table.rows:
        names.append(row[0].text or names[-1])
        for column, cell in zip(table.columns, row, strict=True):
            if cell.notes:
                found[names[-1], column.full] = [table.notes[number - 1] for number in cell.notes]
    return found


def is_beyond_rounding(printed: str, computed: float) -> bool:
    """Whether a printed number is not the computed one, rounded half a unit of its last digit either way."""
    digits = re.match(r"[\d.]+", printed)
    assert digits is not None
    decimals = len(digits[0].partition(".")[2])
    return abs(computed - float(digits[0])) > 0.5 * 10**-decimals + 1e-9


def raw_latencies() -> dict[tuple[int, str], list[float]]:
    """Latencies of the raw table in ms, by the place of the drive and the column of the pivot that they belong to."""
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    drives: dict[str, int] = {}
    for drive, _, state, filesystem, _, printed in filled_down(cells_of(page_tables.SSD_LATENCY_RAW)[1], 4):
        place = drives.setdefault(drive, len(drives))
        found[place, f"{filesystem} {'+' if state == 'Enabled' else '-'} WC"].append(float(printed.strip("~")))
    return found


def test_every_cell_of_the_pivot_that_its_raw_table_contradicts_has_a_note() -> None:
    heads, rows = cells_of(page_tables.SSD_LATENCY_PIVOT)
    wrong = {
        (rows[place][0], head)
        for (place, head), latencies in raw_latencies().items()
        if is_beyond_rounding(rows[place][heads.index(head)], fmean(latencies))
    }
    assert wrong == {("Western Digital 7200RPM on rcmaster", "Ext4 + WC")}
    notes = shown_notes("ssd-latency", "pivot")
    assert set(notes) == wrong
    assert all("40.1" in note and "40.7" in note for note in notes[wrong.pop()])


def test_every_ratio_that_its_own_numbers_contradict_has_a_note() -> None:
    _, rows = cells_of(page_tables.SSD_LATENCY_WRITE_CACHE)
    wrong = set()
    for enabled, disabled in zip(rows[::2], rows[1::2], strict=True):
        if is_beyond_rounding(disabled[3], float(enabled[2]) / float(disabled[2])):
            wrong.add((enabled[0], "Bandwidth Degradation"))
        if is_beyond_rounding(disabled[5], float(enabled[4]) / float(disabled[4])):
            wrong.add((enabled[0], "Latency Improvement"))
    assert wrong == {("Samsung 850 PRO 256 GB on rc01", "Latency Improvement")}
    notes = shown_notes("ssd-latency", "write-cache-effect")
    assert set(notes) == wrong
    assert all("1.06x" in note and "1.07x" in note for note in notes[wrong.pop()])


def test_the_latencies_beside_the_bandwidth_are_those_of_the_raw_table() -> None:
    raw = raw_latencies()
    _, rows = cells_of(page_tables.SSD_LATENCY_WRITE_CACHE)
    for place, (enabled, disabled) in enumerate(zip(rows[::2], rows[1::2], strict=True)):
        assert (float(enabled[4]), float(disabled[4])) == (*raw[place, "RAW + WC"], *raw[place, "RAW - WC"])


def test_a_number_that_two_tables_of_a_page_tell_differently_has_a_note() -> None:
    on = {
        (host, f"Intel {disk}".replace("Intel M4", "Crucial M4")): text
        for host, disk, _, text in cells_of(page_tables.INTEL_530_WRITE_CACHE)[1]
    }
    wrong = {}
    for model, _, _, performance in cells_of(page_tables.INTEL_530_DISKS)[1]:
        for host in ("rc66", "rcmonster", "flygecko"):
            told = on.get((host, model.partition(" (")[0]))
            # a host with a number of its own in parentheses, else the number before all hosts
            exact = re.search(rf"{host} \(([\d.]+[mu]s)\)", performance) or re.match(r"[^<~]\S*", performance)
            if told is not None and exact is not None and exact[exact.re.groups] != told.removesuffix(" per write"):
                wrong[model, host] = exact[exact.re.groups]
    assert wrong == {("Crucial M4", "rc66"): "3.7ms", ("Intel 530 (SSDSC2BW120A4)", "flygecko"): "9.7ms"}
    noted = {
        (one.drive, one.machine): one.note.rpartition(" ")[2]
        for one in load_reference("intel-530").observations
        if "table of disks" in one.note
    }
    assert noted == wrong


@pytest.mark.parametrize(
    ("page", "stated", "computed"),
    [
        ("intel-530", "5.8 on rc66", 9.8 / 1.7),
        ("intel-530", "6.3 on flygecko", 9.5 / 1.5),
        ("intel-530", "3.0 ms are the write", 2.958056),
        ("intel-530", "7.25 ms is most likely the flush", 10.212746 - 2.958056),
        ("intel-530", "91 us and", 91.020),
        ("intel-530", "123 us.", 214.151 - 91.020),
        ("intel-530", "16256 events", 16144 + 112),
        ("intel-530", "16256 events", 16080 + 176),
        ("intel-530", "16 for each", 16256 / 1016),
        ("ssd-latency", "1.01 to 1.9 times", 8.7 / 8.6),
        ("ssd-latency", "1.9 times", fmean([0.25, 0.24]) / 0.13),
    ],
)
def test_a_number_that_a_note_adds_follows_from_the_page(page: str, stated: str, computed: float) -> None:
    assert stated in " ".join(load_reference(page).notes)
    assert not is_beyond_rounding(stated, computed)


@pytest.mark.parametrize(
    ("page", "stated", "computed"),
    [
        ("intel-530", "3 ms are the write", 2.958056),
        ("intel-530", "7.25 ms most likely the cache flush", 10.212746 - 2.958056),
        ("intel-530", "91 us for the write", 91.020),
        ("intel-530", "123 us for", 214.151 - 91.020),
        # the medians of the drive's three machines, read off the graph
        ("intel-530", "20 ms, 1 MiB", 19.5),
        ("intel-530", "28 ms).", 28.1),
        ("ssd-latency", "2.1 to 4.7", 8.7 / 4.2),
        ("ssd-latency", "4.7 times", 40.1 / 8.5),
        ("ssd-latency", "1.5 to 3.6", fmean([5.7, 5.4]) / 3.76),
        ("ssd-latency", "3.6 times", 31 / 8.5),
        ("ssd-latency", "1.1 to 1.9", 0.96 / 0.88),
        ("ssd-latency", "1.9 times", fmean([0.25, 0.24]) / 0.13),
        ("ssd-latency", "9.2 times", 0.44 / 0.048),
        ("ssd-latency", "1.1 to 3.8", 253 / 228),
        ("ssd-latency", "3.8 times as long", 234 / 61.4),
        ("ssd-latency", "5.6 %", 100 * (5.7 / 5.4 - 1)),
        ("ssd-vs-raid", "15.6, 90", 500 / 32),
        ("ssd-vs-raid", "90 times as much", 500 / 32 / (130 / 750)),
        ("ssd-vs-raid", "0.17)", 130 / 750),
    ],
)
def test_a_number_that_an_answer_adds_follows_from_the_page(page: str, stated: str, computed: float) -> None:
    assert stated in " ".join(load_reference(page).answer)
    assert not is_beyond_rounding(stated, computed)


@pytest.mark.parametrize("page", reference_names())
def test_a_page_answers_its_question_in_one_settled_sentence(page: str) -> None:
    one = load_reference(page)
    joint = joint_report((), (one,))
    assert joint.sentences == one.answer
    assert len(joint.sentences[0].split()) <= 30
    unsettled = "cannot be ruled out|perhaps|nobody counted|not settled"
    assert not re.search(unsettled, " ".join(joint.sentences))


def test_what_nobody_measured_is_called_most_likely_wherever_it_is_told() -> None:
    # the traces show the write alone: that the rest is a flush is inferred
    one = load_reference("intel-530")
    about = [text for text in (*one.answer, *one.notes) if re.search(r"7\.25 ms|123 us", text)]
    assert len(about) == 3
    assert all("most likely" in text for text in about)


@pytest.mark.parametrize("page", reference_names())
def test_no_answer_calls_two_numbers_different_that_are_alike(page: str) -> None:
    # a mean of one run: a difference of a few percent may be chance
    told = " ".join(load_reference(page).answer)
    assert not re.search(r"1\.0[0-2] (to [\d.]+ )?times", told)


def test_the_ranges_of_an_answer_hold_every_number_of_the_page() -> None:
    cells = {
        (one.drive, *(one.levels.get(name, "") for name in ("filesystem", "mount", "write-cache"))): one.estimate.value
        for one in load_reference("ssd-latency").observations
        if one.workload == "small-write"
    }
    pairs = [(cells[key], cells[(*key[:2], "nodiscard", key[3])]) for key in cells if key[2] == "discard"]
    assert len(pairs) == 20
    assert max(max(one, two) / min(one, two) for one, two in pairs) < 1.0565
    xfs = [(value, cells[(key[0], "ext4", *key[2:])]) for key, value in cells.items() if key[1] == "xfs"]
    assert all(1.09 < ext4 / value < 1.95 for value, ext4 in xfs if (value, ext4) != (8.6e6, 8.7e6))
    assert xfs.count((8.6e6, 8.7e6)) == 2


def test_spellings_are_kept_and_what_they_likely_mean_is_noted() -> None:
    notes = {page: " ".join(load_reference(page).notes) for page in ("ssd-latency", "intel-530", "ssd-evaluation")}
    assert "Intel 5120" in str(texts_of(rendered("ssd-latency")["drives"]))
    assert re.search(r"'Intel 5120'.*likely means Intel 520", notes["ssd-latency"])
    assert "Crucial 550" in str(texts_of(rendered("ssd-latency")["pivot"]))
    assert re.search(r"'Crucial 550'.*likely means M550", notes["ssd-latency"])
    assert re.search(r"\"Intel 320 \(SSDSC2CW120A3\)\" has the part number of the 520", notes["intel-530"])
    assert re.search(r"The 160 of the Crucial M4 is a quantity", notes["intel-530"])
    assert re.search(r"'Calisto' in the table and 'Callisto'", notes["ssd-evaluation"])


@pytest.mark.parametrize("page", reference_names())
def test_a_report_of_a_page_tells_its_source_and_what_limits_it(page: str) -> None:
    one = load_reference(page)
    text = markdown_text(joint_of((), (one,))).replace("\\", "")
    assert one.source in text
    # numbers get typeset spaces and units: the words in front of them stay
    assert all(re.split(r"\d|us\b", note.replace("\\", ""))[0] in text for note in one.notes)
