"""The command ``drivelab btt``: btt's rows, the accurate mode beside them, and files that are not as they should be."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from block_trace import READ, SDB, SYNC, WRITE, BlockTrace, C, D, Q, device
from btt_command import RECORDINGS, Btt, document_of, durable_writes
from drivelab.model.errors import EXIT_FAILED, EXIT_NOT_TRUSTED, EXIT_OK, EXIT_USAGE
from large_block_trace import write_many
from real_btt import all_rows

Damage = Callable[[bytes], bytes]
# a child's peak as wait4 tells it begins with the memory of its parent
_OWN_PEAK = """
import re, sys
from drivelab.cli.main import run
status = run(["btt", *sys.argv[1:]])
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)
sys.exit(status)
"""


# btt's rows


def test_compat_prints_the_rows_of_btt_and_nothing_else(btt: Btt) -> None:
    for case in ("raw_over1", "ext4_append1", "relaylike"):
        expected = all_rows((RECORDINGS / case / "expected.btt").read_text())
        for path in (RECORDINGS / case, RECORDINGS / case / case, RECORDINGS / case / f"{case}.blktrace.1"):
            assert btt(path, "--compat", "1.2")[:2] == (EXIT_OK, expected)


def test_the_rows_of_each_device_follow_on_request(btt: Btt) -> None:
    _, rows, _ = btt(RECORDINGS / "raw_over1", "--compat", "1.2")
    _, both, _ = btt(RECORDINGS / "raw_over1", "--compat", "1.2", "--per-device")
    assert both.startswith(f"{rows}\n==================== Per Device ====================\n")
    assert both.count("\n(  7,  0)      ") == 4


def test_nothing_to_read_prints_nothing_as_btt_does(btt: Btt) -> None:
    empty = RECORDINGS / "empty" / "empty.bin"
    for options in (["--compat", "1.2"], ["--compat", "legacy"], ["--compat", "1.2", "--per-device"]):
        assert btt(empty, *options) == (EXIT_OK, "", "")
    assert btt(empty) == (EXIT_OK, "The recording holds no records.\n", "")
    assert document_of(btt, empty)["all"] == document_of(btt, empty, "--compat", "1.2")["all"] == {}


def test_the_flavours_differ_where_a_bio_comes_again(btt: Btt) -> None:
    path = Path(__file__).resolve().parents[1] / "golden" / "legacy_btt" / "overlaps_0.bin"
    newest, oldest = (btt(path, "--compat", flavour)[1] for flavour in ("1.2", "legacy"))
    assert newest != oldest
    assert path.with_suffix(".btt").read_text().startswith(oldest)


def test_json_has_the_same_shape_with_and_without_compat(btt: Btt) -> None:
    compat = document_of(btt, RECORDINGS / "raw_over1", "--compat", "1.2")
    accurate = document_of(btt, RECORDINGS / "raw_over1")
    assert set(compat) == {"all", "devices"}
    for document in (compat, accurate):
        assert document["all"]["Q2C"].keys() >= {"min_s", "avg_s", "max_s", "n"}
        assert document["devices"]["7:0"]["Q2C"]["n"] == document["all"]["Q2C"]["n"] == 1001
    # nothing was split or put back here, so both agree
    for phase, row in compat["all"].items():
        assert {key: accurate["all"][phase][key] for key in row} == pytest.approx(row)


# the accurate mode


def test_flushes_are_a_phase_of_their_own_and_btt_is_said_to_hide_them(btt: Btt, tmp_path: Path) -> None:
    path = durable_writes().write_merged(tmp_path / "sda.bin")
    document = document_of(btt, path)
    assert document["all"]["flush"] == pytest.approx(
        {"n": 40, "min_s": 7e-3, "avg_s": 7e-3, "max_s": 7e-3, "p50_s": 7e-3, "p99_s": None}
    )
    assert document["phases"]["flush"]["sum_ns"] == 40 * 7_000_000
    assert document["flushes"]["time_share"] == pytest.approx(40 * 7 / (39 * 25 + 7), rel=1e-3)
    assert document["classes"].keys() == {"write", "flush"}
    assert document["traps"]["flushes_hidden"]["flushes"] == 40
    warning = next(text for text in document["warnings"] if "of the write cache" in text)
    assert warning.startswith("40 flush commands of the write cache, 7 ms each, 280 ms in all, 28.")
    _, out, _ = btt(path)
    assert re.search(r"^flush at the device +40 +7 ms +7 ms +- +7 ms *$", out, re.MULTILINE)


def test_the_answer_comes_first_and_the_tables_have_room_below_it(btt: Btt, tmp_path: Path) -> None:
    _, out, _ = btt(RECORDINGS / "ext4_append1")
    lines = out.splitlines()
    assert " ".join(map(str.strip, lines[2:6])) == (
        "2 004 cache flushes of 341 us each took 684 ms of 1.14 s (60.0 %), which btt does not show. "
        "A bio with data took 168 us on average (Q2C): 54.6 % of it waiting for a cache flush and 28.8 % of it "
        "at the device."
    )
    assert len(lines) <= 30
    assert "By size" not in out
    # what the first sentence tells is no warning, too; with details every trap is one
    assert out.count("flush commands") == 0
    _, whole, _ = btt(RECORDINGS / "ext4_append1", "--details")
    assert "2004 flush commands of the write cache" in " ".join(whole.split())
    document = document_of(btt, RECORDINGS / "ext4_append1")
    assert document["sentences"][0].startswith("2 004 cache flushes of 341 us")
    # a single write without a flush
    trace = BlockTrace()
    trace.io(1_000, 0, issued_to_completed_ns=50_000)
    (told,) = document_of(btt, trace.write_merged(tmp_path / "one.bin"))["sentences"]
    assert re.fullmatch(r"The bio took [\d.]+ us \(Q2C\): [\d.]+ % of it at the device.*\.", told)


def test_split_bios_are_followed_and_btt_is_quoted(btt: Btt, tmp_path: Path) -> None:
    trace = BlockTrace()
    for number in range(30):
        trace.split_io(1_000 + number * 900_000, number * 8192, [512 * 1024, 512 * 1024], issued_to_completed_ns=80_000)
        trace.io(500_000 + number * 900_000, 10**7 + number * 64, direction=READ)
    path = trace.write_merged(tmp_path / "sda.bin")
    document = document_of(btt, path)
    assert document["all"]["Q2C"]["n"] == document["traps"]["splits"]["bios"] == 60
    assert document["traps"]["splits"]["btt_bios"] == document_of(btt, path, "--compat", "1.2")["all"]["Q2C"]["n"] == 30
    assert any("btt counts the end of 30 of 60 bios" in text for text in document["warnings"])
    assert document["sizes"].keys() == {"4096", str(1 << 20)}


def test_records_that_stand_there_twice_count_once_and_are_told(btt: Btt, tmp_path: Path) -> None:
    trace = BlockTrace()
    for number in range(20):
        trace.io(1_000 + number * 100_000, number * 64)
    trace.records += trace.records
    path = trace.write_merged(tmp_path / "twice.bin", counts_sequence=False)
    document = document_of(btt, path)
    assert document["all"]["Q2C"]["n"] == 20
    assert document["recording"]["duplicates"] > 0
    assert "duplicates" in document["traps"]
    assert document_of(btt, path, "--compat", "1.2")["all"]["Q2G"]["n"] == 40, "btt counts them all"


def test_majors_taken_for_mappers_and_missing_schedulers_are_named(btt: Btt, tmp_path: Path) -> None:
    trace = BlockTrace(device=device(254, 0))
    for number in range(20):
        trace.io(1_000 + number * 100_000, number * 64, is_inserted=False)
    path = trace.write_merged(tmp_path / "vda.bin")
    document = document_of(btt, path)
    assert document["all"]["Q2C"]["n"] == document["all"]["G2D"]["n"] == 20
    assert document["traps"]["remapper_majors"]["devices"] == ["254:0"]
    assert document["traps"]["no_scheduler"]["bios"] == 20
    assert "Q2Cdm" in document_of(btt, path, "--compat", "1.2")["all"]


def test_a_preflush_is_not_part_of_g2i(btt: Btt) -> None:
    document = document_of(btt, RECORDINGS / "ext4_append1")
    compat = document_of(btt, RECORDINGS / "ext4_append1", "--compat", "1.2")
    assert compat["all"]["G2I"]["avg_s"] == pytest.approx(387.4e-6, rel=1e-3)
    apart = document["all"]["G2I"]["avg_s"] + document["all"]["preflush_wait"]["avg_s"]
    assert apart == pytest.approx(compat["all"]["G2I"]["avg_s"], rel=1e-6)
    assert document["traps"]["preflush_in_g2i"]["bios"] == 1000


def test_depth_and_distance_over_two_devices(btt: Btt, tmp_path: Path) -> None:
    trace = BlockTrace()
    for number in range(50):
        # each of the first device is there for half of the time
        trace.io(number * 100_000, number * 8, issued_to_completed_ns=50_000)
        trace.io(number * 100_000, number * 8, issued_to_completed_ns=50_000, device=SDB)
    path = trace.write_merged(tmp_path / "two.bin")
    document = document_of(btt, path)
    assert document["queue_depth"]["devices"]["8:0"]["device"]["mean"] == pytest.approx(0.5, rel=0.02)
    assert document["queue_depth"]["all"]["device"] == {"mean": pytest.approx(1.0, rel=0.02), "max": 2}
    assert document["seeks"]["8:16"]["D2D"]["sequential_share"] == 1
    _, out, _ = btt(path, "--per-device", "--details")
    assert all(
        f"{title} of {name}\n" in out for title in ("Phases", "Queue depth over time") for name in ("8:0", "8:16")
    )
    assert "8:16: 100 % of 49 follow the one before; median 0 B, mean 0 B" in out


def test_a_narrow_and_plain_terminal_is_enough(tmp_path: Path) -> None:
    path = durable_writes().write_merged(tmp_path / "sda.bin")
    surroundings = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    words = [sys.executable, "-m", "drivelab", "btt", str(path)]
    answer = subprocess.run(words, capture_output=True, text=True, env=surroundings)
    assert answer.returncode == EXIT_OK, answer.stderr
    assert answer.stdout.isascii()
    assert max(map(len, answer.stdout.splitlines())) <= 80


def test_sizes_between_powers_of_two_have_a_row_of_their_own(btt: Btt, tmp_path: Path) -> None:
    trace = BlockTrace()
    for number, size_bytes in enumerate([512, 4096, 4608, 7680, 1 << 20, 512 + 256]):
        trace.io(number * 100_000, number * 4096, size_bytes)
    _, out, _ = btt(trace.write_merged(tmp_path / "sizes.bin"), "--details")
    sizes = re.findall(r"^(.*?B) +(\d) ", out.partition("By size")[2], re.MULTILINE)
    assert sizes == [("512 B", "1"), ("512 B to 1 KiB", "1"), ("4 KiB", "1"), ("4 to 8 KiB", "2"), ("1 MiB", "1")]


# files that are not as they should be


@pytest.mark.provokes("B901")
def test_a_file_that_is_not_there(btt: Btt, tmp_path: Path) -> None:
    for options in ([], ["--compat", "1.2"]):
        status, out, err = btt(tmp_path / "sda", *options)
        assert (status, out) == (EXIT_USAGE, "")
        assert "error[B901]" in err
        assert str(tmp_path / "sda") in err


@pytest.mark.provokes("B902")
@pytest.mark.parametrize(
    "content",
    [b"8,0 1 1 0.000 70 Q WS 8 + 8 [fio]\n", b"\0" * 4096, b"\x1f\x8b\x08", random.Random(1).randbytes(999)],
    ids=["text", "zeros", "gzip", "random"],
)
def test_a_file_that_is_no_recording(content: bytes, btt: Btt, tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    status, out, err = btt(path)
    assert (status, out) == (EXIT_FAILED, "")
    assert "error[B902] not a block trace" in err


@pytest.mark.provokes("B903")
def test_a_file_that_cannot_be_read(btt: Btt, tmp_path: Path) -> None:
    loop = tmp_path / "sda.blktrace.0"
    loop.symlink_to(loop)
    status, out, err = btt(loop)
    assert (status, out) == (EXIT_FAILED, "")
    assert "error[B903]" in err


@pytest.mark.provokes("B905")
def test_a_directory_without_recordings(btt: Btt, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    status, _, err = btt(tmp_path)
    assert status == EXIT_USAGE
    assert "error[B905]" in err


@pytest.mark.provokes("B906")
def test_a_recording_of_a_version_to_come(btt: Btt, tmp_path: Path) -> None:
    path = durable_writes().write_merged(tmp_path / "sda.bin")
    path.write_bytes(path.read_bytes().replace(b"\x07tae", b"\x0ctae"))
    status, _, err = btt(path)
    assert status == EXIT_FAILED
    assert "error[B906]" in err
    assert "12" in err


def cut_short(whole: bytes) -> bytes:
    return whole[:-20]


def with_garbage(whole: bytes) -> bytes:
    return whole[:4800] + b"garbage! " * 30 + whole[4800:]


def with_a_hole(whole: bytes) -> bytes:
    return whole[:4800] + whole[4800 + 48 * 20 :]


def with_text(whole: bytes) -> bytes:
    return whole[:4800] + b"CPU:0 [LOST 52 EVENTS]\n" + whole[4800:]


@pytest.mark.provokes("B904")
@pytest.mark.parametrize(
    ("damage", "offset", "words"),
    [
        (cut_short, None, "ends within a record"),
        (with_garbage, 4800, "no record"),
        (with_a_hole, 4800, "lost"),
        (with_text, 4800, "52"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_damage_is_named_with_its_place_and_what_came_before_counts(
    damage: Damage, offset: int | None, words: str, btt: Btt, tmp_path: Path
) -> None:
    path = tmp_path / "sda.bin"
    trace = BlockTrace(cpus=1)
    for number in range(100):
        trace.io(1_000 + number * 100_000, number * 64, is_plugged=False)
    whole = trace.write_merged(path).read_bytes()
    path.write_bytes(damage(whole))
    place = len(whole) // 48 * 48 - 48 if offset is None else offset
    status, out, err = btt(path)
    assert status == EXIT_NOT_TRUSTED
    assert "error[B904]" in err
    assert f"damage: {path}, byte {place}: " in err
    assert words in err
    assert "Q2C: queued to completed" in out
    document = document_of(btt, path, status=EXIT_NOT_TRUSTED)
    assert 75 <= document["all"]["Q2C"]["n"] <= 100
    assert document["damages"][0]["offset"] == place


def test_a_missing_cpu_is_named_and_the_others_are_read(btt: Btt, tmp_path: Path) -> None:
    durable_writes(cpus=3).write(tmp_path, "sda")
    (tmp_path / "sda.blktrace.1").unlink()
    status, out, err = btt(tmp_path / "sda")
    assert status == EXIT_NOT_TRUSTED
    assert "sda.blktrace.1, byte 0: the file of CPU 1 is missing" in err
    assert "D2C: at the device" in out
    # blkparse stops at the first file that is missing
    assert document_of(btt, tmp_path, "--compat", "1.2", status=EXIT_NOT_TRUSTED)["all"]["Q2C"]["n"] < 27


def test_the_other_byte_order_version_8_and_disorder_are_read(btt: Btt, tmp_path: Path) -> None:
    trace = durable_writes(cpus=1)
    expected = document_of(btt, trace.write_merged(tmp_path / "plain.bin"))["all"]
    assert document_of(btt, trace.write_merged(tmp_path / "big.bin", order=">"))["all"] == expected
    assert document_of(btt, trace.write_merged(tmp_path / "eight.bin", version=8))["all"] == expected
    assert document_of(btt, trace.write_merged(tmp_path / "both.bin", version=8, order=">"))["all"] == expected
    whole = (tmp_path / "plain.bin").read_bytes()
    (tmp_path / "disorder.bin").write_bytes(whole[:480] + whole[528:576] + whole[480:528] + whole[576:])
    status, _, err = btt(tmp_path / "disorder.bin")
    assert status in (EXIT_OK, EXIT_NOT_TRUSTED)
    assert "disorder.bin, byte 528: " in err


def test_ends_that_never_come_are_told(btt: Btt, tmp_path: Path) -> None:
    trace = durable_writes()
    trace.add(1_500, Q, 10**6, 4096)
    trace.add(1_600, Q, 2 * 10**6, 4096, READ)
    trace.add(1_700, D, 2 * 10**6, 4096, READ)
    trace.add(1_800, C, 3 * 10**6, 4096, WRITE | SYNC)
    document = document_of(btt, trace.write_merged(tmp_path / "sda.bin"))
    assert document["counts"]["bios_open_at_end"] == 2
    assert document["traps"]["incomplete"]["bios_open"] == 2


def test_two_names_of_one_recording_are_read_once(btt: Btt, tmp_path: Path) -> None:
    files = durable_writes(cpus=2).write(tmp_path, "sda")
    status, out, err = btt(*files, "--compat", "1.2")
    assert (status, out) == (EXIT_OK, btt(files[0], "--compat", "1.2")[1])
    assert "note: 2 of the names belong to one recording" in err


@pytest.mark.parametrize("options", [[], ["--compat", "1.2"]], ids=["accurate", "compat"])
def test_ctrl_c_ends_a_long_reading(options: list[str], tmp_path: Path) -> None:
    endless = tmp_path / "endless.bin"
    os.mkfifo(endless)
    whole = durable_writes().write_merged(tmp_path / "sda.bin", counts_sequence=False).read_bytes()
    words = [sys.executable, "-m", "drivelab", "btt", str(endless), *options]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    has_begun = threading.Event()

    def write_on() -> None:
        with suppress(BrokenPipeError), endless.open("wb") as file:
            while True:
                file.write(whole)
                has_begun.set()

    writer = threading.Thread(target=write_on, daemon=True)
    writer.start()
    assert has_begun.wait(60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    writer.join(60)
    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")


@pytest.mark.parametrize("options", [["--json"], ["--compat", "1.2"]], ids=["accurate", "compat"])
def test_memory_does_not_grow_with_the_recording(options: list[str], tmp_path: Path) -> None:
    peaks_kib = []
    for count in (20_000, 200_000):
        write_many(tmp_path, "sda", count)
        words = [sys.executable, "-c", _OWN_PEAK, str(tmp_path / "sda"), *options]
        answer = subprocess.run(words, capture_output=True, text=True)
        assert answer.returncode == 0, answer.stderr
        peaks_kib.append(int(answer.stderr))
    assert peaks_kib[1] < peaks_kib[0] + 4 * 1024
