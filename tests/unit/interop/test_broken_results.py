"""Broken files of results: each error names its line, and no rubble brings a reader down."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counted_time import at_most_processor_s
from drivelab.interop.foreign import Kind, SourceText
from drivelab.interop.recognise import is_job_file, read_foreign, recognised_kind
from drivelab.interop.source_file import read_source
from drivelab.model.errors import DrivelabError

FOREIGN = Path(__file__).resolve().parents[2] / "golden" / "foreign"
FUZZED = (
    "bonnie-1.97.csv",
    "dd-gnu-9.1.txt",
    "diskbenchmark.csv",
    "fio-3.33-mixed.json",
    "fio-3.33-plus-sync.json",
    "ioping-1.3-J.txt",
    "ioping-1.3-p.txt",
    "iozone-3.492.txt",
    "pg_test_fsync-15.txt",
)
RUBBLE = st.one_of(
    st.text(max_size=4),
    st.sampled_from([",", '"', "}", "]", "\n", "+++++", "-1", "1e999", "9" * 5000, "NaN", "null", "{}", " ", "\t0"]),
)


def line_of(name: str, part: str) -> int:
    """Line of a stored file on which a part of it stands."""
    text = (FOREIGN / name).read_text()
    return text.count("\n", 0, text.index(part)) + 1


def broken(name: str, before: str, after: str, kind: Kind | None = None) -> DrivelabError:
    """What a stored file that was changed in one place is refused with."""
    text = (FOREIGN / name).read_text()
    assert before in text
    with pytest.raises(DrivelabError) as caught:
        read_foreign(SourceText(name, text.replace(before, after, 1)), kind)
    return caught.value


@pytest.mark.provokes("I501")
def test_a_file_of_nobody_is_told_so() -> None:
    with pytest.raises(DrivelabError) as caught:
        read_foreign(SourceText("notes.txt", "hello\nworld\n"))
    assert caught.value.code == "I501"
    assert "bonnie++" in caught.value.what


@pytest.mark.provokes("I502")
def test_broken_json_names_line_and_column() -> None:
    error = broken("fio-3.33.json", '"jobname" : "read4k",', '"jobname" "read4k",')
    line = line_of("fio-3.33.json", "jobname")
    assert (error.code, error.where) == ("I502", f"fio-3.33.json:{line}, column 17")
    cut = (FOREIGN / "fio-3.33.json").read_text()[:900]
    with pytest.raises(DrivelabError, match="it is no JSON"):
        read_foreign(SourceText("cut.json", cut))


@pytest.mark.provokes("I503")
@pytest.mark.parametrize(
    ("name", "before", "after", "where"),
    [
        (
            "fio-3.33.json",
            '"total_ios" : 512',
            '"total_ios" : "many"',
            "field jobs[0].read.total_ios",
        ),
        ("fio-3.33.json", '"total_ios" : 512', '"total_ios" : -512', "field jobs[0].read.total_ios"),
        ("bonnie-1.97.csv", "145812", "fast", "column put_block"),
        ("bonnie-1.97.csv", "631ms", "631", "column put_block_latency"),
        ("bonnie-1.97.csv", "1,1414376948,32G,,702", "1,1414376948,big,,702", "column file_size"),
        ("iozone-3.492.txt", "       4    18651", "       0    18651", "column reclen"),
        ("diskbenchmark.csv", "0.029445542", "soon", "column seconds"),
        ("diskbenchmark.csv", "yes,1,0,no", "maybe,1,0,no", "column writecache"),
        ("pg_test_fsync-15.txt", " ops/sec     452", ".1.1 ops/sec     452", "column ops/sec"),
        ("ioping-1.3-J.txt", '"count": 11', '"count": null', "field [12].stat.count"),
        ("dd-gnu-9.1.txt", "0.222595 s", "0.22.2595 s", "seconds"),
    ],
)
def test_a_field_that_cannot_be_read_is_named(name: str, before: str, after: str, where: str) -> None:
    error = broken(name, before, after)
    assert error.code == "I503"
    assert error.where == f"{name}:{line_of(name, before)}, {where}"


@pytest.mark.provokes("I504")
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("bonnie-1.97.csv", "1.97,1.97,server2", "1.97,1.97,server,2"),
        ("iozone-3.492.txt", "             128       4    21230", "             128       4 x  21230"),
        ("iozone-3.492.txt", '"64"   18651  20012 ', '"64"   18651  20012 3 4'),
        ("iozone-3.492.txt", "reclen    write  rewrite", "reclen    write  dewrite"),
        ("diskbenchmark.csv", "0.033465235", "0.033465235,9"),
        ("pg_test_fsync-15.txt", " ops/sec     452", " ops/sec"),
        ("dd-gnu-9.1.txt", "460 kB/s", "990 kB/s"),
        ("ioping-1.3.txt", "generated", "made"),
    ],
)
def test_a_line_that_does_not_fit_is_named(name: str, before: str, after: str) -> None:
    error = broken(name, before, after)
    assert (error.code, error.where) == ("I504", f"{name}:{line_of(name, before)}")


@pytest.mark.provokes("I505")
@pytest.mark.parametrize("kind", ["fio", "bonnie", "iozone", "diskbenchmark", "pg_test_fsync", "ioping", "dd"])
def test_a_file_without_results_is_told_so(kind: Kind) -> None:
    with pytest.raises(DrivelabError) as caught:
        read_foreign(SourceText("empty.txt", "\n"), kind)
    assert caught.value.code == "I505"


@pytest.mark.provokes("I506")
def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "report.xls").write_bytes(b"\xd0\xcf\x11\xe0\0\0")
    for name, what in (("report.xls", "it is no text"), ("", "it is a directory"), ("none", "there is no such file")):
        with pytest.raises(DrivelabError, match=what) as caught:
            read_source(tmp_path / name)
        assert caught.value.code == "I506"


@pytest.mark.provokes("I507")
def test_formats_that_are_not_read_are_named() -> None:
    old = broken("bonnie-1.97.csv", "1.97,1.97,server1", "1.03,1.97,server1", "bonnie")
    assert (old.code, old.where) == ("I507", "bonnie-1.97.csv:2")
    terse = "3;fio-3.33;seq;0;0;1024;341333;85333;3;0;0;0.000000;0.000000\n"
    with pytest.raises(DrivelabError, match="no result") as caught:
        read_foreign(SourceText("cut.txt", terse))
    assert caught.value.code == "I505"


def test_an_empty_file_is_called_empty() -> None:
    with pytest.raises(DrivelabError, match="it is empty") as caught:
        read_foreign(SourceText("none.json", " \n"))
    assert caught.value.code == "I501"


def test_a_pipe_is_not_said_to_be_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DrivelabError, match="pipe or a device") as caught:
        read_source(tmp_path / "pipe")
    assert caught.value.code == "I506"


def test_utf_16_with_its_mark_is_read(tmp_path: Path) -> None:
    file = tmp_path / "dd.txt"
    text = (FOREIGN / "dd-comma.txt").read_text()
    for coding in ("utf-16-le", "utf-16-be"):
        file.write_bytes(f"\ufeff{text}".replace("\n", "\r\n").encode(coding))
        assert read_source(file).source.text == text
    file.write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(DrivelabError, match="UTF-16") as caught:
        read_source(file)
    assert caught.value.code == "I506"


def test_text_that_is_no_utf_8_is_read_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "dd.txt"
    file.write_bytes((FOREIGN / "dd-comma.txt").read_text().replace("\n", "\r\n").encode("latin-1"))
    assert len(read_foreign(read_source(file).source).trials) == 1


@pytest.mark.parametrize("name", FUZZED)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), RUBBLE), min_size=1, max_size=3))
def test_rubble_is_read_or_refused(name: str, changes: list[tuple[float, int, str]]) -> None:
    text = (FOREIGN / name).read_text()
    kind = recognised_kind(text)
    for place, length, rubble in changes:
        at = int(place * len(text))
        text = text[:at] + rubble + text[at + length :]
    is_job_file(text)
    for asked in (kind, None):
        try:
            with at_most_processor_s(3):
                found = read_foreign(SourceText(name, text), asked)
        except DrivelabError as error:
            assert error.code in {"I501", "I502", "I503", "I504", "I505", "I507"}
            assert name in error.where
        else:
            assert found.trials
            assert all(trial.line >= 0 for trial in found.trials)


@pytest.mark.parametrize(
    "text",
    [
        '{"fio version": ' + "[" * 100_000,
        '{"fio version":\n' * 20_000,
        '{"jobs": [' + '{"jobname": "a", "read": {}},' * 20_000,
        "1.98," * 100_000,
        "\n".join("[a]" for _ in range(100_000)),
        '"a report"\n' * 50_000,
        "9 " * 200_000,
        "1+1 " * 100_000,
    ],
    ids=range(8),
)
def test_hostile_files_are_refused_in_time(text: str) -> None:
    for kind in (None, "fio", "bonnie", "iozone", "diskbenchmark", "pg_test_fsync", "ioping", "dd"):
        with pytest.raises(DrivelabError):
            read_foreign(SourceText("hostile", text), kind)  # type: ignore[arg-type]


def test_a_table_of_samples_leads_to_what_answers_from_it() -> None:
    text = "time,host,drive,throughput,latency_us\n2026-11-02 00:00:00,host01,sda,100,200\n"
    with pytest.raises(DrivelabError) as caught:
        read_foreign(SourceText("slow.csv", text))
    assert caught.value.code == "I501"
    assert caught.value.what.startswith("it is a table of samples of drives")
    assert caught.value.do == "drivelab fleet odd FILE"
