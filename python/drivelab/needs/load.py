"""Loads needs: the built-in ones by name, a user's own by path."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources

from pydantic import ValidationError

from drivelab.experiments.load import document_of, looks_like_path, text_of
from drivelab.experiments.mistakes import Tables, mistake_in
from drivelab.experiments.toml_lines import Place, line_of
from drivelab.model.errors import DrivelabError
from drivelab.model.names import did_you_mean
from drivelab.model.need import AskedLimit, Capability, Need
from drivelab.plan.check import trial_names

# in the order in which they are told: limits first, and what many people run
NEED_NAMES = (
    *("etcd", "zookeeper", "cockroachdb", "consul", "logcabin", "redis-aof", "postgres", "kafka", "ceph"),
    *("redis-always", "sqlite-wal", "sqlite", "mariadb"),
)
# what these are found by as well; the files tell which is which
OTHER_NAMES = ("kubernetes", "postgresql", "mysql", "innodb", "redis")
_TABLES: Tables = {(): Need, ("thresholds",): AskedLimit, ("capability",): Capability}


@cache
def built_in_needs() -> tuple[Need, ...]:
    """All needs that come with drivelab."""
    folder = resources.files("drivelab.needs")
    files = [f"{name}.toml" for name in NEED_NAMES]
    return tuple(parse_need((folder / file).read_text(encoding="utf-8"), file) for file in files)


def load_need(name_or_path: str) -> Need:
    """The need of that name or other name, or in that file.

    Parameters
    ----------
    name_or_path : str
        A built-in name, or the path of a TOML file; what holds a slash or ends
        in ``.toml`` is a path.

    Raises
    ------
    DrivelabError
        U005: neither a built-in name nor a file that can be read. P702: not
        TOML. P703: a key is wrong; the error names file, line and key.
    """
    if looks_like_path(name_or_path):
        return parse_need(text_of(name_or_path, code="U005"), name_or_path)
    by_name = {name: need for need in built_in_needs() for name in (need.name, *need.aliases)}
    asked = name_or_path.lower()
    need = by_name.get(asked)
    if need is None:
        do = f"{_guess(asked, list(by_name))}, or name a file: ./NEED.toml"
        raise DrivelabError("U005", f"'{name_or_path}' is not a known need", do=do)
    return need.model_copy(update={"title": need.aliases.get(asked, need.title)})


def parse_need(text: str, file: str) -> Need:
    """The need in a TOML document.

    Raises
    ------
    DrivelabError
        P702: not TOML. P703: a key is wrong.
    """
    document = document_of(text, file)
    try:
        need = Need.model_validate(document)
    except ValidationError as error:
        raise mistake_in(document, error, text=text, file=file, tables=_TABLES) from error
    places: list[tuple[Place, str]] = [
        (("thresholds", number, "trial"), one.trial) for number, one in enumerate(need.thresholds)
    ]
    told = need.capability.trials if need.capability else ()
    places += [(("capability", "trials", number), trial) for number, trial in enumerate(told)]
    known = trial_names(need.program)
    for place, trial in places:
        if trial not in known:
            where = f"{file}:{line_of(text, place)}"
            raise DrivelabError("P703", f"a check has no trial {trial}", where=where, do=_guess(trial, known))
    return need


def _guess(written: str, known: Sequence[str]) -> str:
    # programs whose names end alike are not each other (mongodb, innodb)
    alike = [name for name in known if name[:1] == written[:1]]
    return f"{did_you_mean(written, alike)} choose one of: {', '.join(known)}".lstrip()
