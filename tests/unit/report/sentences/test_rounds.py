"""What rounds came to, in few words, and several targets beside each other."""

from __future__ import annotations

from dataclasses import replace

from drivelab.model.rounds import ChosenPoint, FiveRounds, PhaseRounds, TrackedSeries, WindowAverage
from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.model.stored_experiment import done_afterwards
from drivelab.report.figures.rounds import steady_convergence
from drivelab.report.sentences.rounds import combination_words
from drivelab.report.sentences.run import plain_text, run_sentences

SIZES = ("4KiB", "64KiB", "1MiB")


def series(iops: float, size: str = "4KiB", *, is_steady: bool = True, **settings: str) -> TrackedSeries:
    window = FiveRounds(iops, *((0.05, 0.02) if is_steady else (0.359, 0.264)), 1.0, is_steady)
    return TrackedSeries("random", {"read_fraction": "0.65", "block_size": size} | settings, "iops", "1/s", (), window)


def phase(target: str, *tracked: TrackedSeries) -> PhaseRounds:
    is_steady = all(one.window is not None and one.window.is_steady for one in tracked)
    return PhaseRounds(target, "rounds", 25, 25, "steady" if is_steady else "rounds", (21, 25), tracked)


def told(*phases: PhaseRounds) -> list[str]:
    return [plain_text(text) for text in run_sentences(RunAnswer((), rounds=phases))]


def test_what_is_not_steady_is_told_in_thirty_words_and_why_in_a_sentence_of_its_own() -> None:
    tracked = [series(15_600.0, SIZES[0]), *(series(3150.0, size, is_steady=False) for size in SIZES[1:])]
    quick = replace(phase("sda", *tracked), is_scaled_down=True)
    first, why = told(quick)
    # what was steady is behind what was not
    assert first == (
        "A rehearsal (--quick): not steady in 25 rounds; the last five: 3 150 IOPS (random 64 KiB, R/W "
        "65/35); 3 150 IOPS (random 1 MiB, R/W 65/35); and 1 more."
    )
    assert "; steady: 15 600 IOPS (random 4 KiB" in told(phase("sda", *tracked[:2]))[0]
    assert len(first.split()) <= 30
    assert why == (
        "IOPS of random 64 KiB, R/W 65/35 were not steady: range 35.9 % (at most 20 %), "
        "slope of the best line 26.4 % (at most 10 %); and 1 more."
    )


def test_a_rehearsal_is_level_and_claims_no_steady_state() -> None:
    """A drive was 'steady (saturation)' at 115 000 IOPS, and made 64 700 a little later."""
    whole = phase("sda", series(1000.0))
    assert told(whole)[0].startswith("Steady state reached in round 25: 1 000 IOPS")
    quick = replace(whole, is_scaled_down=True)
    assert told(quick)[0].startswith("A rehearsal (--quick): level by round 25: 1 000 IOPS")
    slow = replace(phase("sdb", series(250.0)), is_scaled_down=True)
    assert told(quick, slow)[0].endswith("both level.")


def test_several_targets_begin_with_how_they_compare_where_all_are_steady() -> None:
    fast, slow = phase("sim:a", series(1000.0)), phase("sim:b", series(250.0))
    what = "random 4 KiB, R/W 65/35"
    assert told(slow, fast) == [
        f"sim:a is 4.0 times as fast as sim:b, 1 000 IOPS against 250 IOPS ({what}), both steady."
    ]
    third = phase("sim:c", series(100.0, is_steady=False))
    assert told(slow, third, fast)[0] == (
        f"sim:a is 4.0 times as fast as sim:b, 1 000 IOPS against 250 IOPS; sim:c 100 IOPS, not steady ({what})."
    )
    assert told(slow, phase("sim:c", series(100.0)), fast)[0].endswith(f"sim:c 100 IOPS ({what}), all steady.")
    assert told(fast, phase("sim:b", series(990.0))) == [f"sim:a 1 000 IOPS; sim:b 990 IOPS ({what})."]
    beside, why = told(fast, phase("sim:b", series(250.0, is_steady=False)))
    assert beside == f"Best is sim:a 1 000 IOPS; sim:b 250 IOPS, not steady ({what})."
    assert why.startswith(f"IOPS of {what} on sim:b were not steady: range 35.9 %")
    # what only one of them has is told of it
    assert told(fast, replace(slow, phase="more"))[0].startswith(
        "Steady state reached in round 25 on sim:b: 250 IOPS (random"
    )


