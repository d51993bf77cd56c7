"""Random runs of several trials, healthy or with one known fault of the run as a whole, as their trials tell of it.

A run is some blocks of trials in random order on one or two targets, a reference before each block and after the last,
on a drive whose trials scatter. Where a rule begins to speak is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
from random_plans import plan_without
from random_trials import Random, between

from drivelab.analyse.findings import run_findings
from drivelab.analyse.reference_drift import ReferenceValue
from drivelab.analyse.run_evidence import ReferenceTrial, RunEvidence, SessionTrial
from drivelab.model.check_trials import PROBE
from drivelab.model.estimate import Estimate
from drivelab.model.finding import Finding

_SECOND_NS = 10**9
_PROBES = ("zeros", "random", "random", "zeros")


@dataclass
class Run:
    """What is known of a run, to be changed by a fault.

    Attributes
    ----------
    references : dict of str to array
        Of each target its reference's number, in order; one more than there are blocks.
    in_block : int
        Trials of a block on each target, the reference not counted.
    windows_ns : list of int
        Lengths of measured windows, of which each trial has one.
    probes : dict of str to list of float
        Throughput of each pass that looks for compression, by its contents.
    pauses_s : dict of int to float
        After which trial the run was cut off, and for how long.
    computers : list of dict
        What each session ran on; the last one counts for all that follow.
    found : list of str
        What the write cache was found to be, session by session as well.
    left_out : tuple of str
        What the plan could not have.
    truth : object
        What a fault did, in figures.
    """

    references: dict[str, np.ndarray]
    in_block: int
    windows_ns: list[int]
    probes: dict[str, list[float]]
    pauses_s: dict[int, float] = field(default_factory=dict)
    computers: list[dict[str, str]] = field(default_factory=lambda: [{"kernel_release": "6.12.1", "boot_id": "a"}])
    found: list[str] = field(default_factory=lambda: ["on"])
    left_out: tuple[str, ...] = ()
    truth: object = None

    @property
    def trial_count(self) -> int:
        """Trials of the run, those of the reference among them."""
        targets, measured = len(self.references), len(next(iter(self.references.values())))
        return targets * (measured + (measured - 1) * self.in_block)


def healthy(random: Random, *, quiet: bool = False) -> Run:
    """A run of 5 to 12 blocks on drives that stay the same; `quiet` ones scatter by 0.5 to 3 % from trial to trial.

    The others scatter by up to 15 %, now and then by Student's t with three degrees of freedom.
    """
    measured, targets = int(random.integers(6, 14)), int(random.integers(1, 3))
    references = {}
    for name in ("sda", "sdb")[:targets]:
        scatter = between(random, 0.005, 0.03 if quiet else 0.15)
        is_heavy = not quiet and random.random() < 0.3
        drawn = random.standard_t(3, measured) if is_heavy else random.standard_normal(measured)
        references[name] = between(random, 5e4, 5e6) * np.exp(scatter * drawn)
    window = int(between(random, 0.3, 60) * _SECOND_NS)
    lengths = [window] if random.random() < 0.6 else [window, int(window * between(random, 1.1, 20))]
    rate, scatter = between(random, 1e8, 3e9), between(random, 0.002, 0.04)
    drifts = np.linspace(0, np.log(between(random, 0.7, 1.4)), len(_PROBES))
    passes = rate * np.exp(drifts + scatter * random.standard_normal(len(_PROBES)))
    probes: dict[str, list[float]] = {"zeros": [], "random": []}
    for kind, value in zip(_PROBES, passes, strict=True):
        probes[kind].append(float(value))
    return Run(references, int(random.integers(1, 7)), lengths, probes)


def evidence_of(random: Random, run: Run) -> RunEvidence:
    """What reading the trials of a run one after the other makes of it."""
    evidence = RunEvidence(run.left_out)
    for kind, values in run.probes.items():
        for number, value in enumerate(values):
            width = value * 0.01
            rate = Estimate(value, value - width, value + width, "B/s", 100, 50.0, "")
            evidence.add(f"{PROBE}{kind}-{number}", rate, window_ns=int(0.2 * _SECOND_NS))
    now, session, number = datetime(2026, 3, 1, 8, tzinfo=UTC), 1, 0
    order = [(name, None) for name in run.references]
    blocks = len(next(iter(run.references.values()))) - 1
    for block in range(blocks + 1):
        trials = [(name, run.references[name][block]) for name, _ in order]
        others = [(name, None) for name, _ in order for _ in range(run.in_block if block < blocks else 0)]
        trials += [others[place] for place in random.permutation(len(others))]
        for name, value in trials:
            # a window ends with its last I/O
            length_ns = run.windows_ns[number % len(run.windows_ns)]
            at = min(session, len(run.computers)) - 1
            found = {"write-cache": run.found[min(session, len(run.found)) - 1]}
            one = SessionTrial(session, now.isoformat(), length_ns, name, found, run.computers[at])
            reference = None if value is None else ReferenceTrial(name, "small", "total_latency_ns_p50", _value(value))
            evidence.add(f"{number:04}-small", reference=reference, session=one, window_ns=length_ns)
            number += 1
            now += timedelta(microseconds=length_ns / 1000)
            pause_s = run.pauses_s.get(number)
            if pause_s is not None:
                session, now = session + 1, now + timedelta(seconds=pause_s)
    return evidence


def _value(value: float) -> ReferenceValue:
    return ReferenceValue(float(value))


def _with_line(random: Random, run: Run) -> None:
    factor = between(random, 1.4, 3) ** random.choice([-1, 1])
    name = str(random.choice(list(run.references)))
    run.references[name] *= np.exp(np.linspace(0, np.log(factor), len(run.references[name])))
    run.truth = name


def _with_step(random: Random, run: Run) -> None:
    """From a moment on another level, for three measurements of the reference at least, as there were before."""
    factor = between(random, 1.3, 3) ** random.choice([-1, 1])
    name = str(random.choice(list(run.references)))
    count = len(run.references[name])
    first = int(random.integers(3, count - 2))
    run.references[name][first:] *= factor
    run.truth = (name, first + 1)


def _cut_off(random: Random, run: Run) -> None:
    pauses = int(random.integers(1, 4))
    places = random.choice(np.arange(1, run.trial_count), min(pauses, run.trial_count - 1), replace=False)
    run.pauses_s = {int(place): between(random, 5, 3 * 86_400) for place in sorted(places)}
    run.truth = list(run.pauses_s.values())


def _on_another_computer(random: Random, run: Run) -> None:
    """Another kernel or boot from some session on, or a write cache that somebody switched meanwhile."""
    _cut_off(random, run)
    same = [run.computers[0]] * int(random.integers(1, len(run.pauses_s) + 1))
    which = int(random.integers(3))
    if which == 0:
        run.computers = [*same, {"kernel_release": "6.12.9", "boot_id": "b"}]
    elif which == 1:
        run.computers = [*same, run.computers[0] | {"boot_id": "b"}]
    else:
        run.found = [*(["on"] * len(same)), "off"]


def _without_program(random: Random, run: Run) -> None:
    run.left_out = plan_without(random, is_program=True)


def _without_setting(random: Random, run: Run) -> None:
    run.left_out = plan_without(random, is_program=False)


def _compresses(random: Random, run: Run) -> None:
    times = between(random, 1.5, 10)
    run.probes["zeros"] = [times * value for value in run.probes["zeros"]]


def _tells_target(found: Finding, run: Run) -> bool:
    return found.evidence["target"] == run.truth


def _tells_step(found: Finding, run: Run) -> bool:
    """Of a step in the middle of the run a line may explain nearly as much."""
    assert isinstance(run.truth, tuple)
    name, first = run.truth
    return found.evidence["target"] == name and found.evidence.get("step_first", first) == first


def _tells_pauses(found: Finding, run: Run) -> bool:
    assert isinstance(run.truth, list)
    return np.allclose(found.evidence["gaps_s"], run.truth, atol=0.002)


@dataclass(frozen=True)
class RunFault:
    """What happens to a run, the kind and gravity that has to say so, and whether what it says is right."""

    code: str
    severity: str
    make: Callable[[Random, Run], None]
    is_right: Callable[[Finding, Run], bool] = lambda found, run: True
    needs_quiet: bool = False


RUN_FAULTS = {
    "a program is missing": RunFault("not-measured", "warning", _without_program),
    "a target has nothing to set": RunFault("not-measured", "note", _without_setting),
    "the reference changes by 1.4 to 3 times along a line": RunFault(
        "reference-drift", "warning", _with_line, _tells_target, needs_quiet=True
    ),
    "by 1.3 to 3 times at a moment": RunFault("reference-drift", "warning", _with_step, _tells_step, needs_quiet=True),
    "cut off one to three times, and gone on with": RunFault("run-resumed", "note", _cut_off, _tells_pauses),
    "gone on with on another kernel, boot or setting": RunFault(
        "run-resumed", "warning", _on_another_computer, _tells_pauses
    ),
    "zeros are written 1.5 to 10 times as fast": RunFault("compressible-content", "note", _compresses),
}
# what is told of every run with a measured window, once
REACH = "interval-reach"


def found_in(run: Run, random: Random) -> list[Finding]:
    """All that is told of a run as a whole."""
    return run_findings(evidence_of(random, run))


def tells_reach(found: list[Finding], run: Run) -> bool:
    """Whether it is told exactly once what the intervals know nothing of: all beyond a tenth of the windows."""
    told = [one.evidence for one in found if one.code == REACH]
    low, high = min(run.windows_ns) // 10, max(run.windows_ns) // 10
    return [(one["slowest_in_intervals_ns"], one["slowest_in_intervals_ns_longest"]) for one in told] == [(low, high)]


def told_of_run(fault: str, seed: int) -> tuple[bool, set[str], bool]:
    """Whether a fault is told rightly, the codes of all that is told, and whether the intervals' reach is told rightly.

    Parameters
    ----------
    fault : str
        Of `RUN_FAULTS`; an empty one is none.
    seed : int
        Of everything that is left to chance.
    """
    random = np.random.default_rng([seed, 1 + list(RUN_FAULTS).index(fault) if fault else 0])
    one = RUN_FAULTS.get(fault)
    run = healthy(random, quiet=one is not None and one.needs_quiet)
    if one is not None:
        one.make(random, run)
    found = found_in(run, random)
    is_told = one is not None and any(
        (each.code, each.severity) == (one.code, one.severity) and one.is_right(each, run) for each in found
    )
    return is_told, {each.code for each in found}, tells_reach(found, run)


def told_of_import(seed: int) -> bool:
    """Whether something is said of the intervals' reach in a run without a measured window: one of another program."""
    random = np.random.default_rng([seed, len(RUN_FAULTS) + 1])
    run = healthy(random)
    run.windows_ns, run.probes = [0], {}
    return any(one.code == REACH for one in found_in(run, random))


def run_rates(runs: int, healthy_runs: int) -> dict[str, tuple[str, float, float, float]]:
    """Of each fault the kind that has to tell it, how often it does, and how often it is said of others and of none.

    Parameters
    ----------
    runs, healthy_runs : int
        With each fault, and without any.
    """
    told = {fault: [told_of_run(fault, seed) for seed in range(runs)] for fault in RUN_FAULTS}
    without = [told_of_run("", seed) for seed in range(healthy_runs)]
    found = {}
    for fault, one in RUN_FAULTS.items():
        others = [
            one.code in codes for other, of in told.items() if RUN_FAULTS[other].code != one.code for _, codes, _ in of
        ]
        of_none = float(np.mean([one.code in codes for _, codes, _ in without]))
        found[fault] = (
            one.code,
            float(np.mean([right for right, _, _ in told[fault]])),
            float(np.mean(others)),
            of_none,
        )
    every = [right for of in (*told.values(), without) for _, _, right in of]
    imports = float(np.mean([told_of_import(seed) for seed in range(healthy_runs)]))
    found["every run, whatever happens to it"] = (REACH, float(np.mean(every)), 0.0, imports)
    return found
