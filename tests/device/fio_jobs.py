"""Small job files of fio, one line each, and how drivelab is known to do otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Aspect = Literal["count", "sizes", "places", "syncs", "drops"]


@dataclass(frozen=True, slots=True)
class FioJob:
    """A job, and what of it differs.

    Attributes
    ----------
    name : str
        Its section; its files are called after it.
    options : str
        Its options, separated by blanks.
    deviations : mapping of str to str
        What drivelab issues otherwise, and the option at which it says so.
    """

    name: str
    options: str
    deviations: Mapping[Aspect, str] = field(default_factory=dict)

    @property
    def job_count(self) -> int:
        """Jobs of its file."""
        words = dict(word.partition("=")[::2] for word in self.options.split())
        return int(words.get("numjobs", "1")) if "filename" in words else 1

    @property
    def is_timed(self) -> bool:
        """Whether time alone ends it, so that nobody can know how many I/Os it has."""
        return "time_based" in self.options

    @property
    def file_names(self) -> tuple[str, ...]:
        """The files that fio makes for it, or for the first of its jobs; how they are called is not changed."""
        words = dict(word.partition("=")[::2] for word in self.options.split())
        return tuple(f"{self.name}.0.{number}" for number in range(int(words.get("nrfiles", "1"))))

    @property
    def section(self) -> str:
        """The lines of a job file; it begins when the job before has ended."""
        return "\n".join([f"[{self.name}]", "stonewall", *self.options.split(), ""])


_MAP = {"places": "norandommap"}
_READS_COUNT = {"syncs": "fsync"}

JOBS = (
    FioJob("read", "rw=read"),
    FioJob("read-loops", "rw=read loops=3"),
    FioJob("read-io-size", "rw=read io_size=640k"),
    FioJob("read-io-size-small", "rw=read io_size=100k"),
    FioJob("read-gaps-loops", "rw=read:4k loops=3"),
    FioJob("read-timed", "rw=read time_based runtime=200ms"),
    FioJob("read-kept-cached", "rw=read loops=3 invalidate=0"),
    FioJob("read-no-hint", "rw=read fadvise_hint=0"),
    FioJob("read-large", "rw=read bs=64k"),
    FioJob("read-uneven", "rw=read bs=3k"),
    FioJob("read-holes", "rw=read:8k"),
    FioJob("read-holes-again", "rw=read:12k"),
    FioJob("read-down", "rw=read:-8k", {"places": "rw"}),
    FioJob("read-part", "rw=read offset=64k size=128k filesize=256k"),
    FioJob("read-percent", "rw=read filesize=256k size=50% offset=25%"),
    FioJob("read-shared", "rw=read numjobs=2 filename=read-shared.0.0"),
    FioJob(
        "read-increment", "rw=read numjobs=3 filename=read-increment.0.0 filesize=256k size=32k offset_increment=10000"
    ),
    FioJob(
        "read-increment-percent",
        "rw=read numjobs=3 filename=read-increment-percent.0.0 size=48k filesize=256k offset_increment=30%",
    ),
    FioJob(
        "read-increment-to-end",
        "rw=read numjobs=2 filename=read-increment-to-end.0.0 filesize=256k size=256k offset_increment=25%",
    ),
    FioJob(
        "randread-increment",
        "rw=randread numjobs=4 filename=randread-increment.0.0 filesize=256k size=64k offset_increment=25%",
    ),
    FioJob(
        "write-increment", "rw=write numjobs=2 filename=write-increment.0.0 filesize=256k size=64k offset_increment=50%"
    ),
    FioJob(
        "read-increment-loops",
        "rw=read numjobs=2 filename=read-increment-loops.0.0 filesize=256k size=64k offset_increment=30% loops=2",
    ),
    FioJob("read-number", "rw=read number_ios=17"),
    FioJob("read-direct", "rw=read direct=1"),
    FioJob("read-pvsync", "rw=read ioengine=pvsync"),
    FioJob("randread", "rw=randread"),
    FioJob("randread-loops", "rw=randread loops=2"),
    FioJob("randread-timed", "rw=randread time_based runtime=200ms"),
    FioJob("randread-repeats", "rw=randread norandommap"),
    FioJob("randread-runs", "rw=randread:8", _MAP),
    FioJob("randread-zipf", "rw=randread random_distribution=zipf:1.1 size=1m"),
    FioJob("randread-aio", "rw=randread ioengine=libaio iodepth=8 direct=1"),
    FioJob("randread-number", "rw=randread number_ios=20"),
    FioJob("randread-share", "rw=randread percentage_random=30 size=1m", _MAP),
    FioJob("randread-repeats-loops", "rw=randread norandommap loops=3"),
    FioJob("randread-mapped", "rw=randread ioengine=mmap"),
    FioJob("read-mapped", "rw=read ioengine=mmap"),
    FioJob("write", "rw=write"),
    FioJob("write-loops", "rw=write loops=2"),
    FioJob("write-log", "rw=write bs=2300 fdatasync=1 size=200k"),
    FioJob("write-fsync", "rw=write fsync=8"),
    FioJob("write-end-fsync", "rw=write end_fsync=1"),
    FioJob("write-fsync-and-end", "rw=write fsync=8 end_fsync=1"),
    FioJob("write-fsync-uneven-and-end", "rw=write fsync=7 end_fsync=1"),
    FioJob("write-fsync-number", "rw=randwrite fsync=4 number_ios=20"),
    FioJob("write-fsync-jobs", "rw=write fsync=8 numjobs=2 filename=write-fsync-jobs.0.0"),
    FioJob("write-fsync-loops", "rw=write fsync=8 loops=2", {"syncs": "loops"}),
    FioJob("write-fsync-aio", "rw=randwrite fsync=8 ioengine=libaio iodepth=16 direct=1"),
    FioJob("write-barrier", "rw=write write_barrier=8"),
    FioJob("write-osync", "rw=write sync=1"),
    FioJob("write-odsync", "rw=write sync=dsync direct=1"),
    FioJob("write-append", "rw=write fallocate=none"),
    FioJob("write-over", "rw=write overwrite=1"),
    FioJob("write-holes", "rw=write:4k"),
    FioJob("write-aio", "rw=write ioengine=libaio iodepth=4 direct=1 bs=16k"),
    FioJob("randwrite", "rw=randwrite"),
    FioJob("randwrite-share", "rw=randwrite percentage_random=0,20,0 size=1m", _MAP),
    FioJob("randwrite-sizes", "rw=randwrite bsrange=4k-16k size=1m"),
    FioJob("randread-sizes", "rw=randread bssplit=4k/60:12k/40 size=1m"),
    FioJob("randread-sizes-loops", "rw=randread bsrange=4k-16k size=1021k loops=2", {"places": "loops"}),
    FioJob("mix-random-sizes", "rw=randrw bssplit=4k/50:8k/50 size=1m"),
    FioJob("randwrite-split", "rw=randwrite bssplit=4k/50:8k/50 norandommap size=1m", {"count": "bssplit"}),
    FioJob("mix", "rw=rw size=1m"),
    FioJob("mix-sizes", "rw=rw size=1m bs=4k,8k"),
    FioJob("mix-random", "rw=randrw rwmixread=70 size=1m"),
    FioJob("mix-shares", "rw=randrw percentage_random=9,90 size=1m", _MAP),
    FioJob("mix-half-random", "rw=randrw percentage_random=0,100 size=1m"),
    FioJob("mix-fsync", "rw=randrw fsync=4 size=1m", _READS_COUNT),
    FioJob("mix-rate", "rw=rw rate_iops=100000,100000 size=1m"),
    FioJob("mix-positions", "rw=rw bs=4k,16k size=1m ioengine=libaio iodepth=4 direct=1"),
    FioJob("rate", "rw=read rate_iops=100000"),
    FioJob("write-own-files", "rw=write numjobs=2"),
    FioJob("read-files", "rw=read nrfiles=4"),
    FioJob("read-files-loops", "rw=read nrfiles=4 loops=2"),
    FioJob("read-files-uneven", "rw=read nrfiles=3 size=252k bs=8k"),
    FioJob("read-files-sequential", "rw=read nrfiles=4 file_service_type=sequential"),
    FioJob("read-files-turns-of-3", "rw=read nrfiles=4 file_service_type=roundrobin:3"),
    FioJob("read-files-2-open", "rw=read nrfiles=4 openfiles=2"),
    FioJob("read-files-of-a-size", "rw=read nrfiles=4 filesize=32k"),
    FioJob("read-files-in-part", "rw=read nrfiles=4 filesize=32k size=96k"),
    FioJob("read-files-offset", "rw=read nrfiles=4 filesize=64k offset=16k"),
    FioJob("read-files-io-size", "rw=read nrfiles=4 io_size=100k"),
    FioJob("randread-files", "rw=randread nrfiles=4"),
    FioJob("randread-files-loops", "rw=randread nrfiles=4 loops=2"),
    FioJob("randread-files-sequential", "rw=randread nrfiles=4 file_service_type=sequential"),
    FioJob("randread-files-random", "rw=randread nrfiles=4 file_service_type=random size=1m"),
    FioJob("randread-files-random-of-4", "rw=randread nrfiles=4 file_service_type=random:4 size=1m"),
    FioJob("randread-files-aio", "rw=randread nrfiles=4 ioengine=libaio iodepth=8 direct=1"),
    FioJob("write-files", "rw=write nrfiles=4"),
    FioJob("write-files-end-fsync", "rw=write nrfiles=4 end_fsync=1"),
    FioJob("write-files-fsync", "rw=write nrfiles=4 fsync=3"),
    FioJob("write-files-fdatasync", "rw=write nrfiles=2 fdatasync=1"),
    FioJob("write-files-own", "rw=write nrfiles=2 numjobs=2"),
    FioJob("mix-files", "rw=randrw nrfiles=4 size=1m"),
    FioJob("read-zones", "rw=read zonemode=strided zonesize=16k zoneskip=16k"),
    FioJob("read-zones-again", "rw=read zonemode=strided zonesize=40k zonerange=16k loops=2"),
    FioJob("read-zones-offset", "rw=read zonemode=strided zonesize=16k zoneskip=16k offset=64k"),
    FioJob("randread-zones", "rw=randread zonemode=strided zonesize=32k zonerange=16k zoneskip=48k"),
    FioJob("randread-zones-repeats", "rw=randread zonemode=strided zonesize=16k zoneskip=16k norandommap"),
    FioJob("write-zones", "rw=write zonemode=strided zonesize=8k zonerange=32k overwrite=1"),
    FioJob("read-splice", "rw=read ioengine=splice bs=16k"),
    FioJob("randread-splice", "rw=randread ioengine=splice"),
    FioJob("write-splice", "rw=write ioengine=splice fsync=8"),
    FioJob("write-falloc", "rw=write ioengine=falloc bs=16k"),
    FioJob("randwrite-falloc", "rw=randwrite ioengine=falloc"),
    FioJob("trim-falloc", "rw=trim ioengine=falloc"),
)
