"""What became of one drive or directory over time: its kept runs in order, and what changed between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from drivelab.analyse.newest_run import RunOfHistory, judge_newest
from drivelab.analyse.threshold_words import limit_text, value_text
from drivelab.answers.compared_trials import COMPARED_METRICS, ReadRun, compared_trials, read_run
from drivelab.answers.drive_of_run import drive_names, facts_before, is_on, is_scratch
from drivelab.answers.measured_on import as_text
from drivelab.answers.others_bursts import left_of_bursts
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.finding import FOREIGN_WORK
from drivelab.model.history import NUMBERS, History, HistoryRow, with_changes
from drivelab.model.lasting_rate import as_it_lasts, seen_here
from drivelab.model.verdict import COMMITS, Threshold, verdicts_in
from drivelab.store.cells import findings_in
from drivelab.store.read import StoredRun
from drivelab.store.run_record import RunRecord

BUSY, CHECK = "busy machine", "check"
_HOSTS_NAMED = 3


def history_of(runs: Iterable[StoredRun], target: str, *, with_every_kind: bool = False, here: str = "") -> History:
    """The history of the drive that a path, a label or a serial means.

    It is that of its checks, which can be laid beside each other; where there is none, of all that was run.

    Parameters
    ----------
    runs : iterable of StoredRun
        All that are kept, the oldest first.
    target : str
        What was typed. The newest run of it tells the drive: runs are of the same drive where serial or WWN
        is the same, whatever its path was, and without either where the path is. ``HOST:TARGET`` is that of one host.
    with_every_kind : bool
        Whether to have all other runs, too.
    here : str
        Name of this computer, whose runs are meant where other hosts have other drives of that path or name.

    Raises
    ------
    DrivelabError
        U053: several hosts have such a drive, and none is named.
    """
    target, every = _of_host(target, list(runs), here)
    kept = [run for run in every if len(run.record.targets) == 1]
    meant = [run for run in kept if is_on(target, run.record) or target in drive_names(run.record)]
    names = drive_names(meant[-1].record) if meant else frozenset()
    # of one label there may be several models, of which none is the other
    models = [facts_before(run.record).get("simulated") for run in meant]
    alike = [run for run, model in zip(meant, models, strict=True) if model == models[-1]]
    same = [run for run in kept if names & drive_names(run.record)] if names else alike
    others = sum(run not in same for run in meant)
    kinds = Counter(_kind(run) for run in same)
    # without a check there are no numbers that others would stand beside without
    has_every_kind = with_every_kind or CHECK not in kinds
    if not has_every_kind:
        same = [run for run in same if _kind(run) == CHECK]
        kinds -= Counter({CHECK: len(same)})
    is_simulated = bool(same) and bool(facts_before(same[-1].record).get("simulated"))
    rows, judged, units = read_history(RunOfDrive(run, run.record) for run in same)
    return History(
        target=target,
        rows=rows,
        others=others,
        with_other_drives=sum(len(run.record.targets) > 1 and is_on(target, run.record) for run in every),
        # a model has no scatter to hold a run against
        judged=() if is_simulated else judge_newest(judged, units),
        other_kinds={} if has_every_kind else dict(kinds),
        is_simulated=is_simulated,
        left_of_burst=next(reversed(left_of_bursts(same).values()), ""),
    )


@dataclass(frozen=True, slots=True)
class RunOfDrive:
    """A run as far as it is of one drive.

    Attributes
    ----------
    record : RunRecord
        Of this drive's target alone.
    labels : frozenset of str
        Those of the targets that lie on the drive; empty where these are all that the run has.
    """

    run: StoredRun
    record: RunRecord
    labels: frozenset[str] = frozenset()

    def read(self) -> ReadRun:
        """Its trials on the drive."""
        read = read_run(self.run, COMPARED_METRICS)
        return replace(read, trials=[one for one in read.trials if not self.labels or one.target in self.labels])


def read_history(
    runs: Iterable[RunOfDrive],
) -> tuple[tuple[HistoryRow, ...], list[RunOfHistory], dict[str, Unit]]:
    """The rows of one drive's runs, the oldest first, what is judged of each, and the unit of every metric.

    Raises
    ------
    DrivelabError
        S506: a table of a run cannot be read.
    """
    rows: list[HistoryRow] = []
    judged: list[RunOfHistory] = []
    units: dict[str, Unit] = {}
    for run in runs:
        read = run.read()
        units |= read.units
        facts = _facts_of(run.record)
        judged.append(_judged_run(run, read, facts))
        rows.append(_row(run, facts, judged[-1].left_out))
    return with_changes(rows), judged, units


def _of_host(target: str, runs: list[StoredRun], here: str) -> tuple[str, list[StoredRun]]:
    """What is asked for without its host, and the runs that it may mean."""
    named, _, rest = target.partition(":")
    if rest and (its := [run for run in runs if _host(run) == named]):
        return rest, its
    drives: dict[str, set[frozenset[str]]] = defaultdict(set)
    for run in runs:
        if is_on(target, run.record) and (names := drive_names(run.record)):
            drives[_host(run)].add(names)
    # one drive may have been in several hosts, and one host may have had several names
    if len(drives) < 2 or len(set().union(*drives.values())) == 1:
        return target, runs
    if here not in drives:
        hosts = sorted(drives)
        what = f"{target} means drives of {len(hosts)} hosts: {', '.join(hosts[:_HOSTS_NAMED])}"
        more = ", ..." if len(hosts) > _HOSTS_NAMED else ""
        do = f"name one, or a serial: drivelab history {hosts[0]}:{target}"
        raise DrivelabError("U053", f"{what}{more}", where="drivelab history", do=do)
    return target, [run for run in runs if _host(run) == here]


def _host(run: StoredRun) -> str:
    return as_text(run.record.host.get("hostname"))


def _kind(run: StoredRun) -> str:
    """What experiment it is, or a check."""
    return as_text(run.record.experiment.get("name"))


def _judged_run(run: RunOfDrive, read: ReadRun, facts: Mapping[str, str]) -> RunOfHistory:
    """A run without the trials that others' work disturbed; left out where that is most of them."""
    record = run.record
    quiet = [
        replace(one, place="")
        for one in compared_trials([read], {})
        if FOREIGN_WORK not in read.conducts[one.trial.name].warnings
    ]
    kind = (
        as_text(record.experiment.get("name")),
        "quick" if record.is_quick else "full",
        facts.get("file system", ""),
    )
    left_out: str = "" if record.status == "complete" else record.status or "unfinished"
    if not left_out and 2 * len(quiet) < len(read.trials):
        left_out = BUSY
    return RunOfHistory(run.run.name, kind, left_out, quiet)


