"""A RAID set that drivelab makes of drives: its levels, how large it becomes, what its members get to write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from drivelab.model.plain import Plain

if TYPE_CHECKING:
    from drivelab.model.target import TargetFacts

RaidLevel = Literal["raid0", "raid1", "raid5", "raid6", "raid10"]
RAID_LEVELS: tuple[RaidLevel, ...] = get_args(RaidLevel)
# below these md would make the set of another level, or one that protects nothing
MEMBERS_MIN: dict[RaidLevel, int] = {"raid0": 2, "raid1": 2, "raid5": 3, "raid6": 4, "raid10": 3}
# what mdadm takes when nobody says otherwise (mdadm 4.2), said all the same: a later one may take something else
CHUNK_BYTES = 512 * 2**10
METADATA = "1.2"
_BITMAP_MEMBER_BYTES_MIN = 100 * 2**30
# before the data of a member: superblock, room for a bitmap, and a thousandth of it for a later reshape
_HEADROOM_SHARE, _HEADROOM_BYTES_MAX, _OFFSET_STEP_BYTES = 1 / 1024, 128 * 2**20, 2**20


@dataclass(frozen=True, slots=True)
class RaidFacts(Plain):
    """A RAID set: what it is going to be made of, or as it was made.

    Attributes
    ----------
    level : str
        raid0, raid1, raid5, raid6 or raid10.
    members : tuple of TargetFacts
        Block devices, and scratch drives that are made first.
    chunk_bytes : int
        What lies on one member before the next one follows; 0 for raid1, which has no chunks.
    bitmap : str
        The write-intent bitmap: ``none`` or ``internal``.
    metadata : str
        Version of the superblock.
    is_assumed_clean : bool
        Whether it is made without building parity or copies first.
    layout : str
        How parity or copies go round the members, as the kernel has it; empty until it is made.
    consistency : str
        What the kernel does about a crash in the middle of a stripe; empty until it is made.
    stripe_cache_pages : int or None
        Stripes that raid5 and raid6 keep in memory, in pages of each member; None for others.
    name, uuid : str
        By which it is found again; empty until it is made.
    notes : tuple of str
        What its numbers mean.
    """

    level: RaidLevel
    members: tuple[TargetFacts, ...]
    chunk_bytes: int
    bitmap: str
    metadata: str
    is_assumed_clean: bool
    layout: str = ""
    consistency: str = ""
    stripe_cache_pages: int | None = None
    name: str = ""
    uuid: str = ""
    notes: tuple[str, ...] = ()

    @property
    def erased_members(self) -> tuple[TargetFacts, ...]:
        """The members whose owners have to consent: all but scratch drives."""
        return tuple(member for member in self.members if member.kind != "scratch")

    @property
    def scratch_bytes(self) -> int:
        """Size of all scratch drives that are made for it."""
        return sum(member.size_bytes for member in self.members if member.kind == "scratch")


def chunk_bytes_of(level: RaidLevel) -> int:
    """The chunk that a set of a level is made with; 0 for mirrors."""
    return 0 if level == "raid1" else CHUNK_BYTES


def bitmap_of(level: RaidLevel, sizes_bytes: Sequence[int]) -> str:
    """Whether a set gets a write-intent bitmap, as mdadm decides: of large members, with copies or parity."""
    is_large = min(sizes_bytes) > _BITMAP_MEMBER_BYTES_MIN
    return "internal" if is_large and level != "raid0" else "none"


def expected_bytes(level: RaidLevel, sizes_bytes: Sequence[int]) -> int:
    """About the size of a set in bytes, from the sizes of its members; exact only once it is made."""
    room = [_room(size) for size in sizes_bytes]
    if level == "raid0":
        return sum(room)
    count = len(room)
    # raid10 keeps two copies of each chunk, on whatever members come next
    return int(min(room) * {"raid1": 1, "raid5": count - 1, "raid6": count - 2, "raid10": count / 2}[level])


def written_share(level: RaidLevel, member_count: int) -> float:
    """The least part of what a set is written that each member is written, with whole stripes."""
    data = {"raid0": member_count, "raid1": 1, "raid5": member_count - 1, "raid6": member_count - 2}
    return 1 / data.get(level, member_count / 2)


def _room(size_bytes: int) -> int:
    headroom = min(_HEADROOM_BYTES_MAX, int(size_bytes * _HEADROOM_SHARE))
    offset = _OFFSET_STEP_BYTES * (1 + -(-headroom // _OFFSET_STEP_BYTES))
    return max(0, size_bytes - offset) // CHUNK_BYTES * CHUNK_BYTES
