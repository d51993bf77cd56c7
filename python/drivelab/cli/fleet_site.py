"""The command ``drivelab fleet site``: what the runs of many drives tell, as pages that open without a server."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from drivelab.cli.fleet_report import hosts_of, run_directories
from drivelab.model.drive_values import FleetDrive
from drivelab.model.errors import DrivelabError
from drivelab.model.names import counted, counted_of

SCHEMA = 1
SITE_JSON = "site.json"
INDEX, FLEET_PAGE, HISTORY_PAGE = "index.html", "fleet.html", "history.html"
_SENTENCES_MAX = 3
_TOLD_EVERY = 50
_FIXED = ("when (UTC)", "experiment", "host", "drive", "serial", "model", "firmware")
_APART = "beside its peers"


@dataclass(frozen=True, slots=True)
class _Together:
    """What all runs come to together: kept, so that a site to which nothing came is not made again.

    Attributes
    ----------
    made_of : str
        What tells these runs from others.
    sentences : sequence of str
        The answer.
    apart : mapping of str to str
        How far each drive is from its peers that stands apart, by its key.
    names : sequence of str
        Of the files of runs that the site wrote: no other is ever removed.
    """

    made_of: str = ""
    sentences: Sequence[str] = ()
    apart: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        told = {"made_of": self.made_of, "sentences": list(self.sentences), "apart": dict(self.apart)}
        return told | {"names": sorted(self.names)}


def command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN_OR_DIR",
            help="Runs, a fleet, or directories or stores (s3://BUCKET/PREFIX) of runs; else all that are kept here.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the site is made, or made again.")] = Path("site"),
    run_pages: Annotated[
        bool,
        typer.Option("--run-pages/--no-run-pages", help="A report of each run: 0.5 s and up to 1 MB each, once."),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write what the runs of many drives tell as a site: a directory of pages that opens without a server.

    Its front page lists all runs with their drives. It is filtered by words, model,
    host and tags, sorted by any column, and two runs that are ticked are
    compared as 'drivelab compare' does; where both drives have three runs of the
    experiment, it is judged. Beside it stand the report of all drives, as 'drivelab
    fleet report' writes it, and a report of each run.

    Made again, only what is new is made.

    Raises
    ------
    DrivelabError
        U009: there are no runs. S504: not a run. O801, O802: a page cannot be written.
    """
    from drivelab.cli.site_entries import BESIDE, DATA, PAGES
    from drivelab.store.durable import make_directory, write_json

    directories = run_directories(runs or ())
    _require_own(out)
    for folder in (out, out / DATA, out / PAGES, out / BESIDE):
        make_directory(folder)
    before = _kept_together(out)
    names = _names(directories)
    written = {*before.names, *names.values()}
    # what is cut off is known, too, when the site is made again
    write_json(out / SITE_JSON, replace(before, names=tuple(written)).to_json())
    with _told_if_interrupted(out, names):
        entries, new_count = _entries(out, names, with_pages=run_pages)
        if not entries:
            raise DrivelabError("U009", "none of these runs can be read", where=", ".join(runs or ()))
        hosts = hosts_of(directories)
        facts = repr(sorted((e.name, hosts.get(d, "")) for d, e in entries.items()))
        made_of = hashlib.sha256(facts.encode()).hexdigest()
        is_same = made_of == before.made_of
        together = before if is_same else replace(_together(out, entries, hosts), made_of=made_of)
        _write_list(out, entries, hosts, together)
    held = {entry.name for entry in entries.values()}
    _remove(out, written - held)
    write_json(out / SITE_JSON, replace(together, names=tuple(held)).to_json())
    index = out / INDEX
    if as_json:
        found = {"schema": SCHEMA, "page": str(index), "runs": len(entries), "new": new_count}
        print(json.dumps(found | {"answer": next(iter(together.sentences), "")}, indent=2))
        return
    print(f"{counted(len(entries), 'run')}: {new_count} new, {len(entries) - new_count} kept from before")
    print(index)


