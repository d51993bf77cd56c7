"""A plan: the ordered steps that an experiment becomes on given targets."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from drivelab.model.factor import FileSystemLevel
from drivelab.model.job_files import name_of_file
from drivelab.model.phase import Phase, Point
from drivelab.model.target import TargetKind
from drivelab.model.workload_pattern import WorkloadPattern

# what is written beside the workloads, in words
PREPARATIONS = {
    "scratch": "to fill scratch drives",
    "precondition": "to write drives once before they are read",
    "filesystem": "by mkfs",
    "file": "to lay out files",
    "counting": "to count commands",
    "tracing": "to trace operations",
}
# how every trial is traced afterwards: by the first source that works here, or by one alone
TraceChoice = Literal["auto", "tracefs", "relay", "blk_tracer"]
# a disk that turns, flash, a virtual drive that may be either, or a loop device
PaceName = Literal["disk", "flash", "virtual", "loop"]


@dataclass(frozen=True, slots=True)
class PlannedTarget:
    """A target of a plan, as it was when the plan was made.

    Attributes
    ----------
    label : str
        Short name in trials, tables and figures; unique within the plan.
    text : str
        What was typed.
    size_bytes, logical_block_size_bytes : int
        As resolved.
    destroys : tuple of str
        What a run would erase, in words; empty when nothing is lost.
    erase_argument : str
        What its owner must type after ``--erase``; empty when no consent is needed.
    pace : str
        Which kind of drive times are guessed for.
    purge_argument : str
        What its owner must type after ``--purge``; empty when nothing is purged.
    changes : str
        Which settings of its drive a run changes meanwhile, and what else lies
        on that drive, in words; empty when it changes none.
    member_erase_arguments : tuple of str
        Of a RAID set: what the owners of its members must type after ``--erase``, once for each.
    scratch_bytes : int
        Size of the scratch drives that are made for it.
    free_inodes : int or None
        Of a directory: files that may still be made; None where nothing limits them.
    """

    label: str
    text: str
    kind: TargetKind
    size_bytes: int
    logical_block_size_bytes: int
    destroys: tuple[str, ...] = ()
    erase_argument: str = ""
    pace: PaceName = "flash"
    purge_argument: str = ""
    changes: str = ""
    member_erase_arguments: tuple[str, ...] = ()
    scratch_bytes: int = 0
    free_inodes: int | None = None

    @property
    def erase_arguments(self) -> tuple[str, ...]:
        """Everything that has to be typed after ``--erase``, once for each drive."""
        return (*((self.erase_argument,) if self.erase_argument else ()), *self.member_erase_arguments)

    @property
    def is_filled(self) -> bool:
        """Whether every block holds something as soon as a run has made the target: scratch drives are filled."""
        return self.kind == "scratch" or (self.kind == "raid" and not self.member_erase_arguments)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One trial of a plan.

    Attributes
    ----------
    number : int
        Place in the order, from 1.
    trial : str
        Name of the trial, unique within the run.
    workload, label : str
        Name of the workload in the experiment, and the trial for people.
    filesystem : FileSystemLevel or None
        What is made on the target first; None leaves the target as it is.
    block, repeat : int
        Block of the randomised order, and repeat of the combination, from 1.
    seed : int
        Seed of the workload's addresses and contents.
    expected_ns, bytes_written : int
        Guessed duration with what is made before the trial, and bytes that the workload writes.
    settings : mapping of str to str
        Level of every setting that the experiment varies; ``as-found`` leaves it.
    actions : mapping of str to str
        What is done before the trial: trim, purge, page-cache.
    is_reference : bool
        Whether it is measured only to see a drift of the drive.
    preparation_bytes : int
        Bytes that are written for the trial and are not the workload's, a guess:
        a file system, a file that is laid out, a drive that is written once, the
        pass that counts commands or is traced.
    together : int
        Steps that follow each other with the same number run at the same time; 0 is alone.
    file_name : str
        The file in the target's directory that it uses, which stays for the steps
        of the same repeat; empty for one that is the step's own.
    phase : str
        Of an experiment with phases, the one that it belongs to.
    round : int
        Round of that phase, from 1.
    point : Point or None
        What it takes over from what was measured before it.
    keeps_file : bool
        Whether that file is the user's: used where it is if it is there and large enough, and left there at the end.
    reads_back : str
        The trial before it of which it reads as many blocks as that one wrote, at the same places; empty for none.
    window, window_count : int
        Of a trial that is measured in several windows, with others between them, which one this is, from 1, and of
        how many.
    """

    number: int
    trial: str
    target: str
    workload: str
    label: str
    pattern: WorkloadPattern
    filesystem: FileSystemLevel | None
    levels: Mapping[str, str]
    block: int
    repeat: int
    seed: int
    expected_ns: int
    bytes_written: int
    settings: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, str] = field(default_factory=dict)
    is_reference: bool = False
    preparation_bytes: int = 0
    together: int = 0
    file_name: str = ""
    phase: str = ""
    round: int = 0
    point: Point | None = None
    keeps_file: bool = False
    reads_back: str = ""
    window: int = 1
    window_count: int = 1

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON, without the pattern and the file system."""
        document = {
            "number": self.number,
            "trial": self.trial,
            "target": self.target,
            "workload": self.workload,
            "label": self.label,
            "levels": dict(self.levels),
            "block": self.block,
            "repeat": self.repeat,
            "seed": self.seed,
            "expected_ns": self.expected_ns,
            "bytes_written": self.bytes_written,
            "settings": dict(self.settings),
            "actions": dict(self.actions),
            "is_reference": self.is_reference,
            "preparation_bytes": self.preparation_bytes,
            "together": self.together,
            "file_name": self.file_name,
        }
        if self.phase:
            point = self.point and self.point.model_dump(mode="json")
            document |= {"phase": self.phase, "round": self.round, "point": point}
        document |= {"keeps_file": True} if self.keeps_file else {}
        if self.window_count > 1:
            document |= {"window": self.window, "window_count": self.window_count}
        return document | ({"reads_back": self.reads_back} if self.reads_back else {})

    @property
    def ends_trial(self) -> bool:
        """Whether its trial is complete behind it."""
        return self.window == self.window_count

    @property
    def file_names(self) -> tuple[str, ...]:
        """The files in the target's directory that its jobs use, if they are named."""
        count, each = self.pattern.own_file_count, self.pattern.job_files.count
        return tuple(name_of_file(self.file_name, number, each) for number in range(count)) if self.file_name else ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will do, in order.

    Attributes
    ----------
    experiment, question : str
        Name and question of the experiment.
    quick : bool
        Whether it is scaled down.
    seed : int
        Seed of the order, and of every workload.
    targets : tuple of PlannedTarget
        In the order in which they were named.
    steps : tuple of PlannedStep
        In the order in which they run.
    preparation_ns : int
        Guessed time for filling scratch drives.
    preparation : mapping of str to int
        Bytes that the run writes beside its workloads, a guess, by what they are
        for (`PREPARATIONS`): those of all steps, and scratch drives that are filled.
    notes : tuple of str
        Where the plan departs from the experiment's letter, and why.
    left_out : tuple of str
        Levels that a target cannot have and that are not measured, and why.
    is_listed : bool
        Whether the steps stand in the order of a list, and not in random order.
    phases : tuple of Phase
        In their order; a phase may end before all of its steps are done.
    trace : str or None
        Source by which every trial is traced once more after it was timed; None when none is.
    """

    experiment: str
    question: str
    quick: bool
    seed: int
    targets: tuple[PlannedTarget, ...]
    steps: tuple[PlannedStep, ...]
    preparation_ns: int = 0
    preparation: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default_factory=tuple)
    left_out: tuple[str, ...] = field(default_factory=tuple)
    trace: TraceChoice | None = None
    is_listed: bool = False
    phases: tuple[Phase, ...] = ()

    @property
    def expected_ns(self) -> int:
        """Guessed duration of the whole run."""
        return self.preparation_ns + sum(step.expected_ns for step in self.steps)

    @property
    def units(self) -> tuple[tuple[PlannedStep, ...], ...]:
        """The steps in order: each alone, or with those that run at the same time."""
        by_number = itertools.groupby(self.steps, key=lambda step: (step.together, 0 if step.together else step.number))
        return tuple(tuple(steps) for _, steps in by_number)

    @property
    def preparation_bytes(self) -> int:
        """Bytes that the run writes beside its workloads."""
        return sum(self.preparation.values())

    @property
    def bytes_written(self) -> int:
        """Bytes that the run writes, without what file systems add to the writes of a workload."""
        return self.preparation_bytes + sum(step.bytes_written for step in self.steps)

    @property
    def destroys(self) -> tuple[str, ...]:
        """What a run would erase, in words."""
        return tuple(sentence for target in self.targets for sentence in target.destroys)

    def is_file_needed_after(self, step: PlannedStep) -> bool:
        """Whether a later step of the same repeat uses the file of a step."""
        return bool(step.file_name) and any(
            (other.target, other.file_name, other.block) == (step.target, step.file_name, step.block)
            for other in self.steps[step.number :]
        )

    def phase(self, name: str) -> Phase:
        """The phase of that name."""
        return next(phase for phase in self.phases if phase.name == name)

    def target(self, label: str) -> PlannedTarget:
        """The target with that label."""
        return next(target for target in self.targets if target.label == label)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON; steps name their pattern and file system by their place in two lists."""
        patterns: dict[WorkloadPattern, int] = {}
        filesystems: dict[FileSystemLevel, int] = {}
        steps = []
        for step in self.steps:
            document = step.to_json() | {"pattern": patterns.setdefault(step.pattern, len(patterns))}
            level = step.filesystem
            document["filesystem"] = None if level is None else filesystems.setdefault(level, len(filesystems))
            steps.append(document)
        return {
            "experiment": self.experiment,
            "question": self.question,
            "quick": self.quick,
            "seed": self.seed,
            "targets": [asdict(target) for target in self.targets],
            "patterns": [pattern.to_json() for pattern in patterns],
            "filesystems": [level.model_dump(mode="json") for level in filesystems],
            "steps": steps,
            "preparation_ns": self.preparation_ns,
            "preparation": dict(self.preparation),
            "preparation_bytes": self.preparation_bytes,
            "expected_ns": self.expected_ns,
            "bytes_written": self.bytes_written,
            "notes": list(self.notes),
            "left_out": list(self.left_out),
            "trace": self.trace,
            "is_listed": self.is_listed,
            "phases": [phase.model_dump(mode="json") for phase in self.phases],
        }

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> Plan:
        """The plan that `to_json` wrote.

        Raises
        ------
        KeyError, TypeError, ValueError
            It is not such a document.
        """
        patterns = [WorkloadPattern.from_json(pattern) for pattern in document["patterns"]]
        filesystems = [FileSystemLevel.model_validate(level) for level in document["filesystems"]]
        steps = [
            PlannedStep(
                **step
                | {
                    "pattern": patterns[step["pattern"]],
                    "filesystem": None if step["filesystem"] is None else filesystems[step["filesystem"]],
                    "point": Point.model_validate(step["point"]) if step.get("point") else None,
                }
            )
            for step in document["steps"]
        ]
        targets = [PlannedTarget(**target | _tuples(target)) for target in document["targets"]]
        return Plan(
            experiment=document["experiment"],
            question=document["question"],
            quick=document["quick"],
            seed=document["seed"],
            targets=tuple(targets),
            steps=tuple(steps),
            preparation_ns=document["preparation_ns"],
            # plans of an older drivelab know of scratch drives only
            preparation=document.get("preparation", {"scratch": document["preparation_bytes"]}),
            notes=tuple(document["notes"]),
            left_out=tuple(document["left_out"]),
            trace=document.get("trace"),
            is_listed=document.get("is_listed", False),
            phases=tuple(Phase.model_validate(phase) for phase in document.get("phases", ())),
        )


def _tuples(target: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The values of a stored target that JSON knows as lists only; an older drivelab has fewer of them."""
    return {name: tuple(target.get(name, ())) for name in ("destroys", "member_erase_arguments")}
