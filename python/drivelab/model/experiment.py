"""An experiment: a question, the factors it varies, and the I/O it issues.

The built-in experiments and a user's own are TOML files of this format; the
names of the fields are the keys of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from drivelab.model.factor import Factor, FileSystemFactor, LevelText, Name
from drivelab.model.workload_pattern import FrozenModel, WorkloadPattern

Design = Literal["full", "one-at-a-time"]


class ExperimentWorkload(WorkloadPattern):
    """A named workload of an experiment; `quick` holds the keys that differ when it is scaled down."""

    name: Name
    title: str = ""
    quick: Mapping[str, Any] = Field(default_factory=dict)

    def pattern(self, *, quick: bool = False) -> WorkloadPattern:
        """The pattern at full size, or scaled down."""
        return self.changed(**(self.quick if quick else {}))


class Scale(FrozenModel):
    """How often every combination of factors is measured, in each of two sizes."""

    full: int = Field(default=5, ge=1, le=1000)
    quick: int = Field(default=3, ge=1, le=1000)


class Reference(FrozenModel):
    """The combination that is measured again and again, so that a drift of the drive shows.

    It is measured before every block and after the last one. Factors that are
    not named stand at their first level.
    """

    workload: Name
    levels: Mapping[str, LevelText] = Field(default_factory=dict)


class Experiment(FrozenModel):
    """One experiment, as its file has it.

    `design` says which combinations of factors are measured: all of them
    (``full``), or the first level of every factor and each other level alone
    (``one-at-a-time``).
    """

    format: Literal[1]
    name: Name
    question: str = Field(min_length=1)
    description: str = ""
    source: str = ""
    repeats: Scale = Scale()
    design: Design = "full"
    factors: tuple[Factor, ...] = ()
    workloads: tuple[ExperimentWorkload, ...] = Field(min_length=1)
    reference: Reference | None = None
    tables: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        _refuse_doubles("workload", [workload.name for workload in self.workloads])
        _refuse_doubles("factor", [factor.name for factor in self.factors])
        for factor in self.factors:
            for quick in (False, True):
                names = [factor.name_of(level) for level in factor.levels_at(quick=quick)]
                _refuse_doubles(f"level of {factor.name}", names)
        return self

    @model_validator(mode="after")
    def _factors_name_workloads(self) -> Self:
        known = {workload.name for workload in self.workloads}
        for factor in self.factors:
            unknown = sorted(set(factor.workloads) - known)
            if unknown:
                raise ValueError(f"factor {factor.name} names a workload that is not there: {', '.join(unknown)}")
        return self

    @model_validator(mode="after")
    def _a_mount_has_a_file_system(self) -> Self:
        if any(factor.setting == "mount" for factor in self.factors) and self.filesystem_factor is None:
            raise ValueError("the factor mount needs a factor filesystem")
        return self

    @model_validator(mode="after")
    def _reference_is_there(self) -> Self:
        if self.reference is None:
            return self
        if self.reference.workload not in {workload.name for workload in self.workloads}:
            raise ValueError(f"reference names a workload that is not there: {self.reference.workload}")
        known = {factor.name: factor for factor in self.factors}
        for name, level in self.reference.levels.items():
            factor = known.get(name)
            if factor is None:
                raise ValueError(f"reference names a factor that is not there: {name}")
            levels = [factor.name_of(each) for each in factor.levels_at(quick=True)]
            if level not in levels:
                raise ValueError(f"reference: the level of {name} is one of {', '.join(levels)}, not '{level}'")
        return self

    @property
    def filesystem_factor(self) -> FileSystemFactor | None:
        """The factor that varies the file system, if there is one."""
        return next((factor for factor in self.factors if isinstance(factor, FileSystemFactor)), None)


def _refuse_doubles(what: str, names: list[str]) -> None:
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise ValueError(f"there are two of the {what} {', '.join(doubles)}")
