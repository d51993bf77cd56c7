"""What a simulated drive cannot carry out is refused with what can be done instead."""

from __future__ import annotations

import re

import pytest

from drivelab.cli.main import run


def test_whoever_leaves_out_levels_is_told_each_reason_once_and_what_runs_as_typed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["plan", "write-size", "sim:consumer-ssd", "--skip-unavailable"]) == 2
    error = capsys.readouterr().err
    assert error.count("a simulated drive has no settings") == 1
    assert "stays as it was found" not in error
    assert "with --skip-unavailable" not in error
    (offered,) = re.findall(r"choose one of (.*), or another target", error)
    assert {"queue-depth", "pts-iops"} <= set(offered.split(", "))


def test_leaving_out_levels_is_not_advised_where_nothing_would_be_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "ssd-latency", "sim:consumer-ssd"]) == 2
    error = capsys.readouterr().err
    assert "P708" in error
    assert "a simulated drive has no kernel for backend sync to call" in error
    assert "do:    choose one of" in error


def test_an_experiment_that_asks_for_a_backend_of_the_kernel_is_refused_before_it_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in ("plan", "run"):
        assert run([command, "ssd-latency", "sim:consumer-ssd", "--quick", "--skip-unavailable"]) == 2
        assert "error[R424]" in (told := capsys.readouterr().err)
        assert "a simulated drive has no kernel for backend sync to call" in told
        assert "drivelab check sim:consumer-ssd measures small synced writes" in told
    assert run(["explain", "sim:consumer-ssd"]) == 2
    assert "explain needs a real drive" in capsys.readouterr().err
