"""How each trial of a stored run was carried out: what its workload asked for, and what was achieved of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from drivelab.analyse.comparability import TrialConduct
from drivelab.model.lasting_rate import lasting_rates, rates_at_first, seen_here
from drivelab.model.units import format_bytes, format_duration_ns, format_percent
from drivelab.store import layout
from drivelab.store.cells import cell_value, findings_in
from drivelab.store.read import StoredRun
from drivelab.store.selection import reduced_rows

_SHARES = ("compressible", "duplicate")
_PARAMETER_OF_ACCESS = {
    "zipf": "zipf_theta",
    "pareto": "pareto_h",
    "normal": "normal_deviation",
    "strided": "stride_bytes",
}
_COLUMNS = ("trial", "achieved_backend", "achieved_direct", "achieved_queue_depth_mean", "workload_json", "label")


@dataclass(frozen=True, slots=True)
class StoredConduct:
    """How a trial was carried out, and over how much.

    Attributes
    ----------
    conduct : TrialConduct
        Its levels and commands are for somebody else to add.
    amounts : mapping of str to str
        Range and length of the measurement: they change how sure a number is, and seldom what it means.
    warnings : collection of str
        Codes of the findings that limit what its numbers mean.
    lasting : mapping of str to float
        What lasts of its rates, by metric, where they are those of a cache, as the run saw it.
    at_first : mapping of str to float
        What those rates were before, by metric, where that is known.
    lasting_by_others : mapping of str to float
        The same, with what other runs found of the drive's burst credit.
    """

    conduct: TrialConduct
    amounts: Mapping[str, str] = field(default_factory=dict)
    warnings: Collection[str] = ()
    label: str = ""
    lasting: Mapping[str, float] = field(default_factory=dict)
    lasting_by_others: Mapping[str, float] = field(default_factory=dict)
    at_first: Mapping[str, float] = field(default_factory=dict)


def conduct_of_trials(run: StoredRun) -> dict[str, StoredConduct]:
    """How the trials of a run were carried out, by their name.

    Raises
    ------
    DrivelabError
        S506: the trials cannot be read.
    """
    of_run = [one.code for one in run.findings if one.severity == "invalid" and not one.trial and not one.trials]
    found: dict[str, StoredConduct] = {}
    for part in reduced_rows(run, layout.TRIALS, lambda rows: _conducts(rows, of_run)):
        found |= part
    return found


def _conducts(rows: pa.Table, of_run: list[str]) -> dict[str, StoredConduct]:
    columns = [rows[name].to_pylist() for name in (*_COLUMNS, "findings_json")]
    found = {}
    for name, backend, is_direct, depth, workload_text, label, findings_text in zip(*columns, strict=True):
        workload = cell_value("workload_json", workload_text, name)
        of_trial = findings_in(findings_text, name)
        invalid = {one.code for one in of_trial if one.severity == "invalid"}
        conduct = TrialConduct(
            asked=asked_words(workload),
            backend=backend or "",
            is_direct=is_direct,
            queue_depth=depth,
            invalid=sorted({*invalid, *of_run}),
        )
        warnings = {one.code for one in of_trial if one.severity == "warning"}
        found[name] = StoredConduct(
            conduct,
            _amount_words(workload),
            warnings,
            label or "",
            lasting=lasting_rates(seen_here(of_trial)),
            lasting_by_others=lasting_rates(of_trial),
            at_first=rates_at_first(of_trial),
        )
    return found


def asked_words(workload: Mapping[str, Any]) -> dict[str, str]:
    """What decides what a workload's numbers mean, by its name for people; what is not stored is left out."""
    found: dict[str, str] = {}
    if operations := workload.get("operations"):
        found["operation"] = _mix([(str(one.get("operation")), one.get("weight", 1.0)) for one in operations])
    if sizes := workload.get("block_sizes"):
        found["block size"] = _mix([(format_bytes(one.get("bytes", 0)), one.get("weight", 1.0)) for one in sizes])
    if durability := workload.get("durability"):
        every = int(durability.get("every_writes", 1))
        when = " at the end" if durability.get("at_end") else f" every {every} writes" if every > 1 else ""
        last = " and at the end" if durability.get("last") == "always" else ""
        found["durability"] = f"{durability.get('method')}{when}{last}"
    if access := workload.get("access"):
        found["access"] = _orders(access, workload.get("operations") or [])
        if access.get("kind") == "random" and "covers_once" in access:
            # another program may not tell it
            found["places"] = "each block once" if access["covers_once"] else "some blocks again before others"
    if rewritten := workload.get("rewrite_fraction"):
        found["written back"] = f"{format_percent(rewritten)} of the reads"
    if contents := workload.get("contents"):
        shares = [f"{format_percent(contents.get(f'{name}_fraction') or 0)} {name}" for name in _SHARES]
        found["contents"] = ", ".join(
            [f"{contents.get('kind')} {contents.get('pattern') or ''}".strip()]
            + [one for one in shares if not one.startswith("0 %")]
        )
    if pacing := workload.get("pacing"):
        rate = pacing.get("rate_per_s") or 0
        pause = f", {format_duration_ns(pacing['think_ns'])} pause" if pacing.get("think_ns") else ""
        found["pacing"] = f"{pacing.get('kind')}{f' {rate:g}/s' if rate else ''}{pause}"
    if (files := workload.get("job_files", {})).get("count", 1) > 1:
        found["files of each job"] = f"{files['count']}, {str(files.get('order')).replace('_', ' ')}"
    if recording := workload.get("recording"):
        speed = recording.get("speed")
        found["recording"] = f"{recording.get('source')}, {f'speed {speed:g}' if speed else 'as fast as possible'}"
    plain = {"queue depth": "queue_depth", "job count": "job_count", "file state": "file_state", "direct": "direct"}
    found |= {name: str(workload[key]).lower() for name, key in plain.items() if key in workload}
    if workload.get("shift_bytes") is not None:
        found["shift"] = format_bytes(workload["shift_bytes"])
    return found


