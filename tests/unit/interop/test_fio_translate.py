"""What a job file becomes: patterns, targets, groups, and what is said of each option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drivelab.interop.fio.engines import ENGINES, REFUSED
from drivelab.interop.fio.options import OPTIONS
from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment, TranslatedJob, Translation
from drivelab.model.errors import DrivelabError
from drivelab.model.workload import TargetRange
from drivelab.model.workload_pattern import WorkloadPattern

JOB_FILES = Path(__file__).parent / "fio_jobs"
GIB = 2**30
DEVICE = Environment(size_of=lambda path: 64 * GIB if path == "/dev/sdx" else None)


@pytest.fixture
def translated(tmp_path: Path) -> Any:
    """Translates the lines of a job file."""

    def translate(text: str, environment: Environment = DEVICE, *, strict: bool = False) -> Translation:
        path = tmp_path / "jobs.fio"
        path.write_text(text)
        return translate_file(path, environment, strict=strict)

    return translate


@pytest.fixture
def job(translated: Any) -> Any:
    """Translates the lines of one job."""

    def translate(lines: str, environment: Environment = DEVICE) -> TranslatedJob:
        (only,) = translated(f"[job]\n{lines}\n", environment).jobs
        return only

    return translate


def told(job: TranslatedJob, option: str) -> tuple[str, str]:
    return next((note.effect, note.what) for note in job.notes if note.option == option)


def test_a_file_with_two_phases_becomes_two_groups() -> None:
    fill, reader, log = translate_file(JOB_FILES / "two_phases.fio", Environment()).jobs
    assert [each.group for each in (fill, reader, log)] == [1, 2, 2]
    assert [each.reporting_group for each in (fill, reader, log)] == [0, 1, 1]
    assert fill.pattern == WorkloadPattern(
        operation="write", access={"kind": "sequential"}, block_size=2**20, queue_depth=4, backend="aio", direct=True,
        submission_batch=1, completion_batch=1, bytes=GIB, file_size=GIB, range_size=GIB, file_state="preallocated",
    )  # fmt: skip
    assert reader.pattern == WorkloadPattern(
        operation="read", access={"kind": "random", "covers_once": True}, queue_depth=16, job_count=2, backend="aio",
        direct=True, submission_batch=1, completion_batch=1, runtime="30s", file_size=GIB, range_size=GIB,
        own_files=True,
    )  # fmt: skip
    assert log.pattern.durability == "fdatasync"
    assert (log.pattern.direct, log.pattern.backend, log.pattern.queue_depth) == (False, "sync", 1)
    assert [each.targets for each in (fill, log)] == [("/data/fill.0.0",), ("/data/log.0.0",)]
    assert told(log, "prioclass")[0] == "not-honoured"
    assert fill.given == {"rw": "write", "bs": "1m", "iodepth": "4"}
    assert log.shared["runtime"] == "30"


def test_a_mix_keeps_its_shares_sizes_and_rate() -> None:
    (mix,) = translate_file(JOB_FILES / "mixed_sizes.fio", DEVICE).jobs
    workload = mix.pattern.on(TargetRange(path="/dev/sdx"), seed=1)
    assert [(each.operation, each.weight) for each in workload.operations] == [("read", 0.7), ("write", 0.3)]
    assert [each.bytes for each in workload.operations[0].block_sizes] == [4096, 65536]
    assert [each.bytes for each in workload.operations[1].block_sizes] == [8192]
    assert (workload.pacing.kind, workload.pacing.rate_per_s) == ("fixed", 1000)
    assert (workload.limits.count, workload.limits.bytes) == (10000, 64 * GIB)
    assert workload.polled_completion
    assert not workload.access.covers_once


def test_nothing_but_a_size_has_the_defaults_of_fio(job: Any) -> None:
    plain = job("size=1m")
    assert plain.pattern == WorkloadPattern(
        operation="read", access={"kind": "sequential"}, backend="sync", bytes=2**20, file_size=2**20, range_size=2**20,
        cache_advice="sequential",
    )  # fmt: skip
    assert (plain.seed, plain.layout.page_cache, plain.targets) == (0x89, "drop", ("job.0.0",))
    resolved = plain.resolved
    assert (resolved["ioengine"], resolved["bs"], resolved["iodepth"], resolved["rw"]) == ("psync", "4096", "1", "read")
    assert (resolved["size"], resolved["direct"], resolved["numjobs"]) == (str(2**20), "0", "1")


ZONES = ({"range_fraction": 0.2, "access_fraction": 0.8}, {"range_fraction": 0.8, "access_fraction": 0.2})


@pytest.mark.parametrize(
    ("lines", "access"),
    [
        ("rw=read", {"kind": "sequential"}),
        ("rw=read:8k", {"kind": "strided", "stride_bytes": 12288}),
        ("rw=read:-8k", {"kind": "reverse"}),
        ("rw=read:-4k", {"kind": "same"}),
        ("rw=randread", {"kind": "random", "covers_once": True}),
        ("rw=randread:8", {"kind": "random", "run_blocks": 8}),
        ("rw=randread\nnorandommap", {"kind": "random"}),
        ("rw=randread\nrandom_distribution=zipf:0.9", {"kind": "zipf", "zipf_theta": 0.9}),
        ("rw=randread\nrandom_distribution=zipf", {"kind": "zipf", "zipf_theta": 1.2}),
        ("rw=randread\nrandom_distribution=pareto:0.3", {"kind": "pareto", "pareto_h": 0.3}),
        ("rw=randread\nrandom_distribution=normal:25", {"kind": "normal", "normal_deviation": 0.25}),
        ("rw=randread\nrandom_distribution=zoned:80/20:20/", {"kind": "zoned", "zones": ZONES}),
        ("rw=randread\npercentage_random=30", {"kind": "random", "random_fraction": 0.3}),
    ],
)
def test_orders_of_addresses(job: Any, lines: str, access: dict[str, Any]) -> None:
    found = job(f"filename=/dev/sdx\nsize=1g\n{lines}").pattern.access
    assert found.model_dump(exclude_defaults=True) | {"kind": found.kind} == access


def test_a_range_of_sizes_is_what_fio_draws_from(job: Any) -> None:
    sizes = job("filename=/dev/sdx\nbsrange=1k-4k").pattern.sizes
    assert [(each.bytes, each.weight) for each in sizes] == [(1024, 1), (2048, 1), (3072, 1), (4096, 1)]
    # fio draws from 3000 to 7000, rounds down to 3000, and takes 4000 for what is above
    sizes = job("filename=/dev/sdx\nbsrange=3000-4000").pattern.sizes
    assert [(each.bytes, each.weight) for each in sizes] == [(3000, 1), (4000, pytest.approx(1 / 3))]
    many = job("filename=/dev/sdx\nbsrange=512-1m\nbs=8k")
    assert len(many.pattern.sizes) == 64
    assert (many.pattern.sizes[0].bytes, many.pattern.sizes[-1].bytes) == (512, 2**20)
    assert told(many, "bsrange")[0] == "approximated"
    assert told(many, "bs")[0] == "noted"


def test_shares_of_a_split_are_filled_up(job: Any) -> None:
    sizes = job("filename=/dev/sdx\nbssplit=4k/10:8k:16k").pattern.sizes
    assert {each.bytes: each.weight for each in sizes} == {4096: 10, 8192: 45, 16384: 45}


@pytest.mark.parametrize(
    ("lines", "keys"),
    [
        ("size=1g\nnumjobs=4", {"job_count": 4, "share_range": True, "range_size": GIB, "bytes": 4 * GIB}),
        ("size=1g\nloops=3", {"bytes": 3 * GIB, "range_size": GIB}),
        ("size=1g\nio_size=5g\noffset=2g", {"bytes": 5 * GIB, "range_size": GIB, "offset": 2 * GIB}),
        ("size=25%\noffset=50%", {"range_size": 16 * GIB, "offset": 32 * GIB}),
        ("", {"range_size": 64 * GIB, "bytes": 64 * GIB}),
        ("size=1t", {"range_size": 64 * GIB}),
        ("size=1g\nruntime=5\nramp_time=500ms", {"runtime": 5 * 10**9, "ramp": 5 * 10**8, "bytes": GIB}),
        ("size=1g\nruntime=5\ntime_based", {"runtime": 5 * 10**9, "bytes": 0}),
        ("size=1g\nnumber_ios=7\nnumjobs=2", {"count": 14}),
        ("size=1g\nnumjobs=2\noffset_increment=1g", {"share_range": False, "range_size": 2 * GIB, "job_count": 2}),
        ("size=1m\nrw=write\nfsync=4", {"durability": "fsync", "sync_every_writes": 4, "sync_order": "before_next"}),
        ("size=1m\nrw=write\nsync=dsync", {"durability": "o_dsync"}),
        ("size=1m\nrw=write\nfsync=11\nbs=3k", {"last_sync": "always"}),
        ("size=1m\nrw=write\nend_fsync=1", {"durability": "fsync", "sync_every_writes": "end"}),
        ("size=1m\nfsync=4", {"durability": "none"}),
        ("size=1m\ndirect=1\nbuffered=1", {"direct": False}),
        ("size=1m\nrw=randrw\nrwmixwrite=80\nrwmixread=25", {"read_fraction": 0.25}),
        ("size=1m\nrw=randrw\nrwmixread=25\nrwmixwrite=80", {"read_fraction": 0.2}),
        ("size=1m\ncpus_allowed=0,2-3", {"pin_cpus": (0, 2, 3)}),
        ("size=1m\ncpumask=5", {"pin_cpus": (0, 2)}),
    ],
)
def test_keys_of_a_pattern(job: Any, lines: str, keys: dict[str, Any]) -> None:
    pattern = job(f"filename=/dev/sdx\n{lines}").pattern
    assert {name: getattr(pattern, name) for name in keys} == keys


def test_a_device_that_is_not_here_is_used_by_its_parts(job: Any) -> None:
    pattern = job("filename=/dev/sdy\nsize=25%\nnumjobs=2", Environment()).pattern
    assert (pattern.fill_level, pattern.range_size, pattern.capacities) == (0.25, 0, 0.5)
    pattern = job("filename=/dev/sdy\nsize=25%\noffset_increment=25%\nnumjobs=4", Environment()).pattern
    assert (pattern.fill_level, pattern.share_range) == (1.0, False)


def test_jobs_at_other_distances_than_their_size_are_jobs_of_their_own(translated: Any) -> None:
    lines = "[job]\nfilename=/dev/sdx\nsize=1g\nnumjobs=3\noffset_increment=10g\nrate_iops=10\n"
    jobs = translated(lines).jobs
    assert [each.pattern.offset for each in jobs] == [0, 10 * GIB, 20 * GIB]
    assert {each.pattern.bytes for each in jobs} == {GIB}
    assert {each.pattern.pacing.rate_per_s for each in jobs} == {10}
    assert [(each.number, each.copy_number, each.group) for each in jobs] == [(1, 1, 1), (2, 2, 1), (3, 3, 1)]


def test_several_targets_share_the_jobs_or_the_depth(job: Any) -> None:
    by_jobs = job("filename=/dev/sdx:/dev/sdx\\:1\nnumjobs=4\nsize=2g\nioengine=libaio\niodepth=8")
    assert by_jobs.targets == ("/dev/sdx", "/dev/sdx:1")
    assert (by_jobs.pattern.job_count, by_jobs.pattern.queue_depth, by_jobs.pattern.range_size) == (2, 8, GIB)
    by_depth = job("filename=/a:/b\nsize=2g\nioengine=libaio\niodepth=8")
    assert (by_depth.pattern.job_count, by_depth.pattern.queue_depth, by_depth.pattern.bytes) == (1, 4, GIB)
    assert told(by_depth, "filename")[0] == "approximated"


def test_files_are_named_and_laid_out_as_fio_does(job: Any) -> None:
    several = job("directory=/data\nnrfiles=4\nfilesize=1m\nnumjobs=2\nrw=randwrite")
    assert (several.targets, several.layout.file_bytes) == (("/data/job.0.0",), 2**20)
    assert (told(several, "nrfiles")[0], several.pattern.job_files.count) == ("honoured", 4)
    assert (told(several, "numjobs")[0], several.pattern.own_files) == ("honoured", True)
    assert (several.pattern.range_size, several.pattern.bytes) == (2**20, 8 * 2**20)
    many = job("size=1m\nnumjobs=100\nrw=randwrite")
    assert (told(many, "numjobs")[0], many.pattern.own_files) == ("approximated", False)
    assert many.layout.file_bytes == 100 * 2**20
    round_both = job("directory=/a:/b\nnumjobs=3\nsize=1m")
    assert round_both.targets == ("/a/job.0.0", "/b/job.1.0", "/a/job.2.0")
    assert (round_both.pattern.job_count, round_both.pattern.own_files) == (1, False)
    assert job("filename_format=x.$jobname.$filenum\nsize=1m\nnumjobs=2").pattern.share_range
    here = Environment(size_of=lambda path: 2**20 if path.startswith("/d/file") else None)
    found = job("directory=/d\nfilename_format=file$jobnum\nnumjobs=2\nruntime=1\ntime_based", here)
    assert (found.targets, found.pattern.job_count, found.pattern.range_size) == (("/d/file0",), 2, 2**20)
    assert (found.name_format, found.pattern.own_files) == ("/d/file$jobnum", True)


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ("rw=write", "preallocated"),
        ("rw=write\nfallocate=none", "append"),
        ("rw=randwrite\nfallocate=none", "sparse"),
        ("rw=write\nfallocate=truncate", "sparse"),
        ("rw=write\noverwrite=1", "overwrite"),
        ("rw=randrw", "overwrite"),
    ],
)
def test_a_new_file_is_in_the_state_that_fio_leaves_it_in(job: Any, lines: str, state: str) -> None:
    assert job(f"filename=/data/x\nsize=1m\n{lines}").pattern.file_state == state


def test_a_file_that_is_there_or_that_an_earlier_job_makes_is_overwritten(translated: Any, job: Any) -> None:
    here = Environment(size_of=lambda _path: 2**20)
    assert job("filename=/data/x\nsize=1m\nrw=write", here).pattern.file_state == "overwrite"
    jobs = translated("[global]\nfilename=/data/x\nsize=1m\n[a]\nrw=read\n[b]\nstonewall\nrw=write\n").jobs
    assert jobs[1].pattern.file_state == "overwrite"


@pytest.mark.parametrize(
    ("lines", "keys"),
    [
        ("rate=1m\nbs=4k", {"kind": "fixed", "rate_per_s": 256}),
        ("rate=,1m\nrw=write\nnumjobs=2", {"kind": "fixed", "rate_per_s": 512}),
        ("rate_iops=100\nrate_process=poisson", {"kind": "poisson", "rate_per_s": 100}),
        ("thinktime=50\nthinktime_blocks=4", {"kind": "closed", "think_ns": 50_000, "think_every": 4}),
        ("thinktime=2ms", {"kind": "closed", "think_ns": 2_000_000}),
        ("rate=,1m", {"kind": "closed", "rate_per_s": 0}),
        ("flow=3\nflow_id=2\nflow_sleep=50", {"flow_weight": 3, "flow_number": 2, "flow_sleep_ns": 50_000}),
        ("flow_id=2\nrate=1m\nbs=4k", {"flow_weight": 0, "flow_number": 0, "rate_per_s": 256}),
    ],
)
def test_rates_and_pauses(job: Any, lines: str, keys: dict[str, Any]) -> None:
    pacing = job(f"filename=/dev/sdx\nsize=1g\n{lines}").pattern.pacing
    assert {name: getattr(pacing, name) for name in keys} == keys


@pytest.mark.parametrize("engine", ENGINES.values(), ids=list(ENGINES))
def test_every_engine_becomes_a_backend(job: Any, engine: Any) -> None:
    found = job(f"ioengine={engine.name}\nsize=1m\niodepth=8\nrw=randwrite\nnrfiles=10\nhipri")
    assert found.pattern.backend == engine.backend
    assert found.pattern.uses_tree == bool(engine.tree_operation)
    if not engine.tree_operation:
        assert found.pattern.queue_depth == (1 if engine.is_synchronous else 8)


def test_operations_on_files_have_as_many_as_all_jobs_together(job: Any) -> None:
    found = job("ioengine=filecreate\nnrfiles=100\nnumjobs=3\ndirectory=/data\nfilesize=4k")
    assert (found.pattern.operation, found.pattern.file_count, found.pattern.job_count) == ("create", 300, 3)
    assert (found.targets, found.layout.kind, told(found, "nrfiles")[0]) == (("/data",), "tree", "honoured")


@pytest.mark.provokes("U034")
@pytest.mark.parametrize("name", [*REFUSED, "nosuch"])
def test_engines_outside_a_drive_lab_are_refused_by_name(translated: Any, name: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        translated(f"[a]\nsize=1m\nioengine={name}\n")
    assert caught.value.code == "U034"
    assert name in caught.value.what
    assert caught.value.where.endswith(":3")


@pytest.mark.provokes("U033")
@pytest.mark.parametrize(
    "lines",
    [
        "rw=write",
        "size=1k\nbs=4k",
        "filename=x\nfilesize=1m\nnumjobs=3\noffset_increment=512k",
        "size=1m\nrate=1m\nrate_iops=3",
        "size=1m\nwait_for=job",
        "size=1m\nwait_for=nobody",
    ],
)
def test_options_that_contradict_each_other_are_refused(job: Any, lines: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        job(lines)
    assert caught.value.code == "U033"


@pytest.mark.provokes("U035")
@pytest.mark.parametrize(
    "lines",
    [
        "read_iolog=x", "opendir=/data", "filename=-", "profile=act",
        "bs=2g", "numjobs=2000", "numjobs=100\noffset_increment=5",
    ],
)  # fmt: skip
def test_what_drivelab_cannot_issue_is_refused(job: Any, lines: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        job(f"filename=/dev/sdx\nsize=4g\n{lines}")
    assert caught.value.code == "U035"


@pytest.mark.provokes("U036")
def test_strict_refuses_what_is_not_honoured_or_unknown(translated: Any) -> None:
    lines = "[a]\nfilename=/dev/sdx\nsize=1m\nblok=4k\nprio=3\n"
    found = translated(lines)
    assert [(note.option, note.effect) for note in found.refused] == [("blok", "unknown"), ("prio", "not-honoured")]
    with pytest.raises(DrivelabError) as caught:
        translated(lines, strict=True)
    assert caught.value.code == "U036"
    assert "blok" in caught.value.what
    assert "prio" in caught.value.what
    translated("[a]\nfilename=/dev/sdx\nsize=1m\nprio=0\nexitall=0\nzonemode=none\n", strict=True)


def test_an_unknown_option_gets_the_name_that_is_nearest(job: Any) -> None:
    found = job("size=1m\niodepht=3")
    assert told(found, "iodepht") == ("unknown", "drivelab does not know it; did you mean iodepth?")


def test_every_line_is_told_of_once_and_the_least_honoured_counts(translated: Any) -> None:
    lines = "[global]\nsize=1m\niodepth=8\nbs=4k\n[a]\nioengine=libaio\n[b]\nioengine=sync\nbs=8k\n[c]\nbs=8k\n"
    notes = translated(lines).notes
    assert [note.line for note in notes] == [2, 3, 4, 6, 8, 9, 11]
    assert {note.line: note.effect for note in notes}[3] == "noted"
    hidden = translated("[global]\nfoo=1\nbs=4k\n[a]\nsize=1m\nbs=8k\n").notes
    assert [(note.option, note.effect) for note in hidden if note.line in (2, 3)] == [
        ("foo", "unknown"),
        ("bs", "noted"),
    ]


def groups_of(translation: Translation) -> list[int]:
    return [each.group for each in translation.jobs]


def test_stonewalls_and_jobs_that_wait_make_groups(translated: Any) -> None:
    base = "[global]\nsize=1m\n"
    assert groups_of(translated(base + "[a]\nstonewall\n[b]\n[c]\nstonewall\n[d]\n")) == [1, 1, 2, 2]
    waiting = translated(base + "[a]\n[b]\nwait_for=a\n[c]\n")
    assert groups_of(waiting) == [1, 2, 1]
    assert groups_of(translated(base + "[a]\n[b]\nnew_group\n")) == [1, 1]


def test_delays_beyond_the_end_of_others_make_groups(translated: Any) -> None:
    base = "[global]\nsize=1m\nruntime=10\ntime_based\n"
    after = translated(base + "[a]\n[b]\nstartdelay=15\n[c]\nstartdelay=30\n")
    assert groups_of(after) == [1, 2, 3]
    assert {told(each, "startdelay")[0] for each in after.jobs[1:]} == {"honoured"}
    beside = translated(base + "[a]\n[b]\nstartdelay=5\n")
    assert groups_of(beside) == [1, 1]
    assert [each.pattern.start_delay for each in beside.jobs] == [0, 5_000_000_000]
    assert translated(base + "exitall\n[a]\n", strict=True).jobs[0].pattern.ends_others


@pytest.mark.parametrize("option", OPTIONS, ids=[option.name for option in OPTIONS])
def test_every_option_alone_is_told_of(translated: Any, option: Any) -> None:
    values = {
        "flag": "1", "boolean": "1", "text": "1", "number": "4", "numbers": "4", "size": "8k", "sizes": "8k",
        "extent": "4k-8k", "duration": "3", "durations": "3", "floats": "1", "ranges": "4k-8k", "split": "4k/50:8k",
    }  # fmt: skip
    value = option.choices[-1] if option.choices else values[option.kind]
    value = {"verify": "md5", "ioengine": "libaio", "random_distribution": "zipf"}.get(option.name, value)
    lines = f"[a]\nfilename=/dev/sdx\nsize=1g\nrw=randwrite\n{option.name}={value}\n"
    try:
        notes = translated(lines).notes
    except DrivelabError as error:
        assert error.code in ("U033", "U034", "U035")
        assert error.where.endswith(":5")
        return
    note = next(note for note in notes if note.line == 5)
    assert note.option == option.name
    assert note.effect != "unknown"
