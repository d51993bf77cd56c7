"""Whether a target carries a need: judged with intervals, and only from numbers that can be trusted.

Pass: the bad end of the 95 % interval still meets the limit. Fail: the good end
misses it. Anything else is undecided, and says why: a number that is published
as a bound, an interval across the limit, a trial that did not run, a finding
that makes the number invalid.

One exception: a latency quantile whose interval has no upper end, or reaches
across the limit because the level moved, still passes when the limit is out of
all reach: even the quantile of operations ten times as rare was seen at a fifth
of the limit or less, among at least 1000; or, where fewer were measured, but at
least 300, the slowest of all took a twentieth of it or less. That is no confidence
interval; it assumes that the tail does not hide such a jump. In simulation (bursts, regimes,
AR(1) up to 0.99) it passes wrongly in less than 5 % of cases as long as one
burst of the slow kind fits into the measurement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from drivelab.analyse.alike_trials import across_the_limit
from drivelab.analyse.findings import DURABILITY_CODES, burst_possible, foreign_work
from drivelab.analyse.forecast import forecast, lasting_commits_per_s
from drivelab.analyse.margin import known_margin, margin_ratio, margin_text
from drivelab.analyse.threshold_words import (
    deciding_number,
    interval_words,
    limit_text,
    limit_words,
    slowed_down,
    told_with_interval,
    with_windows,
)
from drivelab.model.estimate import Estimate
from drivelab.model.finding import VOLUME_CODES, Finding
from drivelab.model.judged_metric import RATE
from drivelab.model.lasting_rate import TOKEN_UNITS, LastingRate, lasting_rate
from drivelab.model.need import Need
from drivelab.model.program import Program
from drivelab.model.programs import PROGRAMS
from drivelab.model.published_burst import BASE_PER_S
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import format_quantity
from drivelab.model.verdict import COMMITS, Check, Forecast, Outcome, Threshold, Verdict, easier_words

_DURABLE_TRIALS = "sync-write-"
_NOT_MEASURED = "not measured"
_NOT_MEASURED_YET = "what it is judged by was not measured"
# what 99 % of I/Os take at a base rate, over what it leaves for each: nobody measured it, and it is no more
_TAIL_OF_A_BASE = 3.0
# a limit so many times what is left in the end is not reached
_SURELY_ABOVE = 1.1
_NS = 1e9
# out of all reach: so much below the limit, at a tenth of the probability, among so many
_REACH = 5
_REACH_OPERATIONS_MIN = 1000
# 0.99 ** 300 < 0.05: so many that did not miss a p99 by themselves are sure at a twentieth of the limit, and of fewer
# those of which all were a hundred times as fast
_SLOWEST_REACHES = ((300, 20), (100, 100))
_RARE = {"_p90": "99 %", "_p99": "99.9 %", "_p999": "99.99 %"}
_TEN_TIMES_RARER = {"_p90": "_p99", "_p99": "_p999", "_p999": "_p9999"}


def judge_need(
    need: Need, summaries: Sequence[TrialSummary], findings: Sequence[Finding], *, at_least_per_s: float = 0.0
) -> Verdict:
    """Whether what was measured meets a need.

    Parameters
    ----------
    at_least_per_s : float
        Commits a second of one client that are asked for, as a limit of its own; 0 for none.

    Returns
    -------
    Verdict
        ``pass`` when every required limit is met, ``fail`` when one is not,
        otherwise ``undecided``. Recommended limits that are missed, and
        warnings about the trials that count, are caveats.
    """
    by_name = {summary.name: summary for summary in summaries}
    lasting_per_s, is_burst = (
        _lasting_ios_per_s(need, findings),
        any(one.code == burst_possible.CODE for one in findings),
    )
    told = forecast(need.program, by_name, lasting_per_s, need.title, is_perhaps_burst=is_burst)
    checks = [_check_threshold(asked.threshold, by_name, findings) for asked in need.thresholds]
    if at_least_per_s:
        # what was asked for by name is told first
        checks.insert(0, _check_rate(need, at_least_per_s, told, findings))
    checks = [with_windows(check, by_name.get(check.threshold.trial)) for check in checks]
    checks.sort(key=lambda check: check.threshold.force != "required")
    written = [PROGRAMS[need.program].write.trial] if told else []
    caveats = _caveats(checks, findings, written)
    if not checks:
        outcome, why, sentence = _without_limits(need, by_name, findings, told)
        return Verdict(need.name, need.title, outcome, sentence, why, (), caveats, told)
    required = [check for check in checks if check.threshold.force == "required"]
    outcome = _together([check.outcome for check in required])
    deciding = next(check for check in required if check.outcome == outcome)
    is_told_by_why = outcome == "undecided" or bool(deciding.may_not_last)
    # a yes that is no more than required is told as one
    is_below = outcome == "pass" and any(check.outcome == "fail" for check in checks)
    lead = f"{need.title}, below what is recommended" if is_below else need.title
    sentence = f"{lead}: {deciding.why if is_told_by_why else deciding_number(deciding)}"
    if outcome == "fail" and deciding.why and not is_told_by_why:
        sentence += f"; no drive gives that: {deciding.why}"
    if told is not None and not at_least_per_s:
        sentence += f". {told.text}"
    return Verdict(need.name, need.title, outcome, sentence, deciding.why, tuple(checks), caveats, told)


def _check_threshold(threshold: Threshold, summaries: Mapping[str, TrialSummary], findings: Sequence[Finding]) -> Check:
    """One limit held against what was measured."""
    summary = summaries.get(threshold.trial)
    estimate = summary.estimates.get(threshold.metric) if summary else None
    if summary is None or estimate is None:
        why = _NOT_MEASURED_YET
        return Check(threshold, None, "undecided", None, why, why)
    outcome, why = _compare(threshold, estimate)
    if outcome == "fail" and threshold.asked_less and not _is_missed_by_less(threshold, summaries):
        outcome = "undecided"
        why = f"{told_with_interval(threshold, estimate)}, and {easier_words(threshold.asked_less)}"
    margin = margin_ratio(threshold, estimate)
    text = f"{told_with_interval(threshold, estimate)}; {limit_text(threshold)}"
    far = _far_below(threshold, summary) if outcome == "undecided" else None
    lasting = _lasting(threshold, estimate, findings)
    reach = ""
    if lasting is not None and outcome == "undecided" and lasting >= _SURELY_ABOVE * threshold.limit:
        # a mixture has no interval to judge by; what is left of it is known
        outcome, why, margin = "pass", "", lasting / threshold.limit
        text = slowed_down(threshold, estimate, lasting)
    elif far is not None:
        seen, whose = far
        outcome, why, margin = "pass", "", threshold.limit / seen
        reach = f"{whose} took at most {format_quantity(seen, threshold.unit)}"
        text = f"{told_with_interval(threshold, estimate)}, but {reach}; {limit_text(threshold)}"
    if changed := across_the_limit(threshold, outcome, estimate, summaries):
        # a drive that was faster again has shown another cause than a burst
        outcome, why, findings = "undecided", changed, [one for one in findings if one.code not in VOLUME_CODES]
    outcome, why, may_not_last = _as_trusted(outcome, why, threshold, estimate, findings)
    shown = reach if outcome == "pass" else ""
    margin = known_margin(outcome, margin, may_not_last)
    return Check(threshold, estimate, outcome, margin, text + margin_text(margin), why, shown, may_not_last, lasting)


def _lasting(threshold: Threshold, estimate: Estimate, findings: Sequence[Finding]) -> float | None:
    """What lasts of a rate once a cache is full or a burst over; None of what is no rate, and where nothing fell."""
    metric = RATE if threshold.metric == COMMITS else threshold.metric
    if threshold.direction != "at_least":
        return None
    found = _lasting_rate(threshold.trial, metric, estimate, findings)
    return None if found is None else found.per_s


def _lasting_rate(trial: str, metric: str, estimate: Estimate, findings: Sequence[Finding]) -> LastingRate | None:
    """What lasts of a trial's rate; a limit of the volume that another one showed matters where it lies below it."""
    found = lasting_rate((one for one in findings if touches(one, trial)), metric)
    if found is None or lasting_rate((one for one in findings if one.trial == trial), metric) is not None:
        return found
    if estimate.value is not None and found.per_s >= estimate.value:
        return None
    return LastingRate(found.per_s, estimate.value)


