"""What the runs of many drives come to, in sentences: the one that answers first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from drivelab.model.drive_values import (
    ALIKE_SHARE_MAX,
    FIRMWARE,
    HOST,
    MODEL,
    DriveApart,
    FactorsTangled,
    FleetAnswerOfRuns,
    NumberExplained,
    NumberKey,
    NumberSpread,
    asked_apart,
)
from drivelab.model.metric import metric_of
from drivelab.model.names import counted, either_in_words, in_number, names_in_words, some_in_words
from drivelab.model.units import format_count, format_percent, format_quantity

BOTH = "both"
_PERCENT_UP_TO = 2.0
_FACTOR_MAX = 100.0
# a difference that nobody would change a drive for is not worth a name
WORTH_TELLING = 1.05
# factors that their levels tell, and those that go by a shorter name
_LEVELS = {"block_size": "", "queue_depth": "depth"}


@dataclass(slots=True)
class NumberWords:
    """Names of numbers, with only what tells them apart.

    Attributes
    ----------
    keys : sequence of NumberKey
        All numbers that are told of together.
    """

    keys: Sequence[NumberKey]
    _varying: set[str] = field(init=False)
    _has_experiments: bool = field(init=False)
    _asked: dict[NumberKey, str] = field(init=False)

    def __post_init__(self) -> None:
        levels: dict[str, set[str]] = {}
        for key in self.keys:
            for name, level in key.levels:
                levels.setdefault(name, set()).add(level)
        self._varying = {name for name, known in levels.items() if len(known) > 1}
        self._has_experiments = len({key.experiment for key in self.keys}) > 1
        self._asked = asked_apart(self.keys)

    def workload(self, key: NumberKey) -> str:
        """What was done: ``random reads, 4KiB, depth 8``."""
        levels = [f"{_LEVELS.get(name, name)} {level}".strip() for name, level in key.levels if name in self._varying]
        told = ", ".join(filter(None, [key.title, *levels, self._asked.get(key, "")]))
        return f"{key.experiment}: {told}" if self._has_experiments else told

    def words(self, key: NumberKey) -> str:
        """What was counted of what: ``IOPS of random reads, depth 8``."""
        metric = metric_of(key.metric)
        return f"{metric.title if metric.title == 'IOPS' else metric.words} of {self.workload(key)}"


def fleet_sentences(answer: FleetAnswerOfRuns) -> tuple[str, ...]:
    """The sentences of a report: how many drives are alike, which are not, and what explains the rest."""
    words = NumberWords([spread.key for spread in answer.spreads])
    notes = [f"{note[:1].upper()}{note[1:]}." for note in answer.notes]
    if not answer.judged_count:
        # why, and what to do, before what the few numbers are
        return (_unjudged(answer), *_levels(answer), *notes, *_tangled(answer.explained[0]), _spread(answer, words))
    return (
        f"{_alike(answer, words)}{_named(answer)}{_factor(answer)}{_alone(answer)}.",
        # after what is told of the drive that is named last
        *_apart(answer, words),
        *_levels(answer),
        *_tangled(answer.explained[0]),
        _spread(answer, words),
        *_looked_at(answer),
        *notes,
    )


def change_words(one: DriveApart) -> str:
    """How far a drive is from its peers: ``24 % slower``, ``3.1 times as long``, ``12 % higher``."""
    return _difference(one.key, one.ratio, is_worse=one.is_worse)


def _difference(key: NumberKey, ratio: float, *, is_worse: bool) -> str:
    if metric_of(key.metric).better == "high":
        return f"{format_percent(abs(1 - ratio))} {'slower' if is_worse else 'faster'}"
    if ratio >= _PERCENT_UP_TO:
        return f"{ratio:.1f} times as long"
    return f"{format_percent(abs(ratio - 1))} {'longer' if is_worse else 'shorter'}"


def peers_words(one: DriveApart) -> str:
    """Whom a drive was held against: ``its model``, ``its model and firmware``."""
    return " and ".join(["its model", *(factor for factor, _ in one.peers)])


def _odd_drives(answer: FleetAnswerOfRuns) -> list[DriveApart]:
    """Of each drive that stands apart the number in which it does most, the worst drive first."""
    found: dict[str, DriveApart] = {}
    for one in answer.apart:
        found.setdefault(one.drive, one)
    return list(found.values())


def _unjudged(answer: FleetAnswerOfRuns) -> str:
    lacking = ""
    if names := answer.numberless:
        lacking = f"; {some_in_words(names)} {in_number(len(names), 'have')} no number at all"
    count = len(answer.drives) + answer.alone_count
    return (
        f"No drive of {count} can be judged: it takes 4 of one model with the same number, and here no number has more "
        f"than {answer.same_model_count}{lacking}{_factor(answer)}."
    )


def _alike(answer: FleetAnswerOfRuns, words: NumberWords) -> str:
    count = answer.judged_count
    rest = count - len(_odd_drives(answer))
    alike = answer.alike_count
    if answer.shown_ratio is not None and not alike:
        return _unknown(f"{rest} of {count}" if rest < count else str(count), answer, answer.shown_ratio)
    of = f"{alike} of {count}" if alike < count else f"All {count}"
    lead = answer.spreads[0]
    within = (
        ""
        if answer.alike_ratio is None
        else (f" ({words.words(lead.key)} within {format_percent(answer.alike_ratio)} of their peers' median)")
    )
    unknown = ""
    if answer.shown_ratio is not None:
        unknown = f"; of {answer.unknown_count} more that cannot be told: {_would_have_shown(answer.shown_ratio)}"
    return f"{of} drives are alike{within}{unknown}"


def _unknown(of: str, answer: FleetAnswerOfRuns, shown_ratio: float) -> str:
    """That drives cannot be told apart, why, and what could have been told."""
    lead, would = answer.spreads[0], _would_have_shown(shown_ratio)
    if lead.within is None or lead.within <= ALIKE_SHARE_MAX:
        worst = answer.worst
        if worst is None or max(worst.ratio, 1 / worst.ratio) < WORTH_TELLING:
            return f"Whether {of} drives are alike cannot be told: {would}"
        name = next(drive.words for drive in answer.drives if drive.key == worst.drive)
        unit = metric_of(worst.key.metric).unit
        values = f"{format_quantity(worst.value, unit)} against {format_quantity(worst.peers_value, unit)}"
        return (
            f"Whether {of} drives are alike cannot be told: {name}, the worst, {_is(worst)} than the median of the "
            f"{worst.peer_count} others of {peers_words(worst)} ({values}), but calling one odd takes at least "
            f"four that agree, and here {would}"
        )
    repeats = "runs" if lead.has_runs_apart else "repeats"
    return f"{of} drives cannot be told apart: {repeats} of one scatter by {format_percent(lead.within)}; {would}"


def _would_have_shown(ratio: float) -> str:
    if ratio >= _FACTOR_MAX:
        return "not even a hundredfold difference would have shown"
    least = format_percent(ratio - 1) if ratio < _PERCENT_UP_TO else f"a factor of {ratio:.1f}"
    return f"only a difference of more than {least} would have shown"


def _levels(answer: FleetAnswerOfRuns) -> Iterator[str]:
    """Which level of what explains the differences stands out, by how much, and how many drives it has."""
    first = answer.explained[0]
    metric = metric_of(first.key.metric)
    for factor in _told_factors(first):
        share = next(one for one in first.shares if one.factor == factor)
        for one in share.levels[:1]:
            is_worse = (one.ratio > 1) == (metric.better == "low")
            change = _difference(first.key, one.ratio, is_worse=is_worse)
            is_one, is_rate = one.drive_count == 1, metric.better == "high"
            many = "The drive of" if is_one else f"The {one.drive_count} drives of"
            verb = ("is" if is_one else "are") if is_rate else "takes" if is_one else "take"
            others = "others" if factor == MODEL else "others of the same model"
            value = format_quantity(one.value, metric.unit)
            yield f"{many} {factor} {one.level} {verb} {change} than the {others} (median {value})."


def _told_factors(first: NumberExplained) -> list[str]:
    """The factors that the first sentence names: the model, and of the others the one that explains most."""
    shown = [one.factor for one in first.shares if one.is_shown]
    rest = [factor for factor in shown if factor != MODEL]
    return [MODEL] * (MODEL in shown) + [_which(rest[0], first.tangled)[0] for _ in rest[:1]]


def _named(answer: FleetAnswerOfRuns) -> str:
    names = {drive.key: drive.words for drive in answer.drives}
    odd = _odd_drives(answer)
    told = [f"{names[one.drive]} {_is(one)} than the median of {peers_words(one)}" for one in odd[:1]]
    if len(odd) > 1:
        return f"; {len(odd)} stand apart, the worst: {told[0]}"
    return f"; {told[0]}" if told else ""


def _is(one: DriveApart) -> str:
    if metric_of(one.key.metric).better == "high":
        return f"is {change_words(one)}"
    return f"takes {change_words(one).replace('as long', 'longer')} ({metric_of(one.key.metric).words})"


def _factor(answer: FleetAnswerOfRuns) -> str:
    first = answer.explained[0]
    told = [
        f"the model explains {format_percent(one.share or 0.0)} of the differences"
        for one in first.shares
        if one.is_shown and one.factor == MODEL
    ]
    shown = [one for one in first.shares if one.is_shown and one.factor != MODEL]
    if shown:
        most = shown[0]
        names = _which(most.factor, first.tangled)
        explains = next(one.share or 0.0 for one in shown if one.factor == names[0])
        what = "what differs within a model" if told else "the rest"
        told.append(f"{either_in_words(names)} explains {format_percent(explains)} of {what}")
    return f"; {', '.join(told)}" if told else ""


def _which(factor: str, tangled: Sequence[FactorsTangled]) -> list[str]:
    """The factor that explains most, with those that it cannot be told from, or the one in place of it that it is."""
    pairs = [(one, {one.factor, one.other}) for one in tangled]
    found = next((one.decided for one, pair in pairs if factor in pair and one.decided in pair - {factor}), factor)
    unknown = [other for one, pair in pairs if found in pair and not one.decided for other in pair - {found}]
    return [found, *unknown]


def _apart(answer: FleetAnswerOfRuns, words: NumberWords) -> Iterator[str]:
    odd = _odd_drives(answer)
    if not odd:
        return
    worst = odd[0]
    numbers = sum(one.drive == worst.drive for one in answer.apart)
    more = f", and so in {counted(numbers - 1, 'other number')}" if numbers > 1 else ""
    yield f"That is in {words.words(worst.key)}{more}."
    alone = sum(one.run_count == 1 for one in odd)
    if alone:
        who = "It has" if len(odd) == 1 else f"{alone} of them have" if alone < len(odd) else "They have"
        yield f"{who} one run: whether it would come again was not tried."


def _tangled(one: NumberExplained) -> Iterator[str]:
    """Which of factors that go together it is, or why that cannot be told."""
    unknown = dict.fromkeys(
        pair
        for each in one.tangled
        if not each.decided
        for pair in ((each.factor, each.level), (each.other, each.other_level))
    )
    # what the drives are, before where they stand
    words = [f"{factor} {level}" for factor, level in sorted(unknown, key=lambda pair: pair[0] != FIRMWARE)]
    if len(words) == 2:
        yield f"All drives of {words[0]} have {words[1]}: which of the two it is cannot be told."
    elif words:
        yield f"The same drives have {names_in_words(words)}: which of these it is cannot be told."
    for each in one.tangled:
        first, second = _name(each.factor), _name(each.other)
        if each.decided == BOTH:
            yield f"Both {first} and {second} count, each where the other one is the same."
        elif each.decided:
            decided, rest = (first, second) if each.decided == each.factor else (second, first)
            yield f"Where {decided} is the same, {rest} explains nothing that could be shown."


def _name(factor: str) -> str:
    return f"the {factor}" if factor in (MODEL, FIRMWARE, HOST) else factor


def _spread(answer: FleetAnswerOfRuns, words: NumberWords) -> str:
    lead = answer.spreads[0]
    name = words.words(lead.key)
    told = f"{name[:1].upper()}{name[1:]}: {_between(lead, {drive.key: drive.words for drive in answer.drives})}"
    deviation = " (standard deviation)" if lead.between is not None else ""
    if lead.within is None:
        return f"{told}{deviation}; how much one differs from itself is not known: each has one value."
    within = f"{format_percent(lead.within)} (standard deviation{'s' if deviation else ''})"
    if lead.has_runs_apart:
        return f"{told}, one from itself by {within}."
    return f"{told}, repeats of one by {within}; each has one run, so what another day changes is not known."


def _between(lead: NumberSpread, names: Mapping[str, str]) -> str:
    """How much drives differ in a number, or what the two are that have it."""
    if lead.between is not None:
        return f"drives differ by {format_percent(lead.between)}"
    unit = metric_of(lead.key.metric).unit
    values = ((lead.best, lead.best_value), (lead.worst, lead.worst_value))
    return " and ".join(f"{format_quantity(value, unit)} in {names[drive]}" for drive, value in values)


def _alone(answer: FleetAnswerOfRuns) -> str:
    """How many drives are left out, where the others are counted."""
    if not answer.alone_count:
        return ""
    return f"; {counted(answer.alone_count, 'more drive', 'have')} no number in common with others"


def _looked_at(answer: FleetAnswerOfRuns) -> Iterator[str]:
    count = answer.comparison_count
    yield (
        f"{format_count(count)} {in_number(count, 'comparison')} {in_number(count, 'were')} made "
        f"({counted(answer.judged_count, 'drive')}, {counted(len(answer.spreads), 'number')}) and corrected for: of 20 "
        "fleets of like drives one would have some drive named."
    )
    if left := len(answer.drives) - answer.judged_count:
        are = in_number(left, "were")
        yield f"{counted(left, 'drive')} had fewer than 3 others of the same model, and {are} not judged."
