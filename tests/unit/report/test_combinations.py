"""The results by combination: labels in few words, levels as asked and as read back, medians with their range."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Mapping
from dataclasses import replace

import pytest

from drivelab.model.level_words import level_text
from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.report import combinations_table as table_module
from drivelab.report.combination_labels import combination_labels, level_words, over_words, row_words
from drivelab.report.combinations_table import combinations_table
from drivelab.report.sentences.run import run_sentences
from drivelab.report.terminal.size_series import panels_of_answer


def metric(median: float, unit: str = "ns") -> RepeatedMetric:
    return RepeatedMetric(median, 0.9 * median, 1.2 * median, unit, 3)  # type: ignore[arg-type]


def combination(
    levels: Mapping[str, str],
    achieved: Mapping[str, tuple[str, ...]] | None = None,
    metrics: Mapping[str, RepeatedMetric] | None = None,
    **changes: object,
) -> CombinationResult:
    given: dict[str, object] = {
        "target": "sdb",
        "workload": "small",
        "label": "small writes",
        "judged_metric": "total_latency_ns_p50",
        "trials": ("a", "b", "c"),
        "is_durable": True,
    }
    found = metrics or {"total_latency_ns_p50": metric(300_000)}
    return CombinationResult(levels=levels, achieved=achieved or {}, metrics=found, **(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "level", "text"),
    [
        ("read-ahead", "131072", "128 KiB"),
        ("write-back-throttling", "2000000", "2 ms"),
        ("cpu-dma-latency", "0", "0 us"),
        ("scheduler", "none", "none"),
        ("queue_depth", "32", "32"),
        ("nr-requests", "256", "256"),
    ],
)
def test_a_level_has_its_unit(name: str, level: str, text: str) -> None:
    assert level_text(name, level) == text


def test_what_was_read_back_stands_beside_what_was_asked() -> None:
    found = combination({"write-cache": "as-found", "scheduler": "none"}, {"write-cache": ("on",)})
    assert level_words(found, "write-cache") == "as-found (on)"
    assert level_words(found, "scheduler") == "none"
    refused = combination({"write-cache": "off"}, {"write-cache": ("on", "off")})
    assert level_words(refused, "write-cache") == "off -> on or off"


def test_what_all_have_in_common_is_told_once() -> None:
    rows = [combination({"filesystem": "ext4", "direct": direct}) for direct in ("true", "false")]
    labels = combination_labels(rows)
    assert (labels.names, labels.rows, labels.constant) == (("direct",), (("true",), ("false",)), "filesystem ext4")


def test_one_at_a_time_names_the_level_that_changed() -> None:
    base = {"write-cache": "as-found", "scheduler": "as-found", "apst": "as-found"}
    found = {"write-cache": ("on",), "scheduler": ("none",)}
    rows = [
        combination(base, found),
        combination(base | {"write-cache": "off"}, {"scheduler": ("none",)}),
        # found otherwise than before, and yet not changed
        combination(base | {"scheduler": "bfq"}, {"write-cache": ("off",)}),
    ]
    labels = combination_labels(rows, is_one_at_a_time=True)
    assert labels.names == ("changed", "to")
    assert labels.rows == (("baseline", ""), ("write-cache", "off"), ("scheduler", "bfq"))
    # nobody could read apst
    assert labels.constant == "baseline: write-cache as-found (on), scheduler as-found (none)"


def test_many_factors_stand_in_one_column_where_there_is_little_room() -> None:
    factors = {f"a-long-name-{number}": ("one-level", "another-level") for number in range(4)}
    rows = [combination({name: levels[place] for name, levels in factors.items()}) for place in (0, 1)]
    assert len(combination_labels(rows).names) == 4
    narrow = combination_labels(rows, is_narrow=True)
    assert len(narrow.names) == 1
    assert narrow.rows[0] == ("one-level, one-level, one-level, one-level",)


def test_a_factor_that_a_combination_does_not_have_is_a_dash() -> None:
    rows = [combination({"filesystem": "raw"}), combination({"filesystem": "ext4", "mount": "noatime"})]
    assert combination_labels(rows).rows == (("raw", "-"), ("ext4", "noatime"))
    assert combination_labels([]).rows == ()


def test_a_factor_that_does_not_apply_is_left_out_of_titles_and_sentences() -> None:
    assert row_words(("filesystem", "mount"), ("raw", "-")) == "raw"
    rows = (combination({"filesystem": "raw"}), combination({"filesystem": "ext4", "mount": "noatime"}))
    table = combinations_table(RunAnswer(rows))
    assert table is not None
    assert [row.label for row in table.groups[0].rows] == ["raw", "ext4, noatime"]
    sentence = " ".join(run_sentences(RunAnswer(rows)))
    assert "(raw)" in sentence
    assert "mount -" not in sentence
    sizes = tuple(
        combination(levels, block_size_bytes=size)
        for size in (512, 4096)
        for levels in (
            {"filesystem": "raw", "direct": "true"},
            *(
                {"filesystem": "ext4", "mount": mount, "direct": "true"}
                for mount in ("noatime", "discard", "nodiscard")
            ),
            {"filesystem": "xfs", "mount": "noatime", "direct": "true"},
        )
    )
    names = [text for panel in panels_of_answer(RunAnswer(sizes)) for text in (panel.name, panel.common)]
    assert "small writes · sdb · filesystem raw" in names
    assert not [name for name in names if name.endswith(" · ") or " ·  · " in name]


def test_a_repeat_that_is_missing_somewhere_is_not_counted_everywhere() -> None:
    whole, failed = combination({"direct": "true"}), combination({"direct": "false"}, trials=("a", "b"))
    assert over_words([whole, failed]) == "median of 2 to 3 repeats"
    assert over_words([whole]) == "median of 3 repeats"


def test_the_table_has_medians_with_their_range_and_units() -> None:
    table = combinations_table(RunAnswer((combination({"direct": "true"}), combination({"direct": "false"}))))
    assert table is not None
    (header,) = table.headers
    assert (header.name, header.unit, header.full) == ("median", "µs", "latency median [µs]")
    (group,) = table.groups
    assert group.title == "small writes on sdb: median of 3 repeats, below it their range"
    assert group.rows[0].label == "page cache bypassed"
    assert group.rows[0].cells == (("300", "270–360"),)


def test_where_workloads_need_other_units_each_number_has_its_own() -> None:
    rates = {"small": 934e3, "large": 2.04e9}
    rows = tuple(
        combination({}, None, {"throughput_bytes_per_s": metric(rate, "B/s")}, workload=name, label=name)
        for name, rate in rates.items()
    )
    table = combinations_table(RunAnswer(rows))
    assert table is not None
    assert [header.unit for header in table.headers] == [""]
    cells = [group.rows[0].cells for group in table.groups]
    assert cells == [(("934\u00a0kB/s", "841–1\u202f120"),), (("2\u202f040\u00a0MB/s", "1\u202f840–2\u202f450"),)]


@pytest.mark.parametrize(
    ("block_size", "judged", "is_shown"),
    [
        (4096, "throughput_bytes_per_s", True),
        # issued for the bytes that it moves
        (1 << 20, "throughput_bytes_per_s", False),
        # one at a time: IOPS are the latency once more
        (4096, "total_latency_ns_p50", False),
        (None, "throughput_bytes_per_s", False),
    ],
)
def test_small_reads_at_a_depth_have_iops(block_size: int | None, judged: str, is_shown: bool) -> None:
    metrics = {
        "iops": metric(13_900, "1/s"),
        "throughput_bytes_per_s": metric(56.8e6, "B/s"),
        "total_latency_ns_p50": metric(71_900),
    }
    one = combination({"queue_depth": "1"}, None, metrics, block_size_bytes=block_size, judged_metric=judged)
    table = combinations_table(RunAnswer((one,)))
    assert table is not None
    heads = {(header.name, header.unit): place for place, header in enumerate(table.headers)}
    assert (("IOPS", "1/s") in heads) is is_shown
    if is_shown:
        (row,) = table.groups[0].rows
        assert row.cells[heads["IOPS", "1/s"]] == ("13\u202f900", "12\u202f500–16\u202f700")


def test_rows_with_trials_that_do_not_describe_the_drive_are_marked() -> None:
    rows = (combination({"direct": "true"}), combination({"direct": "false"}, invalid_trials=2))
    table = combinations_table(RunAnswer(rows))
    assert table is not None
    labels = [row.label for row in table.groups[0].rows]
    assert labels == ["page cache bypassed", "page cache used (2 of 3 trials invalid)"]
    (first, *_) = run_sentences(RunAnswer(rows))
    assert first.endswith("; 2 of 6 trials do not describe the drive.")


def test_the_share_that_reached_the_drive_is_a_column_where_memory_answered() -> None:
    def answer(*shares: float) -> RunAnswer:
        return RunAnswer(
            tuple(
                combination({"n": str(n)}, metrics={"reached_device_share": metric(share, "1")})
                for n, share in enumerate(shares)
            )
        )

    partly = combinations_table(answer(0.38, 1.0))
    assert partly is not None
    assert [header.full for header in partly.headers] == ["reached the drive [%]"]
    assert partly.groups[0].rows[0].cells[0] == ("38.0", "34.2–45.6")
    whole = combinations_table(answer(1.0, 0.99))
    assert whole is not None
    assert whole.headers == ()


def test_tenths_are_columns_where_the_experiment_asks_for_them() -> None:
    names = ("throughput_bytes_per_s", "throughput_last_over_first_ratio")
    found = RunAnswer((combination({}, metrics={names[0]: metric(5e8, "B/s"), names[1]: metric(0.25, "1")}),))
    plain, over_time = combinations_table(found), combinations_table(found, over_time=True)
    assert plain is not None
    assert over_time is not None
    assert [header.name for header in plain.headers] == ["throughput"]
    assert [header.name for header in over_time.headers] == ["throughput", "last over first"]
    assert [cell[0] for cell in over_time.groups[0].rows[0].cells] == ["500", "25.0"]


def test_bounds_and_what_was_only_seen_are_marked_and_explained() -> None:
    name = "total_latency_ns_p50"
    seen = replace(metric(300_000), is_seen=True)
    rows = (
        combination({"n": "1"}, metrics={name: seen}),
        combination({"n": "2"}, metrics={"iops": metric(1)}, bounds={name: (250_000, None)}),
        combination({"n": "3"}, metrics={"iops": metric(1)}, bounds={name: (250_000, 280_000)}),
    )
    table = combinations_table(RunAnswer(rows))
    assert table is not None
    assert [row.cells for row in table.groups[0].rows] == [
        (("300", "seen 270–360"),),
        (("≥\u202f250", ""),),
        (("250–280", ""),),
    ]
    assert table.has_uncertain
    bounds_only = combinations_table(RunAnswer(rows[1:]))
    assert bounds_only is not None
    assert [header.unit for header in bounds_only.headers] == ["µs"]


def test_below_the_number_of_a_single_repeat_stands_its_interval() -> None:
    alone = RepeatedMetric(300_000, 300_000, 300_000, "ns", 1, low=290_000, high=320_000)
    table = combinations_table(RunAnswer((combination({}, metrics={"total_latency_ns_p50": alone}, trials=("a",)),)))
    assert table is not None
    assert table.groups[0].title == "small writes on sdb: one repeat, 95 % intervals below the numbers"
    assert table.groups[0].rows[0].cells == (("300", "290–320"),)
    assert not table.has_uncertain


def test_a_long_table_is_cut_and_its_csv_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "ROWS_MAX", 5)
    combinations = tuple(
        combination({"shift": str(shift)}, workload=workload) for workload in ("a", "b") for shift in range(4)
    )
    table = combinations_table(RunAnswer(combinations))
    assert table is not None
    assert (table.shown_count, table.row_count) == (5, 8)
    assert [len(group.rows) for group in table.groups] == [4, 1]
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(table.csv_link.partition(",")[2]).decode())))
    assert len(rows) == 8
    assert rows[0]["total_latency_ns_p50_median"] == "300000.0"


def test_a_run_without_combinations_has_no_table() -> None:
    assert combinations_table(RunAnswer()) is None