def _lasting_ios_per_s(need: Need, findings: Sequence[Finding]) -> float | None:
    """What a volume with burst credit leaves of the writes that commits are made of; None where none is known."""
    if need.program not in PROGRAMS:
        return None
    touching = [one for one in findings if touches(one, PROGRAMS[need.program].write.trial)]
    lasting = lasting_rate((one for one in touching if one.code in VOLUME_CODES), RATE)
    return None if lasting is None else lasting.per_s


def _is_missed_by_less(threshold: Threshold, summaries: Mapping[str, TrialSummary]) -> bool:
    """Whether even what is no harder than what is asked for misses the limit."""
    easier = summaries.get(threshold.easier_trial)
    estimate = easier.estimates.get(threshold.metric) if easier else None
    return estimate is not None and _compare(threshold, estimate)[0] == "fail"


def _check_rate(need: Need, at_least_per_s: float, told: Forecast | None, findings: Sequence[Finding]) -> Check:
    """A rate of commits that was asked for held against the forecast."""
    program = PROGRAMS[need.program]
    trial = program.write.trial
    threshold = Threshold(
        trial=trial,
        metric=COMMITS,
        direction="at_least",
        limit=at_least_per_s,
        unit="1/s",
        text="{value} commits a second by one client",
        force="required",
        source="asked for with --at-least",
    )
    if told is None:
        why = _NOT_MEASURED_YET
        return Check(threshold, None, "undecided", None, why, why)
    findings = [_left_to_commits(one, program) for one in findings]
    estimate = told.commits_per_s
    margin = margin_ratio(threshold, estimate)
    text = f"{told_with_interval(threshold, estimate)}; {limit_text(threshold)}"
    own_ns = told.own_time_range_ns[0]
    most_per_s = 1e9 / own_ns
    if at_least_per_s > most_per_s:
        # whatever the drive does, and whoever else was there
        taken, most = format_quantity(own_ns, "ns"), format_quantity(most_per_s, "1/s")
        own = f"its own {taken} a commit, at the least, allow at most {most}"
        return Check(threshold, estimate, "fail", margin, f"{text}{margin_text(margin)}; {own}", own)
    outcome, why, may_not_last = _as_trusted(*_compare(threshold, estimate), threshold, estimate, findings)
    margin = known_margin(outcome, margin, may_not_last)
    lasting = _lasting(threshold, estimate, findings)
    return Check(threshold, estimate, outcome, margin, text + margin_text(margin), why, "", may_not_last, lasting)


