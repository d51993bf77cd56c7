"""How long several targets are fast, and which of them is the faster, in sentences."""

from __future__ import annotations

from dataclasses import replace

from drivelab.model.run_answer import CombinationResult, RepeatedMetric, RunAnswer
from drivelab.model.token_bucket import TokenBucket
from drivelab.report.sentences.run import plain_text, run_sentences
from drivelab.report.tables.bursts import burst_tables


def no_end(token: str, rate: float) -> TokenBucket:
    return TokenBucket("no end", token, 20.0, 20 * rate, burst_per_s=rate, is_flat=True)


def bucket(rate: float, base: float) -> TokenBucket:
    return TokenBucket("bucket", "I/Os", 30.0, 3e6, rate, base, size=5.4e6, lasts_s=2000.0, refills_per_s=(300.0,))


def told(*buckets: tuple[str, TokenBucket]) -> list[str]:
    return [plain_text(text) for text in run_sentences(RunAnswer((), buckets=buckets))]


def test_of_several_targets_it_is_said_which_reads_faster_and_once_that_none_ended() -> None:
    of_ssd = [("ssd", no_end("bytes", 3.5e9)), ("ssd", no_end("I/Os", 666e3))]
    of_card = [("card", no_end("bytes", 89.9e6)), ("card", no_end("I/Os", 6660.0))]
    assert told(*of_ssd, *of_card) == [
        (
            "ssd is 100 times as fast as card at random reads, 666 000 against 6 660 IOPS, and 39 times at large "
            "reads, 3.5 GB/s against 89.9 MB/s; measured once."
        ),
        "No burst ended within 20 s.",
    ]


def test_targets_are_compared_by_what_they_do_without_credit_and_by_what_each_is_faster_at() -> None:
    first, *others = told(("gp2", bucket(3000.0, 300.0)), ("disk", no_end("I/Os", 600.0)))
    assert first == "disk is 2.0 times as fast as gp2 at random reads, 600 against 300 IOPS once bursts are over."
    assert others[0].startswith("gp2: it runs at 3 000 IOPS for 33 min")
    assert len(others) == 2
    # of large reads none was seen to end
    large = [("gp2", no_end("bytes", 2e8)), ("disk", no_end("bytes", 1e8))]
    sentence = "gp2 is 2.0 times as fast as disk at large reads, 200 MB/s against 100 MB/s; measured once"
    found = told(("gp2", bucket(3000.0, 300.0)), ("disk", no_end("I/Os", 600.0)), *large)
    assert any(one.startswith(sentence) for one in found)
    assert told(
        ("A", no_end("I/Os", 600.0)),
        ("B", no_end("I/Os", 601.0)),
        ("A", no_end("bytes", 2e8)),
        ("B", no_end("bytes", 1e8)),
    )[:2] == [
        "B and A are alike at random reads, 601 against 600 IOPS.",
        "A is 2.0 times as fast as B at large reads, 200 MB/s against 100 MB/s; measured once.",
    ]


def test_it_is_said_whether_a_difference_may_be_noise_and_that_it_was_measured_once() -> None:
    gp2 = replace(bucket(3000.0, 300.0), base_range_per_s=(290.0, 310.0))
    first = "disk is 2.0 times as fast as gp2 at random reads, 600 against 300 IOPS once bursts are over"
    for low, word in ((590.0, "; measured once"), (305.0, ", perhaps noise")):
        disk = replace(bucket(3000.0, 600.0), base_range_per_s=(low, 610.0))
        assert told(("gp2", gp2), ("disk", disk))[0] == f"{first}{word}."


def test_what_came_at_once_is_told_where_no_burst_ended() -> None:
    begun = replace(no_end("bytes", 134e6), moved=20 * 134e6 + 268e6, at_once=268e6)
    assert told(("gp2", begun))[0] == (
        "268 MB of large reads came at once, then 2.68 GB of reads at a constant 134 MB/s: no other end of a burst "
        "within 20 s."
    )
    _, none, at_once = told(("gp2", begun), ("disk", no_end("bytes", 1e8)))
    assert none == "No lasting burst ended within 20 s."
    assert at_once == "At the start 268 MB of large reads on gp2 came at once."


def test_rests_between_reads_are_told_where_count_and_rate_would_not_agree() -> None:
    rested = replace(no_end("I/Os", 3000.0), watched_s=52.0, moved=146_879.0)
    assert told(("gp2", rested))[0] == (
        "Random reads came at a constant 3 000 IOPS for 52 s, rests included: no burst ended."
    )


def test_one_target_says_that_its_ios_are_reads() -> None:
    assert told(("sdb", no_end("I/Os", 6660.0))) == [
        "Random reads came at a constant 6 660 IOPS for 20 s: no burst ended."
    ]
    assert told(("sdb", no_end("bytes", 1e9)))[0].startswith("Large reads came at ")


def test_a_rate_that_volumes_give_from_credit_is_told_as_an_open_question() -> None:
    first, question = told(("sdb", no_end("I/Os", 3000.0)))
    assert first.startswith("Random reads came at a constant 3 000 IOPS for 20 s: no burst ended")
    assert question == (
        "3 000 IOPS may be a burst, which a published credit keeps up for 31 min or longer: 20 s are too short to tell."
    )
    several = told(("gp2", no_end("I/Os", 3000.0)), ("disk", no_end("I/Os", 75.0)))
    assert several[0] == (
        "No burst ended within 20 s; the 3 000 IOPS of gp2 may still be one: such volumes keep it up for 31 min or "
        "longer."
    )
    # watched for as long as any published credit lasts
    assert len(told(("sdb", replace(no_end("I/Os", 3000.0), watched_s=2000.0)))) == 1


def test_the_numbers_of_the_sentences_stand_in_a_table() -> None:
    gp2 = replace(bucket(3000.0, 300.0), base_range_per_s=(290.0, 310.0))
    (table,) = burst_tables([("gp2", no_end("bytes", 134e6)), ("gp2", gp2)])
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["gp2", "random", "3 000 IOPS", "33 min", "300 IOPS (290–310)"],
        ["gp2", "large", "134 MB/s", "at least 20 s", "–"],
    ]
    assert burst_tables(()) == ()


def test_a_run_that_asks_for_something_else_says_that_its_numbers_may_be_those_of_a_burst() -> None:
    one = RepeatedMetric(3000.0, 3000.0, 3000.0, "1/s", 3)
    rows = tuple(
        CombinationResult("gp2", "reads", "random reads", {"n": level}, {}, {"iops": one}, "iops", ("a",) * 3)
        for level in "12"
    )
    plain = run_sentences(RunAnswer(rows))
    told = run_sentences(RunAnswer(rows, perhaps_bursts={"gp2": 3000.0}))
    assert told[0] == plain[0]
    assert plain_text(told[1]) == "The 3 000 IOPS of gp2 may be a burst: drivelab run burst gp2 tells what lasts."
