"""Makes the small stored runs that the tests of the report read: ``python tests/golden/make_runs.py``.

Same input, same rows: the laws are seeded and no clock is read, so that a run
made again differs only where drivelab itself has changed.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "python")]

from experiment_runs import write_fill_level, write_settings_scan  # noqa: E402
from grid_runs import write_queue_depth_grid, write_write_sizes  # noqa: E402
from synthetic import SyntheticTrial, log_normal, two_levels, with_stalls, with_step  # noqa: E402
from traced_run import write_explained  # noqa: E402

from drivelab.model.finding import Finding  # noqa: E402
from drivelab.model.measurement import Measurement  # noqa: E402
from drivelab.model.trial_summary import TrialSummary  # noqa: E402
from drivelab.model.verdict import Check, Fitness, Threshold, Verdict  # noqa: E402
from drivelab.store.place import TrialPlace  # noqa: E402
from drivelab.store.write import RunWriter  # noqa: E402

RUNS = HERE / "runs"
NAMES = (
    "check-directory",
    "check-hostile-names",
    "ssd-latency-scratch",
    "settings-scan-drive",
    "fill-level-drive",
    "queue-depth-grid",
    "write-size-two-drives",
    "explained-appends",
)
Summarise = Callable[[Measurement], TrialSummary]
HOSTILE_MODEL = "<script>alert(1)</script>"
_HOST = {
    "hostname": "pike",
    "kernel_release": "6.12.41",
    "kernel_version": "#1 SMP PREEMPT_DYNAMIC",
    "architecture": "x86_64",
    "distribution": "Debian GNU/Linux 13 (trixie)",
    "machine_vendor": "Example Systems",
    "machine_model": "Box 9",
    "hypervisor": "",
    "container": "",
    "cpu_model": "AMD EPYC 7543",
    "cpu_count": 32,
    "cpu_usable_count": 32,
    "cpu_governor": "performance",
    "memory_bytes": 137438953472,
    "clocksource": "tsc",
    "tick_rate_hz": 250,
    "drivelab_version": "0.1.0",
    "unknown": {},
}
_FILESYSTEM = {
    "type": "ext4",
    "source": "/dev/nvme0n1p2",
    "mount_point": "/var/lib/etcd",
    "options": ["rw", "relatime"],
    "total_bytes": 412316860416,
    "available_bytes": 201863462912,
    "is_read_only": False,
}
_SCRATCH = {"text": "scratch:1GiB", "kind": "scratch", "size_bytes": 2**30, "drives": [], "filesystem": None}


def drive(model: str, serial: str) -> dict[str, Any]:
    """Facts of a drive that never was."""
    return {
        "name": "nvme0n1",
        "path": "/dev/nvme0n1",
        "vendor": None,
        "model": model,
        "firmware": "GXA7801Q",
        "serial": serial,
        "serials": [serial],
        "size_bytes": 480103981056,
        "is_rotational": False,
        "transport": "nvme",
        "link": {"kind": "pcie", "rate_bits_per_s": 8000000000, "lanes": 4},
        "logical_block_size_bytes": 512,
        "write_cache": {"drive_enabled": True, "kernel_mode": "write back", "kernel_uses_fua": True},
        "scheduler": "none",
        "unknown": {"vendor": "NVMe drives do not tell it"},
    }


def check_trials(stall_ns: int, slow: float) -> list[tuple[str, SyntheticTrial]]:
    """Label and law of the trials of a check."""
    found = []
    for number, (size, text) in enumerate(((512, "512 B"), (2300, "2300 B"), (4096, "4 KiB"), (16384, "16 KiB"))):
        median = slow * (290_000 + 9 * size)
        law = with_stalls(two_levels(log_normal(median, 0.12), log_normal(2.4 * median, 0.2), 0.07), stall_ns, 900)
        trial = SyntheticTrial(
            f"sync-write-{size}",
            law,
            block_size_bytes=size,
            durable=True,
            has_records=number < 2,
            device_writes=2.98 if size < 4096 else 3.0,
            device_flushes=2.0,
            device_bytes_factor=(28 * 1024 + size) / size,
        )
        found.append((f"{text} appended + fdatasync", trial))
    large = {"block_size_bytes": 2**20, "access": "sequential"}
    found += [
        (
            "sequential write, 1 MiB, 8 outstanding",
            SyntheticTrial(
                "sequential-write-qd8",
                with_step(log_normal(slow * 3.1e6, 0.2), 2.9, 0.55),
                operation="write",
                queue_depth=8,
                **large,  # type: ignore[arg-type]
            ),
        ),
        (
            "sequential read, 1 MiB, one at a time",
            SyntheticTrial("sequential-read-qd1", log_normal(420_000, 0.06), **large),  # type: ignore[arg-type]
        ),
        ("random read, 4 KiB, one at a time", SyntheticTrial("random-read-qd1", log_normal(78_000, 0.1))),
        (
            "random read, 4 KiB, 32 outstanding",
            SyntheticTrial(
                "random-read-qd32",
                two_levels(log_normal(118_000, 0.16), log_normal(900_000, 0.3), 0.004),
                queue_depth=32,
            ),
        ),
        (
            "random write, 4 KiB, one at a time",
            SyntheticTrial(
                "random-write-qd1", with_stalls(log_normal(24_000, 0.2), 2_100_000, 5000), operation="write"
            ),
        ),
    ]
    return found


def experiment_trials() -> list[tuple[str, SyntheticTrial, dict[str, str], int]]:
    """Label, law, factors and repeat of the trials of a small-write latency experiment."""
    commands = {"raw": (1.0, 1.0, 1.0), "ext4": (3.0, 2.0, 33.0), "xfs": (2.0, 2.0, 12.0)}
    found = []
    for repeat in (1, 2):
        for filesystem, (writes, flushes, factor) in commands.items():
            median = 80_000 * writes + 360_000 * flushes + 9_000 * repeat
            trial = SyntheticTrial(
                f"dd-512-{filesystem}-r{repeat}",
                with_stalls(log_normal(median, 0.09), 11_000_000, 400),
                block_size_bytes=512,
                durable=True,
                duration_ns=1_000_000_000,
                device_writes=writes,
                device_flushes=flushes,
                device_bytes_factor=factor,
                path="/dev/loop7",
                device="loop7",
            )
            found.append((f"512 B written + fdatasync, {filesystem}", trial, {"filesystem": filesystem}, repeat))
    return found


def etcd_verdict(summaries: Mapping[str, TrialSummary]) -> Fitness:
    """The judgement of a need, put together by hand so that the report's tests hang on nothing else."""
    estimate = summaries["sync-write-2300"].estimates["total_latency_ns_p99"]
    threshold = Threshold(
        trial="sync-write-2300",
        metric="total_latency_ns_p99",
        direction="at_most",
        limit=10_000_000,
        unit="ns",
        text="99 % of 2300-byte log writes were durable within {value}",
        force="required",
        source="etcd.io, FAQ: the 99th percentile of fdatasync should be less than 10 ms",
    )
    ratio = 10_000_000 / (estimate.high or 1)
    check = Check(threshold, estimate, "pass" if ratio > 1 else "fail", ratio, "2300 B write + fdatasync p99")
    sentence = "Yes, this carries etcd: 99 % of its log writes are durable well within the 10 ms that etcd asks for."
    caveat = "The drive has a volatile write cache; the flushes counted here are what makes a write durable."
    verdict = Verdict("etcd", "etcd", check.outcome, sentence, "", (check,), (caveat,))
    return Fitness(sentence, check.outcome, (verdict,))


