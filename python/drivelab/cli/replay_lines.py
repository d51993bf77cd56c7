"""What a load came to when it was issued again, as text: a sentence that answers, a table, a few warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import PurePath
from typing import Any

from drivelab.cli.replay_rows import HEADS, HEADS_ALONE, as_long, quantile_cells, row, row_alone, times_cell
from drivelab.model.names import counted
from drivelab.model.recording import COMMANDS, RECORDED_OPERATIONS, SYNC
from drivelab.model.units import format_count, format_duration_ns, format_percent
from drivelab.report.parts_of_text import capitalised
from drivelab.report.terminal.wrapped import table_lines

_WARNINGS_MAX = 3
# of the starts, and of the length: what is told of a load is no more exact
_LATE_SHARE_MAX, _LENGTH_SHARE_MAX = 0.01, 0.01
# closer together than this nothing is seen
_APART_FROM = 1.1
# of the time of all calls
_NOTICED_SHARE = 0.05
_ROWS_MAX, _NAMED_MAX = 8, 2
# what is set against what, by what a recording is of
_LIKE = {
    "calls": "calls against the same calls, on files laid out as the program had them",
    "commands": "commands of the recorded disk, until it was done, against calls here that make the same commands, "
    "until the thread that waited has a processor again",
    "ios": "I/Os as recorded against the same here",
}
# what a reader takes for a noun already
_NOUNS = (*COMMANDS, *RECORDED_OPERATIONS[:SYNC])
_WITH_FLUSH = COMMANDS[SYNC:]
_OWN_COLUMNS = 4
_NAME_COLUMNS = 26


def replay_lines(document: Mapping[str, Any], *, details: bool = False) -> Iterator[str]:
    """The answer for people: a sentence, a table, and at most three warnings; details of every target if asked."""
    targets = document["targets"]
    # what voids the answer stands before it
    for one in targets:
        yield from (f"Not to be trusted on {one['target']}: {text}." for text in voids_of_answer(document, one))
    yield answer_words(document)
    if len(targets) > 1:
        yield ""
        yield from table_lines(list(_ranked_rows(document)), plain=True)
        yield f"  {_like(document, targets)}"
    for one in targets if details or len(targets) == 1 else ():
        yield ""
        if len(targets) > 1:
            yield _sentence(document, one)
        yield from _target_lines(document, one, details=details)
    # the gravest of each target before the second of any
    of_targets = zip_longest(*(_warnings(document, one, several=len(targets) > 1) for one in targets))
    warnings = [warning for one_of_each in of_targets for warning in one_of_each if warning]
    for warning in warnings if details else warnings[:_WARNINGS_MAX]:
        yield f"  {warning}"


def answer_words(document: Mapping[str, Any]) -> str:
    """How the load did, in one sentence: which calls became slower, or on which target it did best; what that lacks."""
    targets, recording = document["targets"], document["recording"]
    told = [_ranking(document) if len(targets) > 1 else _sentence(document, targets[0])]
    if not _is_as_recorded(document):
        if recording["made_room"]:
            told.append("The recorded writes gave their file its room, and here it was there already.")
    elif recording["doubt"]:
        told.append(f"Not compared: {recording['doubt']}.")
    if recording["not_played"]:
        told.append(f"Not played: {'; '.join(recording['not_played'])}.")
    return " ".join(told)


def voids_of_answer(document: Mapping[str, Any], one: Mapping[str, Any]) -> list[str]:
    """What voids the answer that is told of a target; not what is about calls of which it says nothing.

    At the recorded speed one target is answered for by the calls that it waits for most, and otherwise by all of them:
    then those count that take a noticeable share of the time, there or here.
    """
    calls = _calls(one)
    if len(document["targets"]) == 1 and _is_as_recorded(document):
        told = calls[:1]
    else:
        whole_ns = sum(call["waited_ns"] for call in calls)
        # how long calls from memory would have waited for the drive only the recording tells
        is_known = bool(one.get("calls"))
        told = [call for call in calls if not is_known or call["waited_ns"] >= _NOTICED_SHARE * whole_ns]
    of_others = {call.get("void") for call in calls} - {call.get("void") for call in told}
    return [text for text in _invalid(one) if text not in of_others]


def _invalid(one: Mapping[str, Any]) -> list[str]:
    return [finding["text"] for finding in one["findings"] if finding["severity"] == "invalid"]


def _is_as_recorded(document: Mapping[str, Any]) -> bool:
    """Whether it was issued at the recorded speed; at any other the load is another one."""
    return bool(document["speed"] == 1)


def _target_lines(document: Mapping[str, Any], one: Mapping[str, Any], *, details: bool) -> Iterator[str]:
    calls = _calls(one)
    shown = calls if details else calls[:_ROWS_MAX]
    is_compared = _is_as_recorded(document) and any(call["recorded"] for call in calls)
    if is_compared:
        yield from table_lines([HEADS, *map(row, shown)], plain=True)
    else:
        yield from _lines_alone(shown)
    if len(shown) < len(calls):
        yield f"  {counted(len(calls) - len(shown), 'more kind')} of call took less: --details"
    if len(document["targets"]) == 1:
        yield f"  {_like(document, [one])}"
    yield f"  {_asked_and_achieved(document, one)}"
    yield from _where(calls, details=details)
    if details and is_compared and any(call["recorded"] and call["response"] for call in calls):
        yield "  from the recorded start, with the wait for those before it:"
        yield from _lines_alone(shown)


def _lines_alone(calls: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What calls took here; as fast as possible they have no time at which they should start."""
    columns = len(HEADS_ALONE) if any(call["response"] for call in calls) else _OWN_COLUMNS
    yield from table_lines([row[:columns] for row in (HEADS_ALONE, *map(row_alone, calls))], plain=True)


