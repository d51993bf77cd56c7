"""An experiment: a question, the factors it varies, and the I/O it issues.

The built-in experiments and a user's own are TOML files of this format; the
names of the fields are the keys of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from drivelab.model.factor import Factor, FileSystemFactor, MountFactor, Name, WorkloadFactor
from drivelab.model.frozen import FrozenModel
from drivelab.model.option_rule import refused_mount_option
from drivelab.model.phase import Phase, Point, Tracked
from drivelab.model.setting import SETTING_NAMES
from drivelab.model.view import PLACES, View
from drivelab.model.workload_keys import broken_rule
from drivelab.model.workload_pattern import WorkloadPattern

Design = Literal["full", "one-at-a-time"]
# device: what is asked has an answer on a block device or a scratch drive only
Requirement = Literal["anything", "device"]
Place = tuple[str | int, ...]
TableName = Literal["results", "effects", "phases", "surfaces"]
FigureName = Literal[
    "block-throughput",
    "demand-intensity",
    "effects-overview",
    "io-scatter",
    "latency-cdf",
    "latency-histogram",
    "latency-over-size",
    "latency-over-time",
    "latency-overview",
    "metadata-rates",
    "seeks",
    "surface",
    "surface-maps",
    "throughput-over-time",
    "timeline",
    "total-time",
]


class _SomeKeys:
    """What an editor accepts: some of the keys of a workload, with other values."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        WorkloadPattern.model_rebuild()
        return handler.resolve_ref_schema(handler(WorkloadPattern.__pydantic_core_schema__))


class ExperimentWorkload(WorkloadPattern):
    """A named workload of an experiment; `quick` holds the keys that differ when it is scaled down.

    Workloads that stand together and name the same `together` run at the same time. One with a `point` takes over
    the levels of a combination that is chosen by what was measured.
    """

    name: Name
    title: str = ""
    together: str = ""
    point: Point | None = None
    quick: Annotated[Mapping[str, Any], _SomeKeys()] = Field(default_factory=dict)

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
    levels: Mapping[str, bool | int | float | str] = Field(default_factory=dict)


