"""Numbers of many drives beside each other: what was measured, and what a comparison of the drives comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from drivelab.model.plain import Plain

# what drives are told apart by beside the tags of their runs, the coarsest first
MODEL, FIRMWARE, HOST = "model", "firmware", "host"
# up to which chance a difference is told
SIGNIFICANCE = 0.05
# drives are alike whose numbers are known to be within this share of their peers' median
ALIKE_SHARE_MAX = 0.2


@dataclass(frozen=True, slots=True)
class FleetDrive:
    """A drive of which there are runs; what is not known of it is empty.

    Attributes
    ----------
    key : str
        Unique among the drives: host and serial, or host and target.
    host, serial, firmware : str
        Where it is, and what it says of itself.
    name : str
        What the kernel calls it, or the target as it was typed.
    model : str
        Its model with the capacity, or the title of a simulated drive; of one that tells none what it is, with the
        capacity.
    has_model : bool
        Whether it told its model.
    tags : mapping of str to str
        What the user said of its newest run.
    first_utc, last_utc : str
        When the first and the newest of them began.
    """

    key: str
    host: str = ""
    serial: str = ""
    name: str = ""
    model: str = ""
    firmware: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    run_count: int = 1
    first_utc: str = ""
    last_utc: str = ""
    has_model: bool = True

    @property
    def words(self) -> str:
        """What it is called in a sentence: ``nvme3n1 of host17 (serial S3EV)``."""
        serial = f" (serial {self.serial})" if self.serial else ""
        return f"{self.name} of {self.host}{serial}"

    def level(self, factor: str) -> str:
        """Level of a factor: model, firmware, host, or a tag; empty where it is not known."""
        known = {MODEL: self.model, FIRMWARE: self.firmware, HOST: self.host}
        return known[factor] if factor in known else self.tags.get(factor, "")


@dataclass(frozen=True, slots=True, order=True)
class NumberKey:
    """What a number is of; equal for all drives that were asked the same.

    Attributes
    ----------
    experiment : str
        Name of the experiment, with `` (quick)`` where it was scaled down.
    workload, title, operation : str
        Name of the workload, or of a check's trial; what it is for people; the part of a mix it is about.
    levels : tuple of (str, str)
        Levels of the factors, in the order of their names.
    asked : tuple of (str, str)
        What decides what the number means, by its name for people (``block size``): numbers that differ in it stand
        apart.
    """

    experiment: str
    workload: str
    title: str
    operation: str
    levels: tuple[tuple[str, str], ...]
    metric: str
    asked: tuple[tuple[str, str], ...] = ()

    @property
    def place(self) -> NumberKey:
        """What it has in common with numbers of the same name, whatever was asked for."""
        return replace(self, title="", asked=())


def asked_apart(keys: Iterable[NumberKey]) -> dict[NumberKey, str]:
    """What tells numbers of one name apart: ``block size 4 KiB``; empty where there is one of the name."""
    places: dict[NumberKey, list[NumberKey]] = {}
    for key in keys:
        # another size may be told by another metric
        places.setdefault(replace(key.place, operation="", metric=""), []).append(key)
    found: dict[NumberKey, str] = {}
    for alike in places.values():
        asked = {key: dict(key.asked) for key in alike}
        names = dict.fromkeys(name for key in alike for name in asked[key])
        varying = [name for name in names if len({asked[key].get(name) for key in alike}) > 1]
        found |= {key: ", ".join(f"{name} {asked[key].get(name, 'not told')}" for name in varying) for key in alike}
    return found


@dataclass(frozen=True, slots=True)
class FleetNumber:
    """One number of many drives.

    Attributes
    ----------
    is_judged : bool
        Whether it is what its workload is judged by.
    values : mapping of str to tuple of tuple of float
        By the key of the drive, of each of its runs, the oldest first, the values of the repeats; all above 0.
    """

    key: NumberKey
    is_judged: bool
    values: Mapping[str, tuple[tuple[float, ...], ...]]


@dataclass(frozen=True, slots=True)
class FleetNumbers:
    """Everything that is compared.

    Attributes
    ----------
    drives : tuple of FleetDrive
        In the order of their hosts and names.
    numbers : tuple of FleetNumber
        Those that at least two drives have.
    notes : tuple of str
        What was left out, and what limits the comparison.
    alone_count : int
        Drives that are none of these: no other has a number of theirs.
    numberless : tuple of str
        What those of them are called that have no number at all.
    remedy : str
        What to do about trials that were left out, if that is known.
    """

    drives: tuple[FleetDrive, ...]
    numbers: tuple[FleetNumber, ...]
    notes: tuple[str, ...] = ()
    alone_count: int = 0
    numberless: tuple[str, ...] = ()
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class NumberSpread:
    """How one number is spread over drives, and within a drive.

    Attributes
    ----------
    is_judged : bool
        Whether it is what its workload is judged by.
    median : float
        Of the drives' own medians.
    between : float or None
        Standard deviation between the drives' medians, from their median distance, as a share of the number.
    within : float or None
        Standard deviation of a drive's values around its mean, over all drives, as a share; None where none has two.
    has_runs_apart : bool
        Whether some drive has several runs, so that `within` holds what changes from run to run.
    best, worst : str
        Keys of the drives with the best and the worst median.
    best_value, worst_value : float
        Those medians.
    """

    key: NumberKey
    is_judged: bool
    drive_count: int
    median: float
    between: float | None
    within: float | None
    has_runs_apart: bool
    best: str
    best_value: float
    worst: str
    worst_value: float


@dataclass(frozen=True, slots=True)
class DriveApart:
    """A drive that stands apart from its peers in one number.

    Attributes
    ----------
    value, peers_value : float
        Its own median, and that of its peers.
    ratio : float
        The first over the second.
    is_worse : bool
        Whether it is on the bad side.
    peer_count : int
        Drives that it was held against.
    peers : tuple of (str, str)
        What they have in common with it beside the model: the factor that explains a difference, and its level.
    p_value : float
        Of so large a difference by chance, corrected for all drives and numbers that were looked at.
    run_count : int
        Its runs: of a single one nobody knows whether it would come again.
    """

    drive: str
    key: NumberKey
    value: float
    peers_value: float
    ratio: float
    is_worse: bool
    peer_count: int
    peers: tuple[tuple[str, str], ...]
    p_value: float
    run_count: int


@dataclass(frozen=True, slots=True)
class FactorLevel:
    """What the drives of one level of a factor show beside those of its other levels.

    Attributes
    ----------
    value : float
        Median of its drives.
    ratio : float
        Their median over that of the drives of other levels: but for the model, of drives of the same model.
    """

    level: str
    drive_count: int
    value: float
    ratio: float


@dataclass(frozen=True, slots=True)
class FactorShare:
    """How much of the differences between drives one factor explains in one number.

    Attributes
    ----------
    factor : str
        model, firmware, host, or a tag.
    share : float or None
        Share of the variance between drives: of all for the model, of what the model leaves for the others, less what
        as many levels explain by chance; None where it cannot be told.
    p_value : float or None
        Of a share as large where levels are dealt to drives at random, within their model; corrected for the factors.
    level_count, drive_count : int
        Its levels, and the drives of which one is known.
    reason : str
        Why it cannot be told; empty where it can.
    levels : tuple of FactorLevel
        Where chance hardly does as well, those that have drives of others beside them, the one that stands out most
        first.
    """

    factor: str
    share: float | None
    p_value: float | None
    level_count: int
    drive_count: int
    reason: str = ""
    levels: tuple[FactorLevel, ...] = ()

    @property
    def is_shown(self) -> bool:
        """Whether chance hardly does as well."""
        return self.p_value is not None and self.p_value <= SIGNIFICANCE


@dataclass(frozen=True, slots=True)
class FactorsTangled:
    """Two factors that both explain a number, and which of them it is.

    Attributes
    ----------
    factor, other : str
        The one that explains more, and the other one.
    level, other_level : str
        The level of the first that stands out most, and that of the other that most of its drives have.
    relation : str
        ``same``: both part the drives alike. ``nested``: each level of `factor` lies in one of `other`.
        ``holds``: the other way round. ``crossed``: neither.
    decided : str
        The factor that still explains something where the other one is the same, or ``both``; empty where that cannot
        be told.
    """

    factor: str
    other: str
    level: str
    other_level: str
    relation: str
    decided: str


@dataclass(frozen=True, slots=True)
class NumberExplained:
    """What explains the differences between drives in one number: shares, the largest first, and what is tangled."""

    key: NumberKey
    shares: tuple[FactorShare, ...]
    tangled: tuple[FactorsTangled, ...] = ()


@dataclass(frozen=True, slots=True)
class FleetAnswerOfRuns(Plain):
    """What the runs of many drives come to.

    Attributes
    ----------
    spreads : tuple of NumberSpread
        Of each number, the telling ones first.
    apart : tuple of DriveApart
        Drives that stand apart, the worst first; a drive may be there with several numbers.
    explained : tuple of NumberExplained
        Of each number, in the order of `spreads`.
    comparison_count : int
        Drives times numbers that were looked at.
    judged_count : int
        Drives that had peers enough in some number.
    alike_ratio : float or None
        In the first number, within what share of their peers' median the drives lie that are alike.
    unknown_count : int
        Drives that stand apart in nothing, and are in the first number not known to be within `ALIKE_SHARE_MAX` of
        their peers' median.
    shown_ratio : float or None
        The ratio to that median from which on each of these would have stood apart; None where there are none.
    notes : tuple of str
        What limits the answer.
    alone_count : int
        Drives that are left out: no other has a number of theirs.
    numberless : tuple of str
        What those of them are called that have no number at all.
    alike_count : int
        Drives that are alike: judged, standing apart in nothing, and not unknown.
    same_model_count : int
        The most drives of one model that have the same number.
    worst : DriveApart or None
        In the first number the drive that is farthest from its peers on the bad side, of those that do not stand apart.
    """

    drives: tuple[FleetDrive, ...]
    spreads: tuple[NumberSpread, ...]
    apart: tuple[DriveApart, ...]
    explained: tuple[NumberExplained, ...]
    comparison_count: int
    judged_count: int
    alike_ratio: float | None
    unknown_count: int = 0
    shown_ratio: float | None = None
    notes: tuple[str, ...] = ()
    alone_count: int = 0
    numberless: tuple[str, ...] = ()
    alike_count: int = 0
    same_model_count: int = 0
    worst: DriveApart | None = None