def write_check(directory: Path, summarise: Summarise, *, model: str, slow: float, hostile: bool) -> None:
    """A check of a directory; a hostile one has markup in every string that comes from outside."""
    writer = _writer(directory)
    target = "/var/lib/etcd" if not hostile else '/srv/<b>data</b>" onload="alert(2)'
    facts = {"text": target, "kind": "directory", "filesystem": _FILESYSTEM, "drives": [drive(model, "S3EV")]}
    writer.write_run_json(
        {
            "experiment": {"name": "check"},
            "question": f"Is {target} fit, and can the numbers be trusted?",
            "started_utc": "2026-01-31T12:00:00.000+00:00",
            "targets": [{"label": target, "facts_before": facts, "facts_after": facts}],
            "host": _HOST,
            "versions": {"drivelab": "0.1.0", "python": "3.13.5"},
            "seed": 1,
        }
    )
    summaries: dict[str, TrialSummary] = {}
    trials = check_trials(stall_ns=8_000_000 if not hostile else 30_000_000, slow=slow)
    findings = _check_findings(hostile)
    for number, (label, trial) in enumerate(trials[:3] if hostile else trials, start=1):
        measured = trial.measurement(seed=number)
        shown = f"{label} {model}" if hostile else label
        summary = _labelled(summarise(measured), shown)
        summaries[trial.name] = summary
        place = TrialPlace(target=target, started_utc=f"2026-01-31T12:00:{3 * number:02}.000+00:00")
        writer.add_trial(measured, summary, place=place, findings=[f for f in findings if f.trial == trial.name])
    verdict = None if hostile else etcd_verdict(summaries).to_json()
    writer.finish(findings, verdict, finished_utc="2026-01-31T12:00:40.000+00:00")


