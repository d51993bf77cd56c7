"""How slow operations differ from the typical one: how long they take, and where the time more goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.names import names_in_words
from drivelab.model.trace import Explanation, PartSummary
from drivelab.report.numerals import count_text, latency_text

# a part with less of a time is not told of
SHARE_TOLD_MIN = 0.005
# the slowest operations are told apart where they take so much longer
_SLOWER_FROM = 1.10
_MORE_TOLD_SHARE = 0.20
# and the mean where it is so many times the typical latency
_MEAN_TOLD_FROM = 2.0
_MORE_TOLD_AT_MOST = 3
_MORE_IN = {
    "fs_in": "before the first command",
    "layers": "in the layers",
    "queue": "in the queue",
    "between": "between commands",
    "return": "after the last command",
}


def slowest_words(explanation: Explanation) -> str:
    """Which operations the slowest are: ``the slowest 1 % (10 operations)``."""
    if explanation.slowest_count == 1:
        return f"the slowest of {count_text(explanation.operations)} operations"
    return f"the slowest 1 % ({count_text(explanation.slowest_count)} operations)"


def mean_words(explanation: Explanation) -> str:
    """Where most of the time goes, where the typical operation does not tell it: of few that take far longer."""
    if explanation.mean_ns < _MEAN_TOLD_FROM * explanation.typical_ns or not explanation.parts:
        return ""
    most_ns, where = max(_placed([(one.mean.value or 0.0, one) for one in explanation.parts]))
    times = latency_text(explanation.mean_ns), latency_text(most_ns)
    return "The mean is {}, {} of it {where}: most of the time goes to slower ones.".format(*times, where=where)


def slowest_sentence(explanation: Explanation) -> str:
    """By how much the slowest are slower than the typical one, and where; empty where they are not."""
    if explanation.slowest_ns <= explanation.typical_ns:
        return ""
    name = slowest_words(explanation)
    text = f"{name[0].upper()}{name[1:]} {'takes' if explanation.slowest_count == 1 else 'take'}"
    text = f"{text} {latency_text(explanation.slowest_ns)}"
    if explanation.slowest_ns < _SLOWER_FROM * explanation.typical_ns:
        return f"{text}, hardly more."
    extra = explanation.slowest_ns - explanation.typical_ns
    more = sorted(_placed([(one.slowest_ns - one.typical_ns, one) for one in explanation.parts]), reverse=True)
    told = [one for one in more if one[0] >= _MORE_TOLD_SHARE * extra][:_MORE_TOLD_AT_MOST]
    named = [f"{latency_text(value)} {where}" for value, where in told]
    rest = extra - sum(value for value, _ in told)
    if named and rest >= _MORE_TOLD_SHARE * extra:
        named.append(f"{latency_text(rest)} elsewhere")
    text = f"{text}, {latency_text(extra)} more"
    return f"{text}: {names_in_words(named)}." if named else f"{text}, a little of everything."


def _placed(times_ns: Sequence[tuple[float, PartSummary]]) -> Iterator[tuple[float, str]]:
    """Times and where they went; the flush is told within what the drive was busy with."""
    times = {one.part: time for time, one in times_ns}
    flush_ns, drive_ns = times["flush"], times["device"] + times["flush"]
    if drive_ns - flush_ns < SHARE_TOLD_MIN * drive_ns:
        yield flush_ns, "in the flush"
    else:
        is_told = flush_ns >= SHARE_TOLD_MIN * drive_ns
        yield drive_ns, f"at the drive{f' ({latency_text(flush_ns)} in the flush)' if is_told else ''}"
    for time, one in times_ns:
        if one.part not in ("device", "flush"):
            yield time, f"in {one.layer}" if one.layer else _MORE_IN[one.part]