def test_what_a_cache_or_a_burst_gave_is_told_with_what_is_left_and_does_not_win() -> None:
    what = "random 4 KiB, R/W 65/35"
    cached = phase("sim:b", replace(series(12_300.0), lasting_per_s=74.6))
    burst = phase("sim:c", replace(series(3000.0), is_perhaps_burst=True))
    assert told(cached, burst, phase("sim:a", series(9000.0))) == [
        (
            "Best is sim:a 9 000 IOPS; sim:c 3 000 IOPS, perhaps a burst; "
            f"sim:b 12 300 IOPS, 75 in the long run ({what})."
        )
    ]
    # nor is a drive so many times faster whose rate does not last
    assert told(cached, phase("sim:a", series(100.0))) == [
        f"Best is sim:a 100 IOPS; sim:b 12 300 IOPS, 75 in the long run ({what})."
    ]
    assert told(cached)[0].endswith(f": 75 IOPS last, 12 300 IOPS came from a cache ({what}).")


def test_a_drive_is_steady_by_the_number_that_is_told_of_it() -> None:
    mixed = series(3000.0, "64KiB", is_steady=False)
    beside, why, _ = told(phase("sim:a", series(15_900.0), mixed), phase("sim:b", series(3000.0), mixed))
    assert beside.endswith("15 900 IOPS against 3 000 IOPS (random 4 KiB, R/W 65/35), both steady there.")
    assert why.startswith("IOPS of random 64 KiB, R/W 65/35 on sim:a were not steady: range")


def test_write_caches_that_differ_are_told_with_the_ratio() -> None:
    ours, its = {"write-cache": "off"}, {"write-cache": "as-found"}
    fast, slow = phase("sim:a", series(1000.0, **ours)), phase("sim:b", series(250.0, **its))
    what = "random 4 KiB, R/W 65/35"
    (beside,) = told(slow, fast)
    assert beside.endswith(f"against 250 IOPS ({what}), both steady, write cache off against as found.")
    # of more drives, or where the first sentence has no room for it
    third = phase("sim:c", series(100.0, **its))
    assert told(slow, fast, third)[1:] == ["The write cache was off on sim:a, and as found on sim:b and sim:c."]
    assert told(phase("sim:b", series(990.0, **its)), fast)[1:] == [
        "The write cache was off on sim:a, and as found on sim:b."
    ]


def test_a_combination_is_called_what_it_does() -> None:
    assert combination_words("random", {"read_fraction": "0.0", "block_size": "4KiB"}) == "random 4 KiB writes"
    assert combination_words("random", {"read_fraction": "1.0", "block_size": "512"}) == "random 512 B reads"
    assert combination_words("ios", {"read_fraction": "0.65", "queue_depth": "4"}) == "ios, R/W 65/35, queue depth 4"
    assert combination_words("ios", {}) == "ios"


def test_the_picture_of_several_drives_shows_the_rounds_of_all_of_them() -> None:
    found = steady_convergence([phase("sim:a", series(1000.0)), phase("sim:b", series(250.0))])
    assert found is not None
    assert found.open_count >= len(found.plots) == 2


def test_how_far_iops_fell_before_they_were_level_is_told() -> None:
    fallen = replace(series(115_000.0), values=(237_000.0, 180_000.0, 115_000.0))
    assert told(phase("sda", fallen))[0].endswith(", R/W 65/35), fallen from 237 000 in the first round.")
    level = replace(series(115_000.0), values=(130_000.0, 115_000.0))
    assert "fallen" not in told(phase("sda", level))[0]


