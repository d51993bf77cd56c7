"""Whether a drive recovers while it is idle, in a sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drivelab.model.rounds import FiveRounds, PhaseRounds, TrackedSeries
from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.report.sentences.pauses import pause_sentences
from drivelab.report.sentences.run import plain_text, run_sentences

S = 10**9
PAUSES = {"wait-5": (5 * S, 5 * S, 32), "wait-50": (5 * S, 50 * S, 32)}
LEAD = "Between pauses of 50 s, 10 times as long as the writes, it is"


def row(workload: str, rate: float, target: str = "sda") -> CombinationResult:
    found = {"iops": RepeatedMetric(rate, rate, rate, "1/s", 1)}
    return CombinationResult(target, workload, workload, {}, {}, found, "iops", ("a",))


def answer(longest: float, *, target: str = "sda") -> tuple[CombinationResult, ...]:
    """Rates as they are counted, with the pauses in them."""
    rows = (("minute", 90_000.0), ("wait-5", 34_800.0), ("wait-50", longest), ("baseline", 60_700.0))
    return tuple(row(name, rate, target) for name, rate in rows)


@pytest.mark.parametrize(
    ("longest", "told"),
    [
        # 11 times as many while it writes: 5 s of 55
        (11_700.0, "2.1 times as fast as without a pause, 129 000 against 60 700 IOPS."),
        (5_520.0, "as fast as without a pause, 60 700 against 60 700 IOPS."),
        (4_000.0, "28 % slower than without a pause, 44 000 against 60 700 IOPS."),
    ],
)
def test_rates_with_pauses_in_them_are_told_as_what_it_does_while_it_works(longest: float, told: str) -> None:
    found = RunAnswer(answer(longest), pauses=PAUSES)
    assert list(map(plain_text, pause_sentences(found))) == [f"{LEAD} {told}"]


def test_it_comes_before_what_was_steady_and_without_pauses_there_is_nothing() -> None:
    series = TrackedSeries("minute", {}, "iops", "1/s", ())
    rounds = (PhaseRounds("sda", "saturation", 6, 6, "rounds", (2, 6), (series,), is_scaled_down=True),)
    first, then, *_ = run_sentences(RunAnswer(answer(11_700.0), rounds=rounds, pauses=PAUSES))
    # so short a run has a pause or two
    looked = f"A rehearsal (--quick): b{LEAD[1:].removesuffix('is')}looked 2.1 times as fast as"
    assert plain_text(first).startswith(looked)
    assert then.startswith("Not steady in 6 rounds")
    assert list(pause_sentences(RunAnswer(answer(11_700.0)))) == []
    both = RunAnswer((*answer(11_700.0), *answer(5_520.0, target="sdb")), pauses=PAUSES)
    assert [text.partition(":")[0] for text in pause_sentences(both)] == ["sda", "sdb"]


def test_what_lies_within_the_interval_of_the_other_is_not_told_apart_from_it() -> None:
    rows = tuple(
        replace(one, metrics={"iops": RepeatedMetric(134_000.0, 134_000.0, 134_000.0, "1/s", 1, low=125e3, high=147e3)})
        if one.workload == "baseline"
        else one
        for one in answer(11_700.0)
    )
    (sentence,) = map(plain_text, pause_sentences(RunAnswer(rows, pauses=PAUSES)))
    assert sentence == f"{LEAD} not told apart from what it is without a pause, 129 000 against 134 000 IOPS."


def test_what_came_from_a_cache_is_told_with_what_lasts() -> None:
    series = TrackedSeries("minute", {}, "iops", "1/s", (), lasting_per_s=74.6)
    rounds = (PhaseRounds("sda", "saturation", 6, 6, "rounds", (2, 6), (series,)),)
    (sentence,) = pause_sentences(RunAnswer(answer(11_700.0), rounds=rounds, pauses=PAUSES))
    assert plain_text(sentence).endswith("129 000 against 60 700 IOPS; both from its cache, 75 last.")


def test_what_was_outstanding_when_a_pause_began_is_no_work_of_the_time_before_it() -> None:
    """A volume of 3000 a second moves 3256 in each second: 32 I/Os of 8 jobs end in the pause behind it."""
    rows = (row("wait", 3256 / 11), row("baseline", 3000.0))
    (sentence,) = pause_sentences(RunAnswer(rows, pauses={"wait": (S, 10 * S, 256)}))
    assert "it is as fast as without a pause, 3 000 against 3 000 IOPS" in plain_text(sentence)


@pytest.mark.parametrize(
    ("first", "is_perhaps_burst", "told"),
    [
        (60_700.0, False, "as fast as without a pause, 60 700 against 60 700 IOPS; it had not slowed down before."),
        (60_700.0, True, "60 700 against 60 700 IOPS, perhaps a burst; it had not slowed down before."),
        (90_000.0, False, "as fast as without a pause, 60 700 against 60 700 IOPS."),
    ],
    ids=["never slower", "perhaps a burst", "slower"],
)
def test_a_drive_that_had_not_slowed_down_has_nothing_to_recover_from(
    first: float, is_perhaps_burst: bool, told: str
) -> None:
    window = FiveRounds(60_700.0, 0.01, 0.001, 0.0, True)
    series = TrackedSeries("minute", {}, "iops", "1/s", (first, *[60_700.0] * 5), window)
    series = replace(series, is_perhaps_burst=is_perhaps_burst)
    rounds = (PhaseRounds("sda", "saturation", 6, 6, "steady", (2, 6), (series,)),)
    (sentence,) = map(plain_text, pause_sentences(RunAnswer(answer(5_520.0), rounds=rounds, pauses=PAUSES)))
    assert sentence.endswith(told)
    assert len(sentence.split()) <= 30
