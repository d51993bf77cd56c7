"""How long another load disturbs a drive: when what it did before is as fast again, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, median

from drivelab.model.judged_metric import THROUGHPUT
from drivelab.model.run_answer import RunAnswer
from drivelab.model.timeline import TrialTimeline
from drivelab.report.numerals import value_writer
from drivelab.report.parts_of_text import capitalised
from drivelab.report.sentences.bursts import time_text
from drivelab.report.sentences.rounds import SCALED_DOWN

# as fast again: nearer to what it was than this
_AS_FAST = 0.95
# one stretch of a few may lie that near by chance
_STRETCHES = 5


def disturbance_sentences(answer: RunAnswer) -> Iterator[str]:
    """For each target how long a load took to be as fast after another one as it was before it.

    Parameters
    ----------
    answer : RunAnswer
        With workloads that were done again (`RunAnswer.again`) and how they went.
    """
    lead = f"{SCALED_DOWN}: " if any(one.is_scaled_down for one in answer.rounds) else ""
    targets = dict.fromkeys(one.target for one in answer.timeline)
    for later, earlier in answer.again.items():
        for target in targets:
            own = [one for one in answer.timeline if one.target == target]
            before, between, after = _parts(own, earlier, later)
            if before is not None and after is not None and between:
                where = f"{target}: " if len(targets) > 1 else ""
                told = f"after {between[-1].title}, {before.title} {_told(before, after)}."
                yield f"{lead}{where}{told if lead or where else capitalised(told)}"


def _parts(
    own: Sequence[TrialTimeline], earlier: str, later: str
) -> tuple[TrialTimeline | None, list[TrialTimeline], TrialTimeline | None]:
    """What was done before, what disturbed it, and what was done again."""
    names = [one.workload for one in own]
    if earlier not in names or later not in names:
        return None, [], None
    first, again = names.index(earlier), names.index(later)
    return own[first], list(own[first + 1 : again]), own[again]


def _told(before: TrialTimeline, after: TrialTimeline) -> str:
    write = value_writer(THROUGHPUT)
    # how it was when the other load began: a cache at first is none of that
    was = median(before.bytes_per_s[len(before.bytes_per_s) // 2 :])
    is_half = not _AS_FAST <= fmean(before.bytes_per_s) / was <= 1 / _AS_FAST
    # the table has the whole of it
    before_it = "in the second half before" if is_half else "before"
    level = f"{write(was)}{f', as {before_it},' if is_half else ''}"
    rates = after.bytes_per_s
    whole = range(max(1, len(rates) - _STRETCHES + 1))
    fast = (at for at in whole if min(rates[at], median(rates[at : at + _STRETCHES])) >= _AS_FAST * was)
    place = next(fast, None)
    step_s = after.middle_s[1] - after.middle_s[0] if len(rates) > 1 else 0.0
    if place is None:
        ends = median(rates[len(rates) // 2 :])
        return f"are not back at {level} within {time_text(step_s * len(rates))}: {write(ends)}"
    if not place:
        return f"are at once as fast ({write(fmean(rates))}) as {before_it} ({write(was)})"
    return f"are back at {level} within {time_text(step_s * (place + 1))}, at first {write(rates[0])}"
