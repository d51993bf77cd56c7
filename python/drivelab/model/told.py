"""What is told of a field of a workload: in the page of keys, in the schema, and as a flag of ``drivelab io``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

# the groups of flags, in the order of the help text
WHAT, WHERE, HOW, HOW_LONG = "What is issued", "Where", "How it is issued", "How long"
WRITTEN, FILES = "What is written", "Operations on the files of a directory"
PANELS = (WHAT, WHERE, HOW, HOW_LONG, WRITTEN, FILES)
Unit = Literal["", "size", "time", "share"]
_TAKES = {"size": "a size: `512`, `4KiB`, `1MB`", "time": 'a time with its unit: `"5s"`', "share": "0 to 1"}
_EMPTY = {"size": "0", "time": "", "share": "0.0"}
_TYPED_EMPTY = {"size": "0", "time": "0s", "share": "0"}


@dataclass(frozen=True, slots=True)
class Told:
    """The words about a field; what it takes and its default are those of its type where they are not given.

    Attributes
    ----------
    meaning : str
        What it means, in Markdown.
    panel : str
        Group of its flag; empty for a field without one.
    help : str
        The flag in one line; else the meaning.
    flag : str
        Name of the flag, where it is not that of the field.
    unit : str
        How a quantity is written.
    takes : str
        What it takes, in Markdown.
    written : str or None
        The default as one would write it in a file.
    typed : Any
        The default of the flag, where it is another.
    """

    meaning: str
    panel: str = ""
    help: str = ""
    flag: str = ""
    unit: Unit = ""
    takes: str = ""
    written: str | None = None
    typed: Any = ...


def key(default: Any, meaning: str, panel: str = "", help: str = "", **more: Any) -> Any:  # noqa: A002
    """A field with its default and what is told of it; by name more of that, and the rules of `pydantic.Field`."""
    told = {name: more.pop(name) for name in ("flag", "unit", "takes", "written", "typed") if name in more}
    field: FieldInfo = Field(default, **more)
    field.metadata.append(Told(meaning, panel, help, **told))
    return field


@dataclass(frozen=True, slots=True)
class ToldField:
    """A field with what is told of it, and the names that it takes, if these are all there are.

    Attributes
    ----------
    path : tuple of str
        The field, or the table and its field.
    """

    path: tuple[str, ...]
    field: FieldInfo
    told: Told

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it takes; empty where it takes something else."""
        return get_args(self.field.annotation) if get_origin(self.field.annotation) is Literal else ()

    @property
    def flag(self) -> str:
        """Name of its flag, as a keyword."""
        return self.told.flag or self.path[-1]

    @property
    def takes(self) -> str:
        """What it takes, in Markdown."""
        if self.field.annotation is bool:
            return "`true`, `false`"
        names = ", ".join(f"`{name}`" for name in self.names if name != "null")
        return self.told.takes or names or _TAKES.get(self.told.unit) or self._bounds()

    def _bounds(self) -> str:
        """The numbers that it takes, in words."""
        bounds = {type(one).__name__: one for one in self.field.metadata if isinstance(one, Ge | Gt | Le | Lt)}
        least, most = bounds.get("Ge"), bounds.get("Le")
        if isinstance(least, Ge) and isinstance(most, Le):
            return f"{least.ge} to {most.le}"
        if isinstance(above := bounds.get("Gt"), Gt):
            end = f", at most {most.le}" if isinstance(most, Le) else ""
            return f"above {above.gt}{end or ', below ' + str(getattr(bounds.get('Lt'), 'lt', ''))}"
        return "1 or more" if isinstance(least, Ge) and least.ge == 1 else "a number"

    @property
    def default(self) -> str:
        """The default as one would write it in a file; empty where there is none."""
        if self.told.written is not None:
            return self.told.written
        if self.told.unit and not self.field.default:
            return _EMPTY[self.told.unit]
        value = self.field.default
        if isinstance(value, bool):
            return str(value).lower()
        return f'"{value}"' if isinstance(value, str) else str(value)

    @property
    def typed_default(self) -> Any:
        """What the flag is when nothing is typed."""
        if self.told.typed is not ...:
            return self.told.typed
        return self.field.default if not self.told.unit else _TYPED_EMPTY[self.told.unit]

    @property
    def help(self) -> str:
        """The flag in one line."""
        meaning = self.told.meaning.replace("`", "")
        return self.told.help or f"{meaning[0].upper()}{meaning[1:]}."


def told_fields(model: type[BaseModel], *above: str) -> Iterator[ToldField]:
    """The fields of a table that something is told of; those of its tables follow it."""
    for name, field in model.model_fields.items():
        told = next((one for one in field.metadata if isinstance(one, Told)), None)
        if told is not None:
            yield ToldField((*above, name), field, told)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel) and not above:
            yield from told_fields(field.annotation, name)