def _facts_of(record: RunRecord) -> dict[str, str]:
    """What numbers may depend on, as far as it is known."""
    facts = facts_before(record)
    drives = facts.get("drives") or [{}]
    smart: Sequence[Mapping[str, Any]] = record.targets[0].get("smart_before") or ({},)
    used = smart[0].get("percentage_used")
    found = {
        # the device of a scratch drive is whichever was free
        "target": ("" if is_scratch(facts) else as_text(facts.get("path"))) or as_text(record.targets[0].get("label")),
        "host": as_text(record.host.get("hostname")),
        "file system": as_text((facts.get("filesystem") or {}).get("type")),
        "kernel": as_text(record.host.get("kernel_release")),
        "firmware": as_text(drives[0].get("firmware")),
        "drivelab": record.drivelab_version,
        "wear": "" if used is None else f"{used} %",
    }
    return {name: value for name, value in found.items() if value}


def _row(run: RunOfDrive, facts: Mapping[str, str], left_out: str) -> HistoryRow:
    record = run.record
    present = set(run.run.trial_names)
    trials = {trial: _estimates(run.run, trial) for trial, _ in NUMBERS.values() if trial in present}
    return HistoryRow(
        run=run.run.name,
        started_utc=record.started_utc,
        experiment=as_text(record.experiment.get("name")),
        need=as_text(record.verdict.get("need")),
        outcome=as_text(record.verdict.get("outcome")) or record.status,
        answer=as_text(record.verdict.get("sentence")),
        numbers={
            name: trials[trial][metric]
            for name, (trial, metric) in NUMBERS.items()
            if trial in trials and metric in trials[trial]
        },
        facts=facts,
        is_quick=record.is_quick,
        left_out=left_out,
        error=record.error,
        outcomes=outcomes if len(outcomes := _outcomes(record)) > 1 else {},
        wanted_per_s=_wanted_per_s(record),
        judged=_judged_number(record.verdict),
    )


def _estimates(run: StoredRun, trial: str) -> dict[str, Estimate]:
    """The numbers of a trial as the check that it is of told them."""
    row = run.trial(trial)
    return as_it_lasts(run.estimates_of(row), seen_here(findings_in(row["findings_json"], trial)))


def _judged_number(verdict: Mapping[str, Any]) -> str:
    """The number that decides a verdict which is no yes; empty where a row has it anyway, and of several needs."""
    checks = verdict.get("checks") or () if verdict.get("outcome") in ("fail", "undecided") else ()
    deciding = [one for one in checks if one["outcome"] == verdict["outcome"] and one["estimate"]]
    if not deciding or deciding[0]["threshold"]["force"] != "required":
        return ""
    threshold, estimate = Threshold(**deciding[0]["threshold"]), Estimate(**deciding[0]["estimate"])
    if (threshold.trial, threshold.metric) in NUMBERS.values() or threshold.metric == COMMITS:
        return ""
    return f"{threshold.text.format(value=value_text(threshold, estimate))}; {limit_text(threshold)}"


def _wanted_per_s(record: RunRecord) -> float | None:
    """Commits a second that a check of one program was asked for."""
    asked = [one["threshold"] for one in record.verdict.get("checks") or ()]
    return next((float(one["limit"]) for one in asked if one["metric"] == COMMITS), None)


def _outcomes(record: RunRecord) -> Counter[str]:
    """How many of the programs with a limit ended how."""
    return Counter(as_text(one["outcome"]) for one in verdicts_in(record.verdict) if one.get("checks"))
