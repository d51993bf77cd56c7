"""Calls of a followed program one at a time, as slowly as it is plain: what the quick way has to agree with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drivelab.model.system_calls import FILE_UNKNOWN, READS, SYNCS, WRITES
from drivelab.run.following.seen_file import SeenFile

Row = dict[str, Any]
Opened = tuple[Any, ...]
SHARED, CLOEXEC = 0x400, 0o2000000


class Tables:
    """What every descriptor of every process stood for at one moment: all that was before is carried out again."""

    def __init__(self, events: Iterable[tuple[int, Row]], files: Sequence[SeenFile], until_ns: int) -> None:
        self.now: dict[int, dict[int, tuple[Opened, bool]]] = {}
        self.roots: dict[int, int] = {}
        self.left: dict[int, int] = {}
        self.same: dict[int, int] = {}
        self.changes: Counter[tuple[int, int]] = Counter()
        self._files = files
        for time_ns, row in events:
            if time_ns <= until_ns:
                self._carry_out(time_ns, row)

    def table(self, process: int) -> int:
        return self.same.get(process, process)

    def opened(self, process: int, descriptor: int) -> tuple[Opened, bool]:
        process = self.table(process)
        root = self.roots.get(process, process)
        if descriptor in self.now.get(process, {}):
            return self.now[process][descriptor]
        seen = [file for file in self._files if (file.process, file.descriptor) == (root, descriptor)]
        return ("before", root, descriptor), bool(seen) and seen[0].is_closed_on_exec

    def _put(self, process: int, descriptor: int, opened: Opened, closed: bool = False) -> None:
        self.now.setdefault(process, {})[descriptor] = opened, closed
        self.changes[process, descriptor] += 1

    def _known(self, process: int, own: int) -> set[int]:
        looked_at = {own, self.roots.get(process, process)}
        return {*self.now.get(process, {}), *(file.descriptor for file in self._files if file.process in looked_at)}

    def _carry_out(self, time_ns: int, row: Row) -> None:
        call = row["call"]
        process = self.table(row["process"])
        if call == "fork":
            child = row["child"]
            if row["flags"] & SHARED:
                self.same[child] = process
                return
            self.now[child] = dict(self.now.get(process, {}))
            self.roots[child] = self.roots.get(process, process)
            self.left[child] = self.left.get(process, time_ns)
            return
        first, second, third = (row[f"argument_{place}"] for place in range(3))
        if call in ("openat", "open"):
            flags = third if call == "openat" else second
            self._put(process, row["result"], ("call", time_ns), bool(flags & CLOEXEC))
        elif call in ("dup", "dup2", "dup3") or (call == "fcntl" and second in (0, 1030)):
            closed = (call == "dup3" and bool(third & CLOEXEC)) or (call == "fcntl" and second == 1030)
            self._put(process, row["result"], self.opened(process, first)[0], closed)
        elif call == "fcntl" and second == 2:
            opened, _ = self.opened(process, first)
            self.now.setdefault(process, {})[first] = opened, bool(third & 1)
        elif call == "close":
            self._put(process, first, ("closed", process, time_ns, first))
        elif call in ("execve", "close_range"):
            for number in self._known(process, row["process"]):
                opened, closed = self.opened(process, number)
                if call == "close_range" and third & 4 and first <= number <= second:
                    self.now.setdefault(process, {})[number] = opened, True
                elif closed if call == "execve" else not third & 4 and first <= number <= second:
                    self._put(process, number, ("closed", process, time_ns, number))


class ExactCalls:
    """Files and places of calls, by `Tables` for each of them."""

    def __init__(self, rows: Sequence[Row], files: Sequence[SeenFile]) -> None:
        moments = [
            (row["start_ns"] if row["call"] in ("close", "close_range", "fork") else row["end_ns"], row)
            for row in rows
            if row["result"] >= 0
        ]
        self._events = sorted(moments, key=lambda moment: moment[0])
        self._files = files
        self._tables: dict[int, Tables] = {}

    def at(self, time_ns: int) -> Tables:
        if time_ns not in self._tables:
            self._tables[time_ns] = Tables(self._events, self._files, time_ns)
        return self._tables[time_ns]

    def file(self, process: int, descriptor: int, time_ns: int) -> SeenFile | None:
        """The one that was seen between the same changes, or whose open file it is a copy of."""
        tables = self.at(time_ns)

        def place(moment_ns: int) -> int:
            # what was inherited at its birth is the first one
            found = self.at(moment_ns)
            return found.changes[found.table(process), descriptor]

        for file in self._files:
            is_of_it = (file.process, file.descriptor) == (process, descriptor)
            if is_of_it and place(file.first_ns) <= place(time_ns) <= place(file.last_ns):
                return file
        opened, _ = tables.opened(process, descriptor)
        own = tables.table(process)
        seen = [file for file in self._files if self._tells(file, opened)]
        if opened[0] != "call" and opened[1] != own and own in tables.left:
            seen = [file for file in seen if file.first_ns <= tables.left[own]]
            return max(seen, key=lambda file: file.first_ns, default=None)
        return seen[0] if seen else None

    def _tells(self, file: SeenFile, opened: Opened) -> bool:
        for time_ns in (file.first_ns, file.last_ns):
            tables = self.at(time_ns)
            is_own = opened[0] == "call" or opened[1] == tables.table(file.process)
            if is_own and tables.opened(file.process, file.descriptor)[0] == opened:
                return True
        return False


def exact_operations(
    rows: Sequence[Row], files: Sequence[SeenFile], devices: frozenset[str]
) -> tuple[list[Row], dict[str, int], dict[str, int]]:
    """Operations with their call, process, file and place; what is left out, by its reason; sizes at first."""
    exact = ExactCalls(rows, files)
    left_out: Counter[str] = Counter()
    found = []
    for row in rows:
        if row["call"] not in (*READS, *WRITES, *SYNCS):
            continue
        file = exact.file(row["process"], row["argument_0"], row["start_ns"])
        if file is not None and not file.device and row["call"] in SYNCS and row["result"] >= 0:
            file = None
        if reason := _why_left_out(row, file, devices):
            left_out[reason] += 1
        else:
            found.append((row, file))
    of_rows = {id(row): file for row, file in found}
    sizes = _sizes(found)
    places = _places(rows, of_rows, exact, sizes)
    return [_operation(row, file, places.get(id(row))) for row, file in found], dict(left_out), sizes


def _why_left_out(row: Row, file: SeenFile | None, devices: frozenset[str]) -> str:
    if row["result"] < 0:
        return "calls that failed"
    if file is not None and not file.device:
        return "calls on sockets, pipes and the like"
    if file is not None and file.device not in devices:
        return "calls on files elsewhere"
    return FILE_UNKNOWN if file is None and row["call"] not in SYNCS else ""


def _operation(row: Row, file: SeenFile | None, place: int | None) -> Row:
    kind = 3 if row["call"] in SYNCS else 0 if row["call"] in READS else 4 if file and file.is_durable else 1
    return {
        "call": row["call"],
        "process": row["process"],
        "start_ns": row["start_ns"],
        "operation": kind,
        "size_bytes": 0 if kind == 3 else row["result"],
        "file": file.path if file else "",
        "offset_bytes": place or 0,
        "is_placed": place is not None,
    }


def _sizes(found: Sequence[tuple[Row, SeenFile | None]]) -> dict[str, int]:
    sizes = {}
    for path in {file.path for _, file in found if file}:
        first = min((file for _, file in found if file and file.path == path), key=lambda file: file.first_ns)
        mine = [row for row, file in found if file and file.path == path and row["call"] in WRITES]
        mine = [row for row in mine if row["result"] > 0 and row["start_ns"] < first.first_ns]
        at_end = sum(row["result"] for row in mine if row["call"] != "pwrite64")
        covered = 0
        for row in sorted((row for row in mine if row["call"] == "pwrite64"), key=lambda row: row["argument_3"]):
            if row["argument_3"] <= covered:
                covered = max(covered, row["argument_3"] + row["result"])
        sizes[path] = 0 if covered >= first.size_bytes else max(0, first.size_bytes - at_end)
    return sizes


def _places(
    rows: Sequence[Row], files: Mapping[int, SeenFile | None], exact: ExactCalls, sizes: dict[str, int]
) -> dict[int, int]:
    opens: dict[Opened, dict[str, Any]] = {}
    ends: dict[str, int] = {}
    found: dict[int, int] = {}
    for row in rows:
        call, file = row["call"], files.get(id(row))
        if row["result"] < 0 or call == "fork":
            continue
        new = {"position": None, "append": False, "emptied": False, "moved": -1}
        if call == "openat":
            opened, _ = exact.at(row["end_ns"]).opened(row["process"], row["result"])
            flags = row["argument_2"]
            opens[opened] = new | {"position": 0, "append": bool(flags & 0o2000), "emptied": bool(flags & 0o1000)}
            continue
        opened, _ = exact.at(row["start_ns"]).opened(row["process"], row["argument_0"])
        if call == "lseek":
            opens.setdefault(opened, new)["position"] = row["result"]
        if file is None:
            continue
        state = opens.setdefault(opened, new | {"append": file.is_append})
        if file.path not in ends:
            if state["emptied"]:
                sizes[file.path] = 0
            ends[file.path] = sizes[file.path]
        if call in SYNCS:
            continue
        place = row["argument_3"]
        if call in ("read", "write"):
            if state["position"] is None and state["moved"] < file.first_ns <= row["start_ns"]:
                state["position"] = file.position_bytes
            is_append = call == "write" and (state["append"] or file.is_append)
            place = ends[file.path] if is_append else state["position"]
            state["moved"] = row["start_ns"]
            if place is None:
                continue
            state["position"] = place + row["result"]
        found[id(row)] = place
        if call in WRITES:
            ends[file.path] = max(ends[file.path], place + row["result"])
    return found
