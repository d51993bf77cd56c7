"""Where the time of an operation went, in sentences: of 333 us, 153 us is the cache flush."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from drivelab.model.estimate import Estimate
from drivelab.model.names import names_in_words
from drivelab.model.trace import Explanation, ExplanationDifference, Part, are_far_apart
from drivelab.model.units import format_bytes
from drivelab.report.numerals import count_text, latency_text
from drivelab.report.parts_of_text import FIRST_WORDS_MAX
from drivelab.report.sentences.slow_operations import SHARE_TOLD_MIN, mean_words, slowest_sentence, slowest_words

# from such a share on it is named beside software
_QUEUE_NAMED_FROM = 0.01
# from such a share on waiting in the queue is told apart from software
QUEUE_TOLD_FROM = 0.10
# a drive that takes so many times as long as any other beneath the same set is the slow one
_SLOW_MEMBER_FROM = 1.25
# a byte written for a byte asked for is nothing to tell of
_AMPLIFIED_FROM = 0.005
# below that much of it a drive was not asked
_HARDLY_ASKED = 0.02
# counts of commands this close to a whole number are one
COUNT_SLACK = 0.05
_SOFTWARE: tuple[Part, ...] = ("fs_in", "between", "return")
# told of in the tables, too: what a long sentence can do without
_JOURNAL = re.compile(r", the journal's among them(?=\))| \(the journal's among them\)")
_UNTRACED = re.compile(r" \([^()]* untraced\)")
_PARENTHESES = re.compile(r" \([^()]*\)")
_ONE = {"durable_write": "durable write", "sync": "sync call"}


def explanation_sentences(explanation: Explanation) -> tuple[str, ...]:
    """What an explanation comes to, an alarm first, then the answer; of one that was refused, why."""
    told = _refused(explanation) if explanation.refusal else _answered(explanation)
    return (*_alarm(explanation), *told, *_remarks(explanation), *_of_btt(explanation))


def headline(explanation: Explanation) -> str:
    """The typical operation in one sentence; empty where there is no answer."""
    if explanation.refusal or not explanation.parts or not explanation.typical_ns:
        return ""
    whole = latency_text(explanation.typical_ns)
    if explanation.work["bios"] < COUNT_SLACK and not any(one.layer for one in explanation.parts):
        return f"All of the {whole} is software and memory: nothing was sent to the drive."
    told = [one for one in told_parts(explanation) if one[0] >= SHARE_TOLD_MIN * explanation.typical_ns]
    untraced = explanation.untraced_ns
    if explanation.is_unsettled:
        whole += " while traced"
    elif untraced is not None and untraced.value is not None:
        whole += f" ({latency_text(untraced.value)} untraced)"
    # the first has the verb
    named = [
        f"{latency_text(time)} {'' if place else f'{verb} '}{name}" for place, (time, verb, name) in enumerate(told)
    ]
    text = f"Of a typical {whole}, {', '.join(named)}."
    return next((short for short in _shorter(text) if len(short.split()) <= FIRST_WORDS_MAX), text)


def operation_words(told_of: Explanation | ExplanationDifference) -> str:
    """What one operation is called: ``durable write``."""
    return _ONE.get(told_of.operation, told_of.operation)


def count_of_words(value: float) -> str:
    """Commands per operation: ``1``, ``2.07``."""
    nearest = round(value)
    # what happens now and then is not the same as never
    slack = COUNT_SLACK if nearest else COUNT_SLACK / 5
    return f"{nearest}" if abs(value - nearest) < slack else f"{value:.2f}"


def work_words(explanation: Explanation) -> str:
    """What one operation made the drive do: ``3 writes, 2 flushes, 1 with FUA, 16 KiB written for 1 B``."""
    work = explanation.work
    named = [
        ("device_writes", "write", "writes"),
        ("device_reads", "read", "reads"),
        ("flushes", "flush", "flushes"),
        ("fua_writes", "bio with FUA", "bios with FUA"),
        ("journal_writes", "write by the journal", "writes by the journal"),
    ]
    told = [_number_of(work[name], one, several) for name, one, several in named if work[name] >= COUNT_SLACK / 5]
    # bytes of the few that came there when hardly any did are no bytes of one operation
    for count, name, what in (("device_writes", "bytes_written", "written"), ("device_reads", "bytes_read", "read")):
        if work[name] >= 1 and work[count] >= COUNT_SLACK / 5:
            told.append(f"{format_bytes(round(work[name]))} {what}")
    if not told:
        return "none"
    times = explanation.amplification
    is_more = times is not None and abs(times - 1) >= _AMPLIFIED_FROM
    return ", ".join(told) + (f" ({_amplification_words(times or 1.0)} what was asked)" if is_more else "")


def asked_of_drive(explanation: Explanation) -> str:
    """What one operation made the drive do, as a part of a sentence: ``3 writes (2 by the journal) and 1 flush``.

    Empty where nothing is known of it, or nothing was asked of the drive.
    """
    work = explanation.work
    if explanation.refusal or work.get("bios", 0.0) < COUNT_SLACK:
        return ""
    told = [
        _number_of(work[name], one, several)
        for name, one, several in (
            ("device_reads", "read", "reads"),
            ("device_writes", "write", "writes"),
            ("flushes", "flush", "flushes"),
        )
        if work[name] >= COUNT_SLACK
    ]
    if work["journal_writes"] >= COUNT_SLACK:
        place = next((at for at, words in enumerate(told) if "write" in words), None)
        if place is not None:
            told[place] += f" ({count_of_words(work['journal_writes'])} by the journal)"
    return names_in_words(told)


def _amplification_words(times: float) -> str:
    """Bytes written per byte asked for: ``4096 times``, ``1.26 times``."""
    return f"{count_text(times) if times >= 100 else f'{times:.3g}'} times"


def cost_words(explanation: Explanation) -> str:
    """What tracing cost: the two medians and their ratio; empty where they are not known."""
    ratio = explanation.tracing_cost
    if ratio is None or ratio.value is None or explanation.traced_ns is None or explanation.untraced_ns is None:
        return ""
    medians = "median {} traced, {} untraced".format(*_medians(explanation))
    ends = "" if ratio.low is None or ratio.high is None else f", 95 % interval {ratio.low:.2f} to {ratio.high:.2f}"
    # a trace makes nothing faster: what looks like it is the scatter of two passes
    is_seen = ratio.value > 1 and (ratio.low is None or ratio.low > 1)
    # the ratio is that of passes beside each other, and may be below 1 where the medians of all of them are not
    told = f"{medians}: {ratio.value:.2f} times{ends}" if ratio.value >= 1 else medians
    return told if is_seen else f"not measurable: {told}"


def check_words(explanation: Explanation) -> str:
    """The self-check of the commands: ``ok: 1.00 writes, 1.00 flushes, as ...``."""
    verdict = {"ok": "as expected", "too_few_flushes": "durability alarm", "too_many": "unexpected"}
    return f"{verdict.get(explanation.check.verdict, 'not judged')}: {explanation.check.text}"


def trace_words(explanation: Explanation) -> str:
    """How the trace was taken, and what of it was lost, unmatched or others': ``tracefs (...); 0 events lost, ...``."""
    conduct = explanation.conduct
    counts = [
        _plural(conduct.lost_events, "event lost", "events lost"),
        _plural(conduct.unmatched_bios, "own bio unmatched", "own bios unmatched"),
        _plural(conduct.duplicate_records, "record doubled", "records doubled"),
        _plural(conduct.foreign_bios, "bio of others", "bios of others"),
        f"{count_text(conduct.open_at_end)} open at the end",
    ]
    if conduct.partial_operations:
        counts.append(_plural(conduct.partial_operations, "operation", "operations") + " not known to the end")
    reason = f" ({conduct.reason})" if conduct.reason else ""
    return f"{conduct.source}{reason}; {', '.join(counts)}"


