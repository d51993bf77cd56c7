"""Which file lies where in the memory of a followed program: by the calls that mapped it, or as it was before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from drivelab.trace.call_columns import Integers
from drivelab.trace.descriptors import Descriptors, Start

_EVER = -(2**63)
_WORD = 0xFFFFFFFF


class MappedFile(Protocol):
    """A file that was mapped before its process was followed; others have no bytes mapped."""

    process: int
    address: int
    mapped_bytes: int


class Mappings:
    """Tells which file an address stands for at a moment.

    Parameters
    ----------
    files : iterable of file
        What was seen, as `descriptors` numbers it.
    descriptors : Descriptors
        Which file a descriptor stood for when it was mapped.
    calls : iterable of dict
        The calls of `MAP`: process, start_ns, end_ns, result (the address), argument_0 (the descriptor), argument_1.
    starts : iterable of Start
        Processes that were started: each has the mappings of who started it.

    Notes
    -----
    What was mapped there last counts. That it is mapped no more, or elsewhere (``munmap``, ``mremap``), is not
    followed: whoever asks knows from the kernel that something is there.
    """

    def __init__(
        self,
        files: Iterable[MappedFile],
        descriptors: Descriptors,
        calls: Iterable[Mapping[str, Any]],
        starts: Iterable[Start],
    ) -> None:
        told: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
        for number, file in enumerate(files, start=1):
            if file.mapped_bytes:
                told[file.process].append((_EVER, file.address, file.address + file.mapped_bytes, number))
        for row in calls:
            if row["result"] >= 0:
                spans = descriptors.spans(row["process"], row["argument_0"] & _WORD)
                number, _ = spans.at(row["start_ns"])
                begin = row["result"]
                told[row["process"]].append((row["end_ns"], begin, begin + row["argument_1"], number))
        self._told = {process: np.array(sorted(mappings), dtype=np.int64).T for process, mappings in told.items()}
        self._starts = {start.child: start for start in starts}

    def numbers(self, processes: Integers, addresses: Integers, times: Integers) -> list[int]:
        """Which file each address stood for, 0 where nobody knows."""
        asked = zip(processes.tolist(), addresses.tolist(), times.tolist(), strict=True)
        return [self._number(*one) for one in asked]

    def _number(self, process: int, address: int, time_ns: int) -> int:
        asked: set[int] = set()
        # a number may have been given twice
        while process not in asked:
            asked.add(process)
            if process in self._told:
                since, begin, end, number = self._told[process]
                (found,) = np.nonzero((since <= time_ns) & (begin <= address) & (address < end))
                if found.size:
                    return int(number[found[-1]])
            if (start := self._starts.get(process)) is not None:
                process, time_ns = start.parent, min(time_ns, start.time_ns)
        return 0
