"""Other programs used the drive or the processors meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

from drivelab.analyse.findings.evidence import TrialEvidence
from drivelab.analyse.foreign_bytes import foreign_bytes
from drivelab.model.finding import FOREIGN_WORK, OTHERS_BYTES, OTHERS_REQUESTS, Finding, Severity
from drivelab.model.names import in_brackets
from drivelab.model.others_processors import busy_with_others, users_of_processors
from drivelab.model.units import format_bytes

CODE = FOREIGN_WORK
STEAL = "cpu_steal_share"
_BEFORE = "other_bytes_share"
# methodology, row 21
FOREIGN_SHARE_MAX = 0.01
STEAL_SHARE_MAX = 0.01
# of a virtual machine that has neighbours a hundredth is what there always is: told, and no warning
STEAL_SHARE_WARNING = 0.05
# only told of processors that others used: a thread that sleeps for every I/O waits for a processor on an idle computer
CPU_PRESSURE_MAX = 0.05
# a write or two of a journal in a short watch before the trial are not a neighbour
IDLE_REQUESTS_MIN = 3
IDLE_SHARE_MAX = 0.1
FOREIGN_REQUESTS_MIN = 3
# less than that of a drive's work slows nobody down so that one would see it
SLOWING_SHARE_MIN = 0.1


def find(evidence: TrialEvidence) -> list[Finding]:
    """Requests and bytes of other programs, stolen time, processors that others used."""
    if evidence.is_null:
        return []
    found = list(_signs(evidence))
    if not found:
        return []
    # what disturbed it most is told first, and last what was over when it began
    found.sort(key=lambda sign: (_BEFORE in sign[1], -max(v for name, v in sign[1].items() if name.endswith("_share"))))
    text = f"this trial was not alone: {'; '.join(sentence for sentence, _ in found)}"
    facts = {key: value for _, facts in found for key, value in facts.items()}
    is_minor = set(facts) == {STEAL} and facts[STEAL] <= STEAL_SHARE_WARNING
    severity: Severity = "note" if is_minor else "warning"
    return [Finding(CODE, severity, text, evidence.name, facts, "repeat it when the computer is quiet")]


def is_beside_others(evidence: TrialEvidence) -> bool:
    """Whether others used enough of the processors, or the drive itself, to slow the trial down."""
    if evidence.target.simulated is not None:
        # a model waits for nobody
        return False
    processors = evidence.measured.context.get("processors")
    on_drive = [
        share for _, facts in (*_foreign_requests(evidence), *_foreign_bytes(evidence)) for share in facts.values()
    ]
    return bool(processors and busy_with_others(processors)) or max(on_drive, default=0.0) > SLOWING_SHARE_MIN


def _signs(evidence: TrialEvidence) -> Iterator[tuple[str, dict[str, float]]]:
    yield from _foreign_requests(evidence)
    yield from _foreign_bytes(evidence)
    yield from _work_before(evidence)
    steal = evidence.measured.context.get(STEAL)
    if steal is not None and steal > STEAL_SHARE_MAX:
        yield f"the hypervisor took {100 * steal:.0f} % of the processors", {STEAL: steal}
    yield from _used_processors(evidence)


def _used_processors(evidence: TrialEvidence) -> Iterator[tuple[str, dict[str, float]]]:
    processors = evidence.measured.context.get("processors")
    if not processors:
        return
    others, count = busy_with_others(processors), int(processors["count"])
    if not others:
        return
    facts = {"other_processors": others, "other_processor_share": others / count}
    who = in_brackets(users_of_processors(evidence.measured.context, others))
    text = f"others used {others:.1f} of {count} processors{who}"
    pressure = (evidence.measured.context.get("pressure") or {}).get("cpu_some_share")
    if pressure is not None and pressure > CPU_PRESSURE_MAX:
        text += f", and tasks waited for a processor {100 * pressure:.0f} % of the time"
        facts["cpu_pressure_some_share"] = pressure
    yield text, facts


def _foreign_requests(evidence: TrialEvidence) -> Iterator[tuple[str, dict[str, float]]]:
    traced = evidence.measured.context.get("command_counts") or {}
    foreign = traced.get("foreign_requests", 0)
    own = sum(traced.get(kind, 0) for kind in ("data_writes", "flushes", "reads", "discards"))
    counts = evidence.counts
    if not traced and counts is not None and counts.foreign_requests is not None:
        foreign, own = counts.foreign_requests, counts.reads + counts.writes + counts.discards - counts.foreign_requests
    if foreign >= FOREIGN_REQUESTS_MIN and foreign > FOREIGN_SHARE_MAX * (own + foreign):
        share = foreign / (own + foreign)
        by_count = sorted(traced.get("foreign", {}).items(), key=lambda one: (-one[1], one[0]))
        who = in_brackets(name for name, _ in by_count)
        yield f"{100 * share:.0f} % of all requests were others'{who}", {OTHERS_REQUESTS: share}


def _foreign_bytes(evidence: TrialEvidence) -> Iterator[tuple[str, dict[str, float]]]:
    for found in foreign_bytes(evidence):
        verb = "read" if found.direction == "read" else "wrote"
        who = in_brackets(found.programs)
        much = f"{format_bytes(found.count)} more than this trial did{who}, {100 * found.share:.0f} % of what it moved"
        yield f"the drive {verb} {much}", {OTHERS_BYTES[found.direction]: found.share}


def _work_before(evidence: TrialEvidence) -> Iterator[tuple[str, dict[str, float]]]:
    """What the drive did in the moment before the trial, against what it did in the trial."""
    watched = evidence.measured.context.get("other_work")
    counts = evidence.counts
    elapsed_ns = sum(int(evidence.measured.engine.get(part, 0)) for part in ("ramp_ns", "measured_ns", "drain_ns"))
    if not watched or counts is None or not elapsed_ns or not watched.get("duration_ns"):
        return
    if watched["reads"] + watched["writes"] < IDLE_REQUESTS_MIN:
        return
    others = (watched["bytes_read"] + watched["bytes_written"]) / watched["duration_ns"]
    ours = (counts.bytes_read + counts.bytes_written) / elapsed_ns
    if others > IDLE_SHARE_MAX * ours:
        share = others / ours if ours else 1.0
        yield (
            f"other work kept the drive busy just before, with {100 * share:.0f} % as many bytes a second",
            {_BEFORE: share},
        )