def _calls(one: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Kinds of calls, those that were waited for most first; of a recording without latencies its operations."""
    if one.get("calls"):
        return list(one["calls"])
    found = [{"call": name, "times": None, "files": [], **facts} for name, facts in one["operations"].items()]
    for call in found:
        there, here = call["recorded"], call["replayed"]
        if there and here and there["p50_ns"]:
            call["times"] = {"value": here["p50_ns"] / there["p50_ns"], "low": None, "high": None}
    return sorted(found, key=lambda call: -call["waited_ns"])


def _pace(document: Mapping[str, Any]) -> str:
    """How fast it was issued, where that is not as it was recorded: ``at 4x its recorded speed``."""
    if _is_as_recorded(document):
        return ""
    return f"at {document['speed']:g}x its recorded speed" if document["speed"] else "as fast as possible"


def _ranking(document: Mapping[str, Any]) -> str:
    """Which target looked best: one pass each has nothing to tell that from chance by."""
    load = "this load" if _is_as_recorded(document) else f"this load, {_pace(document)}"
    best, *others = document["targets"]
    what = "its calls took" if document["speed"] else "it took"
    told = f"{what} {format_duration_ns(best['rank_ns'])} there in all"
    if others[0]["rank_ns"] < _APART_FROM * best["rank_ns"]:
        alike = [best, *(one for one in others if one["rank_ns"] < _APART_FROM * best["rank_ns"])]
        names = " and ".join(one["target"] for one in alike)
        times = " and ".join(format_duration_ns(one["rank_ns"]) for one in alike)
        return f"{names} cannot be told apart for {load}: {what} {times} in all."
    worse = ", ".join(f"{as_long(one['rank_ns'] / best['rank_ns'])} as long on {one['target']}" for one in others)
    return f"{best['target']} looked best for {load}: {told}, {worse}; with one pass each that may be chance."


def _ranked_rows(document: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """A row for each target: all of its calls, and those of the kind that the best one waited for most."""
    targets = document["targets"]
    main = _calls(targets[0])[0]["call"]
    yield "target", "in all", f"{main} p50", "p99", "times as long", "late"
    for one in targets:
        call = next((call for call in _calls(one) if call["call"] == main), None)
        cells = quantile_cells(call["replayed"] if call else None)
        late = one["achieved"]["late"]
        name = one["target"]
        yield (
            name if len(name) <= _NAME_COLUMNS else f"...{name[3 - _NAME_COLUMNS :]}",
            format_duration_ns(one["rank_ns"]),
            *cells,
            times_cell(call["times"] if call else None),
            "-" if late is None else format_count(late),
        )


def _sentence(document: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    # what it waits for most
    main, *others = _calls(one)
    noun = _noun(main["call"])
    replayed: Mapping[str, float] | None = main["replayed"]
    if not _is_as_recorded(document):
        calls = f"; its {noun} took {format_duration_ns(replayed['p50_ns'])} at the median" if replayed else ""
        return f"{_other_load(document, one)}{calls}."
    recorded, times = main["recorded"], main["times"]
    if replayed is None:
        return f"On {one['target']} none of this load's {noun} came to an end."
    median = format_duration_ns(replayed["p50_ns"])
    if recorded is None or times is None:
        return f"On {one['target']} this load's {noun} took {median} at the median{_others(main, others)}."
    there = format_duration_ns(recorded["p50_ns"])
    if document["recording"]["made_room"]:
        return (
            f"On {one['target']} this load's {noun} took {median} at the median; not comparable with the "
            f"recorded {there}, of writes that gave their file its room."
        )
    if times["low"] is None:
        told = _without_interval(main, median, there)
        return f"On {one['target']} this load's {told}{_others(main, others)}."
    medians, ratio = f"median {median} against {there}", as_long(times["value"])
    interval = f"95 % interval {as_long(times['low'])} to {as_long(times['high'])}"
    told = f"took {ratio} as long as recorded ({medians}; {interval})"
    if times["low"] <= 1 <= times["high"]:
        told = f"cannot be told apart from those recorded ({medians}, {ratio}; {interval})"
    return f"On {one['target']} this load's {noun} {told}{_others(main, others)}."


def _noun(call: str, count: int = 2) -> str:
    """What calls are named: ``reads``, ``fdatasync calls``; of one of them ``fdatasync call``."""
    one = call if call in _NOUNS else f"{call} call"
    return one if count == 1 else f"{one}{'es' if one.endswith('sh') else 's'}"


def _without_interval(main: Mapping[str, Any], median: str, there: str) -> str:
    """What calls took, of which nobody knows whether chance made the difference."""
    count, noun = main["count"], _noun(main["call"], main["count"])
    if count == 1:
        return f"one {noun} took {median}, and {there} where it was recorded: one call tells no difference from chance"
    told = f"{format_count(count)} {noun} took {median} at the median, and {there} where they were recorded"
    return f"{told}: without an interval no difference is told from chance"


def _other_load(document: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    """Whether the target kept up with a load that was issued faster or slower than recorded, and how long it took."""
    asked, achieved, speed = one["asked"], one["achieved"], document["speed"]
    pace = capitalised(_pace(document))
    if achieved["count"] < asked["count"]:
        done = f"{format_count(achieved['count'])} of {format_count(asked['count'])} I/Os"
        return f"{pace} {done} of this load were done on {one['target']}"
    taken_ns = achieved["length_ns"] if speed else one["measured_ns"]
    told = f"{pace} this load took {format_duration_ns(taken_ns)} on {one['target']}"
    if speed:
        if not _is_longer(taken_ns, asked["length_ns"]):
            return f"{told}, as asked: the target kept up"
        reached = as_long(speed * asked["length_ns"] / taken_ns)
        told += f" in place of {format_duration_ns(asked['length_ns'])}"
        return f"{told}: {_who_was_late(document)} did not keep up, and came to {reached}"
    recorded_ns = document["recording"]["duration_ns"]
    if not document["recording"]["length_ns"]:
        return told
    if _is_longer(taken_ns, recorded_ns):
        recorded = format_duration_ns(recorded_ns)
        return f"{told}, longer than the recorded {recorded}: {_who_was_late(document)} does not keep up"
    return f"{told}, where the recording took {format_duration_ns(recorded_ns)} with the program's own pauses"


def _is_longer(taken_ns: float, asked_ns: float) -> bool:
    """Whether it took so much longer that somebody did not keep up."""
    return taken_ns > (1 + _LENGTH_SHARE_MAX) * asked_ns


def _others(main: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """Which other calls became slower, of those that the program would notice."""
    slower = sorted(filter(_is_slower, others), key=lambda call: -call["added_ns"])
    whole_ns = sum(call["waited_ns"] for call in (main, *others))
    noticed = [call for call in slower if call["added_ns"] >= _NOTICED_SHARE * whole_ns]
    if noticed:
        named = ", ".join(f"{call['call']} {as_long(call['times']['value'])}" for call in noticed[:_NAMED_MAX])
        more = f" and {len(noticed) - _NAMED_MAX} more" if len(noticed) > _NAMED_MAX else ""
        return f"; slower{' too' if _is_slower(main) else ''}: {named}{more}"
    if slower:
        return f"; what else became slower adds less than {format_percent(_NOTICED_SHARE)}"
    is_judged = [_has_interval(call) for call in (main, *others)]
    # of a main call that is told without an interval "none is known to" would deny what stands before it
    if not any(is_judged[1:]) or (main["times"] and not is_judged[0]):
        return ""
    became = "became slower" if all(is_judged) else "is known to have become slower"
    return f"; no other {became}" if _is_slower(main) else f"; none {became}"


def _is_slower(call: Mapping[str, Any]) -> bool:
    """Whether more than chance makes it slower, and by so much that it is seen."""
    times = call["times"]
    return _has_interval(call) and bool(times["low"] > 1 and times["value"] >= _APART_FROM)


def _has_interval(call: Mapping[str, Any]) -> bool:
    """Whether it is known how sure the difference is, of numbers that are the drive's."""
    return bool(call["times"] and call["times"]["low"] is not None and not call.get("void"))


def _like(document: Mapping[str, Any], targets: Sequence[Mapping[str, Any]]) -> str:
    """What is set against what."""
    if not _is_as_recorded(document):
        return f"{_pace(document)} the load is another one: latencies are not compared with those recorded"
    level = document["recording"]["level"]
    told = _LIKE[level]
    apart = [call for one in targets for call in one.get("calls") or () if call["times"] is None]
    if level == "commands" and any(call["call"] in _WITH_FLUSH for call in apart):
        told += "; a sync call on a file is more than a flush, and not compared with it"
    return told


def _where(calls: Sequence[Mapping[str, Any]], *, details: bool) -> Iterator[str]:
    """On which files the time was added."""
    added = [
        (file["added_ns"], call["call"], file["name"])
        for call in calls
        if details or _is_slower(call)
        for file in call["files"]
        if file["added_ns"] > 0
    ]
    added.sort(reverse=True)
    shown = added if details else added[:_NAMED_MAX]
    told = ", ".join(f"{call} on {PurePath(name).name} {format_duration_ns(more)}" for more, call, name in shown)
    if told:
        yield f"  longer in all by: {told}"


def _who_was_late(document: Mapping[str, Any]) -> str:
    """The target, where nothing else had to wait: threads wait for a processor, and for each other."""
    threads = document["recording"]["threads"]
    return "the target" if threads == 1 else f"the target, or this computer with {format_count(threads)} threads,"


def _asked_and_achieved(document: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    asked, achieved = one["asked"], one["achieved"]
    way = "direct" if achieved["direct"] else "through the page cache"
    if achieved["direct_files"]:
        way = f"{achieved['direct_files']} of {len(document['recording']['files'])} files direct"
    done = f"{format_count(achieved['count'])} of {format_count(asked['count'])} I/Os, {way}"
    if asked["length_ns"] is None:
        return f"{done} in {format_duration_ns(one['measured_ns'])}, as fast as possible"
    if achieved["length_ns"] is None:
        return f"{done}: ended before the first one"
    lengths = format_duration_ns(asked["length_ns"]), format_duration_ns(achieved["length_ns"])
    error = achieved["start_error_ns"]
    starts = f"starts late by {format_duration_ns(error['p50'])}, p99 {format_duration_ns(error['p99'])}"
    late = f"{format_count(achieved['late'] or 0)} late, {format_count(achieved['missed'] or 0)} missed"
    return f"{done}; length {lengths[0]} asked, {lengths[1]} achieved; {starts} ({late})"


def _warnings(document: Mapping[str, Any], one: Mapping[str, Any], *, several: bool) -> Iterator[str]:
    where = f"{one['target']}: " if several else ""
    asked, achieved = one["asked"], one["achieved"]
    before = voids_of_answer(document, one)
    yield from (f"void: {where}{text}" for text in _invalid(one) if text not in before)
    for error in one["errors"]:
        yield f"failed: {where}{error['count']} {error['operation']} with {error['name']}"
    if achieved["count"] < asked["count"] and not one["errors"]:
        yield f"warning: {where}{format_count(asked['count'] - achieved['count'])} I/Os were not issued: it was stopped"
    late = achieved["late"] or 0
    # of several targets the table tells it
    if late > _LATE_SHARE_MAX * asked["count"] and not several:
        told = "latency from the recorded start shows what they waited"
        depth = document["recording"]["queue_depth"]
        if not any(call["recorded"] for call in _calls(one)):
            told = f"the recording tells no queue depth, and at most {depth} was outstanding (--queue-depth)"
        yield f"warning: {format_count(late)} I/Os began more than 50 us after their time; {told}"
    # of one target at another speed the first sentence tells it
    is_told = not several and not _is_as_recorded(document)
    if asked["length_ns"] and not is_told and _is_longer(achieved["length_ns"] or 0, asked["length_ns"]):
        share = achieved["length_ns"] / asked["length_ns"]
        longer = f"{100 * (share - 1):.2g} % longer than" if share < 1.5 else f"{as_long(share)} as long as"
        like = "recorded" if _is_as_recorded(document) else "asked"
        yield f"warning: {where}it took {longer} {like}: {_who_was_late(document)} did not keep up"
    for finding in one["findings"]:
        if finding["severity"] == "warning":
            yield f"warning: {where}{finding['text']}"