def _orders(access: Mapping[str, Any], operations: Iterable[Mapping[str, Any]]) -> str:
    """The order of the addresses; of each operation where they differ."""
    words = {str(one.get("operation")): _access_words(one.get("access") or access) for one in operations}
    if len(set(words.values())) > 1:
        return "; ".join(f"{order} for {name}" for name, order in words.items())
    return next(iter(words.values()), _access_words(access))


def _access_words(access: Mapping[str, Any]) -> str:
    kind = str(access.get("kind"))
    parameter = _PARAMETER_OF_ACCESS.get(kind)
    words = [kind if parameter is None or parameter not in access else f"{kind} {access[parameter]:g}"]
    if access.get("run_blocks", 1) > 1:
        words.append(f"runs of {access['run_blocks']} blocks")
    if access.get("random_fraction", 1.0) < 1:
        words.append(f"{format_percent(access['random_fraction'])} of it")
    return ", ".join(words)


def _amount_words(workload: Mapping[str, Any]) -> dict[str, str]:
    """Range and length of a workload for people."""
    limits, size = workload.get("limits") or {}, (workload.get("target") or {}).get("size_bytes")
    lengths = [format_duration_ns(limits["runtime_ns"])] if limits.get("runtime_ns") else []
    lengths += [format_bytes(limits["bytes"])] if limits.get("bytes") else []
    lengths += [f"{limits['count']} I/Os"] if limits.get("count") else []
    found = {"range": format_bytes(size)} if size else {}
    return found | ({"length": " or ".join(lengths)} if lengths else {})


def _mix(parts: list[tuple[str, float]]) -> str:
    total = sum(weight for _, weight in parts) or 1.0
    if len(parts) == 1:
        return parts[0][0]
    return ", ".join(f"{format_percent(weight / total)} {name}" for name, weight in parts)
