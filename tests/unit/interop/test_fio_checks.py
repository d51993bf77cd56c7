"""What fio's ``verify`` and its patterns become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drivelab.interop.fio.checks import pattern_of
from drivelab.interop.fio.translate import translate_file
from drivelab.model.errors import DrivelabError
from drivelab.model.workload_pattern import WorkloadPattern
from unit.interop.test_fio_translate import DEVICE


def translated(folder: Path, lines: str) -> Any:
    path = folder / "job.fio"
    path.write_text(f"[job]\nfilename=/dev/sdx\nsize=1m\n{lines}\n")
    return translate_file(path, DEVICE).jobs[0]


# as fio's own description of its patterns has them
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('"abcd"', "61626364"),
        ("-1024", "00fcffff"),
        ("66", "42"),
        ("0", "00"),
        ("0xFF0X1", "ff01"),
        ("%o", "%o"),
        ('"123"0xFFeeCC', "313233ffeecc"),
        ('-100xab"1"%o"2"', "f6ffffffab31%o32"),
        ("%o0xdeadbeef%o", "%odeadbeef%o"),
        ("0x" + "fe" * 21, "fe" * 21),
        ("0x" + "fe" * 512, "fe" * 512),
        ("0x" + "fe" * 513, None),
        ("2147483648", None),
        ('"abc', None),
        ("%p", None),
        ("'/nonexistent'", None),
        ('""', None),
        ("", None),
    ],
)
def test_words_of_a_pattern_are_bytes_in_a_row(text: str, wanted: str | None) -> None:
    assert pattern_of(text, takes_offset=True) == wanted


def test_a_pattern_may_be_in_a_file_and_only_what_is_checked_names_offsets(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\x01\x02")
    assert pattern_of(f"'{tmp_path / 'bytes'}'3", takes_offset=False) == "010203"
    assert pattern_of("%o", takes_offset=False) is None


def test_contents_are_random_unless_asked_otherwise(tmp_path: Path) -> None:
    def written(lines: str) -> Any:
        return translated(tmp_path, f"rw=write\n{lines}")

    assert written("zero_buffers").pattern.contents.kind == "zeros"
    contents = written("buffer_compress_percentage=40\ndedupe_percentage=20").pattern.contents
    assert (contents.kind, contents.compressible_fraction, contents.duplicate_fraction) == ("random", 0.4, 0.2)
    pattern = written("buffer_pattern=0xdeadbeef")
    assert pattern.pattern.contents.pattern == "deadbeef"
    assert next(note.effect for note in pattern.notes if note.option == "buffer_pattern") == "honoured"
    partly = written("buffer_pattern=0xdeadbeef\nbuffer_compress_percentage=40")
    assert next(note.effect for note in partly.notes if note.option == "buffer_pattern") == "approximated"


@pytest.mark.parametrize(
    ("lines", "contents"),
    [
        ("verify=md5", {"check": "md5", "check_bytes": 4096}),
        (
            "verify=meta\nverify_interval=512\nverify_offset=64",
            {"check": "header", "check_bytes": 512, "check_offset": 64},
        ),
        ("verify=crc32c-intel\nbssplit=8k/50:12k/50", {"check": "crc32c", "check_bytes": 4096}),
        ("verify_pattern=%o", {"kind": "pattern", "pattern": "%o", "check": "pattern_header"}),
        ("verify=pattern\nverify_pattern=1", {"kind": "pattern", "pattern": "01", "check": "stamps", "check_bytes": 0}),
        ("verify=sha512", {"check": "stamps"}),
        ("verify=xxhash\nbuffer_compress_percentage=50", {"compressible_fraction": 0.5, "check": "xxhash"}),
    ],
)
def test_checks_are_those_of_fio(tmp_path: Path, lines: str, contents: dict[str, Any]) -> None:
    found = translated(tmp_path, f"rw=write\n{lines}").pattern
    assert found.verify
    assert {name: getattr(found.contents, name) for name in contents} == contents


@pytest.mark.parametrize(
    ("lines", "option", "what"),
    [
        ("verify=pattern", "verify", "there is no verify_pattern"),
        ("verify=sha256\nbs=64", "verify", "parts of 64 B have no room for a header"),
        ("verify=md5\nverify_offset=48", "verify_offset", "headers of 56 B have no room there"),
        ("verify=sha512\nbuffer_compress_percentage=100", "verify", "carry no stamps"),
    ],
)
def test_what_cannot_be_checked_is_told(tmp_path: Path, lines: str, option: str, what: str) -> None:
    found = translated(tmp_path, f"rw=write\n{lines}")
    assert not found.pattern.verify
    note = next(note for note in found.notes if note.option == option)
    assert note.effect == "not-honoured"
    assert what in note.what


def test_what_is_no_pattern_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DrivelabError, match="is no pattern") as refused:
        translated(tmp_path, "rw=write\nbuffer_pattern=abc")
    assert refused.value.code == "U033"


def test_what_was_written_whole_is_read_back(tmp_path: Path) -> None:
    base = "verify=crc32c\n"
    checked = translated(tmp_path, base + "rw=randwrite\nfsync=1")
    assert checked.pattern.verify
    assert checked.verify_pattern == WorkloadPattern(
        operation="read", access={"kind": "sequential"}, backend="sync", bytes=2**20, range_size=2**20, verify=True,
        cache_advice="random", contents={"check": "crc32c", "check_bytes": 4096},
    )  # fmt: skip
    assert translated(tmp_path, base + "rw=write\nsize=1001k").verify_pattern.bytes == 1000 * 1024
    assert translated(tmp_path, base + "rw=write\ndo_verify=0").verify_pattern is None
    assert translated(tmp_path, base + "rw=read").pattern.verify
    only = translated(tmp_path, base + "rw=write\nverify_only")
    assert (only.pattern.operation, only.pattern.verify, only.destroys) == ("read", True, ())
    assert translated(tmp_path, base + "rw=write\nzero_buffers").pattern.contents.kind == "random"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("rw=randwrite\nruntime=1\ntime_based\nramp_time=1\nthinktime=5", ""),
        ("rw=randwrite\nio_size=64k", ""),
        ("rw=write\nruntime=1", ""),
        ("rw=randwrite\nio_size=64k\nnorandommap", "what was written twice is read twice"),
        ("rw=randwrite\nruntime=1\nnumjobs=2", "nothing is read back"),
        ("rw=randwrite\nbsrange=4k-8k\nruntime=1", "nothing is read back"),
    ],
)
def test_what_was_written_in_part_is_read_back_as_it_was_written(tmp_path: Path, lines: str, told: str) -> None:
    found = translated(tmp_path, f"verify=crc32c\n{lines}")
    notes = [note for note in found.notes if note.option == "verify"]
    usual = "noted" if "runtime" in lines else "honoured"
    assert [note.effect for note in notes] == ["approximated" if told else usual]
    assert told in notes[0].what
    assert found.reads_back == ("nothing" not in told)
    if found.reads_back:
        reads, writes = found.verify_pattern, found.pattern
        assert (reads.operation, reads.ramp, reads.pacing.think_ns) == ("read", 0, 0)
        assert (reads.access, reads.block_size, reads.queue_depth) == (writes.access, 4096, writes.queue_depth)


def test_of_a_mix_nothing_is_checked_as_it_reads_what_was_there_before(tmp_path: Path) -> None:
    found = translated(tmp_path, "rw=randrw\nverify=md5")
    assert not found.pattern.verify
    # its writes carry what another job can check
    assert found.pattern.contents.check == "md5"
    assert found.reads_back


def test_what_lies_between_zones_is_not_read_back(tmp_path: Path) -> None:
    found = translated(tmp_path, "rw=write\nverify=crc32c\nzonemode=strided\nzonesize=64k\nzoneskip=64k")
    assert found.reads_back
    assert found.verify_pattern.access == found.pattern.access


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("filename=gone\nrw=write", "there is no gone to be checked"),
        ("rw=randwrite\nio_size=64k", "which blocks were written fio's own random numbers tell"),
        ("rw=randwrite\nnumber_ios=3", "which blocks were written fio's own random numbers tell"),
        ("rw=randrw", "chance decided which blocks were written, and not read"),
        ("rw=readwrite", "chance decided which blocks were written, and not read"),
    ],
)
def test_verify_only_needs_something_that_was_written(tmp_path: Path, lines: str, what: str) -> None:
    with pytest.raises(DrivelabError, match=what) as refused:
        translated(tmp_path, f"verify=crc32c\nverify_only\n{lines}")
    assert refused.value.code == "U035"
