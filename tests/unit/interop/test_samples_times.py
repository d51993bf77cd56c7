"""Times that may be read in two ways: the order of day and month, and clocks without a zone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from drivelab.interop.samples.read import Samples, read_samples
from drivelab.interop.samples.times import has_zone
from drivelab.model.errors import DrivelabError

DAY_FIRST, MONTH_FIRST = "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S"
REPORT = """\
Device            r/s     rkB/s  r_await     w/s     wkB/s w_await
sda             30.00    100.00     2.00   10.00    100.00    6.00

"""


def table(path: Path, begin: str, form: str, *, hours: int = 48, hosts: dict[str, float] | None = None) -> Path:
    """Samples an hour apart from a date on, written in a form; hosts by how many hours their clocks are ahead."""
    lines = ["time,host,drive,latency"]
    for host, ahead in (hosts or {path.stem: 0.0}).items():
        first = datetime.fromisoformat(begin) + timedelta(hours=ahead)
        lines += [f"{(first + timedelta(hours=hour)).strftime(form)},{host},sda,1" for hour in range(hours)]
    path.write_text("\n".join([*lines, ""]))
    return path


def iostat(path: Path, begin: str, form: str, *, hours: int = 48) -> Path:
    """Reports an hour apart from a date on."""
    first = datetime.fromisoformat(begin)
    stamps = [(first + timedelta(hours=hour)).strftime(form) for hour in range(hours)]
    head = f"Linux 6.12.41 ({path.stem}) \t{stamps[0].split()[0]} \t_x86_64_\t(16 CPU)\n\n"
    path.write_text(head + "".join(f"{stamp}\n{REPORT}" for stamp in stamps))
    return path


def first_and_last(samples: Samples) -> list[tuple[str, str]]:
    """Dates of the first and the last sample of each host."""
    return [
        (f"{datetime.fromtimestamp(host.time_s[0], UTC):%F}", f"{datetime.fromtimestamp(host.time_s[-1], UTC):%F}")
        for host in samples.hosts
    ]


@pytest.mark.parametrize("form", [DAY_FIRST, MONTH_FIRST, "%d/%m/%y %H:%M:%S"])
@pytest.mark.parametrize("written", [table, iostat])
def test_one_day_beyond_the_twelfth_settles_the_order_of_a_file(
    tmp_path: Path, written: Callable[[Path, str, str], Path], form: str
) -> None:
    samples = read_samples([written(tmp_path / "a.csv", "2026-11-12", form)])
    assert first_and_last(samples) == [("2026-11-12", "2026-11-13")]
    assert samples.remarks == ()


@pytest.mark.parametrize(("form", "first"), [(DAY_FIRST, "day"), (MONTH_FIRST, "month")])
@pytest.mark.parametrize("begin", ["2026-11-03", "2026-11-11"])
def test_dates_that_follow_one_another_in_one_order_tell_it_and_it_is_said(
    tmp_path: Path, begin: str, form: str, first: str
) -> None:
    samples = read_samples([table(tmp_path / "a.csv", begin, form)])
    assert first_and_last(samples)[0][0] == begin
    (remark,) = samples.remarks
    assert f"is read with the {first} first, so that dates follow one another" in remark
    assert "write dates as 2026-11-12" in remark


def test_a_single_date_is_read_with_the_month_first_and_said_to_be_a_guess(tmp_path: Path) -> None:
    samples = read_samples([table(tmp_path / "a.csv", "2026-11-03", DAY_FIRST, hours=5)])
    assert first_and_last(samples) == [("2026-03-11", "2026-03-11")]
    assert "03/11/2026 of" in samples.remarks[0]
    assert "which is a guess" in samples.remarks[0]


def test_a_date_that_is_the_same_in_both_orders_tells_nothing_of_other_files(tmp_path: Path) -> None:
    same = table(tmp_path / "a.csv", "2026-11-11", DAY_FIRST, hours=5)
    assert read_samples([same]).remarks == ()
    others = [table(tmp_path / f"{day}.csv", f"2026-11-{day}", DAY_FIRST, hours=5) for day in (12, 13)]
    assert [first for first, _ in first_and_last(read_samples([same, *others]))] == [
        "2026-11-12",
        "2026-11-13",
        "2026-11-11",
    ]


def test_what_is_no_date_in_either_order_settles_none(tmp_path: Path) -> None:
    broken = table(tmp_path / "a.csv", "2026-11-13", DAY_FIRST, hours=5)
    broken.write_text(broken.read_text() + "33/44/2026 00:00:00,a,sda,1\n")
    samples = read_samples([broken])
    assert first_and_last(samples) == [("2026-11-13", "2026-11-13")]
    assert samples.notes == {"lines without a time": 1}


def test_a_file_that_does_not_tell_is_read_as_the_others(tmp_path: Path) -> None:
    short = table(tmp_path / "a.csv", "2026-11-12", DAY_FIRST, hours=5)
    whole = iostat(tmp_path / "b.log", "2026-11-12", DAY_FIRST)
    samples = read_samples([short, whole], "ms")
    assert first_and_last(samples) == [("2026-11-12", "2026-11-12"), ("2026-11-12", "2026-11-13")]
    assert "a.csv is read with the day first, as in other files" in samples.remarks[0]


def test_files_of_one_date_each_tell_the_order_together(tmp_path: Path) -> None:
    days = [table(tmp_path / f"{day}.csv", f"2026-11-{day:02}", DAY_FIRST, hours=5) for day in (3, 4, 5)]
    samples = read_samples(days)
    assert [first for first, _ in first_and_last(samples)] == ["2026-11-03", "2026-11-04", "2026-11-05"]
    (remark,) = samples.remarks
    assert "3.csv (and of 2 more) is read with the day first" in remark


def refused(paths: Sequence[Path]) -> DrivelabError:
    """What files are refused with."""
    with pytest.raises(DrivelabError) as caught:
        read_samples(paths)
    return caught.value


def test_orders_that_contradict_one_another_are_refused(tmp_path: Path) -> None:
    both = table(tmp_path / "a.csv", "2026-11-13", DAY_FIRST, hours=5)
    both.write_text(both.read_text() + "11/14/2026 00:00:00,a,sda,1\n")
    error = refused([both])
    assert (error.code, error.where) == ("I503", str(both))
    assert error.what == "13/11/2026 has the day first, and 11/14/2026 the month"
    named = [
        iostat(tmp_path / f"{place}.log", "2026-11-12", form) for place, form in enumerate((DAY_FIRST, MONTH_FIRST))
    ]
    assert len(read_samples(named).hosts) == 2
    error = refused([*named, iostat(tmp_path / "c.log", "2026-11-03", DAY_FIRST, hours=5)])
    assert error.code == "I503"
    assert "other files have either" in error.what


def test_sar_goes_on_after_midnight_of_a_day_that_is_written_first(tmp_path: Path) -> None:
    lines = [
        f"{hour:02}:00:00          sda     22.00      0.00    244.00      0.91      2.00" for hour in (22, 23, 0, 1)
    ]
    head = "21:00:00          DEV       tps     rkB/s     wkB/s     await     %util"
    path = tmp_path / "sar.txt"
    path.write_text("\n".join(["Linux 6.1.0 (s8) \t30/11/26 \t_x86_64_\t(4 CPU)", "", head, *lines, ""]))
    assert first_and_last(read_samples([path])) == [("2026-11-30", "2026-12-01")]


@pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%S", MONTH_FIRST])
def test_hosts_hours_apart_without_a_zone_are_told(tmp_path: Path, form: str) -> None:
    clocks = {"h0": 0.0, "h1": 5.5, "h2": -5.0}
    samples = read_samples([table(tmp_path / "a.csv", "2026-11-20", form, hosts=clocks)])
    (remark,) = samples.remarks
    assert "begin and end up to 10 h 30 min apart (h2 first, h1 last), and times carry no zone" in remark


def test_clocks_with_a_zone_and_hosts_that_only_begin_later_are_not_told(tmp_path: Path) -> None:
    clocks = {"h0": 0.0, "h1": 5.0}
    zoned = table(tmp_path / "a.csv", "2026-11-20", "%Y-%m-%dT%H:%M:%SZ", hosts=clocks)
    assert read_samples([zoned]).remarks == ()
    lines = table(tmp_path / "b.csv", "2026-11-20", "%Y-%m-%dT%H:%M:%S", hosts=dict.fromkeys(clocks, 0.0)).read_text()
    late = tmp_path / "c.csv"
    late.write_text("\n".join(line for line in lines.splitlines() if not ("h1" in line and "-20T0" in line)))
    assert read_samples([late]).remarks == ()


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("2026-11-12T13:00:15Z", True),
        ("2026-11-12 13:00:15+01:00", True),
        ("2026-11-12 13:00:15 UTC", True),
        ("2026-11-12 13:00:15", False),
        ("2026-11-12", False),
    ],
)
def test_a_time_tells_its_zone_or_not(text: str, is_told: bool) -> None:
    assert has_zone(text) is is_told
