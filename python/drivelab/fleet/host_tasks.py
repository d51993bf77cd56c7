"""What is asked of a host, as coroutines that run there; each is idempotent, and each answer is plain data.

A host keeps what it measures for a fleet below its own directory of runs, in
``fleets/FLEET/ITEM``. What lies there is the result: an answer that is lost
is asked for again, and nothing is measured twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from drivelab.fleet.fingerprint import fingerprint
from drivelab.fleet.local_commands import Ended, LocalCommands
from drivelab.fleet.lock import locked
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_plan import FleetItem, FleetWork
from drivelab.store.durable import make_directory, storage_error
from drivelab.store.invalid_trials import doubt_of
from drivelab.store.layout import RUN_JSON, default_parent
from drivelab.store.read import open_run
from drivelab.store.regular_file import opened_regular

# what 'drivelab io --start-when-told' says when nothing is missing but the moment
READY = "ready to begin"
_FLEETS = "fleets"
_LOCK, _ANSWER = ".lock", "answer.txt"
_INTERRUPTED = 128 + signal.SIGINT
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PIECE_BYTES_MAX = 8 * 1024**2

COMMANDS = LocalCommands()
# tells those who ask how far this host is
PROGRESS: ContextVar[Callable[[Mapping[str, Any]], None]] = ContextVar("progress")


async def drives() -> dict[str, Any]:
    """The drives of this host, as ``drivelab drives --json --all --smart`` has them, or why they cannot be listed.

    Of each it is told which running kernel knows it. The answer also tells what has to be the same on both sides, since
    not every host was told when it was started, and when by the clock of this host it was asked and has answered, in
    nanoseconds since 1970.
    """
    asked_ns = time.time_ns()
    smart = ["--smart"] if os.geteuid() == 0 else []
    ended = await COMMANDS.ended(["drives", "--json", "--all", *smart])
    kernel = _BOOT_ID.read_text(encoding="ascii").strip()
    found = [{**drive, "kernel": kernel} for drive in ended.document.get("drives", [])]
    told = {"drives": found, "error": ended.error, "fingerprint": fingerprint()}
    return told | {"asked_ns": asked_ns, "answered_ns": time.time_ns()}


async def clock_ns() -> int:
    """The time of this host, in nanoseconds since 1970."""
    return time.time_ns()


async def restore() -> dict[str, Any]:
    """What ``drivelab restore`` puts back here, and what it says if it cannot."""
    ended = await COMMANDS.ended(["restore", "--json"])
    return {"document": ended.document, "error": ended.error}


async def measure(
    fleet: str, stored_item: Mapping[str, Any], stored_work: Mapping[str, Any], tell_after_s: float
) -> dict[str, Any]:
    """Have one target measured, or go on with what was cut off, or only say that it was done already.

    Parameters
    ----------
    fleet : str
        Name of the fleet.
    stored_item, stored_work
        As `FleetItem.to_json` and `FleetWork.to_json` make them.
    tell_after_s : float
        How often its progress is told at most: lines are for eyes.

    Returns
    -------
    dict of str to Any
        ``state``, ``reason``, ``run`` and ``answer`` of the item, and of what is complete ``doubt``, ``is_void``,
        ``outcome`` and ``why``.
    """
    item, work = FleetItem.from_json(stored_item), FleetWork.from_json(stored_work)
    folder = item_folder(fleet, item.key)
    try:
        make_directory(folder)
        with _held(folder) as lock:
            ended = Ended(0, {}, "")
            before = _outcome(folder, ended)
            if before["state"] != "complete":
                words = _words(folder, item, work, before["run"])
                name = item.key if work.begins_together else ""
                tell = _teller(fleet, item.key, tell_after_s)
                ended = await COMMANDS.ended(words, tell, pass_fds=(lock,), name=name)
                _keep_answer(folder, ended)
            return _outcome(folder, ended)
    except (DrivelabError, OSError) as error:
        told = storage_error(error, folder) if isinstance(error, OSError) else error
        reason = f"{told.code}: {told.what}"
        if told.code != "F907":
            # where there is no room, and what helps
            reason = f"{reason} ({told.where}); {told.do}"
        return {"state": "failed", "reason": reason, "run": "", "answer": ""}


async def plan(stored_item: Mapping[str, Any], stored_work: Mapping[str, Any]) -> dict[str, Any]:
    """What measuring a target would do, as ``drivelab run --dry-run`` says: nothing is changed.

    Parameters
    ----------
    stored_item, stored_work
        As for `measure`.

    Returns
    -------
    dict of str to Any
        What `ItemPlan` holds.
    """
    item, work = FleetItem.from_json(stored_item), FleetWork.from_json(stored_work)
    with TemporaryDirectory() as folder:
        ended = await COMMANDS.ended([*_words(Path(folder), item, work, ""), "--dry-run"])
    targets, refused = ended.document.get("targets", ()), ended.document.get("refused", ())
    # time and bytes of a simulated drive are nobody's
    counts = any(one["kind"] != "simulated" for one in targets)
    reasons = [f"{error['code']}: {error['what']}; {error['do']}" for error in refused]
    return {
        "erases": [words for one in targets for words in one["destroys"]],
        "consents": [
            words for one in targets for words in (one["erase_argument"], *one["member_erase_arguments"]) if words
        ],
        "refused": "; ".join([*reasons, *ended.document.get("impossible_here", ())]) or ended.error,
        "expected_ns": counts * ended.document.get("expected_ns", 0),
        "bytes_written": counts * ended.document.get("bytes_written", 0),
    }


async def begin(key: str, unix_ns: int | None) -> None:
    """Have what waits for its moment begin, in nanoseconds since 1970 by the clock of this host; None is never."""
    COMMANDS.say(key, "" if unix_ns is None else f"{unix_ns}\n")


async def outcome(fleet: str, key: str) -> dict[str, Any]:
    """What is stored of an item here, without measuring anything."""
    folder = item_folder(fleet, key)
    found = _outcome(folder, Ended(0, {}, ""))
    try:
        with _held(folder):
            return found
    except DrivelabError as error:
        # of what was never asked here there is not even a place for a lock
        return found | {"state": "measuring", "reason": ""} if error.code == "F907" else found


async def files(run: str) -> bytes:
    """The files of a run, and of a small one what they hold.

    Returns
    -------
    bytes
        A line of JSON with names, which begin below its directory, sizes in bytes, and SHA-256 in hexadecimal; behind
        it all files in this order, if together they are as many bytes as one answer may have.
    """
    directory = _own_directory(run)
    paths = sorted(path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
    # those of a large run take a while, and hosts are heard meanwhile
    return await asyncio.to_thread(_listed, directory, paths)


async def pieces(run: str, wanted: Sequence[tuple[str, int, int]]) -> bytes:
    """Pieces of files of a run, one behind the other: of each a name, an offset, and a number of bytes."""
    return b"".join([_piece(_own_file(run, name), offset, count) for name, offset, count in wanted])


def item_folder(fleet: str, key: str) -> Path:
    """Where this host keeps the runs of an item.

    Raises
    ------
    DrivelabError
        F906: a name that would lead elsewhere.
    """
    parts = [fleet, *key.split("/")]
    if any(not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", part) for part in parts):
        raise DrivelabError("F906", f"'{fleet}/{key}' names no item of a fleet")
    return default_parent() / _FLEETS / Path(*parts)


def _words(folder: Path, item: FleetItem, work: FleetWork, cut_off: str) -> list[str]:
    """The local command that makes an item complete."""
    erase = [word for name in item.erase for word in ("--erase", name)]
    if cut_off and work.command == "run":
        return ["resume", cut_off, *erase, "--json"]
    experiment = [work.experiment] if work.command == "run" else []
    if work.experiment_text:
        file = folder / work.experiment.rpartition("/")[2]
        file.write_text(work.experiment_text, encoding="utf-8")
        experiment = [str(file)]
    tags = [word for key, value in item.tags.items() for word in ("--tag", f"{key}={value}")]
    return [work.command, *experiment, item.target, *work.words, *tags, "--out", str(folder), *erase, "--json"]


def _outcome(folder: Path, ended: Ended) -> dict[str, Any]:
    """What lies in the folder of an item, and what its command said."""
    runs = sorted(path.parent for path in folder.glob(f"*/{RUN_JSON}"))
    # what such a command says last is how to go on with its run, and a fleet goes on itself
    said = "it was interrupted" if ended.exit_code == _INTERRUPTED else ended.error
    if not runs:
        state = "cut_off" if _was_interrupted(ended) else "failed" if ended.error else "planned"
        return {"state": state, "reason": said, "run": "", "answer": ""}
    run = open_run(runs[-1])
    record = run.record
    if record.status == "complete":
        doubt, is_void = doubt_of(run)
        told = {"state": "complete", "reason": "", "run": str(runs[-1]), "answer": _answer(folder)}
        verdict = record.verdict if record.verdict.get("need") else {}
        judged = {name: str(verdict.get(name, "")) for name in ("outcome", "why")}
        return told | judged | {"doubt": doubt, "is_void": is_void}
    reason = said or record.error or f"its run is {record.status}"
    state = "failed" if ended.error and not _was_interrupted(ended) else "cut_off"
    return {"state": state, "reason": reason, "run": str(runs[-1]), "answer": ""}


def _was_interrupted(ended: Ended) -> bool:
    return ended.exit_code < 0 or ended.exit_code == _INTERRUPTED


def _keep_answer(folder: Path, ended: Ended) -> None:
    """Keep what a command says in short: it is asked for again where it was lost on its way."""
    if told := ended.document.get("in_short"):
        (folder / _ANSWER).write_text(str(told), encoding="utf-8")


def _answer(folder: Path) -> str:
    path = folder / _ANSWER
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _held(folder: Path) -> AbstractContextManager[int]:
    """Have an item for oneself: the lock lasts as long as the command that is handed its descriptor.

    Raises
    ------
    DrivelabError
        F907: somebody else has it. S501 to S503: it cannot be made.
    """
    return locked(folder / _LOCK, "this host measures it already")


def _teller(fleet: str, key: str, tell_after_s: float) -> Callable[[str], None]:
    """Sends lines of progress to whoever asks, none sooner after another than `tell_after_s`.

    Those about ended steps are another table's: they are sent only until the command tells what it does now.
    """
    tell_them = PROGRESS.get()
    told_at, tells_now = 0.0, False

    def tell(line: str) -> None:
        nonlocal told_at, tells_now
        news, now = _progress(line), time.monotonic()
        tells_now = tells_now or "left_ns" in news
        is_wanted = "left_ns" in news or not (tells_now or line.startswith('{"error"'))
        if line == READY or (is_wanted and now - told_at >= tell_after_s):
            told_at = now
            tell_them({"fleet": fleet, "item": key, **news})

    return tell


def _progress(line: str) -> dict[str, Any]:
    """What a line on stderr tells: of a command that was asked to, also rates and the time left."""
    with suppress(ValueError, KeyError, TypeError):
        return dict(json.loads(line)["progress"])
    return {"line": line}


def _listed(directory: Path, paths: Sequence[Path]) -> bytes:
    found = [(str(path.relative_to(directory)), path.stat().st_size, _digest(path)) for path in paths]
    told = json.dumps(found).encode() + b"\n"
    if sum(size for _, size, _ in found) > PIECE_BYTES_MAX:
        return told
    return told + b"".join(_piece(path, 0, size) for path, (_, size, _) in zip(paths, found, strict=True))


def _digest(path: Path) -> str:
    with opened_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def _piece(path: Path, offset: int, count: int) -> bytes:
    with opened_regular(path) as file:
        file.seek(offset)
        return file.read(min(count, PIECE_BYTES_MAX))


def _own_directory(run: str) -> Path:
    """A directory of a run that was made for a fleet.

    Raises
    ------
    DrivelabError
        F906: it is none.
    """
    directory = Path(run).resolve()
    if not directory.is_relative_to((default_parent() / _FLEETS).resolve()):
        raise DrivelabError("F906", f"{run} is no run of a fleet")
    return directory


def _own_file(run: str, name: str) -> Path:
    directory = _own_directory(run)
    path = (directory / name).resolve()
    if not path.is_relative_to(directory):
        raise DrivelabError("F906", f"{name} is no file of {run}")
    return path


QUESTIONS = {
    asked.__name__: asked for asked in (drives, clock_ns, restore, plan, measure, begin, outcome, files, pieces)
}
