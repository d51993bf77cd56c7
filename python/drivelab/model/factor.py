"""A factor: what an experiment varies, one level after the other."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema

from drivelab.model.frozen import FrozenModel
from drivelab.model.option_rule import RefusedOption, refused_mkfs_option, refused_mount_option
from drivelab.model.setting import SettingName, canonical_level
from drivelab.model.workload_keys import broken_rule
from drivelab.model.workload_pattern import WorkloadPattern

FileSystemType = Literal["raw", "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,39}$")]
# done before a trial; there is nothing to put back
ActionName = Literal["trim", "purge", "precondition", "page-cache"]
ACTION_LEVELS: dict[str, tuple[str, ...]] = {
    "trim": ("none", "device", "fstrim"),
    "purge": ("none", "nvme-format", "nvme-sanitize", "ata-secure-erase", "any"),
    "precondition": ("none", "sequential", "random-steady"),
    "page-cache": ("keep", "drop", "warm"),
}


def _level_text(value: object) -> object:
    """A level as text: a switch is on or off, a number its digits."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if isinstance(value, int) else value


LevelText = Annotated[
    str, BeforeValidator(_level_text), Field(min_length=1), WithJsonSchema({"type": ["string", "integer", "boolean"]})
]


class FileSystemLevel(FrozenModel):
    """A file system made on the target and mounted, or ``raw``: none at all."""

    type: FileSystemType
    name: Name
    mkfs_options: tuple[str, ...] = ()
    mount_options: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _named_after_its_type(cls, value: object) -> object:
        given = {"type": value} if isinstance(value, str) else value
        return {"name": given.get("type"), **given} if isinstance(given, dict) else given

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """What an editor accepts: the type alone, or a table, which is named after its type."""
        return _or_text(handler, core, required="type", text={"enum": list(get_args(FileSystemType))})

    @model_validator(mode="after")
    def _raw_has_no_options(self) -> Self:
        if self.type == "raw" and (self.mkfs_options or self.mount_options):
            raise ValueError("raw has neither mkfs_options nor mount_options")
        return self

    @model_validator(mode="after")
    def _options_are_listed(self) -> Self:
        if self.type != "raw":
            _refuse(refused_mkfs_option(self.type, self.mkfs_options), "mkfs_options")
            _refuse(refused_mount_option(self.type, self.mount_options), "mount_options")
        return self

    def mounted_with(self, options: tuple[str, ...]) -> FileSystemLevel:
        """The same file system with more mount options."""
        return self.model_copy(update={"mount_options": (*self.mount_options, *options)})


class MountLevel(FrozenModel):
    """Options that a file system is mounted with."""

    name: Name
    options: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _named_after_its_option(cls, value: object) -> object:
        return {"name": value, "options": (value,)} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """What an editor accepts: one option, or a table."""
        return _or_text(handler, core, required="name", text={"type": "string"})


def _refuse(refused: RefusedOption | None, key: str) -> None:
    if refused is not None:
        raise broken_rule(refused.what, below=(key, refused.place), code="P713", do=refused.do)


def _or_text(handler: GetJsonSchemaHandler, core: CoreSchema, *, required: str, text: dict[str, Any]) -> dict[str, Any]:
    table = handler(core)
    handler.resolve_ref_schema(table)["required"] = [required]
    return {"anyOf": [text, table]}


class _Factor(FrozenModel):
    """What every factor has: levels, fewer of them when scaled down, and the workloads it is for."""

    setting: str
    levels: tuple[Any, ...]
    quick_levels: tuple[Any, ...] = ()
    workloads: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the factor in tables and figures."""
        return self.setting

    def levels_at(self, *, quick: bool) -> tuple[Any, ...]:
        """The levels at full size, or scaled down."""
        return (self.quick_levels or self.levels) if quick else self.levels

    @staticmethod
    def name_of(level: Any) -> str:
        """Name of a level."""
        return str(level.name) if hasattr(level, "name") else str(level)

    def level_of(self, given: Any, *, quick: bool) -> Any:
        """The level that goes by a name, as a file writes it; None when there is none."""
        name = self.name_of(given)
        return next((level for level in self.levels_at(quick=quick) if self.name_of(level) == name), None)


class FileSystemFactor(_Factor):
    """Varies the file system that lies between the workload and the drive."""

    setting: Literal["filesystem"]
    levels: tuple[FileSystemLevel, ...] = Field(min_length=1)
    quick_levels: tuple[FileSystemLevel, ...] = ()


class MountFactor(_Factor):
    """Varies how the file system is mounted; the bare drive is not concerned."""

    setting: Literal["mount"]
    levels: tuple[MountLevel, ...] = Field(min_length=1)
    quick_levels: tuple[MountLevel, ...] = ()


class ActionFactor(_Factor):
    """Varies what is done to the drive, the file system or the page cache before a trial."""

    setting: ActionName
    levels: tuple[str, ...] = Field(min_length=1)
    quick_levels: tuple[str, ...] = ()

    @field_validator("levels", "quick_levels")
    @classmethod
    def _levels_are_known(cls, levels: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        name = info.data.get("setting", "")
        known = ACTION_LEVELS.get(name, levels)
        for place, level in enumerate(levels):
            if level not in known:
                raise broken_rule(f"{name} can be {', '.join(known)}, not '{level}'", below=(place,))
        return levels


def _canonical(name: str, level: str, place: int) -> str:
    try:
        return canonical_level(name, level)
    except ValueError as error:
        raise broken_rule(str(error), below=(place,)) from error


class SettingFactor(_Factor):
    """Varies one setting of the drive, of its queue or of the computer.

    The level ``as-found`` leaves it as it was before the run.
    """

    setting: SettingName
    levels: tuple[LevelText, ...] = Field(min_length=1)
    quick_levels: tuple[LevelText, ...] = ()

    @field_validator("levels", "quick_levels")
    @classmethod
    def _levels_are_canonical(cls, levels: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        """The levels as `drivelab.model.setting.canonical_level` writes them."""
        name = info.data.get("setting")
        return tuple(_canonical(name, level, place) for place, level in enumerate(levels)) if name else levels

    def level_of(self, given: Any, *, quick: bool) -> Any:
        """The level that is meant, however it is written; None when there is none."""
        try:
            return super().level_of(canonical_level(self.setting, str(_level_text(given))), quick=quick)
        except ValueError:
            return None


class WorkloadFactor(_Factor):
    """Varies one key of the workloads: all of them, or those that are named."""

    setting: Literal["workload"]
    key: Literal[tuple(WorkloadPattern.model_fields)]  # type: ignore[valid-type]
    levels: tuple[bool | int | float | str, ...] = Field(min_length=1)
    quick_levels: tuple[bool | int | float | str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the factor in tables and figures: the key."""
        return str(self.key)

    @staticmethod
    def name_of(level: Any) -> str:
        """The level as written in the file."""
        return str(level).lower() if isinstance(level, bool) else str(level)


Factor = Annotated[
    FileSystemFactor | MountFactor | ActionFactor | SettingFactor | WorkloadFactor, Field(discriminator="setting")
]