def _check_findings(hostile: bool) -> list[Finding]:
    if hostile:
        text = f"A drive that calls itself {HOSTILE_MODEL} is not to be believed."
        return [Finding("hostile-name", "warning", text, evidence={"model": HOSTILE_MODEL})]
    return [
        Finding(
            "quantile-not-carried",
            "note",
            "Too few writes for a p99.9 with an interval; 3 688 independent ones are needed.",
            "sync-write-16384",
            {"metric": "total_latency_ns_p999", "needed_count": 3688},
        ),
        Finding(
            "write-cliff",
            "warning",
            "Throughput fell to 34 % after 1.7 s: what was measured before is a cache, not the drive.",
            "sequential-write-qd8",
            {"throughput_bytes_per_s": 0.34, "after_s": 1.65},
            "For sustained writing measure longer: --runtime 60s.",
        ),
    ]


def write_experiment(directory: Path, summarise: Summarise) -> None:
    """A small-write latency experiment over three file systems, two repeats each."""
    writer = _writer(directory)
    trials = experiment_trials()
    order = [4, 0, 2, 5, 3, 1]
    writer.write_run_json(
        {
            "experiment": {
                "name": "ssd-latency",
                "question": "How long does a small write take until it is durable, and what does a file system add?",
                "workloads": [{"name": "dd-512", "title": "512 B written + fdatasync"}],
                "factors": [{"setting": "filesystem", "levels": [{"name": n} for n in ("raw", "ext4", "xfs")]}],
            },
            "started_utc": "2026-01-31T13:00:00.000+00:00",
            "targets": [{"label": "scratch", "facts_before": _SCRATCH, "facts_after": None}],
            "host": _HOST,
            "seed": 7,
        }
    )
    for step, index in enumerate(order, start=1):
        label, trial, factors, repeat = trials[index]
        measured = trial.measurement(seed=100 + index)
        achieved = dict(factors)
        started = f"2026-01-31T13:00:{2 * step:02}.000+00:00"
        place = TrialPlace("scratch", "dd-512", step, 1 + (step - 1) // 3, repeat, started, factors, achieved)
        writer.add_trial(measured, _labelled(summarise(measured), label), place=place)
    writer.finish(finished_utc="2026-01-31T13:00:20.000+00:00")


def build(parent: Path, summarise: Summarise) -> list[Path]:
    """All golden runs, made afresh in `parent`."""
    parent.mkdir(parents=True, exist_ok=True)
    made = [parent / name for name in NAMES]
    write_check(made[0], summarise, model="SAMSUNG MZQL2480HCHQ", slow=1.0, hostile=False)
    write_check(made[1], summarise, model=HOSTILE_MODEL, slow=30.0, hostile=True)
    write_experiment(made[2], summarise)
    facts = drive("SAMSUNG MZ7LH480HAHQ", "S45P")
    target = {"text": "/dev/sdb", "kind": "block_device", "drives": [facts | {"name": "sdb", "path": "/dev/sdb"}]}
    common = {"host": _HOST, "targets": [{"label": "sdb", "facts_before": target, "facts_after": target}]}
    write_settings_scan(_writer(made[3]), summarise, common)
    write_fill_level(_writer(made[4]), summarise, common)
    write_queue_depth_grid(_writer(made[5]), summarise, common)
    other = {"text": "/dev/sdc", "kind": "block_device", "drives": [drive("INTEL SSDSC2BW120A4", "CVDA")]}
    other["drives"][0] |= {"name": "sdc", "path": "/dev/sdc", "firmware": "DC33"}
    second = {"label": "sdc", "facts_before": other, "facts_after": other}
    write_write_sizes(_writer(made[6]), summarise, common | {"targets": [*common["targets"], second]})
    write_explained(_writer(made[7]), summarise, common)
    return made


def _writer(directory: Path) -> RunWriter:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    return RunWriter(directory)


def _labelled(summary: TrialSummary, label: str) -> TrialSummary:
    return TrialSummary(summary.name, label, summary.operation, summary.estimates)


def main(arguments: Sequence[str]) -> None:
    """Make the runs, in the folder given or beside this file."""
    from drivelab.analyse.summary import summarise

    for path in build(Path(arguments[0]) if arguments else RUNS, summarise):
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