@contextmanager
def _told_if_interrupted(out: Path, names: Mapping[Path, str]) -> Iterator[None]:
    """Tell what is kept of a site that is interrupted, and how to go on."""
    from drivelab.cli.failure import print_message
    from drivelab.cli.site_entries import DATA

    try:
        yield
    except KeyboardInterrupt:
        kept = sum((out / DATA / f"{name}.json").is_file() for name in names.values())
        print_message(f"kept in {out}: what was made of {counted_of(kept, len(names), 'run')}")
        print_message("go on: the same command again, which makes the rest")
        raise


def _require_own(out: Path) -> None:
    """Refuse a directory that holds anything but a site: pages are replaced there, and removed."""
    if out.is_dir() and any(out.iterdir()) and not (out / SITE_JSON).is_file():
        raise DrivelabError("O802", "the directory is not empty, and holds no site", where=str(out))


def _kept_together(out: Path) -> _Together:
    with suppress(OSError, ValueError, TypeError):
        return _Together(**json.loads((out / SITE_JSON).read_text()))
    return _Together()


def _names(directories: Sequence[Path]) -> dict[Path, str]:
    """What the files of runs are called in a site, as far as the runs can be read."""
    from drivelab.cli.site_entries import name_in_site

    found = {}
    for directory in directories:
        try:
            found[directory] = name_in_site(directory)
        except DrivelabError as error:
            _leave_out(directory, error)
    return found


def _entries(out: Path, names: Mapping[Path, str], *, with_pages: bool) -> tuple[dict[Path, Any], int]:
    """Every run that can be read, and how many of them were made now."""
    from drivelab.cli.failure import print_message
    from drivelab.cli.site_entries import kept_entry, make_entry

    found: dict[Path, Any] = {}
    new_count = 0
    for number, (directory, name) in enumerate(names.items(), start=1):
        try:
            entry = kept_entry(out, name, with_page=with_pages)
            if entry is None:
                entry = make_entry(out, directory, name, with_page=with_pages)
                new_count += 1
                if not new_count % _TOLD_EVERY:
                    print_message(counted_of(number, len(names), "run"))
        except DrivelabError as error:
            if error.code.startswith("O"):
                raise
            _leave_out(directory, error)
            continue
        found[directory] = entry
    return found, new_count


def _leave_out(directory: Path, error: DrivelabError) -> None:
    from drivelab.cli.failure import print_message

    print_message(f"left out: {directory.name}: {error.what}")


def _together(out: Path, entries: Mapping[Path, Any], hosts: Mapping[Path, str]) -> _Together:
    """The reports of all drives beside each other and over time, written, and what they say."""
    found = _beside(out, entries, hosts)
    runs = Counter(target.drive.serial or target.drive.key for one in entries.values() for target in one.targets)
    if max(runs.values(), default=0) == 1:
        (out / HISTORY_PAGE).unlink(missing_ok=True)
        return found
    return replace(found, sentences=(*found.sentences, *_over_time(out, list(entries), hosts)))


def _over_time(out: Path, directories: Sequence[Path], hosts: Mapping[Path, str]) -> tuple[str, ...]:
    """What is first said of the drives over time; the page is written."""
    from drivelab.answers.fleet_history import fleet_history
    from drivelab.report.fleet_history_joint import joint_of_fleet_history
    from drivelab.report.html import write_html_report

    history = fleet_history(directories, hosts)
    if not history.drives:
        return ()
    joint = joint_of_fleet_history(history)
    write_html_report(joint, out / HISTORY_PAGE)
    return _first_of(joint.sentences, 1, history.notes)


def _first_of(sentences: Sequence[str], count: int, notes: Sequence[str]) -> tuple[str, ...]:
    """The first sentences, and those of the notes: what was left out, and how drives are counted."""
    return (*sentences[:count], *sentences[max(count, len(sentences) - len(notes)) :])


