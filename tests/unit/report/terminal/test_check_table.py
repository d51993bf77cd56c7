"""The tables of a check's screen: intervals, marks and commands in 80 columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.model.finding import Finding
from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.reported_findings import reported
from unit.report.terminal.check_screens import MakeEstimate, need, shown, trial, whole_check


@pytest.fixture
def whole(make_estimate: MakeEstimate) -> ReportContent:
    """A check of a directory with every trial."""
    return whole_check(make_estimate)


def test_durable_writes_stand_by_their_size(whole: ReportContent) -> None:
    sizes = (16384, 512, 4096, 2300)
    (of,) = whole.trials[:1]
    trials = tuple(
        replace(of, name=f"sync-write-{size}", label=f"{size} B appended", workload={"block_sizes": [{"bytes": size}]})
        for size in sizes
    )
    found = [line.split()[0] for line in shown(replace(whole, trials=trials)) if " B " in line[:8]]
    assert found == [f"{size}" for size in sorted(sizes)]


def test_a_durable_write_stands_with_its_intervals_and_its_commands(whole: ReportContent) -> None:
    (line,) = (line for line in shown(whole) if line.startswith("2300 B"))
    assert " ".join(line.split()) == "2300 B 333 us 320–345 950 us 790 us–1.25 ms 2 630 3 1"


def test_long_names_and_intervals_of_several_units_break_no_line(
    whole: ReportContent, make_estimate: MakeEstimate
) -> None:
    wide = {"total_latency_ns_p50": make_estimate(889_000, 520_000, 1_050_000)}
    wide["total_latency_ns_p99"] = make_estimate(1_350_000, 909_000, 12_500_000)
    trials = [replace(one, label="160 B preallocated + fdatasync") for one in whole.trials[:1]]
    trials = [replace(one, estimates={**one.estimates, **wide}) for one in (*trials, *whole.trials[1:4])]
    lines = shown(replace(whole, trials=tuple(trials)))
    (line,) = (line for line in lines if line.startswith("160 B"))
    # no interval gives way, but how often a second, which is nearly one over the median; and no row is broken
    assert " ".join(line.split()) == "160 B preallocated 889 us 520 us–1.05 ms 1.35 ms 909 us–12.5 ms 3 1"
    assert max(map(len, lines)) <= 80
    assert sum(line.endswith("per op  per op") for line in lines) == 1


def test_a_trial_that_pauses_as_its_program_does_tells_how_often_that_commits(whole: ReportContent) -> None:
    paused = replace(whole.trials[0], name="sync-write-postgres", workload={"pacing": {"think_ns": 620_000}})
    content = replace(whole, trials=(paused, *whole.trials[1:4]))
    assert sum("2 630" in line for line in shown(content)) == 3
    told = {"commits_per_s": {"value": 5340.0}, "log_latency": {"value": 131_300.0}, "own_time_ns": 56_000}
    forecast = need("postgres", "no_limit") | {"forecast": told}
    for verdict in (forecast, {"verdicts": [need("etcd", "pass"), forecast]}):
        lines = shown(replace(content, verdict=verdict))
        assert any(line.startswith("512 B") and "5 340* " in line for line in lines)
        assert "* 1 s / (131 us mean write + 56 us of PostgreSQL's own)" in lines


def test_the_parts_of_a_commit_add_up_to_how_often_it_happens(whole: ReportContent) -> None:
    paused = replace(whole.trials[0], name="sync-write-etcd", workload={"pacing": {"think_ns": 500_000}})
    rate = {"value": 103.8, "low": 39.6, "high": 571.0}
    told = {"commits_per_s": rate, "log_latency": {"value": 7_830_000.0}, "own_time_ns": 500_000}
    lines = shown(replace(whole, trials=(paused,), verdict=need("etcd", "pass") | {"forecast": told}))
    text = " ".join(" ".join(lines).split())
    parts = "1 s / (7.83 ms mean write + 500 us of etcd's own + 1.30 ms of other syncs)"
    # its result stands there where its column has no room
    assert f"commits/s: 104 (39.6 to 571) = {parts}" in text


def test_marks_stay_where_their_interval_has_no_room(whole: ReportContent) -> None:
    """At 60 columns the intervals of reads and writes are left to the page, and a warning still says of which row."""
    found = reported([Finding("drift", "warning", "it drifted", "random-read-qd1")])
    for width in (80, 60):
        lines = shown(replace(whole, findings=found), width=width)
        assert [line.split()[0] for line in lines if "!1" in line] == ["random", "!1"], width


def test_a_word_is_shortened_before_an_interval_is_left_out(whole: ReportContent, make_estimate: MakeEstimate) -> None:
    wide = {"throughput_bytes_per_s": make_estimate(0.9e9, 0.414e9, 1.21e9, "B/s")}
    wide["iops"] = make_estimate(5_590, 290, 22_100, "1/s")
    trials = tuple(replace(one, estimates=one.estimates | wide) if not one.is_durable else one for one in whole.trials)
    lines = shown(replace(whole, trials=trials), width=75)
    assert sum(line.count("414 MB/s–1.21 GB/s") for line in lines) == 4
    assert any(line.startswith("seq. 1 MiB, QD8") for line in lines)
    assert max(map(len, lines)) <= 75
    # and where there is room nothing is
    assert any(line.startswith("sequential 1 MiB, QD8") for line in shown(whole))


def test_a_first_write_that_is_slower_is_explained(whole: ReportContent, make_estimate: MakeEstimate) -> None:
    told = "QD8 wrote a new file, QD1 over what was there"
    slower = {"throughput_bytes_per_s": make_estimate(0.9e9, 0.8e9, 1.1e9, "B/s")}
    for state, estimates in (("preallocated", slower), ("overwrite", slower), ("preallocated", {})):
        trials = [
            replace(one, estimates=one.estimates | estimates, workload=one.workload | {"file_state": state})
            if one.name == "sequential-write-qd8"
            else one
            for one in whole.trials
        ]
        lines = shown(replace(whole, trials=tuple(trials)))
        assert (told in lines) is (state == "preallocated" and bool(estimates))


def test_what_is_void_by_different_amounts_is_said_once(whole: ReportContent) -> None:
    void = [
        Finding("host-cache-answered", "invalid", f"the page cache answered: 0 B of {10**number} MiB came there", name)
        for number, name in enumerate(("random-read-qd1", "random-read-qd8"))
    ]
    lines = shown(replace(whole, findings=reported(void)))
    assert sum("not to be trusted" in line for line in lines) == 1
    assert sum("x1" in line for line in lines) == 3


def test_reads_stand_beside_writes_of_their_shape(whole: ReportContent) -> None:
    lines = shown(whole)
    (large,) = (line for line in lines if line.startswith("sequential 1 MiB, QD8"))
    assert large.count("1.39 GB/s 1.37–1.41") == 2
    (small,) = (line for line in lines if line.startswith("random 4 KiB, QD1"))
    assert small.count("12 300/s 12 000–12 700") == 2


@pytest.mark.parametrize(
    ("sizes", "head"),
    [((2**32, 2**32), "within 4 GiB"), ((2**32, 2**30), "within 1 GiB to 4 GiB"), ((2**32, None), "")],
)
def test_their_table_tells_how_much_of_the_drive_they_cover(
    whole: ReportContent, sizes: tuple[int | None, int | None], head: str
) -> None:
    def within(one: TrialContent) -> TrialContent:
        size = sizes["write" in one.name]
        return replace(one, workload=one.workload | ({"target": {"size_bytes": size}} if size else {}))

    lines = shown(replace(whole, trials=tuple(map(within, whole.trials))))
    (heads,) = (line for line in lines if line.split()[-2:] == ["read", "write"])
    assert heads.partition("read")[0].strip() == head


def test_what_holds_for_every_trial_marks_none(whole: ReportContent) -> None:
    names = [one.name for one in whole.trials]
    text = f"this trial was not alone: 24 % of the requests were others' (awk); {'so it is ' * 9}"
    everywhere = [Finding("foreign-work", "warning", text, name) for name in names]
    once = Finding("cliff", "invalid", "throughput fell", "random-read-qd1")
    lines = shown(replace(whole, findings=reported([*everywhere, once])))
    told = "! this trial was not alone: 24 % of the requests were others' (awk) (all trials)"
    assert told in [" ".join(line.split()) for line in lines]
    assert [line for line in lines if "x1" in line and not line.startswith("random")][-1].startswith("x1")
    assert not any("!2" in line for line in lines)


def test_a_warning_names_the_trials_that_it_is_about(whole: ReportContent) -> None:
    one = Finding("cliff", "warning", "throughput fell", "random-read-qd8")
    alike = [Finding("drift", "warning", "it rose", name) for name in ("sync-write-2300", "sync-write-512")]
    reads = [trial.name for trial in whole.trials if trial.operation == "read"]
    many = [Finding("stall", "warning", "a stall", name) for name in reads[:3]]
    lines = [" ".join(line.split()) for line in shown(replace(whole, findings=reported([one, *alike, *many])))]
    assert any(line.endswith("throughput fell (random 4 KiB read, QD8)") for line in lines)
    assert any(line.endswith("it rose (512 B appended and 2300 B appended)") for line in lines)
    assert any(line.endswith("a stall") for line in lines)


def test_a_bound_is_no_number(whole: ReportContent, make_estimate: MakeEstimate) -> None:
    bound = {"total_latency_ns_p50": make_estimate(None, 900_000, None), "iops": make_estimate(None, None, None, "1/s")}
    only = trial("sync-write-512", "512 B appended + fdatasync", "durable_write", bound)
    text = "\n".join(shown(replace(whole, trials=(only,))))
    assert "≥ 900 us" in text
    assert "?" in text
    # the largest of 41 is no bound of their p99
    largest = replace(make_estimate(None, 22_900_000, None), observed=37.2e6)
    few = replace(only, estimates={"total_latency_ns_p99": largest})
    lines = "\n".join(shown(replace(whole, trials=(few,))))
    assert "≥ 22.9 ms" in lines
    assert "37.2" not in lines
    few = replace(only, estimates={"total_latency_ns_p99": replace(largest, low=None)})
    assert "seen 37.2 ms" in "\n".join(shown(replace(whole, trials=(few,))))
    assert "\n".join(shown(replace(whole, trials=(only,)), plain=True)).isascii()
