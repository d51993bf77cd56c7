"""What is said of explanations and their differences: numbers that add up, and no answer where events were lost."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from drivelab.model.estimate import Estimate
from drivelab.model.run_answer import LevelEffect
from drivelab.model.trace import CommandCheck
from drivelab.report.sentences.explanation import (
    check_words,
    cost_words,
    count_of_words,
    explanation_sentences,
    headline,
    share_text,
    trace_words,
    work_words,
)
from drivelab.report.sentences.explanation_difference import (
    difference_sentences,
    explained_levels,
    level_sentence,
    signed_text,
    work_change_words,
)
from drivelab.report.sentences.run import plain_text
from drivelab.report.sentences.traced import short_explanation
from made_up_explanations import difference, explanation
from made_up_operations import APPEND_NS, READ_NS

CACHE_OFF = {**APPEND_NS, "flush": 0.0, "device": 100_000.0}


def told(*args: object, **changes: object) -> tuple[str, ...]:
    return tuple(map(plain_text, explanation_sentences(explanation(*args, **changes))))  # type: ignore[arg-type]


def effect(ratio: float, level: str = "off", **changes: object) -> LevelEffect:
    given = {
        "target": "sdb",
        "workload": "append",
        "factor": "write-cache",
        "level": level,
        "baseline": "on",
        "metric": "total_latency_ns_p50",
        "ratio": Estimate(ratio, ratio * 0.9, ratio * 1.1, "1", 5, 5.0, ""),
        "block_ratios": (ratio,),
        "verdict": "matters",
        "bound": 0.05,
        "p_value": None,
        "adjusted_p_value": None,
        "combination_count": 1,
    }
    return LevelEffect(**(given | changes))  # type: ignore[arg-type]


def test_the_flush_is_named_first_then_the_write_then_software() -> None:
    sentence, slowest, btt = told()
    assert sentence == (
        "Of a typical 333 us (320 us untraced), 151 us is the cache flush (1 per operation), 36.4 us the write, 145 us "
        "software."
    )
    assert (
        slowest
        == "The slowest 1 % (10 operations) take 390 us, 56.9 us more: 52.7 us at the drive (51.0 us in the flush)."
    )
    assert btt == "btt, which drops every flush, would show a mean of 51.0 us (its Q2C) if nobody else used the disk."


@pytest.mark.parametrize("kind", ["overwrite", "append", "read"])
def test_what_is_told_of_adds_up(kind: str) -> None:
    one = explanation(kind)
    scales = {"ns": 1.0, "µs": 1e3, "ms": 1e6}
    without = re.sub(r" \([^)]* untraced\)", "", headline(one))
    whole, *parts = [float(value) * scales[unit] for value, unit in re.findall(r"([\d.]+)\u00a0(ns|µs|ms)", without)]
    # three digits of each
    assert sum(parts) == pytest.approx(whole, rel=0.01)


def test_an_operation_that_its_trace_changed_is_no_answer() -> None:
    first, then, *_ = told(untraced_ns=40_000.0)
    assert re.fullmatch(
        r"No answer yet: a durable write took \d+ us traced and 40\.0 us untraced; explain it again on a quiet "
        r"machine, with more --repeats\.",
        first,
    )
    assert len(first.split()) <= 30
    assert then.startswith("Of a typical 333 us while traced, ")
    assert told(untraced_ns=600_000.0)[0].startswith("No answer yet")
    # 537 us traced and 786 us untraced are not one operation
    assert told(untraced_ns=487_000.0)[0].startswith("No answer yet")
    assert not told(untraced_ns=250_000.0)[0].startswith("No answer yet")


def test_repeats_that_are_far_apart_are_no_answer_and_told_as_a_range() -> None:
    one = replace(explanation(), traced_repeats_ns=(545e3, 1.54e6), untraced_repeats_ns=(3.14e6, 224e3))
    first, then, *_ = map(plain_text, explanation_sentences(one))
    assert first == (
        "No answer yet: repeats disagree, a durable write took 545 us to 1.54 ms traced and 224 us to 3.14 ms "
        "untraced; explain it again on a quiet machine."
    )
    assert len(first.split()) <= 30
    assert then.startswith("Of a typical 333 us while traced, ")
    assert "median 545 us to 1.54 ms traced, 224 us to 3.14 ms untraced" in plain_text(cost_words(one))
    # one of the passes is enough, and the other is told as ever
    untraced = replace(one, traced_repeats_ns=(300e3, 340e3))
    first = plain_text(explanation_sentences(untraced)[0])
    assert first.startswith("No answer yet: repeats disagree, ")
    assert " us traced and 224 us to 3.14 ms untraced;" in first
    alike = replace(untraced, untraced_repeats_ns=(224e3, 440e3))
    assert explanation_sentences(alike) == explanation_sentences(explanation())


def test_where_memory_answered_in_place_of_the_drive_that_is_said_first() -> None:
    one = replace(explanation(), answered_for="sda", reached_share=0.0)
    first, then, *_ = explanation_sentences(one)
    assert first == (
        "No drive was asked: the page cache of this computer answered in place of sda, and the times are the "
        "computer's."
    )
    assert then.startswith("Of a typical ")
    assert short_explanation(one) == "answered by the page cache, not by the drive alone"
    partly, *_ = map(plain_text, explanation_sentences(replace(one, reached_share=0.834)))
    assert partly == "At most 83 % came to sda, the drive beneath: the page cache of this computer answered the rest."


def test_the_journal_is_told_of() -> None:
    sentences = told("append")
    assert "138 us the 3 writes (the journal's among them)" in sentences[0]
    assert "(2 per operation)" in sentences[0]


def test_the_first_sentence_is_whole_and_has_at_most_thirty_words() -> None:
    one = explanation("append", parts_ns={**APPEND_NS, "queue": 20_000.0})
    shorter = headline(replace(one, work={**one.work, "device_writes": 1.06}))
    assert len(shorter.split()) <= 30
    # the journal has a column; what is told still adds up
    assert "(1.06 per operation)" in shorter
    assert shorter.endswith("software and the queue.")
    layered = explanation("append", conduct={"layers": ("dm-crypt home", "md RAID-1 md0", "loop0")})
    assert len(headline(layered).split()) <= 30


def test_an_answer_has_three_sentences_and_what_is_left_out_comes_before_btt() -> None:
    first, _, third, *_, last = told(check=CommandCheck("too_many", "2 flushes instead of 1"))
    assert (first[:10], third) == ("Of a typic", "Unexpected commands: 2 flushes instead of 1.")
    assert last.startswith("btt")


def test_an_answer_is_told_in_few_words_where_there_is_little_room() -> None:
    def short(**changes: object) -> str:
        return plain_text(short_explanation(explanation(**changes)))  # type: ignore[arg-type]

    assert re.fullmatch(r"333 us, 15\d us of it the cache flush", short())
    assert short(untraced_ns=40_000.0) == "no answer yet"
    assert short(conduct={"lost_events": 5}) == "no answer: the trace is not whole"
    assert short(check=CommandCheck("too_few_flushes", "none")) == "durability alarm"


def test_counts_that_are_not_whole_are_told_as_they_are() -> None:
    one = explanation()
    often = replace(one, work={**one.work, "device_writes": 1.32, "device_reads": 1.0, "flushes": 1.11})
    text = plain_text(headline(often))
    assert "the cache flush (1.11 per operation)" in text
    journal = replace(one, work={**one.work, "device_writes": 2.67, "journal_writes": 1.67})
    assert "the writes (2.67 per operation)" in plain_text(headline(journal))
    assert "36.4 us the writes (1.32 per operation) and the read" in text
    # without a flush the first part has the verb
    bare = explanation(parts_ns={"fs_in": 5e4, "device": 1e5}, work={"flushes": 0})
    assert re.search(r"us is the write, ", plain_text(headline(bare)))
    several = replace(bare, work={**bare.work, "device_writes": 3.0})
    assert re.search(r"us are the 3 writes, ", plain_text(headline(several)))


def test_a_read_has_no_flush_and_btt_nothing_to_drop() -> None:
    sentences = told("read")
    answer = "Of a typical 92.4 us (88.3 us untraced), 80.3 us is the read, 12.1 us software and the queue."
    assert sentences[0] == answer
    assert not any("btt" in text or "flush" in text for text in sentences)


def test_waiting_in_the_queue_is_told_where_it_is_much() -> None:
    deep = {**READ_NS, "queue": 60_000.0}
    assert re.search(r", [\d.]+ us waiting in the queue, ", told("read", parts_ns=deep)[0])
    assert told("read")[0].endswith(" us software and the queue.")
    assert told("read", parts_ns={**READ_NS, "queue": 500.0})[0].endswith(" us software.")


def test_of_few_operations_the_slowest_is_one() -> None:
    assert told("read", 57)[1].startswith("The slowest of 57 operations takes ")


def test_where_the_slowest_are_hardly_slower_that_is_said() -> None:
    constant = explanation("read", parts_ns=READ_NS)
    alike = explanation("read", slowest_ns=constant.typical_ns * 1.05)
    assert explanation_sentences(alike)[1].endswith(", hardly more.")
    assert len(explanation_sentences(explanation("read", slowest_ns=constant.typical_ns))) == 1


def test_what_never_reaches_the_drive_is_said() -> None:
    sentence = told("read", parts_ns={"fs_in": 2000.0}, work={"bios": 0, "device_reads": 0, "bytes_read": 0})[0]
    assert sentence == "All of the 1.99 us is software and memory: nothing was sent to the drive."


def test_a_refusal_gives_the_latencies_and_no_parts() -> None:
    sentences = told(conduct={"lost_events": 5})
    assert sentences[0].startswith("The parts are not given: 5 events were lost")
    assert "333 us for a typical durable write" in sentences[1]
    assert not any("flush" in text for text in sentences)
    assert headline(explanation(conduct={"lost_events": 5})) == ""


def test_missing_flushes_are_an_alarm() -> None:
    alarm, first, *_ = told(work={"flushes": 0})
    assert "151 us is waiting for flushes of others" in first
    assert alarm.startswith(
        "Durability alarm: 1000 operations were to be durable, and the drive was told so 0.00 times"
    )
    assert told(work={"flushes": 2})[2].startswith("Unexpected commands: each durable write cost 2.00 flushes")


def test_what_else_limits_it_is_told() -> None:
    sentences = told(
        shared_operations=12,
        left_out=("t2: 3 events were lost",),
        conduct={"environment": {"write_cache": {"before": "write back", "after": "write through"}}},
    )
    assert "12 of 1 000 operations waited together" in sentences[2]
    assert "write_cache (write back -> write through) changed" in sentences[3]
    assert sentences[4] == "Left out: t2: 3 events were lost."


def test_words_of_single_lines() -> None:
    one = explanation("append", untraced_ns=1_100_000.0)
    assert plain_text(work_words(one)) == (
        "3 writes, 2 flushes, 1 bio with FUA, 3 writes by the journal, 16 KiB written (16 384 times what was asked)"
    )
    assert plain_text(work_words(explanation("read"))) == "1 read, 4 KiB read"
    assert re.fullmatch(
        r"median 1\.14 ms traced, 1\.10 ms untraced: 1\.03 times, 95 % interval 1\.0\d to 1\.0\d",
        plain_text(cost_words(one)),
    )
    assert cost_words(explanation("append", tracing_cost=None)) == ""
    faster = explanation("append", tracing_cost=Estimate(0.61, 0.18, 2.03, "1", 3, 3.0, ""))
    assert plain_text(cost_words(faster)).startswith("not measurable: median 1.14 ms traced")
    assert check_words(one).startswith("as expected: 3.00 writes, 2.00 flushes, as ext4 on a volatile cache should")
    assert trace_words(one) == (
        "tracefs (a private instance can be made); 0 events lost, 0 own bios unmatched, 0 records doubled, "
        "12 bios of others, 0 open at the end"
    )
    assert [count_of_words(value) for value in (1.0, 0.97, 2.07, 0.02, 0.0)] == ["1", "1", "2.07", "0.02", "0"]
    assert [share_text(value, 100) for value in (0, 0.2, 46.4, 100)] == ["0 %", "< 1 %", "46 %", "100 %"]
    assert share_text(1, 0) == ""


def test_a_flush_that_is_gone_is_the_reason() -> None:
    found = difference(new_ns=CACHE_OFF, new_work={"flushes": 0}, repeats=3)
    first, work = map(plain_text, difference_sentences(found))
    assert re.fullmatch(
        r"Traced, an operation takes 1\.1\d ms on average \(write-cache on\) and 42\d us \(write-cache off\): the "
        r"flush is gone \(-68\d us\) and the drive's own time is shorter \(-3\d\.\d us\)\.",
        first,
    )
    assert work == "Per operation: flushes 2 -> 0."
    assert re.fullmatch(
        r"write-cache off is 2\.7 times as fast as on because the flush is gone "
        r"\(-68\d us of -72\d us per operation\)\.",
        plain_text(level_sentence(effect(1 / 2.7), found)),
    )


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("name", ["20261126T162656Z-explain-tmp", "write-cache off", "write-cache off, xfs on sdb"])
@pytest.mark.parametrize(
    "new_ns",
    [
        APPEND_NS,
        CACHE_OFF,
        {**APPEND_NS, "flush": 400_000.0, "between": 20_000.0, "queue": 90_000.0, "return": 90_000.0},
        # the parts differ, and the whole does not
        {**APPEND_NS, "flush": APPEND_NS["flush"] - 50_000.0, "return": APPEND_NS["return"] + 50_000.0},
    ],
)
def test_a_difference_begins_with_a_sentence_of_at_most_thirty_words(
    new_ns: dict[str, float], name: str, repeats: int
) -> None:
    first = difference_sentences(difference(new_ns=new_ns, repeats=repeats, names=("write-cache on", name)))[0]
    assert 0 < len(first.split()) <= 30
    assert first.endswith(".")


def test_several_reasons_are_added_up() -> None:
    both = {**APPEND_NS, "flush": 400_000.0, "between": 20_000.0}
    text = plain_text(level_sentence(effect(0.6), difference(new_ns=both, repeats=3)))
    assert re.search(
        r"because the flush is shorter \(-28\d us\) and the time between commands is shorter \(-17\d us\), "
        r"together -45\d us of -4[56]\d us per operation\.",
        text,
    )


def test_a_part_that_was_not_there_before_is_new() -> None:
    found = difference(CACHE_OFF, {**CACHE_OFF, "flush": 153_000.0}, names=("a", "b"))
    first, *others = map(plain_text, difference_sentences(found))
    assert re.match(r"Traced, an operation takes \d+ us on average \(a\) and \d+ us \(b\): ", first)
    assert "the flush is new (+15" in first
    assert others[-1].startswith("Fewer than three traced repeats a side")


def test_what_is_no_answer_by_itself_is_none_beside_another() -> None:
    found = difference(new_ns=CACHE_OFF, new_work={"flushes": 0}, repeats=3)
    assert plain_text(difference_sentences(found)[0]).startswith("Traced, an operation takes")
    one = plain_text(difference_sentences(replace(found, unsettled=("write-cache off",)))[0])
    # with as many of the parts as thirty words hold
    assert one.startswith("No answer yet for write-cache off: traced, an operation takes")
    assert one.endswith("the flush is gone (-687 us).")
    both = replace(found, unsettled=(found.base, found.new))
    assert plain_text(difference_sentences(both)[0]).startswith("No answer yet for either of them: traced, ")
    # a part that differs while the whole may not
    part = difference(CACHE_OFF, {**CACHE_OFF, "flush": 153_000.0}, names=("a", "b"))
    told = plain_text(difference_sentences(replace(part, unsettled=("b",)))[0])
    assert told.startswith("No answer yet for b: ")
    assert "b beside a" not in told


def test_where_nothing_differs_nothing_is_claimed() -> None:
    found = difference()
    (only,) = map(plain_text, difference_sentences(difference(repeats=3)))
    assert re.search(r"; the difference \([-+].* to \+.*\) may be chance, in every part\.$", only)
    _, few = map(plain_text, difference_sentences(found))
    assert few == "Fewer than three traced repeats a side: little is beyond chance; trace three or more."
    sentence = level_sentence(effect(0.3), found)
    assert sentence.startswith("Why write-cache off is 3.3 times as fast as on the traces do not show")
    assert "by more than chance" in sentence


def test_traces_that_say_the_opposite_are_no_reason() -> None:
    slower = difference(new_ns={**APPEND_NS, "device": 400_000.0}, repeats=3)
    assert re.search(
        r"do not show: traced, an operation takes \+26\d us\.", plain_text(level_sentence(effect(0.3), slower))
    )


def test_few_operations_are_told_as_such() -> None:
    few = difference(new_ns=CACHE_OFF, count=5)
    assert "too few operations were traced to rule out chance" in difference_sentences(few)[0]
    assert "too few operations were traced" in level_sentence(effect(0.3), few)


def test_levels_of_several_workloads_are_told_apart() -> None:
    found = difference(new_ns=CACHE_OFF, repeats=3)
    pairs = [(effect(0.4), found), (effect(0.4, workload="overwrite"), found)]
    assert [text.rpartition("(")[2] for text in explained_levels(pairs)] == [
        "for append on sdb).",
        "for overwrite on sdb).",
    ]
    assert not any("(for" in text for text in explained_levels(pairs[:1]))


def test_work_and_signs_are_short() -> None:
    assert work_change_words(difference(new_work={"flushes": 0, "bytes_written": 4096})) == (
        "flushes 2 -> 0, bytes written 16 KiB -> 4 KiB"
    )
    assert [plain_text(signed_text(value)) for value in (-7.2e6, 153_000.0, 0.0)] == ["-7.20 ms", "+153 us", "+0 ns"]


def test_a_volume_that_may_keep_a_bio_is_named_beside_software() -> None:
    one = explanation()
    assert plain_text(headline(one)).endswith(" software.")
    beneath = replace(one, layers=("device mapper volume slow",))
    assert plain_text(headline(beneath)).endswith(" software or device mapper volume slow, which are not told apart.")


def test_commands_that_were_counted_lead_where_every_time_may_be_chance() -> None:
    found = difference(APPEND_NS, APPEND_NS, new_work={"flushes": 0}, repeats=3)
    first, *others = map(plain_text, difference_sentences(found))
    assert "flushes 2 -> 0 per operation; the mean, " in first
    assert first.endswith("may differ by chance.")
    assert not any("flushes" in one for one in others)


def test_a_mean_that_the_typical_operation_does_not_tell_is_told_with_its_largest_part() -> None:
    one = explanation("overwrite")
    usual, *others = one.parts
    late = replace(others[-1], mean=Estimate(2e6, 1e6, 3e6, "ns", 1000, 1000.0, ""))
    slow = replace(one, mean_ns=3e6, parts=(usual, *others[:-1], late))
    assert late.part == "return"
    assert "The mean is 3.00 ms, 2.00 ms of it after the last command: most of the time goes to slower ones." in map(
        plain_text, explanation_sentences(slow)
    )
    assert not any(text.startswith("The mean") for text in explanation_sentences(one))