def _beside(out: Path, entries: Mapping[Path, Any], hosts: Mapping[Path, str]) -> _Together:
    """All drives beside each other; nothing, and no page, where no two of them share a number."""
    from drivelab.analyse.drive_comparison import compare_drives
    from drivelab.analyse.drive_spread import drive_medians
    from drivelab.answers.drive_values import fleet_numbers
    from drivelab.cli.site_entries import numbers_beside
    from drivelab.report.fleet_joint import joint_of_fleet
    from drivelab.report.html import write_html_report
    from drivelab.report.sentences.fleet_drives import change_words

    found = fleet_numbers(entries, hosts, lambda run, host: numbers_beside(out, entries[run], run, host))
    if not found.numbers:
        (out / FLEET_PAGE).unlink(missing_ok=True)
        return _Together()
    answer = compare_drives(found)
    joint = joint_of_fleet(answer, {number.key: drive_medians(number) for number in found.numbers})
    write_html_report(joint, out / FLEET_PAGE)
    # the worst number of a drive comes first
    apart = {one.drive: change_words(one) for one in reversed(answer.apart)}
    return _Together(sentences=_first_of(joint.sentences, _SENTENCES_MAX, found.notes), apart=apart)


def _write_list(out: Path, entries: Mapping[Path, Any], hosts: Mapping[Path, str], together: _Together) -> None:
    from drivelab.analyse.pairwise import RunOfDrive, pairwise_data
    from drivelab.report.site_page import SiteLink, SiteList, SiteRow, choices_of, write_site_list

    listed = [
        (entry, _of_host(target.drive, hosts.get(directory, "")), target)
        for directory, entry in sorted(entries.items(), key=lambda one: one[1].started_utc)
        for target in entry.targets
    ]
    measured = [
        RunOfDrive(entry.experiment, drive.key, target.numbers) for entry, drive, target in listed if target.numbers
    ]
    data, places = pairwise_data(measured)
    place = iter(places)
    tags = sorted({tag for _, drive, _ in listed for tag in drive.tags})
    columns = (*_FIXED, *tags, *([_APART] if together.apart else []), "answer")
    rows = []
    for entry, drive, target in listed:
        facts = (drive.host, drive.name, drive.serial, drive.model, drive.firmware)
        apart = [together.apart.get(drive.key, "")] if together.apart else []
        own = (*facts, *(drive.tags.get(tag, "") for tag in tags), *apart, target.answer or entry.answer)
        cells = (entry.started_utc[:16].replace("T", " "), entry.experiment, *own)
        rows.append(SiteRow(entry.run, cells, entry.page, next(place) if target.numbers else ()))
    rows.reverse()
    drive_count = len({drive.key for _, drive, _ in listed})
    pages = {FLEET_PAGE: "All drives beside each other", HISTORY_PAGE: "Each drive over time"}
    links = tuple(SiteLink(page, text) for page, text in pages.items() if (out / page).is_file())
    site = SiteList(
        title=f"{counted(len(entries), 'run')} of {counted(drive_count, 'drive')}",
        sentences=tuple(together.sentences),
        links=links,
        columns=columns,
        rows=tuple(rows),
        choices=choices_of(columns, rows, ("experiment", "model", "host", "firmware", *tags)),
        pairwise=data,
    )
    write_site_list(site, out / INDEX)


def _of_host(drive: FleetDrive, host: str) -> FleetDrive:
    """The drive of a host that its fleet calls so."""
    return replace(drive, host=host, key=f"{host}/{drive.key.partition('/')[2]}") if host else drive


def _remove(out: Path, names: Collection[str]) -> None:
    """Take away what was made of runs that are not there any more, or are others now."""
    from drivelab.cli.site_entries import BESIDE, DATA, PAGES

    for folder, ending in ((DATA, ".json"), (BESIDE, ".json"), (PAGES, ".html")):
        for file in (out / folder).glob(f"*{ending}"):
            if file.name.removesuffix(ending) in names:
                file.unlink()
