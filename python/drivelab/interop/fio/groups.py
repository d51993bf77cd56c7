"""Which jobs run at the same time: what stonewall, wait_for and delays come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drivelab.interop.fio.job_options import JobOptions


@dataclass(frozen=True, slots=True)
class Turn:
    """When a job has its turn.

    Attributes
    ----------
    group : int
        From 1; jobs of one group run at the same time.
    reporting_group : int
        fio's ``groupid``, from 0.
    delay_us : int
        How long it waits when its group has begun.
    """

    group: int
    reporting_group: int
    delay_us: int


def turns(jobs: Sequence[JobOptions]) -> list[Turn]:
    """The turn of each job.

    Raises
    ------
    DrivelabError
        U033: a job waits for one that is not there, or for itself.
    """
    rounds = _rounds(jobs)
    keys, delays_us = _with_delays(jobs, rounds)
    numbers = {key: number for number, key in enumerate(sorted(set(keys)), start=1)}
    reporting = 0
    found = []
    for place, (options, key, delay_us) in enumerate(zip(jobs, keys, delays_us, strict=True)):
        if place and (options.truth("stonewall") or options.truth("new_group")):
            reporting += 1
        found.append(Turn(numbers[key], reporting, delay_us))
    return found


def _rounds(jobs: Sequence[JobOptions]) -> list[int]:
    """Rounds by stonewalls and by jobs that wait for another."""
    rounds: list[int] = []
    current = 0
    for options in jobs:
        if options.truth("stonewall") and rounds:
            current = max(rounds) + 1
        mine = current
        awaited = options.text("wait_for")
        if awaited:
            mine = max(mine, _round_of(options, awaited, jobs, rounds) + 1)
        rounds.append(mine)
    return rounds


def _round_of(options: JobOptions, awaited: str, jobs: Sequence[JobOptions], rounds: list[int]) -> int:
    places = [place for place in range(len(rounds)) if jobs[place].job.name == awaited]
    if len(places) == 1:
        beside = [place for place in range(len(rounds)) if rounds[place] == rounds[places[0]]]
        if len(beside) > 1:
            options.tell("wait_for", "approximated", f"it also waits for the jobs beside {awaited}")
        return rounds[places[0]]
    if awaited == options.job.name:
        what = "a job cannot wait for itself"
    else:
        what = f"it waits for {awaited}, and there are {len(places) or 'no'} jobs of that name before it"
    raise options.refuse("wait_for", what, code="U033", do="name one job that stands before it")


def _with_delays(jobs: Sequence[JobOptions], rounds: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """Rounds, each divided where delays make jobs run one after the other, and the delays within each part."""
    keys = [(number, 0) for number in rounds]
    delays_us = [0] * len(jobs)
    for number in set(rounds):
        places = [place for place in range(len(jobs)) if rounds[place] == number]
        if any(jobs[place].number("startdelay") for place in places):
            for place, (part, delay_us) in _delayed(jobs, places).items():
                keys[place], delays_us[place] = (number, part), delay_us
    return keys, delays_us


def _delayed(jobs: Sequence[JobOptions], places: list[int]) -> dict[int, tuple[int, int]]:
    """Parts of a round and delays within them: a job begins another part when all before it have ended by then."""
    ordered = sorted(places, key=lambda place: jobs[place].number("startdelay"))
    parts: dict[int, tuple[int, int]] = {}
    part, end_us, begin_us = 0, 0, jobs[ordered[0]].number("startdelay")
    for place in ordered:
        options = jobs[place]
        delay_us, runtime_us = options.number("startdelay"), options.number("runtime")
        if parts and end_us and delay_us >= end_us:
            part, end_us, begin_us = part + 1, 0, delay_us
        parts[place] = part, delay_us - begin_us
        if delay_us and delay_us == begin_us:
            options.tell("startdelay", "honoured", "its turn comes after the jobs that have ended by then")
        # a job whose end nobody knows lets nothing follow it
        end_us = max(end_us, delay_us + runtime_us) if runtime_us else 2**63
    return parts