def _changed_environment(explanation: Explanation) -> list[str]:
    """What of the kernel was another after the trace than before it: ``write_cache (write back -> write through)``."""
    return [
        f"{name} ({value['before']} -> {value['after']})"
        for name, value in explanation.conduct.environment.items()
        if isinstance(value, Mapping) and "before" in value and value["before"] != value.get("after")
    ]


def _median_words(estimate: Estimate | None, repeats: Sequence[float]) -> str:
    """A median; of repeats that lie far apart from the lowest to the highest."""
    if are_far_apart(repeats):
        return f"{latency_text(min(repeats))} to {latency_text(max(repeats))}"
    known = estimate and (estimate.observed if estimate.value is None else estimate.value)
    return latency_text(known) if known else "unknown"


def _medians(explanation: Explanation) -> tuple[str, str]:
    """The traced and the untraced one."""
    return (
        _median_words(explanation.traced_ns, explanation.traced_repeats_ns),
        _median_words(explanation.untraced_ns, explanation.untraced_repeats_ns),
    )


def _answered(explanation: Explanation) -> Iterator[str]:
    if explanation.is_unsettled:
        traced, untraced = _medians(explanation)
        is_range = are_far_apart(explanation.traced_repeats_ns) or are_far_apart(explanation.untraced_repeats_ns)
        # what repeats agree on may be the trace's own doing, and more of them tell
        how = "on a quiet machine" if is_range else "on a quiet machine, with more --repeats"
        yield (
            f"No answer yet: {'repeats disagree, ' * is_range}a {operation_words(explanation)} took {traced} traced "
            f"and {untraced} untraced; explain it again {how}."
        )
    if text := headline(explanation):
        yield text
    if text := mean_words(explanation):
        yield text
    if text := slowest_sentence(explanation):
        yield text


