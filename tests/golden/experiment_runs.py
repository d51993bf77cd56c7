"""Two experiments that never were: a scan of settings with a reference, and writes that become slower and slower."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from synthetic import SyntheticTrial, log_normal, with_step

from drivelab.model.finding import Finding
from drivelab.model.measurement import Measurement
from drivelab.model.trial_summary import TrialSummary
from drivelab.store.place import TrialPlace
from drivelab.store.write import RunWriter

Summarise = Callable[[Measurement], TrialSummary]
SCAN_BLOCKS = 5
# what each level does to the median, and what the drive is told then: writes, flushes per operation
SCAN_LEVELS = {
    "write-cache": {"as-found": (1.0, 3.0, 2.0), "off": (0.3, 3.0, 0.0)},
    "scheduler": {"as-found": (1.0, 3.0, 2.0), "bfq": (1.22, 3.0, 2.0), "none": (1.0, 3.0, 2.0)},
    "read-ahead": {"as-found": (1.0, 3.0, 2.0), "131072": (1.0, 3.0, 2.0)},
}
_FOUND = {"write-cache": "on", "scheduler": "mq-deadline", "read-ahead": "4194304"}
_MEDIAN_NS = 900_000
# the drive becomes slower with every block, by so much
_DRIFT = 1.05
FILL_LEVELS = {"20%": 1.05, "60%": 1.8, "100%": 4.2}
FILL_REPEATS = 2


def write_settings_scan(writer: RunWriter, summarise: Summarise, facts: Mapping[str, Any]) -> None:
    """A scan of three settings, one at a time, in five blocks, with a reference that drifts by a quarter."""
    baseline = dict.fromkeys(SCAN_LEVELS, "as-found")
    changed = [{name: level} for name, levels in SCAN_LEVELS.items() for level in levels if level != "as-found"]
    turns: list[tuple[int, int, dict[str, str], bool]] = []
    for block in range(1, SCAN_BLOCKS + 1):
        turns.append((block, block, baseline, True))
        turns += [(block, block, baseline | levels, False) for levels in [{}, *changed]]
    turns.append((SCAN_BLOCKS, SCAN_BLOCKS + 1, baseline, True))
    writer.write_run_json(dict(facts) | _scan_facts(turns))
    findings = []
    for step, (block, repeat, levels, is_reference) in enumerate(turns, start=1):
        measured = _scan_trial(step, levels, block + (0.9 if repeat > SCAN_BLOCKS else 0)).measurement(seed=step)
        achieved = {name: found if levels[name] == "as-found" else levels[name] for name, found in _FOUND.items()}
        # a setting that is not taken: asked and achieved must stand side by side
        achieved["scheduler"] = "mq-deadline" if levels["scheduler"] == "none" else achieved["scheduler"]
        started = f"2026-01-31T14:{step:02}:00.000+00:00"
        place = TrialPlace("sdb", "one-byte", step, block, repeat, started, levels, achieved, is_reference=is_reference)
        told = [Finding("short-measurement", "note", "it was measured for 400 ms", measured.name)]
        findings += told
        label = ", ".join(["1 byte appended + fdatasync", *levels.values()])
        writer.add_trial(measured, _labelled(summarise(measured), label), place=place, findings=told)
    writer.finish(
        [Finding("short-measurement", "note", "it was measured for 400 ms", findings[0].trial, trial_count=len(turns))],
        finished_utc="2026-01-31T15:00:00.000+00:00",
        failures={},
    )


def _scan_trial(step: int, levels: Mapping[str, str], block: float) -> SyntheticTrial:
    effects = [SCAN_LEVELS[name][level] for name, level in levels.items()]
    median = _MEDIAN_NS * _DRIFT**block
    for factor, _, _ in effects:
        median *= factor
    return SyntheticTrial(
        f"{step:04}-one-byte",
        log_normal(median, 0.06),
        block_size_bytes=1,
        durable=True,
        duration_ns=400_000_000,
        device_writes=min(writes for _, writes, _ in effects),
        device_flushes=min(flushes for _, _, flushes in effects),
        device_bytes_factor=12_288,
        path="/dev/sdb",
        device="sdb",
    )


def _scan_facts(turns: list[tuple[int, int, dict[str, str], bool]]) -> dict[str, Any]:
    steps = [
        {"number": step, "trial": f"{step:04}-one-byte", "levels": levels, "block": block, "repeat": repeat}
        | {"is_reference": is_reference}
        for step, (block, repeat, levels, is_reference) in enumerate(turns, start=1)
    ]
    return {
        "experiment": {
            "name": "settings-scan",
            "question": "Which setting changes what one durable byte costs?",
            "design": "one-at-a-time",
            "tables": ["effects", "results"],
            "workloads": [{"name": "one-byte", "title": "1 byte appended + fdatasync"}],
            "factors": [{"setting": name, "levels": list(levels)} for name, levels in SCAN_LEVELS.items()],
        },
        "plan": {"seed": 3, "quick": False, "steps": steps},
        "started_utc": "2026-01-31T14:00:00.000+00:00",
        "seed": 3,
    }


def write_fill_level(writer: RunWriter, summarise: Summarise, facts: Mapping[str, Any]) -> None:
    """Large random writes to a part of a drive: the more of it is used, the further the throughput falls."""
    turns = list(_fill_turns())
    steps = [
        {"number": step, "trial": f"{step:04}-random-write", "levels": {"fill_level": level}, "block": repeat}
        | {"repeat": repeat, "is_reference": False}
        for step, level, repeat in turns
    ]
    writer.write_run_json(dict(facts) | _fill_facts(steps))
    for step, level, repeat in turns:
        trial = SyntheticTrial(
            f"{step:04}-random-write",
            with_step(log_normal(16_500_000, 0.08), FILL_LEVELS[level] * (1 + 0.04 * repeat), 0.45),
            operation="write",
            block_size_bytes=8 * 2**20,
            duration_ns=8_000_000_000,
            path="/dev/sdb",
            device="sdb",
        )
        measured = trial.measurement(seed=50 + step)
        started = f"2026-01-31T16:{step:02}:00.000+00:00"
        place = TrialPlace("sdb", "random-write", step, repeat, repeat, started, {"fill_level": level}, {})
        summary = _labelled(summarise(measured), f"8 MiB random writes, {level}")
        writer.add_trial(measured, summary, place=place)
    writer.finish(finished_utc="2026-01-31T17:00:00.000+00:00", failures={})


def _fill_turns() -> Iterator[tuple[int, str, int]]:
    step = 0
    for repeat in range(1, FILL_REPEATS + 1):
        for level in FILL_LEVELS:
            step += 1
            yield step, level, repeat


def _fill_facts(steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "experiment": {
            "name": "fill-level",
            "question": "Does the drive still write fast when most of it is in use?",
            "tables": ["results"],
            "figures": ["throughput-over-time"],
            "workloads": [{"name": "random-write", "title": "8 MiB random writes"}],
            "factors": [{"setting": "workload", "key": "fill_level", "levels": list(FILL_LEVELS)}],
        },
        "plan": {"seed": 4, "quick": False, "steps": steps},
        "started_utc": "2026-01-31T16:00:00.000+00:00",
        "seed": 4,
    }


def _labelled(summary: TrialSummary, label: str) -> TrialSummary:
    return TrialSummary(summary.name, label, summary.operation, summary.estimates)
