"""Jobs on zoned drives: what they become, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment, TranslatedJob
from drivelab.model.errors import DrivelabError

GIB, MIB = 2**30, 2**20
ZONE_BYTES = 256 * MIB
PLAIN = Environment(size_of=lambda path: 64 * GIB if path == "/dev/sdx" else None)
ZONED = replace(PLAIN, zone_size_of=lambda path: ZONE_BYTES if path == "/dev/sdx" else None)


@pytest.fixture
def job(tmp_path: Path) -> Any:
    """Translates the lines of one job on zones."""

    def translate(lines: str, environment: Environment = ZONED, *, strict: bool = True) -> TranslatedJob:
        path = tmp_path / "zones.fio"
        path.write_text(f"[job]\nfilename=/dev/sdx\nzonemode=zbd\n{lines}\n")
        (only,) = translate_file(path, environment, strict=strict).jobs
        return only

    return translate


def test_numbers_of_zones_are_of_the_zones_of_the_drive(job: Any) -> None:
    pattern = job("rw=write\ndirect=1\noffset=2z\nsize=4z\nio_size=8z").pattern
    assert pattern.zoned_drive.is_used
    assert (pattern.offset, pattern.range_size, pattern.bytes) == (2 * ZONE_BYTES, 4 * ZONE_BYTES, 8 * ZONE_BYTES)


def test_numbers_of_zones_are_of_zonesize_where_it_is_given(job: Any) -> None:
    pattern = job("rw=write\ndirect=1\nzonesize=1m\nzonecapacity=512k\nsize=4z", PLAIN).pattern
    assert pattern.range_size == 4 * MIB
    assert (pattern.zoned_drive.zone_size_bytes, pattern.zoned_drive.zone_capacity_bytes) == (MIB, MIB // 2)


def test_each_job_begins_so_many_zones_further_on(tmp_path: Path) -> None:
    path = tmp_path / "zones.fio"
    path.write_text(
        "[job]\nfilename=/dev/sdx\nzonemode=zbd\nrw=write\ndirect=1\nsize=2z\nnumjobs=3\noffset_increment=4z\n"
    )
    offsets = [each.pattern.offset for each in translate_file(path, ZONED).jobs]
    assert offsets == [0, 4 * ZONE_BYTES, 8 * ZONE_BYTES]


def test_limits_of_zones_and_resets_are_honoured(job: Any) -> None:
    lines = (
        "rw=randwrite\ndirect=1\nmax_open_zones=8\njob_max_open_zones=2\nzone_reset_threshold=.5\n"
        "zone_reset_frequency=0.1\nread_beyond_wp=1\nignore_zone_limits=1"
    )
    asked = job(lines).pattern.zoned_drive
    assert (asked.max_open_zones, asked.job_max_open_zones) == (8, 2)
    assert (asked.reset_threshold, asked.reset_frequency) == (0.5, 0.1)
    assert asked.reads_beyond_write_pointer
    assert asked.ignores_drive_limit


def test_trims_are_of_zones(job: Any) -> None:
    pattern = job("rw=randtrim\nbs=256m\nsize=8z").pattern
    assert (pattern.operation, pattern.block_size, pattern.zoned_drive.is_used) == ("trim", ZONE_BYTES, True)


def test_a_job_without_zones_has_none(tmp_path: Path) -> None:
    path = tmp_path / "plain.fio"
    path.write_text("[job]\nfilename=/dev/sdx\nrw=write\n")
    (only,) = translate_file(path, ZONED).jobs
    assert not only.pattern.zoned_drive.is_used


@pytest.mark.provokes("U033")
@pytest.mark.parametrize("name", ["size", "io_size", "offset"])
def test_a_number_of_zones_is_refused_where_nobody_says_how_large_they_are(job: Any, name: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        job(f"rw=write\n{name}=3z", PLAIN)
    assert caught.value.code == "U033"
    assert f"{name}=3z" in caught.value.what


@pytest.mark.provokes("U033")
@pytest.mark.parametrize("lines", ["max_open_zones=5000", "zone_reset_threshold=2"])
def test_numbers_that_no_zones_have_are_refused(job: Any, lines: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        job(f"rw=write\n{lines}")
    assert caught.value.code == "U033"


@pytest.mark.provokes("U035")
@pytest.mark.parametrize("lines", ["rw=trimwrite", "rw=write\nzoneskip=1z"])
def test_what_is_not_done_on_zones_is_refused(job: Any, lines: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        job(lines)
    assert caught.value.code == "U035"


def test_random_writes_are_read_in_order_to_be_verified(job: Any) -> None:
    found = job("rw=randwrite\nverify=crc32c\nsize=8z\nio_size=4z", strict=False)
    assert found.pattern.verify
    reads = found.verify_pattern
    assert (reads.operation, reads.access.kind, reads.bytes) == ("read", "sequential", 4 * ZONE_BYTES)
    assert reads.zoned_drive.is_used


@pytest.mark.parametrize("lines", ["rw=randrw", "rw=write\nsize=1z\nloops=2", "rw=write\ntime_based\nruntime=1"])
def test_reads_among_writes_and_what_is_written_again_are_not_checked(job: Any, lines: str) -> None:
    found = job(f"{lines}\nverify=crc32c", strict=False)
    assert not found.pattern.verify
    assert found.verify_pattern is None
    assert next(note.effect for note in found.notes if note.option == "verify") == "not-honoured"
