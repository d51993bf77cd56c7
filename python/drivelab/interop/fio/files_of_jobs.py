"""Several files of each job: how many, and whose turn it is."""

from __future__ import annotations

from drivelab.interop.fio.engines import Engine
from drivelab.interop.fio.file_names import names_of
from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.translated import LayoutKind
from drivelab.interop.fio.translation_of_io import Issued
from drivelab.model.job_files import FileOrder, JobFiles

_FILES_MAX = 256
_WITH_FILES = ("sync", "uring", "aio")
_ORDERS: dict[str, FileOrder] = {"random": "random", "roundrobin": "round_robin", "sequential": "sequential"}
_SYNC_CALLS = ("fsync", "fdatasync", "sync_file_range")


def files_of_jobs(options: JobOptions, engine: Engine, io: Issued, kind: LayoutKind) -> JobFiles:
    """The files that each job has, and how they take turns; one where drivelab has one for all of them."""
    count = options.number("nrfiles")
    if count == 1:
        return JobFiles()
    if options.has("filename") or kind != "file":
        options.tell("nrfiles", "noted", "filename says which there are" if kind != "null" else "there are none")
        return JobFiles()
    why = _why_one(options, engine, io, count * options.number("numjobs"))
    if why:
        options.tell("nrfiles", "approximated", f"one file as large as all of them together: {why}")
        options.tell("openfiles", "noted", "there is one file, and it stays open")
        options.tell("file_service_type", "approximated", "there is one file")
        return JobFiles()
    _tell_of_calls(options)
    open_max = options.number("openfiles")
    if "/" in options.text("filename_format"):
        options.tell("filename_format", "approximated", "all files lie in the directory of the first")
    service = options.choice("file_service_type")
    if service.word not in _ORDERS:
        options.tell("file_service_type", "approximated", "random: each file as often as the others")
    ios = 1
    if service.rest.isdecimal() and service.word in ("random", "roundrobin"):
        ios = max(1, min(int(service.rest[:9]), 2**31 - 1))
    return JobFiles(
        count=count,
        order=_ORDERS.get(service.word, "random"),
        ios_per_turn=ios,
        open_max=open_max if open_max < count else 0,
    )


def _why_one(options: JobOptions, engine: Engine, io: Issued, all_files: int) -> str:
    """Why there is one file; empty where there are as many as fio has."""
    if engine.backend not in _WITH_FILES:
        return f"{engine.name} has one"
    if all_files > _FILES_MAX:
        return f"at most {_FILES_MAX} for all jobs"
    if len(names_of(options.text("directory"))) > 1:
        return "there are several directories"
    if "$filenum" not in options.text("filename_format").lower():
        return "filename_format gives all the same name"
    if io.has_zones or any(order.get("kind") == "same" for order in io.orders.values()):
        return "its order is that of one"
    return ""


def _tell_of_calls(options: JobOptions) -> None:
    """Say what fio's sync calls come to, and where it keeps to one file."""
    for name in _SYNC_CALLS:
        if options.number(name) or options.text(name):
            what = "as in fio, each call is for the file whose turn it is, not for the one just written"
            options.tell(name, "noted", what)
    if options.truth("time_based") and options.choice("file_service_type").word == "sequential":
        what = "at random, fio stays with the first file until the time is over"
        if options.choice("rw").word.startswith("rand") and not options.truth("norandommap"):
            options.tell("file_service_type", "approximated", what)
