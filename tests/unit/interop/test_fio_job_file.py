"""Job files are read as fio reads them, and every mistake names its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from counted_time import at_most_processor_s
from drivelab.interop.fio.job_file import Job, read_job_file
from drivelab.interop.fio.options import BY_NAME, OPTIONS
from drivelab.interop.fio.sizes import Amount
from drivelab.interop.fio.translate import translate_file
from drivelab.interop.fio.translated import Environment
from drivelab.interop.fio.values import PerDirection
from drivelab.model.errors import DrivelabError

ENVIRONMENT = Environment(variables={"SIZE": "64k", "DISK": "/dev/sdz"}, cpu_count=6, page_bytes=4096)
PROCESSOR_S_MAX = 10


def jobs_of(text: str, directory: Path) -> list[Job]:
    path = directory / "jobs.fio"
    path.write_text(text)
    return list(read_job_file(path, ENVIRONMENT).jobs)


def mistake_of(text: str, directory: Path) -> DrivelabError:
    with pytest.raises(DrivelabError) as caught:
        jobs_of(text, directory)
    return caught.value


def test_global_holds_for_later_jobs_and_may_come_again(tmp_path: Path) -> None:
    text = "[a]\nrw=read\n[global]\nbs=8k\n[a]\n[globals]\niodepth=4\n[b]\nbs=16k\n"
    first, second, third = jobs_of(text, tmp_path)
    assert [job.name for job in (first, second, third)] == ["a", "a", "b"]
    assert not first.has("bs")
    assert second.settings["bs"].is_shared
    assert third.settings["bs"].value == PerDirection(Amount(16384), Amount(16384), Amount(16384))
    assert third.settings["iodepth"].is_shared


def test_comments_end_a_value_and_blank_lines_are_nothing(tmp_path: Path) -> None:
    (job,) = jobs_of("; one\n# two\n\n[a]  \n  filename=/x;y # z\n\tbs=4k#8k\n", tmp_path)
    assert job.settings["filename"].text == "/x"
    assert job.settings["bs"].text == "4k"


def test_a_variable_that_is_not_set_is_named_where_its_value_is_missing(tmp_path: Path) -> None:
    mistake = mistake_of("[a]\nsize=${NO_SIZE}\n", tmp_path)
    assert (mistake.code, mistake.what) == ("U032", "size=${NO_SIZE}: variable NO_SIZE is not set")
    both = mistake_of("[a]\nbs=${ONE}${OTHER}\n", tmp_path)
    assert both.what == "bs=${ONE}${OTHER}: variables ONE and OTHER are not set"


@pytest.mark.parametrize("line", ["filename={{ disk.name }}", "size={{disk.name}}g", "bs=4k,{{ disk.name }}"])
def test_what_a_template_left_is_named(tmp_path: Path, line: str) -> None:
    mistake = mistake_of(f"[a]\n{line}\n", tmp_path)
    assert (mistake.code, mistake.what) == ("U032", f"{line}: nothing has filled in disk.name")
    (job,) = jobs_of("[a]\ndescription={{ anything }}\nsize=1m\n", tmp_path)
    assert job.settings["description"].text == "{{ anything }}"


def test_variables_and_keywords_are_replaced_and_calculated(tmp_path: Path) -> None:
    text = "[a]\nbs=${SIZE}\nfilename=${DISK}${MISSING}\nnumjobs=2 * $ncpus + 1\niodepth=$pagesize\n"
    (job,) = jobs_of(text, tmp_path)
    assert job.settings["bs"].text == "64k"
    assert job.settings["filename"].text == "/dev/sdz"
    assert job.settings["numjobs"].value == Amount(13)
    assert job.settings["iodepth"].value == Amount(4096)


def test_included_options_hold_and_lie_beside_the_job_file(tmp_path: Path) -> None:
    (tmp_path / "common").write_text("bs=8k\ninclude deeper\n")
    (tmp_path / "deeper").write_text("iodepth=7\n")
    (job,) = jobs_of("[a]\ninclude common\nrw=read\n", tmp_path)
    assert {name: setting.text for name, setting in job.settings.items()} == {"bs": "8k", "iodepth": "7", "rw": "read"}
    assert job.settings["iodepth"].place.path.endswith("deeper")


def test_kb_base_counts_wherever_it_stands_in_its_section(tmp_path: Path) -> None:
    (job,) = jobs_of("[a]\nsize=1k\nkb_base=1000\n", tmp_path)
    assert job.settings["size"].value == Amount(1000)


def test_aliases_are_the_option_itself(tmp_path: Path) -> None:
    (job,) = jobs_of("[a]\nreadwrite=write\nblocksize=8k\ntimeout=3\nwait_for_previous\nio_limit=1m\n", tmp_path)
    assert list(job.settings) == ["rw", "bs", "runtime", "stonewall", "io_size"]


def test_a_kib_of_1000_is_told_with_line_and_both_values(tmp_path: Path) -> None:
    path = tmp_path / "jobs.fio"
    path.write_text("[global]\nbs=4KiB\n[a]\n[b]\nbs = 8k\n")
    first, second = read_job_file(path, ENVIRONMENT).warnings
    assert (first.line, "4000" in first.what, "4096" in first.what) == (2, True, True)
    assert (second.line, "8 to fio" in second.what) == (5, True)


@pytest.mark.provokes("U030")
def test_a_missing_file_and_a_missing_include_are_named(tmp_path: Path) -> None:
    with pytest.raises(DrivelabError) as caught:
        read_job_file(tmp_path / "none.fio", ENVIRONMENT)
    assert caught.value.code == "U030"
    error = mistake_of("[a]\ninclude none\n", tmp_path)
    assert (error.code, error.where.rsplit(":", 1)[1]) == ("U030", "2")


@pytest.mark.provokes("U031")
@pytest.mark.parametrize(("text", "line"), [("rw=read\n[a]\n", 1), ("[a]\nrw=read\n[b\n", 3), ("\n[]\n", 2)])
def test_a_file_of_another_form_is_refused_with_its_line(text: str, line: int, tmp_path: Path) -> None:
    error = mistake_of(text, tmp_path)
    assert (error.code, error.where.rsplit(":", 1)[1]) == ("U031", str(line))


def test_includes_have_no_sections_and_no_circles(tmp_path: Path) -> None:
    (tmp_path / "circle").write_text("bs=4k\ninclude circle\n")
    assert mistake_of("[a]\ninclude circle\n", tmp_path).code == "U031"
    (tmp_path / "sections").write_text("[b]\n")
    assert "sections" in mistake_of("[a]\ninclude sections\n", tmp_path).what


@pytest.mark.provokes("U032")
@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("invalidate=true", "0 or 1"),
        ("time_based=yes", "write time_based alone, or time_based=1"),
        ("direct", "needs a value"),
        ("rw=reed", "one of read"),
        ("size=1.5g", "no fractions"),
        ("size=101%", "100 %"),
        ("iodepth=0", "at least 1"),
        ("rwmixread=101", "at most 100"),
        ("bssplit=4k/70:8k/70", "more than 100 %"),
        ("bsrange=4k", "two sizes"),
        ("filename=", "needs a value"),
        ("numjobs=$ncpus/0", "division by zero"),
        ("percentile_list=a", "no number"),
    ],
)
def test_a_value_that_fio_refuses_is_refused_with_its_line(option: str, told: str, tmp_path: Path) -> None:
    error = mistake_of(f"[a]\n; comment\n{option}\n", tmp_path)
    assert (error.code, error.where.rsplit(":", 1)[1]) == ("U032", "3")
    assert told in error.what


@pytest.mark.provokes("U037")
def test_a_file_without_jobs_is_refused(tmp_path: Path) -> None:
    assert mistake_of("[global]\nbs=4k\n", tmp_path).code == "U037"


def test_every_option_has_one_row_and_every_default_can_be_read() -> None:
    names = [name for option in OPTIONS for name in (option.name, *option.aliases)]
    assert len(names) == len(set(names)) == len(BY_NAME)
    assert all(option.what and option.topic for option in OPTIONS)


_LINES = st.one_of(
    st.sampled_from(["[global]", "[a]", "[b]", "stonewall", "time_based", "include other", "rw=randrw:4", "bs=4k,8k"]),
    st.builds("{}={}".format, st.sampled_from(sorted(BY_NAME)), st.text(max_size=12)),
    st.builds(
        "{}={}".format,
        st.sampled_from(sorted(BY_NAME)),
        st.text(alphabet="0123456789kmgzib%:,-/.()+*^xs $ncpus{}", max_size=20),
    ),
    st.text(max_size=30),
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_LINES, max_size=12).map("\n".join))
@example("[a]\ncpus_allowed=0-9999999999\n")
@example("[a]\nsize=" + "(" * 600)
@example("[a]\nrandom_distribution=zoned:" + "1/1:" * 5000 + "\nrw=randread\nsize=1m")
@example("[a]\nrw=read\nsize=1g\nnumjobs=99999999999\noffset_increment=1\nfilename=x")
@example("[a]\nnrfiles=1000000000000\nsize=1p\nioengine=filecreate")
@example("[a]\nbsrange=1-1g\nrw=randread\nsize=1g\ncpumask=0x7fffffffffffffff")
@example("[a]\nrw=read:-4k\nfilename=" + "a:" * 3000 + "\nsize=1g")
def test_any_text_is_translated_or_refused_with_its_line_in_bounded_time(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.fio"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with at_most_processor_s(PROCESSOR_S_MAX):
        try:
            assert translate_file(path, ENVIRONMENT).jobs
        except DrivelabError as error:
            assert error.code[:2] == "U0"
            assert error.where.startswith(str(tmp_path))


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bytes.fio"
    path.write_bytes(b"[a]\nsize=1m\n" + content)
    try:
        translate_file(path, ENVIRONMENT)
    except DrivelabError as error:
        assert error.where
