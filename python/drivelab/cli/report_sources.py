"""What a report is made of: runs, and published pages, by what was typed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, takewhile
from pathlib import Path

from drivelab.cli.compare import runs_of
from drivelab.model.errors import DrivelabError
from drivelab.model.result_set import Observation, ResultSet
from drivelab.reference.load import PREFIX, load_reference, reference_names
from drivelab.report.tables.small_writes import is_small_write
from drivelab.store.find_run import runs_at, stored_in
from drivelab.store.followed import StoredFollowed, holds_followed, open_followed
from drivelab.store.read import StoredRun

OPTION = "--with-reference"
# stands for the pages that measured the same, when none is named
MATCHING = "matching"


def with_matching(arguments: Sequence[str]) -> list[str]:
    """The arguments with a value for an option that may go without: the next argument only where it names a page.

    Parameters
    ----------
    arguments : sequence of str
        As typed; what stands behind ``--`` is left alone.
    """
    options = list(takewhile(lambda argument: argument != "--", arguments))
    if OPTION not in options:
        return list(arguments)
    known = {name for page in reference_names() for name in (page, f"{PREFIX}{page}", MATCHING)}
    following = [*options[1:], ""]
    filled = [
        f"{OPTION}={MATCHING}" if argument == OPTION and after not in known else argument
        for argument, after in zip(options, following, strict=True)
    ]
    return [*filled, *arguments[len(options) :]]


def with_pages(names: Sequence[str]) -> list[str]:
    """The names as typed, those of published pages with what means one: a run or a path of that name comes first."""
    pages = reference_names()
    return [
        f"{PREFIX}{name}" if name in pages and stored_in(name) is None and not Path(name).exists() else name
        for name in names
    ]


def followed_source(names: Sequence[str]) -> StoredFollowed | None:
    """The followed program, where one is named; it stands alone, as its calls are no numbers of a workload."""
    runs = [path for name in names if not name.startswith(PREFIX) for path in runs_at(name)]
    found = [path for path in runs if holds_followed(path)]
    named = max(len(names), len(runs))
    if found and named > 1:
        more = "1 more is" if named == 2 else f"{named - 1} more are"
        what = f"{found[0].name} is a program that was followed, and {more} named"
        raise DrivelabError("U004", what, where="drivelab report", do=f"drivelab report {found[0]}")
    return open_followed(found[0]) if found else None


def split_sources(names: Sequence[str]) -> tuple[list[StoredRun], list[str]]:
    """Runs, and names of published pages, each once, in the order in which they were typed."""
    pages = dict.fromkeys(name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX))
    runs: dict[Path, StoredRun] = {}
    for name in names:
        if not name.startswith(PREFIX):
            for run in runs_of(name):
                runs.setdefault(run.directory.resolve(), run)
    unknown = [name for name in pages if name not in reference_names()]
    if unknown:
        # says which there are
        load_reference(unknown[0])
    return list(runs.values()), list(pages)


def matching_pages(sets: Sequence[ResultSet]) -> list[str]:
    """Names of the published pages that measured with a workload of these results."""
    measured = {_kind(one) for one in chain.from_iterable(each.observations for each in sets)}
    found = [name for name in reference_names() if measured & {_kind(one) for one in load_reference(name).observations}]
    if not found:
        what = "no published page measured with a workload of these runs"
        do = f"name one all the same: {OPTION}=PAGE, of {', '.join(reference_names())}"
        raise DrivelabError("U005", what, where=OPTION, do=do)
    return found


def _kind(one: Observation) -> tuple[object, ...]:
    # tables hold small durable writes of one size against each other, whatever a page calls them
    if is_small_write(one) and one.block_size_bytes is not None:
        return "small write", one.block_size_bytes
    return one.workload, one.operation, one.block_size_bytes, one.is_durable
