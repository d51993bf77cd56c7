"""What ``drivelab io`` says of processor time: an exact total, and parts where they were sampled."""

from __future__ import annotations

import pytest

from drivelab.cli.io_result import cpu_json, latency_text


def test_the_parts_share_the_exact_total() -> None:
    found = cpu_json({"user_ns": 4_000_000, "system_ns": 12_000_000, "total_ns": 20_000_000}, 1000)
    assert found["cpu_ns_per_io"] == 20_000
    assert (found["user_cpu_ns_per_io"], found["system_cpu_ns_per_io"]) == pytest.approx((5_000, 15_000))


def test_parts_of_which_no_tick_tells_are_no_numbers() -> None:
    found = cpu_json({"user_ns": 0, "system_ns": 0, "total_ns": 700_000}, 1000)
    assert found == {"cpu_ns_per_io": 700, "user_cpu_ns_per_io": None, "system_cpu_ns_per_io": None}
    assert set(cpu_json({"user_ns": 1, "system_ns": 0, "total_ns": 1}, 0).values()) == {None}


def test_a_bound_stands_with_its_sign_and_what_is_not_known_is_left_out() -> None:
    facts = {"mean": 2000.0, "max": 9000, "quantiles": {"0.5": 1500, "0.9": 1900, "0.99": 4000, "0.999": None}}
    known = {"value": 1500.0, "low": 1400.0, "high": 1600.0}
    estimates = {
        "0.5": known,
        "0.99": {"value": None, "low": 3000.0, "high": None},
        "0.999": {"value": None, "low": None, "high": None},
    }
    assert latency_text(facts, estimates) == "mean 2 us, median 1.5 us, p99 ≥ 3 us, max 9 us"
    assert latency_text(facts) == "mean 2 us, median 1.5 us, p99 4 us, max 9 us"


def test_no_quantile_is_skipped_that_is_known_as_a_bound() -> None:
    facts = {"mean": 2000.0, "max": 9000, "quantiles": {"0.99": 4000, "0.999": None, "0.9999": None}}
    estimates = {
        "0.999": {"value": 8000.0, "low": 5000.0, "high": None},
        "0.9999": {"value": None, "low": 6000.0, "high": None},
    }
    assert latency_text(facts, estimates) == "mean 2 us, p99 4 us, p99.9 ≥ 5 us, p99.99 ≥ 6 us, max 9 us"


def test_a_bound_below_a_lower_quantile_is_left_out() -> None:
    facts = {"mean": 2000.0, "max": 9000, "quantiles": {"0.999": 6000, "0.9999": None}}
    estimates = {"0.9999": {"value": None, "low": 5000.0, "high": None}}
    assert latency_text(facts, estimates) == "mean 2 us, p99.9 6 us, max 9 us"