def _left_to_commits(finding: Finding, program: Program) -> Finding:
    """A finding of what a volume is left with, as commits a second: syncs in the background take their part of it."""
    base_per_s = finding.evidence.get("base_per_s")
    if finding.code not in VOLUME_CODES or finding.evidence.get("token", "I/Os") != "I/Os" or not base_per_s:
        return finding
    return replace(finding, evidence={**finding.evidence, "base_per_s": lasting_commits_per_s(program, base_per_s)})


def _as_trusted(
    outcome: Outcome, why: str, threshold: Threshold, estimate: Estimate, findings: Sequence[Finding]
) -> tuple[Outcome, str, str]:
    """The outcome and why it is undecided, where findings leave that much of it, and why it may not last."""
    touching = [one for one in findings if touches(one, threshold.trial)]
    foreign = next((one for one in touching if one.code == foreign_work.CODE and one.severity != "note"), None)
    if outcome == "fail" and foreign is not None:
        outcome, why = "undecided", _not_alone(threshold, estimate, foreign)
    may_not_last = ""
    # what its own trial shows comes before what another shows of the volume
    own_first = sorted(touching, key=lambda one: one.trial != threshold.trial)
    burst = next((one for one in own_first if _is_above_a_base(threshold, estimate, one)), None)
    if outcome != "fail" and burst is not None:
        # a fresh volume is as fast as its burst; what is asked for all the time rests on the base rate
        lasting = _lasting(threshold, estimate, findings)
        if lasting is not None and threshold.limit > _SURELY_ABOVE * lasting:
            # what shows it, the finding, is told beside
            outcome, may_not_last = "fail", burst.text
            why = slowed_down(threshold, estimate, lasting)
        else:
            outcome, may_not_last = "undecided", burst.text
            passing = burst.text.partition("; ")[0]
            why = f"{passing}; as measured, {told_with_interval(threshold, estimate)}, {limit_text(threshold)}"
            if lasting is not None and threshold.limit > lasting:
                why = f"{slowed_down(threshold, estimate, lasting)}, too near to tell"
    invalid = next((one for one in touching if one.severity == "invalid"), None)
    return ("undecided", invalid.text, "") if invalid is not None else (outcome, why, may_not_last)


