"""Layers between file system and drive: each is a part of its own in every sum, sentence, table and drawing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from drivelab.analyse.explanation import TracedPass, explanation_of, refusal_of
from drivelab.analyse.explanation_difference import explanation_difference
from drivelab.analyse.operation_parts import (
    drives_without_requests,
    joined_parts,
    member_times,
    operation_parts,
    q2c_of_data,
)
from drivelab.model.layer_times import layers_of
from drivelab.model.trace import PARTS, Explanation, MemberTime, TraceConduct
from drivelab.report.content import TracedCombination
from drivelab.report.figures.part_cdf import part_cdf
from drivelab.report.figures.parts_over_time import parts_over_time
from drivelab.report.figures.waterfall import waterfall
from drivelab.report.part_series import part_series
from drivelab.report.sentences.explanation import explanation_sentences, headline
from drivelab.report.sentences.run import plain_text
from drivelab.report.tables.parts import parts_table
from drivelab.report.terminal.waterfall import explanation_lines
from held_records import HeldRecords
from made_up_operations import CONDUCT, OVERWRITE_NS, bio, events, operations

CRYPT, MIRROR = "dm-crypt a-volume-with-a-long-name", "md RAID-1 md0"
COUNT = 400
CRYPT_NS, MIRROR_NS = 40_000, 8_000_000


def layered(crypt_ns: int = CRYPT_NS, mirror_ns: int = MIRROR_NS) -> pa.Table:
    """The overwrites of the other tests, each so much longer in two layers."""
    table = operations(COUNT, OVERWRITE_NS)
    layers = pa.array([[crypt_ns + number, mirror_ns] for number in range(COUNT)], pa.list_(pa.int64()))
    longer = pa.array(np.asarray(table["latency_ns"]) + np.arange(COUNT) + crypt_ns + mirror_ns)
    table = table.set_column(table.column_names.index("layers_ns"), "layers_ns", layers)
    return table.set_column(table.column_names.index("latency_ns"), "latency_ns", longer)


def conduct() -> TraceConduct:
    return replace(CONDUCT, layers=(CRYPT, MIRROR), drives={"8:0": "sda", "8:16": "sdb"})


def one_pass() -> TracedPass:
    return TracedPass("t1", operation_parts(layered(), "durable_write"), conduct())


@pytest.fixture
def explanation() -> Explanation:
    return explanation_of([one_pass()], "durable_write", label="overwrite")


def combination(explanation: Explanation) -> TracedCombination:
    return TracedCombination(explanation, "overwrite", (HeldRecords(layered()),))


def test_layers_stand_between_the_call_and_the_queue_and_all_sums_hold(explanation: Explanation) -> None:
    assert [one.title for one in explanation.parts[:4]] == ["file system in", CRYPT, MIRROR, "queue and scheduler"]
    for group in ("typical_ns", "slowest_ns"):
        parts = sum(getattr(one, group) for one in explanation.parts)
        assert parts == pytest.approx(getattr(explanation, group))
    assert explanation.residual_ns == 0
    typical = explanation.to_json()["typical"]
    assert typical["layers_ns"][MIRROR] == MIRROR_NS
    assert sum(typical["parts"].values()) + sum(typical["layers_ns"].values()) == pytest.approx(typical["latency_ns"])


def test_older_tables_have_no_layers() -> None:
    table = operations(COUNT, OVERWRITE_NS)
    assert layers_of(table.drop_columns(["layers_ns"])).shape == layers_of(table).shape == (COUNT, 0)
    old = operation_parts(table.drop_columns(["layers_ns"]), "durable_write")
    assert joined_parts([old, operation_parts(layered(), "durable_write")]).residual_ns == 0


def test_a_table_with_other_layers_than_were_traced_is_no_answer() -> None:
    other = replace(one_pass(), conduct=replace(conduct(), layers=(CRYPT,)))
    assert refusal_of(other) == "2 layers are in it, and 1 were traced"


def test_layers_are_told_by_name_where_they_take_time(explanation: Explanation) -> None:
    told = plain_text(headline(explanation))
    assert f"8.00 ms {MIRROR} itself" in told
    # less than half a per cent is not told of
    assert CRYPT not in told
    rows = explanation_lines(explanation, 100, plain=True)
    assert sum(line.startswith("md RAID-1 md0 ") for line in rows) >= 2
    # a long name is cut, and no line is longer than the screen
    assert any(line.startswith("dm-crypt a-volume") for line in rows)
    assert max(map(len, rows)) <= 100


def test_the_slow_drive_of_several_is_named(explanation: Explanation) -> None:
    members = (MemberTime("sda", 900, 1_000_000.0), MemberTime("sdb", 900, 3_000_000.0))
    said = [plain_text(text) for text in explanation_sentences(replace(explanation, members=members))]
    assert "Of its 2 drives sdb is the slow one: 3.00 ms for a command, where sda takes 1.00 ms." in said
    alike = (members[0], MemberTime("sdb", 900, 1_200_000.0))
    assert not any("slow one" in text for text in explanation_sentences(replace(explanation, members=alike)))


def test_a_drive_without_requests_says_what_cannot_be_known(explanation: Explanation) -> None:
    said = " ".join(explanation_sentences(replace(explanation, without_requests=("ram0",))))
    assert "ram0 has no request queue" in said
    assert "waiting and working are one time" in said


def test_times_of_members_and_drives_without_requests_come_from_the_events() -> None:
    command = {"kind": "command", "operation_index": 0, "bytes": 4096}
    table = events(
        {**command, "device": "8:0", "issued_ns": 10, "completed_ns": 30},
        {**command, "device": "8:16", "issued_ns": 10, "completed_ns": 70},
        {**command, "device": "8:16", "issued_ns": 10, "completed_ns": 90, "operation_index": -1},
        bio(5, 30, device="8:0", operation_index=0, fragments=1),
        bio(1, 99, device="253:0", operation_index=0, fragments=1),
        bio(5, 25, device="1:0", operation_index=0, fragments=1),
    )
    drives = {"8:0": "sda", "8:16": "sdb", "1:0": "ram0"}
    assert member_times(table, drives) == {"sda": (20, 1), "sdb": (60, 1), "ram0": (20, 1)}
    assert drives_without_requests(table, drives) == ("ram0",)
    # btt's number is that of the drives, whatever lies above
    assert q2c_of_data(table, drives) == (25 + 20, 2)


def test_a_table_and_every_drawing_have_the_layers(explanation: Explanation) -> None:
    traced = combination(explanation)
    table = parts_table([traced])
    assert table is not None
    assert [row[0].text for row in table.rows][1:3] == [CRYPT, MIRROR]
    figure = waterfall([traced])
    assert figure is not None
    names = figure.plots[0].layout["yaxis"]["ticktext"]
    assert (names[1], names[2]) == (f"{CRYPT[:19]}…", MIRROR)
    series = part_series(traced, 10)
    assert series is not None
    assert series.sums_ns.sum() == np.asarray(layered()["latency_ns"]).sum()
    for drawn in (parts_over_time([traced]), part_cdf([traced])):
        assert drawn is not None
        assert "layers" in {trace["name"] for trace in drawn.plots[0].data}


def test_a_difference_has_all_layers_as_one_part() -> None:
    bare = operation_parts(operations(COUNT, OVERWRITE_NS), "durable_write")
    found = explanation_difference([bare], [operation_parts(layered(), "durable_write")])
    assert [one.part for one in found.parts] == ["total", *PARTS, "layers"]
    layers = found.part("layers")
    assert (layers.base_ns, layers.new_ns) == (0, CRYPT_NS + MIRROR_NS + (COUNT - 1) / 2)
    assert sum(one.difference_ns.value or 0 for one in found.parts[1:]) == pytest.approx(
        found.total.difference_ns.value
    )
    assert [one.part for one in explanation_difference([bare], [bare]).parts] == ["total", *PARTS]
