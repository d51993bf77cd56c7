"""Which file each call of a followed program was on, and why calls do not count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from drivelab.model.system_calls import ENTER_RING, FILE_UNKNOWN, SYNC_MAPPED
from drivelab.trace.call_columns import CODES, NAMES, SYNCING, TRANSFERRING, CallColumns, Flags, Integers, those
from drivelab.trace.descriptors import Descriptors
from drivelab.trace.file_positions import plain_path
from drivelab.trace.mappings import Mappings

LEFT_OUT = -1
# which of two files a call is told of: that with the higher number
_NOWHERE, _ELSEWHERE, _UNKNOWN, _ON_DISK = range(4)
# why calls are left out
ELSEWHERE = "calls on files elsewhere"
SUBMISSIONS = "calls of io_uring, which this kernel does not tell apart"
REGISTERED = "requests of io_uring on registered files that the kernel does not tell apart"
_FAILED = "calls that failed"
_NO_FILES = "calls on sockets, pipes and the like"
TOUCHED = "calls that lost events touch"
# in this order; each where none before it applies
_REASONS = (SUBMISSIONS, _FAILED, REGISTERED, _NO_FILES, ELSEWHERE, FILE_UNKNOWN, TOUCHED)


class File(Protocol):
    """What a descriptor stood for, from when it was seen first to when it was seen last."""

    process: int
    descriptor: int
    path: str
    device: str
    is_durable: bool
    is_direct: bool
    is_synced: bool
    is_closed_on_exec: bool
    is_told: bool
    is_append: bool
    size_bytes: int
    position_bytes: int
    first_ns: int
    last_ns: int
    sized_ns: int
    address: int
    mapped_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class FoundFiles:
    """The files of some calls.

    Attributes
    ----------
    number : array of int
        By call which of the files that were seen it was on, 0 for one that nobody knows, or `LEFT_OUT`.
    opened, outputs : array of int
        Which open file it was; of calls with two descriptors which one they read from, and wrote to.
    is_output : array of bool
        Whether `number` is the file that such a call wrote to.
    """

    number: Integers
    opened: Integers
    outputs: Integers
    is_output: Flags

    @classmethod
    def unknown(cls, count: int) -> FoundFiles:
        """Those of calls that nobody knows anything of."""
        none = np.zeros(count, dtype=np.int64)
        return cls(none, none, none, none > 0)


class CallFiles:
    """Finds the file of each call, and says why others do not count.

    Parameters
    ----------
    files : sequence of File
        What descriptors stood for.
    descriptors : Descriptors
        Which of them a descriptor stood for when.
    mappings : Mappings
        ... and an address.
    devices : collection of str
        ``major:minor`` of everything on the disk.
    counted : iterable of str
        Names of calls that count, where nothing is against it.

    Attributes
    ----------
    known : list of File or None
        All of them, behind the one that is none.
    left_out, of_unknown_files : Counter
        Calls that do not count: by the reason, and those of unknown files by their name.
    """

    def __init__(
        self,
        files: Sequence[File],
        descriptors: Descriptors,
        mappings: Mappings,
        devices: Collection[str],
        counted: Iterable[str],
    ) -> None:
        self.known: list[File | None] = [None, *files]
        self.left_out: Counter[str] = Counter()
        self.of_unknown_files: Counter[str] = Counter()
        self._elsewhere_ns = np.zeros(len(self.known), dtype=np.int64)
        self._descriptors, self._mappings = descriptors, mappings
        self._is_counted = those(counted)
        self._is_somewhere = np.array([file is not None and bool(file.device) for file in self.known])
        self._is_on_disk = np.array([file is not None and file.device in devices for file in self.known])
        # nobody knows where the first of them lies
        self._rank = np.where(self._is_on_disk, _ON_DISK, np.where(self._is_somewhere, _ELSEWHERE, _NOWHERE))
        self._rank[0] = _UNKNOWN

    def find(self, calls: CallColumns) -> FoundFiles:
        """The file of each call; of two the one on the disk, else one that may be there, the one that is read first."""
        number, opened = self._numbers(calls, *calls.of_descriptors())
        written, outputs = self._numbers(calls, *calls.of_outputs())
        is_output = TRANSFERRING[calls.name] & (self._rank[written] > self._rank[number])
        number = np.where(is_output, written, number)
        (rows,) = np.nonzero(calls.name == CODES[SYNC_MAPPED])
        if rows.size:
            asked = (calls.process[rows], calls.arguments[0][rows], calls.start_ns[rows])
            number[rows] = self._mappings.numbers(*asked)
        is_sync = SYNCING[calls.name]
        # nothing else can be synced: a copy of a descriptor was missed where the program began
        number[is_sync & (calls.result >= 0) & (number > 0) & ~self._is_somewhere[number]] = 0
        is_known = number > 0
        reasons = (
            calls.name == CODES[ENTER_RING],
            calls.result < 0,
            ~is_known & calls.is_registered & ~is_sync,
            is_known & ~self._is_somewhere[number],
            is_known & ~self._is_on_disk[number],
            ~is_known & ~is_sync,
            calls.is_doubtful,
        )
        reason = np.select(reasons, range(1, 1 + len(reasons)), 0)
        is_skipped = ~self._is_counted[calls.name]
        reason[is_skipped] = 0
        _count(self.left_out, reason[reason > 0] - 1, _REASONS)
        is_elsewhere = reason == 1 + _REASONS.index(ELSEWHERE)
        np.add.at(self._elsewhere_ns, number[is_elsewhere], (calls.end_ns - calls.start_ns)[is_elsewhere])
        unknown = reason == 1 + _REASONS.index(FILE_UNKNOWN)
        _count(self.of_unknown_files, calls.name[unknown], NAMES)
        number[is_skipped | (reason > 0)] = LEFT_OUT
        return FoundFiles(number, opened, outputs, is_output)

    @property
    def elsewhere(self) -> dict[str, tuple[int, str]]:
        """By another device how long calls on its files took, and the file with most of it."""
        by_device: dict[str, Counter[str]] = defaultdict(Counter)
        for number in np.nonzero(self._elsewhere_ns)[0].tolist():
            if (file := self.known[number]) is not None:
                by_device[file.device][plain_path(file.path)] += int(self._elsewhere_ns[number])
        return {device: (times.total(), times.most_common(1)[0][0]) for device, times in by_device.items()}

    def _numbers(
        self, calls: CallColumns, rows: Integers, descriptors: Integers, times: Integers
    ) -> tuple[Integers, Integers]:
        """What was seen of each call's file, 0 where nobody looked at it; and which open file it was."""
        number, opened = (np.zeros(len(calls), dtype=np.int64) for _ in range(2))
        keys, which = np.unique(calls.process[rows] << 33 | descriptors, return_inverse=True)
        spans = [self._descriptors.spans(key >> 33, key & (1 << 33) - 1) for key in keys.tolist()]
        for found, firsts in ((number, [one.files[0] for one in spans]), (opened, [one.opened[0] for one in spans])):
            found[rows] = np.array(firsts, dtype=np.int64)[which]
        is_changed = np.array([len(one.starts) > 1 for one in spans], dtype=bool)[which]
        changed = zip(rows[is_changed].tolist(), which[is_changed].tolist(), times[is_changed].tolist(), strict=True)
        for row, key, time_ns in changed:
            number[row], opened[row] = spans[key].at(time_ns)
        return number, opened


def _count(counter: Counter[str], codes: Integers, names: Sequence[str]) -> None:
    """Count names by their codes, those that come first before others."""
    found, first, counts = np.unique(codes, return_index=True, return_counts=True)
    for place in np.argsort(first).tolist():
        counter[names[found[place]]] += int(counts[place])
