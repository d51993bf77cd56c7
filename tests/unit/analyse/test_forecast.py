"""The arithmetic of a forecast: latency and own time add up, bands hold the one and the other extreme."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from drivelab.analyse.forecast import commit_rate, forecast, log_latency, place_on_scale, rate_bands
from drivelab.model.commit_scale import MARKS, rate_on
from drivelab.model.estimate import Estimate
from drivelab.model.metric import ROUND_TRIP
from drivelab.model.program import Background, OwnTime, Program
from drivelab.model.programs import (
    CLIENT_COUNTS,
    ETCD,
    MARIADB,
    POSTGRESQL,
    PROGRAMS,
    REDIS_ALWAYS,
    SQLITE,
    SQLITE_WAL,
    ZOOKEEPER,
)
from drivelab.model.trial_summary import TrialSummary
from drivelab.reference.load import load_reference

US = 1000.0
MADE_UP = replace(POSTGRESQL, own=OwnTime(50 * US, 40 * US, 60 * US, {1: 20 * US, 8: 30 * US, 32: 40 * US}))


def mean(value: float | None, low: float | None, high: float | None) -> Estimate:
    return Estimate(value, low, high, "ns", 1000, 800.0, "")


def measured(**latencies: Estimate) -> dict[str, TrialSummary]:
    return {
        f"sync-write-{name}": TrialSummary("", "", "durable_write", {"total_latency_ns_mean": latency})
        for name, latency in latencies.items()
    }


def test_the_programs_own_time_is_added() -> None:
    rate = commit_rate(MADE_UP, mean(150 * US, 140 * US, 165 * US))
    assert rate.value == pytest.approx(1e6 / 200)
    assert (rate.low, rate.high) == (pytest.approx(1e6 / 225), pytest.approx(1e6 / 180))
    assert (rate.unit, rate.sample_count) == ("1/s", 1000)


def test_commits_wait_for_what_is_synced_in_the_background() -> None:
    alone = commit_rate(MADE_UP, mean(10_000 * US, None, None)).value
    beside = replace(MADE_UP, background=Background(2, 100_000 * US))
    rate = commit_rate(beside, mean(10_000 * US, None, None)).value
    assert alone is not None
    assert rate == pytest.approx(alone * 100 / 120)


def test_an_end_that_is_not_known_stays_so() -> None:
    rate = commit_rate(MADE_UP, mean(150 * US, 140 * US, None))
    assert rate.low is None
    assert rate.high is not None


def test_without_its_writes_nothing_is_forecast() -> None:
    summaries = measured(sqlite=mean(900 * US, 860 * US, 940 * US))
    assert forecast("sqlite", {}) is log_latency(SQLITE, {}) is None
    assert log_latency(SQLITE, summaries) == mean(900 * US, 860 * US, 940 * US)
    assert forecast("sqlite", summaries) is not None


def test_a_band_reaches_from_half_the_clients_a_sync_to_all_of_them() -> None:
    few, many = rate_bands(MADE_UP, mean(800 * US, None, None))
    assert (few.client_count, many.client_count) == CLIENT_COUNTS
    assert few.low == pytest.approx(1e6 / (2.1 * 800 / 8 + 6 * 30))
    assert few.high == pytest.approx(1e6 / (800 / 8))
    assert many.high == pytest.approx(1e6 / (800 / 32))
    # the processors are the limit where syncs are fast
    assert rate_bands(MADE_UP, mean(320 * US, None, None))[1].high == pytest.approx(1e6 / (0.5 * 40))


@pytest.mark.parametrize(
    ("program", "log_us", "of_eight", "of_many"),
    [
        (POSTGRESQL, 95, 25_253, 34_934),
        (REDIS_ALWAYS, 131, 26_249, 60_589),
        (ETCD, 115, 4_901, 8_061),
        (MARIADB, 93, 25_886, 45_326),
        (ZOOKEEPER, 140, 15_944, 30_465),
        # of a slower computer, and of a drive whose flush takes 3 ms
        (POSTGRESQL, 186, 10_110, 11_619),
        (POSTGRESQL, 3_784, 984, 3_445),
    ],
    ids=lambda value: value.need if isinstance(value, Program) else None,
)
def test_bands_hold_what_the_programs_committed(program: Program, log_us: float, of_eight: int, of_many: int) -> None:
    # medians of docs/performance.md, "Programs beside their forecasts"
    for band, rate in zip(rate_bands(program, mean(log_us * US, None, None)), (of_eight, of_many), strict=True):
        assert band.low <= rate <= band.high


@pytest.mark.parametrize(
    ("program", "epyc", "xeon"),
    [
        (POSTGRESQL, (95, 7_632), (187, 4_090)),
        (SQLITE_WAL, (98, 8_792), (201, 4_052)),
        (SQLITE, (505, 1_807), (767, 1_042)),
        (REDIS_ALWAYS, (131, 6_909), (215, 4_021)),
        (ETCD, (115, 1_841), (242, 808)),
        (ETCD, (228, 826), (3_921, 171)),
        (MARIADB, (93, 8_149), (144, 5_529)),
        (ZOOKEEPER, (140, 3_432), (263, 1_568)),
    ],
    ids=lambda value: value.need if isinstance(value, Program) else None,
)
def test_a_range_holds_what_the_programs_committed_on_several_computers(
    program: Program, epyc: tuple[float, float], xeon: tuple[float, float]
) -> None:
    # of the same page: latency of the log writes in us, and commits a second
    for log_us, real in (epyc, xeon):
        latency = log_us * US
        found = commit_rate(program, mean(latency, latency, latency))
        assert found.low is not None
        assert found.high is not None
        assert found.low <= real <= found.high


@pytest.mark.parametrize(
    ("program", "log_us", "real"),
    [
        (POSTGRESQL, 186, 3_316),
        (SQLITE_WAL, 177, 4_436),
        (SQLITE, 1_192, 843),
        (REDIS_ALWAYS, 261, 3_370),
        (ETCD, 228, 826),
    ],
    ids=lambda value: value.need if isinstance(value, Program) else None,
)
def test_a_round_trip_tells_what_a_program_takes_on_a_slower_computer(
    program: Program, log_us: float, real: int
) -> None:
    # of the same page: an EPYC on which a round trip takes 22.5 us
    here = replace(program, own=program.own.on_computer(22.5 * US))
    # log writes of the pairs lay a tenth around their median
    found = commit_rate(here, mean(log_us * US, 0.9 * log_us * US, 1.1 * log_us * US))
    assert found.value == pytest.approx(real, rel=0.15)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= real <= found.high


def test_a_round_trip_that_was_measured_makes_the_own_time() -> None:
    summaries = measured(postgres=mean(200 * US, 190 * US, 210 * US))
    unknown = forecast("postgres", summaries)
    trip = Estimate(10 * US, None, None, "ns", 1, 1.0, "")
    estimates = summaries["sync-write-postgres"].estimates | {ROUND_TRIP: trip}
    known = forecast(
        "postgres", {"sync-write-postgres": replace(summaries["sync-write-postgres"], estimates=estimates)}
    )
    assert unknown is not None
    assert known is not None
    assert unknown.own_time_ns == POSTGRESQL.own.one_ns
    assert known.own_time_ns == pytest.approx(10 * US * POSTGRESQL.own.round_trips)
    assert known.own_time_range_ns == pytest.approx((0.55 * known.own_time_ns, 2 * known.own_time_ns))
    assert known.commits_per_s.value == pytest.approx(1e9 / (200 * US + known.own_time_ns))
    # a trip that came late, as on a computer that had been idle, makes no program slower than any was ever seen
    assert POSTGRESQL.own.on_computer(700 * US).one_ns == POSTGRESQL.own.high_ns
    assert POSTGRESQL.own.on_computer(1 * US).one_ns == POSTGRESQL.own.low_ns
    assert replace(POSTGRESQL.own, round_trips=0.0).on_computer(10 * US).one_ns == POSTGRESQL.own.one_ns


def test_a_sync_of_many_commits_begins_a_new_block_of_a_growing_log_more_often() -> None:
    latency, new_block = mean(800 * US, None, None), mean(1600 * US, None, None)
    growing = replace(MADE_UP, write=replace(MADE_UP.write, size_bytes=256, file_state="append"))
    few, many = rate_bands(growing, latency, new_block)
    assert few.low == pytest.approx(1e6 / (2.1 * 1200 / 8 + 6 * 30)), "8 times 256 B are half a block"
    assert many.low == pytest.approx(1e6 / (2.1 * 1600 / 32 + 6 * 40))
    assert (few.high, many.high) == tuple(band.high for band in rate_bands(growing, latency))
    assert rate_bands(MADE_UP, latency, new_block) == rate_bands(MADE_UP, latency)


def test_no_end_of_a_band_is_below_that_of_fewer_clients_however_wide_the_forecast() -> None:
    """Writes of 0.1 to 15 ms with a mean of 2.6: eight clients cannot be told to commit less than one may."""
    latency = mean(2605 * US, 100 * US, 15_100 * US)
    one = commit_rate(PROGRAMS["postgres"], latency)
    ends = [(one.low, one.high), *((band.low, band.high) for band in rate_bands(PROGRAMS["postgres"], latency))]
    for fewer, more in itertools.pairwise(ends):
        assert all(few is not None and many is not None and few <= many for few, many in zip(fewer, more, strict=True))


def test_a_band_that_says_next_to_nothing_is_stored_and_not_told() -> None:
    found = forecast("postgres", measured(postgres=mean(200 * US, 190 * US, 210 * US)))
    assert found is not None
    widths = {band.client_count: band.high / band.low for band in found.bands}
    assert widths[8] > 4
    assert widths[32] > 4
    assert "clients" not in found.text


def test_more_clients_never_commit_fewer() -> None:
    for program in PROGRAMS.values():
        for latency_us in (20, 200, 2000, 20_000):
            latency = mean(latency_us * US, latency_us * US, latency_us * US)
            one = commit_rate(program, latency)
            assert one.low is not None
            bands = rate_bands(program, latency)
            lows = [one.low, *(band.low for band in bands)]
            highs = [band.high for band in bands]
            assert (lows, highs) == (sorted(lows), sorted(highs))


def test_one_writer_at_a_time_has_no_band() -> None:
    assert rate_bands(SQLITE, mean(800 * US, None, None)) == ()


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_what_a_program_takes_itself_is_a_range_around_a_time(program: Program) -> None:
    own = program.own
    assert 0 < own.low_ns <= own.one_ns <= own.high_ns
    assert set(own.memory_ns) == ({1, *CLIENT_COUNTS} if program.shares_syncs else {1})


def test_a_forecast_tells_all_in_a_sentence() -> None:
    found = forecast("postgres", measured(postgres=mean(2000 * US, 1900 * US, 2100 * US)))
    assert found is not None
    assert found.text.startswith("PostgreSQL would commit about 4")
    assert " times a second here with one client (range: 4" in found.text
    assert re.search(r"; with 8 clients it would be 1 \d{3} to 4 \d{3}$", found.text)
    assert re.search(
        r", between a Crucial M4 \(3[56]\d here\) and a SanDisk X100 \(1 1\d\d here\) under ext4; "
        r"with 8 clients it would be ",
        found.text,
    )
    assert forecast("kafka", {}) is None


@pytest.mark.parametrize(
    ("low", "value", "high", "place"),
    [
        (1, 1, 1, "less often than with a hard disk of 7200 rpm (24.9 here)"),
        (1e6, 1e6, 1e6, "more often than with an Intel 320 with capacitors (4 000 here)"),
        (500, 500, 500, "between a Crucial M4 (364 here) and a SanDisk X100 (1 140 here)"),
        (2000, 5200, 6000, "perhaps no more often than with an Intel 320 with capacitors (4 000 here)"),
        (2000, 5000, 6000, "about as often as with an Intel 320 with capacitors (4 000 here)"),
        (2000, 3000, 6000, "perhaps as often as with an Intel 320 with capacitors (4 000 here)"),
        (900, 3000, 6000, "more often than with a Crucial M4 (364 here)"),
        (300, 900, 3000, "anywhere between an Intel 530 (105 here) and an Intel 320 with capacitors (4 000 here)"),
        (1, 900, 3000, "less often than with an Intel 320 with capacitors (4 000 here)"),
    ],
)
def test_a_rate_is_placed_by_its_range(low: float, value: float, high: float, place: str) -> None:
    rate = Estimate(value, low, high, "1/s", 1000, 800.0, "")
    assert place_on_scale(rate, MADE_UP).replace("\u202f", " ") == f"{place} under ext4"


def test_of_a_range_that_tells_little_its_ends_are_told_first() -> None:
    found = forecast("postgres", measured(postgres=mean(2000 * US, 300 * US, 3700 * US)))
    assert found is not None
    assert found.text.startswith("PostgreSQL would commit 257 to 3 100 times a second here with one client (489 on ave")


def test_the_scale_is_made_of_latency_and_own_time() -> None:
    assert rate_on(MARKS[-1], MADE_UP) == pytest.approx(1e6 / 250)


def test_the_scale_is_in_order_and_as_published() -> None:
    assert [mark.latency_ns for mark in MARKS] == sorted((mark.latency_ns for mark in MARKS), reverse=True)
    for mark in MARKS:
        page = load_reference(mark.page)
        values = {one.estimate.value for one in page.observations if one.drive == mark.drive and one.is_durable}
        assert mark.latency_ns in values, mark.title
