"""The answer of a run on one screen."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from rich.console import Console

from drivelab.cli.run_results import print_screen
from drivelab.model.judged_metric import MEAN_LATENCY, RATE
from drivelab.model.rounds import PhaseRounds, TrackedSeries
from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.model.token_bucket import TokenBucket
from drivelab.report.combinations_table import combinations_table
from drivelab.report.finding_lines import FindingLine
from drivelab.report.terminal.run_screen import render_run_screen, warning_lines
from golden_reports import golden_answer, golden_run

RUNS = Path(__file__).resolve().parents[3] / "golden" / "runs"
WITH_COMBINATIONS = (
    "explained-appends",
    "fill-level-drive",
    "queue-depth-grid",
    "settings-scan-drive",
    "ssd-latency-scratch",
    "write-size-two-drives",
)
LINES_MAX = 30
# what `show` prints behind the screen
LINES_BEHIND = 2


def screen(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", "80")
    print_screen(golden_run(name), golden_answer(name))
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", WITH_COMBINATIONS)
def test_it_fits_a_terminal(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = screen(name, capsys, monkeypatch)
    assert len(lines) + LINES_BEHIND <= LINES_MAX
    assert [line for line in lines if len(line) > 80 and not line.startswith("run:")] == []


def test_drives_are_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = screen("write-size-two-drives", capsys, monkeypatch)
    (head,) = (line for line in lines if line.startswith("  block size") and "sdb" in line)
    assert head.split() == ["block", "size", "shift", "write-cache", "sdb", "95", "%", "sdc", "95", "%"]
    assert "and 20 more: --details" in "\n".join(lines)


def test_a_number_without_an_interval_has_an_empty_place_that_is_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = screen("write-size-two-drives", capsys, monkeypatch)
    assert not any("?" in line.split() for line in lines)
    assert "  95 %: 16 of 60 numbers have none, too few I/Os for an interval" in lines


def test_levels_that_repeat_are_written_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = screen("write-size-two-drives", capsys, monkeypatch)
    place = next(place for place, line in enumerate(lines) if line.startswith("  1 B"))
    assert lines[place].split()[:5] == ["1", "B", "0", "B", "on"]
    assert lines[place + 1].split()[0] == "off", "of the same block size and shift"
    assert lines[place + 1].index("off") == lines[place].index("on")


def test_two_factors_make_a_square(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = screen("queue-depth-grid", capsys, monkeypatch)
    place = lines.index("  throughput, block size across") + 1
    assert lines[place].split() == ["queue", "depth", "4", "KiB", "16", "KiB", "64", "KiB", "256", "KiB"]
    rows = [line.split() for line in lines[place + 1 : place + 8]]
    assert [row[0] for row in rows] == ["1", "2", "4", "8", "16", "32", "64"]
    assert rows[0][1:] == ["56.8", "MB/s", "216", "MB/s", "700", "MB/s", "1.51", "GB/s"]
    assert "more: --details" not in "\n".join(lines)


def test_numbers_stand_beside_their_range_and_what_the_drive_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(screen("ssd-latency-scratch", capsys, monkeypatch))
    assert "  ext4            973 us  971–974        1.19 ms  3 writes, 2 flushes" in text
    assert text.startswith(
        "ssd-latency on scratch: 6 trials\n\n"
        "  512 B written + fdatasync: 454 us raw, 973 us ext4, 895 us xfs.\n"
        "  ext4 was 2.1 times as slow as raw in both repeats; a third like them would\n"
        "  settle it.\n"
        "  Counted: ext4 takes 2 more writes"
    )


def test_what_was_counted_is_told_between_its_ends_where_it_varies() -> None:
    rows = [of_workload(1, 1e6, filesystem=name) for name in ("raw", "ext4")]
    counted = {"device_flushes_per_operation": RepeatedMetric(2, 2, 2, "1", 3)}
    bounds = {"device_writes_per_operation": (49.0, 51.0)}
    lines = of_many(*(replace(one, metrics={**one.metrics, **counted}, bounds=bounds) for one in rows))
    assert [line.split("  ")[-1] for line in lines if " ms " in line] == ["49–51 writes, 2 flushes"] * 2
    # a column without a number is none
    assert not [line for line in lines if "p99" in line]


@pytest.mark.parametrize(("is_phase", "head", "cell"), [(True, "throughput", " 82 MB/s"), (False, "per s", "10 000")])
def test_a_phase_is_told_in_bytes_however_small_its_ios_are(is_phase: bool, head: str, cell: str) -> None:
    numbers = {
        "throughput_bytes_per_s": RepeatedMetric(8.2e7, 8e7, 8.3e7, "B/s", 3),
        "iops": RepeatedMetric(1e4, 9e3, 1.1e4, "1/s", 3),
    }
    row = replace(
        of_workload(1, 1e6),
        metrics=numbers,
        judged_metric="throughput_bytes_per_s",
        block_size_bytes=8192,
        is_phase=is_phase,
    )
    told = "\n".join(of_many(row))
    assert head in told
    assert cell in told.replace("\u202f", " ")


def test_warnings_have_a_line_each(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = screen("queue-depth-grid", capsys, monkeypatch)
    assert [line.partition(" ")[0] for line in lines if "outstanding than asked" in line] == ["invalid:"]


def test_a_finding_that_fills_its_line_has_its_place_on_the_next() -> None:
    text = "an I/O that was outstanding at the end took 1.00 to 1.36 s more; 99 % of the others took at most 197 us"
    finding = FindingLine("warning", text, " [in 5 of 55 trials on sim:consumer-ssd]")
    assert [str(line) for line in warning_lines([finding], plain=True)] == [
        "! an I/O that was outstanding at the end took 1.00 to 1.36 s more [in 5 of 55",
        "  trials on sim:consumer-ssd]",
    ]


def of_workload(number: int, value: float, **levels: str) -> CombinationResult:
    found = {"total_latency_ns_p50": RepeatedMetric(value, 0.9 * value, 1.1 * value, "ns", 3)}
    label = f"workload {number} with a name that is longer than a line of a terminal has any room for"
    return CombinationResult(
        "sdb", f"w{number}", label, levels, {}, found, "total_latency_ns_p50", ("a", "b", "c"), is_durable=True
    )


def of_many(*rows: CombinationResult) -> list[str]:
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(render_run_screen(RunAnswer(rows), "a run", (), ()))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_of_many_workloads_each_is_a_row_and_every_level_a_column() -> None:
    rows = [of_workload(n, 1e5 * n, filesystem=name) for n in (1, 2, 3) for name in ("ext4", "xfs")]
    lines = of_many(*rows)
    assert "  median of 3 repeats, by filesystem" in lines
    (head,) = (line for line in lines if "ext4" in line)
    assert head.split() == ["ext4", "xfs"]
    assert [line.split()[-4:] for line in lines if "workload" in line][2] == ["300", "us", "300", "us"]
    assert max(map(len, lines)) <= 80
    # nothing is cut: a long name goes on in the next line
    assert not any("…" in line for line in lines)
    assert sum("any room for" in " ".join(line.split()) for line in lines) >= 1


def test_of_many_levels_the_least_and_the_greatest_are_told_with_their_places() -> None:
    rows = [of_workload(n, 1e5 * size, depth=str(size)) for n in (1, 2, 3) for size in (3, 1, 7, 2, 5)]
    lines = of_many(*rows)
    line = next(line for line in lines if "workload" in line)
    assert line.split()[-6:] == ["100", "us", "1", "700", "us", "7"]


def test_of_two_factors_the_levels_of_the_first_are_compared_at_one_level_of_the_second() -> None:
    rows = [
        of_workload(n, 1e5 * n * speed * jobs, filesystem=name, job_count=str(jobs))
        for n in (1, 2, 3)
        for name, speed in (("ext4", 1), ("xfs", 2), ("btrfs", 3))
        for jobs in (1, 4, 16)
    ]
    lines = of_many(*rows)
    assert "  median of 3 repeats, by filesystem, with job count 1" in lines
    (head,) = (line for line in lines if "ext4" in line)
    assert head.split() == ["ext4", "xfs", "btrfs"]
    first = next(line for line in lines if "workload 1" in line)
    assert first.split()[-6:] == ["100", "us", "200", "us", "300", "us"]
    # the bare drive has no mount options, and is compared all the same
    places = [("raw", {}), ("ext4", {"mount": "nodiscard"}), ("ext4", {"mount": "discard"})]
    places += [("xfs", {"mount": "nodiscard"}), ("xfs", {"mount": "discard"})]
    rows = [of_workload(n, 1e5 * n, filesystem=name, **more) for n in (1, 2, 3) for name, more in places]
    lines = of_many(*rows)
    above = next(place for place, line in enumerate(lines) if "ext4" in line)
    assert [lines[above].split(), lines[above + 1].split()] == [["ext4", "xfs"], ["raw", "nodiscard", "nodiscard"]]


def test_what_rounds_track_comes_before_what_prepares_for_them() -> None:
    rows = [of_workload(n, 1e5 * n, size=f"{n * int(depth)}KiB") for n in (1, 2) for depth in ("1", "2")]
    series = TrackedSeries("w2", {}, "iops", "1/s", ())
    phase = PhaseRounds("sdb", "rounds", 25, 5, "rounds", (1, 5), (series,))
    answer = RunAnswer(tuple(rows), rounds=(phase,))
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(render_run_screen(answer, "a run", (), ()))
    told = capture.get()
    assert 0 < told.index("workload 2") < told.index("workload 1")
    # in every format
    assert [one.workload for one in answer.rows] == ["w2", "w2", "w1", "w1"]


def test_a_mean_that_rounds_track_is_what_the_table_has() -> None:
    one = of_workload(1, 1e5)
    mean = replace(one.metrics["total_latency_ns_p50"], median=2e5)
    rows = [replace(one, metrics=dict(one.metrics) | {MEAN_LATENCY: mean})]
    phase = PhaseRounds("sdb", "rounds", 25, 5, "rounds", (1, 5), (TrackedSeries("w1", {}, MEAN_LATENCY, "ns", ()),))
    answer = RunAnswer(tuple(rows), rounds=(phase,))
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(render_run_screen(answer, "a run", (), ()))
    assert "mean" in capture.get()
    table = combinations_table(answer)
    assert table is not None
    assert MEAN_LATENCY in [header.key for header in table.headers]


def rounds_of_two_drives() -> RunAnswer:
    """Two drives that can do another write cache each, of which a mix and a size are tracked."""
    rows = []
    for target, cache, factor in (("sim:a", "as-found", 1.0), ("sim:b", "off", 3.0)):
        for share, kinds in (("1.0", ("",)), ("0.65", ("read", "write", "read and write")), ("0.0", ("",))):
            for size in ("1MiB", "64KiB", "8KiB", "4KiB", "512"):
                levels = {"write-cache": cache, "read_fraction": share, "block_size": size}
                value = 1000.0 * factor
                found = {RATE: RepeatedMetric(value, 0.9 * value, 1.2 * value, "1/s", 5, mean=1.1 * value)}
                rows += [
                    CombinationResult(
                        target, "ios", "random I/O", levels, {}, found, RATE, ("a",) * 5, 4096, operation=kind
                    )
                    for kind in kinds
                ]
    tracked = {"write-cache": "off", "read_fraction": "0.0", "block_size": "4KiB"}
    phases = [
        PhaseRounds(
            t, "rounds", 25, 5, "rounds", (1, 5), (TrackedSeries("ios", tracked | {"write-cache": c}, RATE, "1/s", ()),)
        )
        for t, c in (("sim:a", "as-found"), ("sim:b", "off"))
    ]
    return RunAnswer(tuple(rows), rounds=tuple(phases))


def test_rounds_of_two_drives_are_one_table_that_begins_with_what_is_tracked() -> None:
    answer = rounds_of_two_drives()
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(render_run_screen(answer, "a run", (), ()))
    lines = [line.rstrip() for line in capture.get().splitlines()]
    assert sum("random I/O" in line for line in lines) == 1
    place = lines.index("  random I/O, mean of 5 rounds")
    assert lines[place + 1].split()[-6:] == ["sim:a", "5", "rounds", "sim:b", "5", "rounds"]
    assert lines[place + 2].split()[:3] == ["writes", "4", "KiB"]
    assert "1 100/s" in lines[place + 2]
    assert "3 300/s" in lines[place + 2]
    # of a mix all together, and no setting that belongs to a drive
    assert not [line for line in lines if re.search("R/W .*(reads|writes)", line) or "off" in line]


def test_what_does_not_describe_the_drive_comes_last() -> None:
    of_memory = replace(of_workload(1, 1e5), invalid_trials=1)
    assert [one.workload for one in RunAnswer((of_memory, of_workload(2, 1e5))).rows] == ["w2", "w1"]


def test_below_the_sentences_about_bursts_stand_their_rates_and_no_mean_over_rests() -> None:
    bucket = TokenBucket("no end", "bytes", 20.0, 2.68e9, burst_per_s=134e6)
    answer = RunAnswer((of_workload(1, 1e5),), buckets=(("sdb", bucket),))
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(render_run_screen(answer, "a run", ("What it reads at.",), ()))
    told = [" ".join(line.split()) for line in capture.get().splitlines()[2:]]
    assert told == ["What it reads at.", "", "Bursts", "drive reads fast for", "sdb large 134 MB/s at least 20 s"]


def test_operations_that_are_told_apart_are_no_factor() -> None:
    kinds = (("1.0", ""), ("0.65", "read"), ("0.65", "write"), ("0.65", "read and write"), ("0.0", ""))
    rows = [of_workload(1, 1e5), of_workload(2, 2e5)]
    for share, kind in kinds:
        for size in ("8KiB", "4KiB", "512"):
            one = of_workload(3, 3e5, read_fraction=share, block_size=size)
            rows.append(replace(one, operation=kind))
    assert any("workload 3" in line for line in of_many(*rows))


def test_one_number_of_each_workload_has_its_range() -> None:
    lines = of_many(*(of_workload(n, 1e5 * n) for n in (1, 2, 3)))
    assert next(line for line in lines if "workload 2" in line).endswith("200 us  180–220")


def test_workloads_for_which_there_is_no_room_are_counted() -> None:
    lines = of_many(*(of_workload(n, 1e5) for n in range(30)))
    shown = sum("workload" in line for line in lines)
    # each name takes two lines
    assert 7 <= shown <= 9
    assert f"  and {30 - shown} more: --details" in lines


def test_of_two_drives_a_small_table_keeps_ranges_and_what_the_drive_does() -> None:
    work = {
        f"device_{noun}_per_operation": RepeatedMetric(count, count, count, "1", 3)
        for noun, count in (("writes", 3), ("flushes", 2))
    }
    rows = [
        replace(one, target=target, label="appends", metrics=one.metrics | work)
        for target in ("Alpha", "Beta")
        for one in (
            replace(of_workload(1, 1e5), levels={"filesystem": "ext4", "mount": "nodiscard"}),
            replace(of_workload(1, 9e5), levels={"filesystem": "xfs", "mount": "discard"}),
        )
    ]
    for one in rows:
        one.metrics["total_latency_ns_p50"] = RepeatedMetric(1e5, 0.9e5, 4.04e6, "ns", 3)  # type: ignore[index]
    lines = of_many(*rows)
    (row,) = (line for line in lines if "ext4" in line)
    assert row.split()[-3:] == ["3", "+", "2"]
    assert row.count("90.0 us–4.04 ms") == 2
    assert any(line.endswith("writes +") for line in lines)


def on_targets(*values: float, **levels: str) -> list[CombinationResult]:
    targets = ("sim:consumer-ssd", "sim:industrial-card")
    rows = []
    for target, value in zip(targets, values, strict=True):
        found = {"iops": RepeatedMetric(value, value, value, "1/s", 1, low=0.86 * value, high=1.13 * value)}
        mine = {name: f"{level} {target}" for name, level in levels.items()}
        rows.append(CombinationResult(target, "ios", "reads", mine, {}, found, "iops", ("a",), 4096))
    return rows


def test_no_number_is_cut_for_the_empty_names_of_rows() -> None:
    lines = of_many(*on_targets(627e3, 6270.0))
    assert any(line.rstrip().endswith("5 390\u20137 090") for line in lines), lines


@pytest.mark.parametrize("count", [3, 4, 6, 9])
def test_any_number_of_targets_has_a_table_with_whole_numbers(count: int) -> None:
    names = [f"sim:very-long-model-{place}" for place in range(count)]
    rows = []
    for depth in ("1", "64"):
        for place, name in enumerate(names):
            value = 111_000.0 + 1000 * place
            found = {"iops": RepeatedMetric(value, value, value, "1/s", 3, low=0.86 * value, high=1.13 * value)}
            rows.append(
                CombinationResult(name, "ios", "reads", {"queue_depth": depth}, {}, found, "iops", ("a",), 4096)
            )
    lines = of_many(*rows)
    assert max(map(len, lines)) <= 80
    assert all(f"{111 + place} 000" in " ".join(lines) for place in (0, count - 1)), lines


@pytest.mark.parametrize(
    ("levels", "numbers", "heads"),
    [
        # of two factors, whose ranges have no room
        (
            ("4KiB", "1MiB"),
            (1.11e6, 1.10e6, 1.12e6),
            ["  queue depth  block size  sim:consumer-ssd  sim:micron-7450-max"],
        ),
        # of one, with ranges
        (
            ("4KiB",),
            (176_200.0, 176_000.0, 176_400.0),
            [
                "                       sim:                              sim:",
                "  queue depth  consumer-ssd  3 repeats        micron-7450-max  3 repeats",
            ],
        ),
    ],
)
def test_the_name_of_a_simulated_drive_is_whole_or_broken_behind_its_kind(
    levels: tuple[str, ...], numbers: tuple[float, float, float], heads: list[str]
) -> None:
    value, low, high = numbers
    metric = RepeatedMetric(value, value, value, "1/s", 3, low=low, high=high)
    rows = []
    for depth, size, name in product(("1", "64"), levels, ("sim:consumer-ssd", "sim:micron-7450-max")):
        mine = {"queue_depth": depth, "block_size": size}
        rows.append(CombinationResult(name, "ios", "reads", mine, {}, {"iops": metric}, "iops", ("a",) * 3, 4096))
    lines = of_many(*rows)
    assert [line for line in lines if "sim:" in line or "micron" in line] == heads


def test_tables_of_one_target_each_name_it() -> None:
    lines = of_many(*on_targets(627e3, 6270.0, cache="on"))
    assert "  reads on sim:consumer-ssd" in lines
    assert "  reads on sim:industrial-card" in lines
    # where targets are columns, or there is only one, the name stands there
    assert "  reads" in of_many(*on_targets(627e3, 6270.0))
    assert "  reads" in of_many(*on_targets(627e3, 6270.0)[:1])
