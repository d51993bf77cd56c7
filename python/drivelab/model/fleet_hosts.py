"""The hosts of a fleet, and which of their drives are meant: what a user writes in ``hosts.toml``.

The names of the fields of `FleetHosts`, `HostEntry` and `DriveRule` are the keys of the file.
"""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from drivelab.model.errors import DrivelabError
from drivelab.model.frozen import FrozenModel
from drivelab.model.quantities import ByteCount
from drivelab.model.tags import parse_tags

# goes into file names, and to ssh behind no option
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9:][A-Za-z0-9.:_%-]*$", max_length=255)]
User = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9._-]*$", max_length=64)]
# a word of the local command, and no option of it
Target = Annotated[str, Field(pattern=r"^[^-\x00-\x1f\x7f][^\x00-\x1f\x7f]*$", max_length=4096)]


def _name(written: str) -> str:
    """What a host may be called."""
    if not _NAME.fullmatch(written):
        raise ValueError("a name has at most 64 letters, digits, '-', '.' and '_', a letter or a digit at both ends")
    return written


def _some_hosts(written: Mapping[str, HostEntry]) -> Mapping[str, HostEntry]:
    """Hosts, of which there is one at least."""
    if not written:
        raise PydanticCustomError("rule", "name at least one host", {"do": "add a table for each: [hosts.NAME]"})
    return written


def _words(written: str) -> str:
    """A command, if a shell could take it apart."""
    try:
        shlex.split(written)
    except ValueError as error:
        raise ValueError(f"not the words of a command: {str(error).lower()}") from None
    return written


def _tags(written: Mapping[str, str]) -> Mapping[str, str]:
    """Tags that a run takes."""
    try:
        return parse_tags(f"{key}={value}" for key, value in written.items())
    except DrivelabError as error:
        raise ValueError(error.what) from None


HostName = Annotated[str, AfterValidator(_name)]
Tags = Annotated[Mapping[str, str], AfterValidator(_tags)]
StartCommand = Annotated[
    str, Field(pattern=r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"), AfterValidator(_words)
]


class DriveRule(FrozenModel):
    """Which drives are meant: those that meet all that is said.

    A rule without `in_use` leaves out what is mounted, swapped on, or held by another device.
    """

    serial: str | None = None
    name: str | None = None
    model: str | None = None
    transport: str | None = None
    rotational: bool | None = None
    in_use: bool = False
    min_size: ByteCount | None = None

    def mismatch(self, drive: Mapping[str, Any]) -> str:
        """Why a drive is not meant; empty where it is.

        Parameters
        ----------
        drive : mapping of str to Any
            One of ``drivelab drives --json --all``.
        """
        if self.serial is not None and self.serial not in drive["serials"]:
            return f"its serial is not {self.serial}"
        if self.name is not None and self.name != drive["name"]:
            return f"it is not {self.name}"
        model = drive["model"] or ""
        if self.model is not None and not fnmatch.fnmatchcase(model, self.model):
            return f"its model is {model or 'not told'}"
        if self.transport is not None and self.transport != drive["transport"]:
            return f"it is connected by {drive['transport']}"
        if self.rotational is not None and self.rotational != drive["is_rotational"]:
            return "it rotates" if drive["is_rotational"] else "it does not rotate"
        if self.min_size is not None and drive["size_bytes"] < self.min_size:
            return "it is smaller"
        touch = drive["touch"]
        if not self.in_use and touch["verdict"] in ("in_use", "unusable"):
            return "; ".join(touch["reasons"])
        return ""


def _rule_of(written: object) -> object:
    """A rule of one word is the serial of a drive."""
    return {"serial": written} if isinstance(written, str) else written


Rule = Annotated[DriveRule, BeforeValidator(_rule_of)]


class HostEntry(FrozenModel):
    """One host, or what all of them share: how it is reached, and what of it is meant.

    `drivelab` is the command there. What a host does not say is as in ``[defaults]``.
    """

    address: Address | None = None
    user: User | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    sudo: bool | None = None
    drivelab: StartCommand | None = None
    drives: tuple[Rule, ...] | None = None
    targets: tuple[Target, ...] | None = None
    tags: Tags = Field(default_factory=dict)

    def means(self, drive: Mapping[str, Any]) -> bool:
        """Whether one of its rules means a drive of this host."""
        return any(not rule.mismatch(drive) for rule in self.drives or ())

    def over(self, shared: HostEntry) -> HostEntry:
        """This entry with the other's where it says nothing; tags of both, its own first."""
        own = self.model_dump(exclude_none=True, exclude={"tags"})
        merged = shared.model_dump(exclude_none=True, exclude={"tags"}) | own
        return HostEntry.model_validate(merged | {"tags": {**shared.tags, **self.tags}})


class FleetHosts(FrozenModel):
    """What a ``hosts.toml`` says."""

    format: Literal[1]
    defaults: HostEntry = Field(default_factory=HostEntry)
    hosts: Annotated[Mapping[HostName, HostEntry], AfterValidator(_some_hosts)]

    @model_validator(mode="after")
    def _rules_say_something(self) -> FleetHosts:
        """No rule means every drive only because it says nothing."""
        entries = [(("hosts", name), entry) for name, entry in self.hosts.items()]
        for place, entry in [(("defaults",), self.defaults), *entries]:
            for number, rule in enumerate(entry.drives or ()):
                if not rule.model_dump(exclude_defaults=True, exclude={"in_use"}):
                    do = 'say which drives are meant; all that are not in use: { model = "*" }'
                    context = {"place": (*place, "drives", number), "do": do}
                    raise PydanticCustomError("rule", "a rule says something of a drive", context)
        return self

    def complete(self) -> dict[str, HostEntry]:
        """Every host with what it shares with the others, by its name, in the order of the file."""
        return {name: entry.over(self.defaults) for name, entry in self.hosts.items()}
