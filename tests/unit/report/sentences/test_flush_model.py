"""What a write and a flush cost, in sentences and tables: the published page's drives, and what each is told to be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.answers.flush_model import flush_fits
from drivelab.joint_report import joint_report
from drivelab.model.estimate import Estimate
from drivelab.model.flush_fit import FlushFit
from drivelab.reference.load import load_reference
from drivelab.report.joint_page import joint_page_of
from drivelab.report.sentences.flush_model import DRIVES_TOLD, flush_sentences
from drivelab.report.sentences.run import plain_text
from drivelab.report.tables.flush_model import flush_model_tables
from golden_reports import golden_joint
from made_result_sets import column_texts

RUNS = Path(__file__).resolve().parents[3] / "golden" / "runs"
# as if the commands of the page had been counted
FITS = tuple(replace(fit, has_counts=True) for fit in flush_fits([load_reference("ssd-latency")]))
SAMSUNG, M4, INTEL, M550, DISK = FITS


def told(*fits: FlushFit) -> list[str]:
    return [plain_text(sentence) for sentence in flush_sentences(fits)]


def test_the_costs_and_the_largest_mixture_are_told() -> None:
    on, off = told(INTEL)
    assert on == (
        "A flush costs about 360 us, a write about 80.0 us: with the cache on, ext4's 960 us are 3 writes + 2 flushes."
    )
    assert off == (
        "With the cache off a write costs 48.0 us, which predicts 144 us for ext4 (3 writes), where 245 us were "
        "measured, 101 us more; 96.0 us for xfs (2 writes), where 130 us were measured, 34.0 us more."
    )


def test_what_is_predicted_well_is_not_made_much_of() -> None:
    assert told(M550)[1].endswith(
        "6.00 ms for ext4 (3 writes): 6.10 ms were measured; 4.00 ms for xfs (2 writes): 4.00 ms were measured."
    )


@pytest.mark.parametrize("fit", [M4, DISK, replace(INTEL, has_counts=False)])
def test_what_is_a_guess_is_left_to_the_table(fit: FlushFit) -> None:
    assert told(fit) == []


def test_several_drives_have_one_sentence_each() -> None:
    sentences = told(*FITS)
    assert [sentence.split(":")[0] for sentence in sentences] == [fit.drive for fit in (SAMSUNG, INTEL, M550)]
    assert len(told(*FITS, *FITS, *FITS)) == DRIVES_TOLD
    assert told() == []


def test_intervals_are_told_where_there_are_some() -> None:
    flush = Estimate(3.6e5, 3.4e5, 3.8e5, "ns", 3, 3.0, "")
    assert "360 us (95 % interval 340 us to 380 us)" in told(replace(INTEL, flush=flush))[0]


def test_the_table_of_costs() -> None:
    costs, _ = flush_model_tables([replace(fit, has_counts=False) for fit in FITS])
    texts = column_texts(costs)
    assert texts["write [ms]"] == ("1.80", "1.76", "0.0800", "0.202", "–")
    assert texts["flush [ms]"] == ("1.30", "1.37", "0.360", "4.05", "–")
    assert texts["residual [%]"] == ("0.0", "12.2", "0.0", "1.0", "26.2")
    assert texts["verdict"][3] == "writes and flushes explain it"
    assert texts["verdict"][2] == "writes and flushes explain it with the cache on, not all of it with the cache off"
    assert texts["verdict"][4] == "not sums of writes and flushes"
    # marks lead to notes that exist
    marks = [mark for row in costs.rows for cell in row for mark in cell.notes]
    assert set(marks) == set(range(1, len(costs.notes) + 1))
    assert "not counted" in costs.notes[0]


def test_the_table_of_predictions() -> None:
    _, cells = flush_model_tables((SAMSUNG,))
    texts = column_texts(cells)
    assert texts["commands per operation"][1] == "3 writes + 2 flushes"
    assert texts["predicted [ms]"] == ("3.10", "8.00", "6.20", "2.90", "8.70", "5.80")
    assert texts["measured [ms]"] == ("3.10", "8.00", "6.20", "2.90", "10.5", "6.05")
    assert texts["residual [%]"][4] == "-17.1"
    assert texts["part in the fit"] == ("fitted",) * 4 + ("held out",) * 2
    data = cells.plain()
    place = data.columns.index("predicted_ns")
    assert [row[place] for row in data.rows] == pytest.approx([3.1e6, 8e6, 6.2e6, 2.9e6, 8.7e6, 5.8e6])


def test_tables_have_as_many_cells_as_heads() -> None:
    others = [replace(INTEL, workload="another"), replace(INTEL, machine="elsewhere")]
    for table in flush_model_tables((*FITS, *others)):
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert {len(row) for row in table.plain().rows} == {len(table.plain().columns)}
    assert [column.name for column in flush_model_tables((*FITS, *others))[0].columns[:3]] == [
        "drive",
        "machine",
        "workload",
    ]
    assert flush_model_tables(()) == ()


def test_a_report_of_the_page_has_them() -> None:
    joint = joint_report([], [load_reference("ssd-latency")])
    assert {"flush-model", "flush-model-predictions"} <= {table.key for table in joint.tables}
    # costs of drives that somebody else measured are no answer
    assert not any("a write" in sentence for sentence in joint.sentences)


def test_the_page_of_a_run_shows_them_apart_from_published_forms() -> None:
    page = joint_page_of(golden_joint("ssd-latency-scratch"))
    assert [placed.table.key for placed in page.models] == ["flush-model", "flush-model-predictions"]
    assert "pivot" in {placed.table.key for placed in page.forms}
    assert page.alone is not None
    (told_of_costs,) = [sentence for sentence in page.alone.answer.sentences if "a write" in sentence]
    assert told_of_costs == page.joint.sentences[-1]
    other = joint_page_of(golden_joint("fill-level-drive"))
    assert other.models == ()