def _is_above_a_base(threshold: Threshold, estimate: Estimate, finding: Finding) -> bool:
    """Whether what is asked for is more than what is left gives, when a burst has ended or a cache is full."""
    if threshold.direction != "at_least":
        # one I/O after another takes no less than that once the credit of a volume is used up, and a few much more
        least_ns = _NS / finding.evidence.get("base_per_s", BASE_PER_S)
        is_of_ios = finding.code in VOLUME_CODES and finding.evidence.get("token", "I/Os") == "I/Os"
        is_longer = estimate.value is None or estimate.value < least_ns
        return is_of_ios and threshold.unit == "ns" and is_longer and threshold.limit <= _TAIL_OF_A_BASE * least_ns
    if "base_per_s" in finding.evidence:
        return (
            threshold.unit == TOKEN_UNITS[finding.evidence["token"]]
            and threshold.limit > finding.evidence["base_per_s"]
        )
    return finding.code == burst_possible.CODE and threshold.limit > BASE_PER_S


def touches(finding: Finding, trial: str) -> bool:
    """Whether a finding says something about the numbers of a trial.

    A finding about the whole run, or about a limit of the volume, touches every trial,
    unless it is about durability and the trial is not.
    """
    if finding.trial and finding.code not in VOLUME_CODES:
        return finding.trial == trial
    return finding.code not in DURABILITY_CODES or trial.startswith(_DURABLE_TRIALS)


def _compare(threshold: Threshold, estimate: Estimate) -> tuple[Outcome, str]:
    if _is_met(threshold, estimate):
        return "pass", ""
    at_most = threshold.direction == "at_most"
    bad, good = (estimate.high, estimate.low) if at_most else (estimate.low, estimate.high)
    limit = threshold.limit
    if good is not None and (good > limit if at_most else good < limit):
        return "fail", ""
    told = told_with_interval(threshold, estimate)
    if estimate.value is None:
        return "undecided", f"{told}: too few operations to say more; {limit_text(threshold)}"
    if bad is None or good is None:
        side = "above" if estimate.high is None else "below"
        few = f"{estimate.sample_count} operations are too few to bound it from {side}"
        return "undecided", f"{told}: {few}; {limit_text(threshold)}"
    return "undecided", f"{told}, and the limit of {limit_words(threshold)} lies in between"


def _is_met(threshold: Threshold, estimate: Estimate) -> bool:
    """Whether the bad end of the interval meets the limit."""
    if threshold.direction == "at_most":
        return estimate.high is not None and estimate.high <= threshold.limit
    return estimate.low is not None and estimate.low >= threshold.limit


def _far_below(threshold: Threshold, summary: TrialSummary) -> tuple[float, str] | None:
    """A latency of rarer operations than asked about, and of which, where it shows that the limit is out of reach."""
    stem, _, suffix = threshold.metric.rpartition("_")
    if threshold.direction != "at_most" or f"_{suffix}" not in _TEN_TIMES_RARER:
        return None
    rarer = summary.estimates.get(f"{stem}{_TEN_TIMES_RARER[f'_{suffix}']}")
    if rarer is not None and rarer.sample_count >= _REACH_OPERATIONS_MIN:
        seen = rarer.observed if rarer.value is None else rarer.value
        if seen is not None and seen <= threshold.limit / _REACH:
            return seen, f"{_RARE[f'_{suffix}']} of {rarer.sample_count}"
    slowest = summary.estimates.get(f"{stem}_max")
    if slowest is None or slowest.value is None or suffix != "p99":
        return None
    is_far = any(
        slowest.sample_count >= least and slowest.value <= threshold.limit / reach for least, reach in _SLOWEST_REACHES
    )
    return (slowest.value, f"all {slowest.sample_count}") if is_far else None


