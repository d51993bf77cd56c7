"""What stands out of a surface: throughput over the size of a file and of a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# the factor whose levels a size is one of
SizeFactor = Literal["file_size", "block_size"]
# trough: slower than the sizes on both sides; falls: slower beyond; rises: slower below
ShapeKind = Literal["trough", "falls", "rises"]
# of fewer repeats nobody knows the spread, so nothing is said to stand out
REPEATS_MIN = 3


@dataclass(frozen=True, slots=True)
class SurfaceShape:
    """A size at which the throughput changes, whatever the other size is.

    Attributes
    ----------
    target, workload : str
        Whose surface it is.
    levels : dict of str to str
        Levels of the other factors, where several surfaces of a workload differ in them.
    kind : str
        trough, falls or rises.
    factor : str
        The factor that the size is a level of.
    size_bytes : int
        The size of the trough; the largest one before a fall; the smallest one after a rise.
    neighbours_bytes : tuple of int
        Of a trough the sizes on both sides; else the first size that is slower, and the slowest of them.
    loss, largest_loss : float
        Share by which the throughput is lower: in the trough, or at the first slower size; and at the slowest one.
    line_count, clear_count : int
        Sizes of the other factor that were looked at, and at how many of them the
        repeats of the slower size all lie below those of the others.
    """

    target: str
    workload: str
    levels: dict[str, str]
    kind: ShapeKind
    factor: SizeFactor
    size_bytes: int
    neighbours_bytes: tuple[int, int]
    loss: float
    largest_loss: float
    line_count: int
    clear_count: int
