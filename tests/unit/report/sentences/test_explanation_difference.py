"""Two followed programs beside each other: which part of a call became slower leads, with how sure that is."""

from __future__ import annotations

import re
from dataclasses import replace

from drivelab.report.sentences.explanation_difference import difference_sentences
from drivelab.report.sentences.run import plain_text
from made_up_explanations import difference
from made_up_operations import APPEND_NS

CACHE_OFF = {**APPEND_NS, "flush": 0.0, "device": 100_000.0}


def test_of_calls_the_part_that_became_slower_comes_first_whether_it_is_sure_or_not() -> None:
    slower = {**CACHE_OFF, "queue": CACHE_OFF["queue"] + 100_000.0}
    found = replace(difference(CACHE_OFF, slower, names=("a", "b")), operation="sync", units="calls")
    first, *others = map(plain_text, difference_sentences(found))
    number = r"\+\d+(\.\d+)? us"
    sure = rf"{number} \({number} to {number}\)"
    assert re.match(rf"A sync call takes \d+ us on average \(b\), {sure} beside a: the queue is \w+, {sure}\.$", first)
    assert others == ["The intervals are made of single calls: what changes from one time to another is not in them."]
    unsure = tuple(replace(one, is_beyond_noise=False) for one in found.parts)
    counted = replace(found, parts=unsure, work={"device_writes": (2.0, 1.75)})
    first, second, _ = map(plain_text, difference_sentences(counted))
    assert first.count(", may be chance)") == 2
    assert "beside a: the queue is" in first
    assert second == "Per operation: writes 2 -> 1.75."
    above = replace(found.part("queue"), part="layers")
    told = plain_text(difference_sentences(replace(found, parts=(found.total, above)))[0])
    assert "the layers above the drive are longer, +" in told