def _not_alone(threshold: Threshold, estimate: Estimate, foreign: Finding) -> str:
    """Why a limit that was missed says nothing of the drive, and what to do."""
    limit = limit_words(threshold)
    first = foreign.text.partition("; ")[0]
    missed = f"{told_with_interval(threshold, estimate)}, which misses the limit of {limit}, but {first}"
    return f"{missed}; {foreign.advice}" if foreign.advice else missed


def _together(outcomes: Sequence[Outcome]) -> Outcome:
    if "fail" in outcomes:
        return "fail"
    return "undecided" if "undecided" in outcomes else "pass"


def _caveats(checks: Sequence[Check], findings: Sequence[Finding], written: Sequence[str]) -> tuple[str, ...]:
    """What limits the answer: recommended values missed, warnings about the trials of limits and of the forecast."""
    missed = [
        f"recommended and {'missed' if check.outcome == 'fail' else 'undecided'}: {_caveat(check)}"
        for check in checks
        if check.threshold.force == "recommended" and check.outcome != "pass"
    ]
    trials = {check.threshold.trial for check in checks} | set(written)
    warnings = [
        finding.text
        for finding in findings
        if finding.severity == "warning" and any(touches(finding, trial) for trial in trials)
    ]
    return (*missed, *dict.fromkeys(warnings))


def _caveat(check: Check) -> str:
    easier = easier_words(check.threshold.asked_less)
    return f"{check.text}; {easier}" if check.threshold.asked_less and check.why.endswith(easier) else check.text


def _without_limits(
    need: Need, summaries: Mapping[str, TrialSummary], findings: Sequence[Finding], told: Forecast | None
) -> tuple[Outcome, str, str]:
    """Outcome, why it is undecided, and what the measured number means instead of a yes or no."""
    trials, meaning, why = _meaning(need, summaries, findings, told)
    if why:
        return "undecided", why, f"{need.title}: {why}"
    invalid = next(
        (one for one in findings if one.severity == "invalid" and any(touches(one, t) for t in trials)), None
    )
    if invalid is not None:
        sentence = f"{need.title}: the number cannot be trusted: {invalid.text}"
        return "undecided", invalid.text, sentence
    return "no_limit", "", meaning


def _meaning(
    need: Need, summaries: Mapping[str, TrialSummary], findings: Sequence[Finding], told: Forecast | None
) -> tuple[list[str], str, str]:
    """The trials behind what was measured, what it means, and why there is nothing to say."""
    if need.program:
        trials = [PROGRAMS[need.program].write.trial]
        return (trials, told.text, "") if told else (trials, "", _NOT_MEASURED)
    capability = need.capability
    name = next((trial for trial in capability.trials if trial in summaries), "") if capability else ""
    estimate = summaries[name].estimates.get(capability.metric) if capability and name else None
    if capability is None or estimate is None:
        return [name], "", _NOT_MEASURED
    if estimate.value is None:
        return [name], "", f"the number is only a bound: {estimate}"
    lasting = _lasting_rate(name, capability.metric, estimate, findings)
    if lasting is not None:
        first = format_quantity(lasting.at_first_per_s or estimate.value, estimate.unit)
        value = f"{format_quantity(lasting.per_s, estimate.unit)} (at first {first})"
        return [name], f"{need.title}: here {capability.text.format(value=value)}", ""
    interval = interval_words(estimate, capability.metric)
    is_burst = capability.metric == RATE and any(one.code == burst_possible.CODE for one in findings)
    value = f"at first {estimate}" if is_burst else str(estimate)
    meaning = f"{capability.text.format(value=value)}{f' ({interval})' if interval else ''}"
    return [name], f"{need.title}: here {meaning}", ""
