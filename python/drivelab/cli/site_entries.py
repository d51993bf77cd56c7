"""What a site keeps of each run: its row, its numbers and its page, made once."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from drivelab import __version__
from drivelab.analyse.run_numbers import CombinationNumbers
from drivelab.answers.drive_values import NumbersOfRun, drives_of_run, numbers_of_drives
from drivelab.answers.run_numbers import numbers_of_run
from drivelab.cli.failure import print_message
from drivelab.cli.run_in_short import answer_of_targets, answer_words, row_of, told_of_targets
from drivelab.joint_report import joint_report
from drivelab.model.drive_values import FleetDrive
from drivelab.model.errors import DrivelabError
from drivelab.model.run_answer import RunAnswer
from drivelab.report.html import write_html_report
from drivelab.store.durable import write_json, written_aside
from drivelab.store.layout import RUN_JSON
from drivelab.store.read import StoredRun, open_run
from drivelab.store.regular_file import read_regular
from drivelab.store.run_record import RUN_JSON_BYTES_MAX

FORMAT = 3
DATA, PAGES, BESIDE = "data", "runs", "beside"
_NAME_MAX = 120
_DIGEST = 10


@dataclass(frozen=True, slots=True)
class SiteTarget:
    """A target of a run: its drive as the run knows it, its numbers, and, of several targets, what it alone came to."""

    drive: FleetDrive
    numbers: tuple[CombinationNumbers, ...]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class SiteEntry:
    """A run in a site.

    Attributes
    ----------
    name : str
        Of its files there.
    run, started_utc, experiment, answer : str
        Its own name, when it began, what it was, and what it came to.
    is_complete : bool
        Whether nothing more comes: of any other run all is made again.
    """

    name: str
    run: str
    started_utc: str
    experiment: str
    answer: str
    is_complete: bool
    has_page: bool
    targets: tuple[SiteTarget, ...]

    @property
    def page(self) -> str:
        """Where its report lies in the site; empty where there is none."""
        return f"{PAGES}/{self.name}.html" if self.has_page else ""


@dataclass(frozen=True, slots=True)
class _Beside:
    """What is kept of a run for the report of all drives: it was made for a host that is called so."""

    format: int
    host: str
    numbers: NumbersOfRun


_KEPT_BESIDE = TypeAdapter(_Beside)


def name_in_site(directory: Path) -> str:
    """What the files of a run are called there: another name as soon as anything is another."""
    try:
        content, _ = read_regular(directory / RUN_JSON, bytes_max=RUN_JSON_BYTES_MAX)
    except OSError as error:
        raise DrivelabError("S504", f"{directory} holds no readable run.json: {error.strerror}") from error
    digest = hashlib.sha256(content + __version__.encode()).hexdigest()[:_DIGEST]
    return f"{re.sub(r'[^A-Za-z0-9.-]', '_', directory.name)[:_NAME_MAX]}-{digest}"


def kept_entry(site: Path, name: str, *, with_page: bool) -> SiteEntry | None:
    """A run as it was kept when the site was made before; None where it has to be made."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        content, _ = read_regular(site / DATA / f"{name}.json", bytes_max=RUN_JSON_BYTES_MAX)
        found = json.loads(content)
        entry = _entry_of(found)
        has_page = (site / PAGES / f"{name}.html").is_file()
        if found["format"] == FORMAT and entry.is_complete and (has_page or not with_page or not entry.has_page):
            return replace(entry, has_page=has_page)
    return None


def make_entry(site: Path, directory: Path, name: str, *, with_page: bool) -> SiteEntry:
    """A run that is new: its page and what is kept of it are written."""
    run = open_run(directory)
    answer = answer_of_targets(run)
    row = row_of(run, 0, answer)
    experiment = f"{row['experiment'] or '?'}{' (quick)' if run.record.is_quick else ''}"
    entry = SiteEntry(
        name=name,
        run=run.name,
        started_utc=run.record.started_utc,
        experiment=experiment,
        answer=answer_words(row),
        is_complete=run.record.status == "complete",
        has_page=not with_page or _write_page(run, site / PAGES / f"{name}.html"),
        targets=_targets(run, row, answer),
    )
    write_json(site / DATA / f"{name}.json", {"format": FORMAT} | asdict(entry))
    return entry if with_page else replace(entry, has_page=False)


def numbers_beside(site: Path, entry: SiteEntry, directory: Path, host: str) -> NumbersOfRun:
    """What a run adds to the numbers of all drives, as it was kept when the site was made before, or read anew.

    Raises
    ------
    DrivelabError
        S504 to S506: it cannot be read. O801, O802: what is kept of it cannot be written.
    """
    path = site / BESIDE / f"{entry.name}.json"
    with suppress(OSError, ValueError):
        kept = _KEPT_BESIDE.validate_json(read_regular(path, bytes_max=RUN_JSON_BYTES_MAX)[0])
        if entry.is_complete and (kept.format, kept.host) == (FORMAT, host):
            return kept.numbers
    found = numbers_of_drives(open_run(directory), host)
    with written_aside(path) as aside:
        aside.write_bytes(_KEPT_BESIDE.dump_json(_Beside(FORMAT, host, found)))
    return found


def _targets(run: StoredRun, row: Mapping[str, Any], answer: RunAnswer | None) -> tuple[SiteTarget, ...]:
    try:
        numbers: Mapping[str, list[CombinationNumbers]] = numbers_of_run(run)
    except DrivelabError as error:
        print_message(f"no numbers of {run.name}: {error.what}")
        numbers = {}
    drives = drives_of_run(run.record, numbers)
    told = told_of_targets(run, answer) if answer else {}
    return tuple(
        SiteTarget(
            drive,
            tuple(numbers.get(label, ())),
            answer_words({**row, "in_short": told[label]}) if label in told else "",
        )
        for label, drive in drives.items()
    )


def _write_page(run: StoredRun, path: Path) -> bool:
    """Whether there is a report: a run without a single trial has none."""
    try:
        joint = joint_report([run])
    except DrivelabError as error:
        print_message(f"no page of {run.name}: {error.what}")
        return False
    write_html_report(joint, path)
    return True


def _entry_of(found: Mapping[str, Any]) -> SiteEntry:
    targets = tuple(
        SiteTarget(FleetDrive(**one["drive"]), tuple(map(CombinationNumbers.from_json, one["numbers"])), one["answer"])
        for one in found["targets"]
    )
    own = {name: value for name, value in found.items() if name != "format"}
    return SiteEntry(**own | {"targets": targets})