class Experiment(FrozenModel):
    """One experiment, as its file has it.

    `design` says which combinations of factors are measured: all of them
    (``full``), or the first level of every factor and each other level alone
    (``one-at-a-time``). `requires` says which targets can answer the question.
    """

    format: Literal[1]
    name: Name
    question: str = Field(min_length=1)
    description: str = ""
    source: str = ""
    repeats: Scale = Scale()
    design: Design = "full"
    requires: Requirement = "anything"
    factors: tuple[Factor, ...] = ()
    workloads: tuple[ExperimentWorkload, ...] = Field(min_length=1)
    phases: tuple[Phase, ...] = ()
    reference: Reference | None = None
    tables: tuple[TableName, ...] = ()
    figures: tuple[FigureName, ...] = ()
    views: tuple[View, ...] = ()

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        _refuse_doubles("workload", [workload.name for workload in self.workloads], ("workloads",), ("name",))
        self._refuse_double_factors()
        for number, factor in enumerate(self.factors):
            for key in ("levels", "quick_levels"):
                names = [factor.name_of(level) for level in getattr(factor, key)]
                _refuse_doubles("level", names, ("factors", number, key))
        return self

    def _refuse_double_factors(self) -> None:
        """A factor may be there twice, with other levels for other workloads."""
        known = [workload.name for workload in self.workloads]
        pairs = [(factor.name, name) for factor in self.factors for name in factor.workloads or known]
        doubles = {factor for factor, name in pairs if pairs.count((factor, name)) > 1}
        names = [factor.name if factor.name in doubles else str(n) for n, factor in enumerate(self.factors)]
        _refuse_doubles("factor", names, ("factors",))

    @model_validator(mode="after")
    def _factors_name_workloads(self) -> Self:
        known = {workload.name for workload in self.workloads}
        for number, factor in enumerate(self.factors):
            for place, name in enumerate(factor.workloads):
                if name not in known:
                    what = f"there is no workload {name}, only {', '.join(sorted(known))}"
                    raise broken_rule(what, "factors", number, "workloads", place)
        return self

    @model_validator(mode="after")
    def _a_mount_has_a_file_system(self) -> Self:
        for number, factor in enumerate(self.factors):
            if factor.setting == "mount" and self.filesystem_factor is None:
                raise broken_rule("mount needs a factor filesystem: name what is mounted", "factors", number)
        return self

    @model_validator(mode="after")
    def _mount_options_are_listed(self) -> Self:
        """Each level of a mount is tried with every file system."""
        made = [factor for factor in self.factors if isinstance(factor, FileSystemFactor)]
        types = {level.type: None for factor in made for level in (*factor.levels, *factor.quick_levels)}
        mounts = [
            ((number, key, place), level.options)
            for number, factor in enumerate(self.factors)
            if isinstance(factor, MountFactor)
            for key, levels in (("levels", factor.levels), ("quick_levels", factor.quick_levels))
            for place, level in enumerate(levels)
        ]
        for place, options in mounts:
            for filesystem in types:
                refused = refused_mount_option(filesystem, options) if filesystem != "raw" else None
                if refused is not None:
                    below = ("factors", *place, "options", refused.place)
                    raise broken_rule(refused.what, *below, code="P713", do=refused.do)
        return self

    @model_validator(mode="after")
    def _reference_is_there(self) -> Self:
        if self.reference is None:
            return self
        workloads = [workload.name for workload in self.workloads]
        if self.reference.workload not in workloads:
            what = f"there is no workload {self.reference.workload}, only {', '.join(workloads)}"
            raise broken_rule(what, "reference", "workload")
        factors = {factor.name: factor for factor in self.factors}
        for name, level in self.reference.levels.items():
            if name not in factors:
                what = f"there is no factor {name}" + (f", only {', '.join(factors)}" if factors else "")
                raise broken_rule(what, "reference", "levels", name)
            for quick in (False, True):
                if factors[name].level_of(level, quick=quick) is None:
                    levels = ", ".join([factors[name].name_of(each) for each in factors[name].levels_at(quick=quick)])
                    what = f"it is one of {levels}{' with --quick' if quick else ''}, not {level}"
                    raise broken_rule(what, "reference", "levels", name)
        return self

    @model_validator(mode="after")
    def _views_name_what_there_is(self) -> Self:
        _refuse_doubles("view", [view.key for view in self.views], ("views",), ("key",))
        workloads = [workload.name for workload in self.workloads]
        # a drive tells its file system and its write cache also where they are not varied
        known = [*PLACES, *dict.fromkeys(factor.name for factor in self.factors), "filesystem", *SETTING_NAMES]
        for number, view in enumerate(self.views):
            for key, name in view.named:
                if name not in known:
                    choice = ", ".join(known[: known.index("filesystem")])
                    raise broken_rule(f"there is no factor {name}, only {choice}", "views", number, key)
            for place, name in enumerate(view.workloads):
                if name not in workloads:
                    what = f"there is no workload {name}, only {', '.join(workloads)}"
                    raise broken_rule(what, "views", number, "workloads", place)
        return self

    @model_validator(mode="after")
    def _groups_stand_together(self) -> Self:
        names = [workload.together for workload in self.workloads]
        for number, name in enumerate(names):
            place = ("workloads", number, "together")
            if not name:
                continue
            if self.workloads[number].precision is not None:
                what = f"the workloads of {name} run at the same time, and a precision would end one before the others"
                raise broken_rule(what, "workloads", number, "precision")
            if names.count(name) == 1:
                raise broken_rule(f"no other workload says {name}: it would run alone", *place)
            if name in names[:number] and names[number - 1] != name:
                what = f"the workloads of {name} do not follow each other: move this one to the others"
                raise broken_rule(what, *place)
        return self

    @model_validator(mode="after")
    def _groups_have_one_target_state(self) -> Self:
        """What is done to the target is done for all that run at the same time."""
        for number, factor in enumerate(self.factors):
            if isinstance(factor, WorkloadFactor) or not factor.workloads:
                continue
            for unit in self.units:
                left_out = [workload.name for workload in unit if workload.name not in factor.workloads]
                if left_out and len(left_out) < len(unit):
                    what = f"{', '.join(left_out)} runs at the same time as others that {factor.name} is for: add it"
                    raise broken_rule(what, "factors", number, "workloads")
        reference = self.reference.workload if self.reference else ""
        if any(workload.name == reference and workload.together for workload in self.workloads):
            what = f"{reference} runs together with others, and a reference runs alone: choose another workload"
            raise broken_rule(what, "reference", "workload")
        return self

    @model_validator(mode="after")
    def _every_level_is_reached(self) -> Self:
        """One at a time, nothing is mounted and no fstrim is run while the first file system is raw."""
        first = self.filesystem_factor
        if self.design == "full" or first is None:
            return self
        for quick in (False, True):
            if first.levels_at(quick=quick)[0].type != "raw":
                continue
            for number, factor in enumerate(self.factors):
                if _needs_files(factor, quick=quick):
                    what = f"{factor.name} needs a file system, and the first level of filesystem is raw"
                    what += ': with design = "one-at-a-time" it would never be measured'
                    raise broken_rule(what, "factors", number)
        return self

    @model_validator(mode="after")
    def _phases_can_be_carried_out(self) -> Self:
        if self.phases:
            _refuse_doubles("phase", [phase.name for phase in self.phases], ("phases",), ("name",))
        for what, place in _broken_phases(self):
            raise broken_rule(what, *place)
        return self

    @property
    def units(self) -> tuple[tuple[ExperimentWorkload, ...], ...]:
        """The workloads in the order of the file: each alone, or with those that run at the same time."""
        found: dict[str | int, list[ExperimentWorkload]] = {}
        for number, workload in enumerate(self.workloads):
            found.setdefault(workload.together or number, []).append(workload)
        return tuple(tuple(unit) for unit in found.values())

    @property
    def filesystem_factor(self) -> FileSystemFactor | None:
        """The factor that varies the file system, if there is one."""
        return next((factor for factor in self.factors if isinstance(factor, FileSystemFactor)), None)