def _shorter(text: str) -> Iterator[str]:
    """The sentence, and with less and less of what tables say, too."""
    yield text
    for less in (_JOURNAL, _UNTRACED, _PARENTHESES):
        text = less.sub("", text)
        yield text


def _of_btt(explanation: Explanation) -> Iterator[str]:
    """What btt would print instead."""
    if not explanation.refusal and explanation.q2c_ns and explanation.work["flushes"] >= COUNT_SLACK:
        # the name of the row of btt's table, for those who know it
        shown = latency_text(explanation.q2c_ns)
        if explanation.work["preflush_writes"] >= COUNT_SLACK:
            yield f"btt's mean Q2C is {shown} a bio: it counts flushes before a write, not those after it."
        else:
            alone = " if nobody else used the disk" if explanation.conduct.foreign_bios else ""
            yield f"btt, which drops every flush, would show a mean of {shown} (its Q2C){alone}."


def _refused(explanation: Explanation) -> Iterator[str]:
    yield f"The parts are not given: {explanation.refusal}."
    if explanation.operations:
        yield (
            f"The latencies stand, since the program took them itself: {latency_text(explanation.typical_ns)} for a "
            f"typical {operation_words(explanation)}, {latency_text(explanation.slowest_ns)} for "
            f"{slowest_words(explanation)}."
        )


def _alarm(explanation: Explanation) -> Iterator[str]:
    """That what was acknowledged can be lost, or that no drive was asked: nothing else weighs as much."""
    if explanation.check.verdict == "too_few_flushes":
        yield f"Durability alarm: {explanation.check.text}."
    if explanation.answered_for and explanation.reached_share < _HARDLY_ASKED:
        yield (
            f"No drive was asked: the page cache of this computer answered in place of {explanation.answered_for}, "
            "and the times are the computer's."
        )
    elif explanation.answered_for:
        yield (
            f"At most {100 * explanation.reached_share:.0f}\u00a0% came to {explanation.answered_for}, the drive "
            "beneath: the page cache of this computer answered the rest."
        )


def _remarks(explanation: Explanation) -> Iterator[str]:
    check = explanation.check
    if check.verdict == "too_many":
        yield f"Unexpected commands: {check.text}."
    if explanation.shared_operations and not explanation.refusal:
        yield (
            f"{count_text(explanation.shared_operations)} of {count_text(explanation.operations)} operations waited "
            "together for the same commands: each has the whole wait, and the drive's work is counted once."
        )
    yield from _slow_member(explanation)
    if explanation.without_requests:
        names = names_in_words(explanation.without_requests)
        several = len(explanation.without_requests) > 1
        yield (
            f"{names} {'have' if several else 'has'} no request queue: the kernel does not tell when the driver begins "
            "with a bio, so waiting and working are one time here, called device, and bios are counted as commands."
        )
    if changed := _changed_environment(explanation):
        yield f"While it was traced {', '.join(changed)} changed: the operations do not all mean the same."
    for text in explanation.left_out:
        yield f"Left out: {text}."