def test_where_a_point_is_chosen_it_is_the_answer() -> None:
    points = tuple(
        ChosenPoint("sda", "grid", which, "t", {"job_count": "4", "queue_depth": depth}, iops, latency)
        for which, depth, iops, latency in (("max", "32", 320_000.0, 398e3), ("mid", "4", 160_000.0, 90e3))
    )
    answer = RunAnswer((), rounds=(replace(phase("sda", series(1000.0)), is_scaled_down=True),), points=points)
    assert [plain_text(text) for text in run_sentences(answer)] == [
        (
            "A rehearsal (--quick): most (within 1 %) with a mean latency below 5.00 ms (Max): 320 000 IOPS at 398 us "
            "(job count 4, queue depth 32)."
        ),
        "Level by round 25: 1 000 IOPS (random 4 KiB, R/W 65/35).",
        "Midway between most and fewest (Mid): 160 000 IOPS at 90.0 us (job count 4, queue depth 4).",
    ]


def test_a_point_at_the_rate_of_what_is_perhaps_a_burst_is_perhaps_one() -> None:
    one = ChosenPoint("sda", "grid", "max", "t", {"job_count": "4"}, 1_001.0, 398e3)
    burst = replace(series(1000.0), is_perhaps_burst=True)
    first = run_sentences(RunAnswer((), rounds=(phase("sda", burst),), points=(one,)))[0]
    assert "(Max): 1 000 IOPS at 398 us, perhaps a burst (job count 4)" in plain_text(first)
    slower = replace(one, iops=500.0)
    first = run_sentences(RunAnswer((), rounds=(phase("sda", burst),), points=(slower,)))[0]
    assert "(Max): 500 IOPS at 398 us (job count 4)" in plain_text(first)


def test_what_still_fell_behind_all_rounds_was_not_level() -> None:
    def after(iops: float) -> RunAnswer:
        later = CombinationResult(
            *("sda", "histogram", "writes", {}, {}),
            {"iops": RepeatedMetric(iops, iops, iops, "1/s", 1)},
            "iops",
            ("a",),
        )
        quick = replace(phase("sda", series(115_000.0)), is_scaled_down=True)
        return RunAnswer((later,), rounds=(quick,), afterwards={"random": "histogram"})

    assert plain_text(run_sentences(after(110_000.0))[0]).startswith("A rehearsal (--quick): level by round 25: ")
    assert plain_text(run_sentences(after(64_800.0))[0]) == (
        "A rehearsal (--quick): not level yet: 115 000 IOPS (random 4 KiB, R/W 65/35), 64 800 afterwards."
    )


def test_what_is_done_behind_the_rounds_for_another_time_is_the_same() -> None:
    writes = {"operation": "write", "access": "random"}
    workloads = [
        {"name": "minute", "title": "a", "runtime": "60s", **writes},
        {"name": "after", "title": "b", "runtime": "20min", "quick": {"runtime": "5s"}, **writes},
        {"name": "other", **writes, "queue_depth": 4},
    ]
    phases = [{"workloads": ["minute"], "track": [{"workload": "minute"}]}, {"workloads": ["after", "other"]}]
    assert done_afterwards({"workloads": workloads, "phases": phases}) == {"minute": "after"}
    assert done_afterwards({"workloads": workloads, "phases": phases[:1]}) == {}
    assert done_afterwards({}) == {}
    # of a grid one place alone is judged, and another one is done behind it
    grid = [{"setting": "workload", "key": "queue_depth", "levels": [1, 32], "workloads": ["minute"]}]
    assert done_afterwards({"workloads": workloads, "phases": phases, "factors": grid}) == {}


def test_a_point_has_the_numbers_of_the_table() -> None:
    levels = {"job_count": "4", "queue_depth": "32"}
    point = ChosenPoint("sda", "grid", "max", "t", levels, 49_600.0, 2.56e6)
    average = WindowAverage("grid", levels, 5, 48_700.0, None, 2.61e6, None)
    rounds = (replace(phase("sda", series(1000.0)), averages=(average,)),)
    first, *_ = run_sentences(RunAnswer((), rounds=rounds, points=(point,)))
    assert plain_text(first).endswith(": 48 700 IOPS at 2.61 ms (job count 4, queue depth 32).")