def _broken_phases(experiment: Experiment) -> Iterator[tuple[str, Place]]:
    """What is wrong with the phases of an experiment, and where."""
    workloads = {workload.name: workload for workload in experiment.workloads}
    for number, workload in enumerate(experiment.workloads):
        here: Place = ("workloads", number)
        if workload.point is not None and (not experiment.phases or workload.point.of not in workloads):
            what = "only an experiment with phases can choose a point" if not experiment.phases else ""
            yield what or f"there is no workload {workload.point.of}", (*here, "point")
        if experiment.phases and workload.together:
            yield "in a phase one workload follows the other: none runs together with others", (*here, "together")
    if not experiment.phases:
        return
    if experiment.design != "full":
        yield "phases have every combination of their factors", ("design",)
    if experiment.reference is not None:
        yield "rounds show a drift themselves: leave the reference out", ("reference",)
    for number, phase in enumerate(experiment.phases):
        for place, name in enumerate(phase.workloads):
            if name not in workloads:
                what = f"there is no workload {name}, only {', '.join(workloads)}"
                yield what, ("phases", number, "workloads", place)
        for place, tracked in enumerate(phase.track):
            yield from _broken_track(experiment, phase, tracked, ("phases", number, "track", place))
    of_phases = {name for phase in experiment.phases for name in phase.workloads}
    for number, workload in enumerate(experiment.workloads):
        if workload.name not in of_phases:
            yield f"no phase has {workload.name}: it would never be measured", ("workloads", number, "name")


def _broken_track(experiment: Experiment, phase: Phase, tracked: Tracked, here: Place) -> Iterator[tuple[str, Place]]:
    if tracked.workload not in phase.workloads:
        yield f"phase {phase.name} has no workload {tracked.workload}, only {', '.join(phase.workloads)}", here
        return
    own = [one for one in experiment.factors if not one.workloads or tracked.workload in one.workloads]
    factors = {factor.name: factor for factor in own}
    for name in tracked.levels:
        if name not in factors:
            yield f"{tracked.workload} has no factor {name}", (*here, "levels", name)
            return
    for factor in factors.values():
        for quick in (False, True):
            levels = factor.levels_at(quick=quick)
            given = tracked.levels.get(factor.name, levels[0] if len(levels) == 1 else None)
            if given is None or factor.level_of(given, quick=quick) is None:
                names = ", ".join(factor.name_of(each) for each in levels)
                yield f"one combination is tracked: name the level of {factor.name}, one of {names}", (*here, "levels")
                return


def _needs_files(factor: Factor, *, quick: bool) -> bool:
    """Whether a factor has levels that only a mounted file system can have."""
    levels = factor.levels_at(quick=quick)
    return factor.setting == "mount" or (factor.setting == "trim" and "fstrim" in levels)


def _refuse_doubles(what: str, names: list[str], place: tuple[str | int, ...], below: tuple[str, ...] = ()) -> None:
    for number, name in enumerate(names):
        if name in names[:number]:
            raise broken_rule(f"there are two of the {what} {name}", *place, number, *below)
