"""A plan on one screen: first what is erased, then what is measured, last the command that runs it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from drivelab.cli.plan_steps import varied
from drivelab.model.names import counted, names_in_words
from drivelab.model.phase import WINDOW_ROUNDS
from drivelab.model.plan import PREPARATIONS, Plan, PlannedStep
from drivelab.model.units import format_bytes, format_wait_ns
from drivelab.plan.budget import TRACED_NS_MAX, TRACED_OPERATIONS
from drivelab.plan.endurance import EnduranceShare
from drivelab.report.terminal.wrapped import one_line, wrapped

_LINES_MAX = 20
_NOTES_MAX = 2
_NAME_WIDTH = 14
_VARIED_WIDTH_MIN = 20
_SECOND_NS = 10**9
_IN_SECONDS_BELOW_NS = 600 * _SECOND_NS
_ERASED, _NOTED, _DIM, _BOLD = "bold red", "yellow", "dim", "bold"
Line = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """How a plan is shown.

    Attributes
    ----------
    is_whole : bool
        Whether all notes and workloads are shown, in however many lines.
    """

    width: int
    is_plain: bool
    is_whole: bool = False


def plan_lines(
    plan: Plan,
    places: Mapping[str, str],
    shares: Mapping[str, EnduranceShare],
    command: str,
    shown: Shown,
    *,
    impossible: Sequence[str] = (),
) -> list[Line]:
    """Text and style of each line, at most 20 unless all is shown or targets are many.

    Parameters
    ----------
    places : mapping of str to str
        Where each target lies, by its label; may lack some.
    impossible : sequence of str
        Why it cannot be run here; said first.
    """
    times = _in_whole_units([plan.preparation_ns, *(_ns(steps) for steps in _workloads(plan).values())])
    lines = [("Cannot be run here", _ERASED)] if impossible else []
    lines += [line for reason in impossible for line in _row("because", reason, _NOTED, shown)]
    lines.append((_first(plan, sum(times)), _ERASED if plan.destroys else _BOLD))
    scale = ", scaled down" if plan.quick else ""
    lines += [(line, "") for line in wrapped(f"{plan.experiment}{scale}: {plan.question}", shown.width, shown.is_plain)]
    for name, value, style in _rows(plan, places, shares, is_whole=shown.is_whole):
        lines += _row(name, value, style, shown)
    last = (f"run it{' elsewhere' if impossible else ''}: {command}", "")
    if shown.is_whole:
        return [*lines, *_note_lines(plan, shown), *_measured_lines(plan, times, None, shown), last]
    for is_short in (False, True):
        notes = _note_lines(plan, shown, most=_NOTES_MAX, is_short=is_short)
        measured = _measured_lines(plan, times, None, shown)
        if len(lines) + len(notes) + len(measured) < _LINES_MAX:
            return [*lines, *notes, *measured, last]
    return [*lines, *notes, *_measured_lines(plan, times, _LINES_MAX - 1 - len(lines) - len(notes), shown), last]


def _row(name: str, text: str, style: str, shown: Shown) -> list[Line]:
    """A name and what is said of it, in as many lines as that takes."""
    told = wrapped(text, max(shown.width - _NAME_WIDTH - 2, _VARIED_WIDTH_MIN), shown.is_plain)
    return [(f"  {name if not place else '':<{_NAME_WIDTH}}{line}", style) for place, line in enumerate(told)]


def _first(plan: Plan, expected_ns: int) -> str:
    """What is erased, how long it takes, and what it writes."""
    what = [sentence.partition(" (")[0] for sentence in plan.destroys]
    erased = f"ERASES {' and '.join(what)}" if what else "Nothing is erased"
    time = _time_text(expected_ns)
    if all(target.kind == "simulated" for target in plan.targets):
        time = f"{time} of simulated time"
    elif any(target.pace == "virtual" for target in plan.targets):
        time = f"{time} on an SSD"
    # what ends by time alone writes as much as the drive can take, which is guessed
    is_guessed = any(step.bytes_written and not (step.pattern.bytes or step.pattern.count) for step in plan.steps)
    size = format_bytes(plan.bytes_written)
    return f"{erased}; about {time}; {f'about {size} written or more' if is_guessed else f'{size} are written'}"


def _rows(
    plan: Plan, places: Mapping[str, str], shares: Mapping[str, EnduranceShare], *, is_whole: bool
) -> Iterator[tuple[str, str, str]]:
    """Name, text and style of each row."""
    for target in plan.targets:
        named = target.text if target.text == target.label else f"{target.text} ({target.label})"
        yield "on", ", ".join(filter(None, (named, places.get(target.label)))), ""
    blocks = max((step.block for step in plan.steps), default=0)
    order = "in the order of the job file" if plan.is_listed else "in random order"
    steps = f"{len(plan.steps)} in {counted(blocks, 'block')}, {order}"
    if plan.phases:
        steps = f"at most {len(plan.steps)}, one after the other in {counted(len(plan.phases), 'phase')}"
    yield "steps", f"{steps} (seed {plan.seed}): --all", ""
    if tracked := [phase for phase in plan.phases if phase.track]:
        most = [f"{phase.rounds}{f' in {phase.name}' if len(tracked) > 1 else ''}" for phase in tracked]
        yield "rounds", f"until steady over {WINDOW_ROUNDS} of them, at most {', '.join(most)}", ""
    if plan.trace:
        source = "" if plan.trace == "auto" else f", by {plan.trace}"
        limit = f"at most {TRACED_OPERATIONS} operations or {format_wait_ns(TRACED_NS_MAX)}"
        yield "traced", f"every trial once more after it was timed: {limit}{source}", ""
    if plan.preparation_bytes:
        parts = [f"{format_bytes(size)} {PREPARATIONS[what]}" for what, size in plan.preparation.items()]
        yield "preparation", f"{', '.join(parts)}", ""
    for name, share in shares.items():
        if share.share is not None or is_whole:
            yield "endurance", f"{name}: {share.text}", ""
    for sentence in plan.destroys:
        yield "erases", sentence, _ERASED
    for target in plan.targets:
        if target.changes:
            yield "changes", f"meanwhile: {target.changes}", ""


def _note_lines(plan: Plan, shown: Shown, *, most: int | None = None, is_short: bool = False) -> list[Line]:
    """What is not measured and what was adapted: at most so many, whole or a line of each."""
    labels = [one.label for one in plan.targets]
    told = [("not measured", sentence) for sentence in _alike_once(plan.left_out, labels)]
    told += [("note", note) for note in _alike_once(plan.notes, labels)]
    room = shown.width - _NAME_WIDTH - 2
    lines = []
    for name, sentence in told[:most]:
        found = [one_line(sentence, room, shown.is_plain)] if is_short else wrapped(sentence, room, shown.is_plain)
        lines += [(f"  {'' if place else name:<{_NAME_WIDTH}}{line}", _NOTED) for place, line in enumerate(found)]
    if most is not None and len(told) > most:
        lines.append((f"  {'':<{_NAME_WIDTH}}and {counted(len(told) - most, 'more note')}: --all", _DIM))
    return lines


def _alike_once(sentences: Sequence[str], targets: Sequence[str]) -> list[str]:
    """Sentences that differ in the name of their target alone, once for all of them."""
    found: dict[str, list[str]] = {}
    for sentence in sentences:
        target = next((one for one in targets if f" on {one}: " in sentence), "")
        found.setdefault(sentence.replace(f" on {target}: ", " on {}: ") if target else sentence, []).append(target)
    return [text.replace(" on {}: ", f" on {names_in_words(names)}: ") for text, names in found.items()]


def _workloads(plan: Plan) -> dict[tuple[str, bool], list[PlannedStep]]:
    """The steps of each workload, those that are measured again and again apart."""
    found: dict[tuple[str, bool], list[PlannedStep]] = {}
    for step in plan.steps:
        found.setdefault((step.workload, step.is_reference), []).append(step)
    return found


def _ns(steps: Sequence[PlannedStep]) -> int:
    return sum(step.expected_ns for step in steps)


def _in_whole_units(times_ns: Sequence[int]) -> list[int]:
    """Times in whole seconds, of long plans in minutes, that add up to the whole as it is told."""
    unit = _SECOND_NS if sum(times_ns) < _IN_SECONDS_BELOW_NS else 60 * _SECOND_NS
    ends = [0, *(round(end / unit) for end in itertools.accumulate(times_ns))]
    return [unit * (end - begin) for begin, end in itertools.pairwise(ends)]


def _time_text(time_ns: int) -> str:
    minutes, seconds = divmod(time_ns // _SECOND_NS, 60)
    if not minutes or not seconds:
        return format_wait_ns(time_ns) if time_ns else "-"
    return f"{minutes} min {seconds} s"


def _measured_lines(plan: Plan, times_ns: Sequence[int], room: int | None, shown: Shown) -> list[Line]:
    """What is measured: of each workload its varied levels, how many steps that makes, and how long they take.

    Where there is no room for all, each is told in one line, and the last of them are counted.
    """
    if plan.is_listed:
        return []
    preparation_ns, *times = times_ns
    rows = [("measures", "varied", "steps", "about")]
    rows += [("scratch drives", "filled once", "", _time_text(preparation_ns))] if preparation_ns else []
    for ((name, is_reference), steps), took_ns in zip(_workloads(plan).items(), times, strict=True):
        levels = "again and again, to see a drift" if is_reference else varied(steps)
        rows.append((name, levels, str(len(steps)), _time_text(took_ns)))
    first, _, third, fourth = (max(map(len, column)) for column in zip(*rows, strict=True))
    width = max(shown.width - first - third - fourth - 8, _VARIED_WIDTH_MIN)
    kept = rows if room is None or len(rows) <= room else rows[: max(1, room - 1)]
    lines: list[Line] = []
    for name, levels, count, about in kept:
        found = wrapped(levels, width, shown.is_plain) if room is None else [one_line(levels, width, shown.is_plain)]
        told = f"  {name:<{first}}  {found[0]:<{width}}  {count:>{third}}  {about:>{fourth}}"
        lines += [(told, "" if lines else _DIM), *((f"  {'':<{first}}  {line}", "") for line in found[1:])]
    more = len(rows) - len(kept)
    return [*lines, (f"  and {counted(more, 'more workload')}: --all", _DIM)] if more else lines