def _slow_member(explanation: Explanation) -> Iterator[str]:
    """Which of several drives holds the others up."""
    members = sorted((one for one in explanation.members if one.commands), key=lambda one: one.mean_ns)
    if len(members) < 2:
        return
    *others, slow = members
    usual = others[-1].mean_ns
    if slow.mean_ns >= _SLOW_MEMBER_FROM * usual:
        rest = f"{others[0].drive} takes" if len(others) == 1 else "none of the others takes more than"
        yield (
            f"Of its {len(explanation.members)} drives {slow.drive} is the slow one: {latency_text(slow.mean_ns)} for "
            f"a command, where {rest} {latency_text(usual)}."
        )


def has_software(explanation: Explanation) -> bool:
    """Whether a tenth of the typical operation or more is software."""
    software = sum(one.typical_ns for one in explanation.parts if one.part in _SOFTWARE)
    return software >= QUEUE_TOLD_FROM * (explanation.typical_ns or math.inf)


def told_parts(explanation: Explanation) -> Iterator[tuple[float, str, str]]:
    """Time, verb and name of what makes the typical operation; together they are all of it."""
    work = explanation.work
    times = {one.part: one.typical_ns for one in explanation.parts}
    is_own = work["flushes"] >= COUNT_SLACK
    number = f"the cache flush ({count_of_words(work['flushes'])} per operation)"
    yield times["flush"], "is", number if is_own else "waiting for flushes of others"
    yield times["device"], "are" if _is_several(explanation) else "is", _commands(explanation)
    for one in explanation.parts:
        if one.layer:
            yield one.typical_ns, "is", f"{one.layer} itself"
    software = sum(times[part] for part in _SOFTWARE)
    if times["queue"] >= QUEUE_TOLD_FROM * explanation.typical_ns:
        yield times["queue"], "is", "waiting in the queue"
    else:
        software += times["queue"]
    has_queue = _QUEUE_NAMED_FROM <= times["queue"] / explanation.typical_ns < QUEUE_TOLD_FROM
    yield software, "is", _software_words(explanation.layers, "software and the queue" if has_queue else "software")


def _software_words(layers: Sequence[str], software: str) -> str:
    """What is left when the drive's commands and a long queue are taken off."""
    return f"{software} or {' or '.join(layers)}, which are not told apart" if layers else software


def _commands(explanation: Explanation) -> str:
    """What the drive was busy with, flushes apart: ``the write``, ``the 3 writes (the journal's among them)``."""
    work = explanation.work
    writes, reads = work["device_writes"], work["device_reads"]
    named = [
        _the(count, one, several)
        for count, one, several in ((writes, "write", "writes"), (reads, "read", "reads"))
        if count >= COUNT_SLACK
    ]
    text = " and ".join(named) or "commands of others"
    if work["journal_writes"] < COUNT_SLACK:
        return text
    among = "the journal's among them"
    return f"{text[:-1]}, {among})" if text.endswith(")") else f"{text} ({among})"


def _is_several(explanation: Explanation) -> bool:
    counts = [explanation.work[name] for name in ("device_writes", "device_reads")]
    return [count_of_words(count) for count in counts if count >= COUNT_SLACK] != ["1"]


def _the(count: float, one: str, several: str) -> str:
    number = count_of_words(count)
    if number == "1":
        return f"the {one}"
    return f"the {number} {several}" if number.isdecimal() else f"the {several} ({number} per operation)"


def _number_of(count: float, one: str, several: str) -> str:
    number = count_of_words(count)
    return f"{number} {one if number == '1' else several}"


def _plural(count: int, one: str, several: str) -> str:
    return f"{count_text(count)} {one if count == 1 else several}"


def share_text(value: float, whole: float) -> str:
    """A part of a whole: ``46 %``; empty where there is nothing to divide."""
    if whole <= 0:
        return ""
    share = value / whole
    return "0 %" if share == 0 else "< 1 %" if share < SHARE_TOLD_MIN else f"{100 * share:.0f} %"
