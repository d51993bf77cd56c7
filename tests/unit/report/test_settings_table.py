"""Settings: asked and achieved side by side, and a sign where they differ."""

from __future__ import annotations

from collections.abc import Callable

from drivelab.report.content import ReportContent, TrialContent
from drivelab.report.settings_table import Setting, settings_table


def settings(trial: TrialContent) -> dict[str, Setting]:
    """The settings of one trial by name."""
    table = settings_table([trial])
    return dict(zip(table.columns, table.rows[0].settings, strict=True))


def test_what_was_achieved_as_asked_agrees(trial: Callable[..., TrialContent]) -> None:
    found = settings(trial())
    assert found["I/Os outstanding"] == Setting("I/Os outstanding", "1", "0.990", True, "on average; 1 at most")
    assert found["page cache bypassed"].agrees is True


def test_a_queue_depth_that_never_happened_is_told(trial: Callable[..., TrialContent]) -> None:
    workload = {"queue_depth": 32, "job_count": 4, "direct": True}
    found = settings(trial(workload=workload, engine={"achieved": {"queue_depth_mean": 4.0, "direct": True}}))
    assert found["I/Os outstanding"].asked == "32 × 4 jobs"
    assert found["I/Os outstanding"].agrees is False


def test_direct_io_that_was_refused_is_told(trial: Callable[..., TrialContent]) -> None:
    found = settings(trial(engine={"achieved": {"queue_depth_mean": 1.0, "direct": False}}))
    assert (found["page cache bypassed"].achieved, found["page cache bypassed"].agrees) == ("no", False)


def test_bytes_that_never_reached_the_drive_are_told(trial: Callable[..., TrialContent]) -> None:
    engine = {"achieved": {}, "all_phases": {"read": {"bytes": 2**20}}}
    cached = settings(trial(engine=engine, devices=({"bytes_read": 4096},)))["bytes issued, seen by the drive"]
    assert (cached.asked, cached.achieved, cached.agrees) == ("1 MiB", "4 KiB", False)
    unknown = settings(trial(engine=engine))["bytes issued, seen by the drive"]
    assert (unknown.achieved, unknown.agrees) == ("no drive known", None)


def test_a_backend_that_was_chosen_is_told_with_its_reason(trial: Callable[..., TrialContent]) -> None:
    backend = {"backend": {"name": "uring", "reason": "io_uring is allowed"}}
    chosen = settings(trial(workload={"backend": "auto"}, engine=backend))["backend"]
    assert (chosen.asked, chosen.achieved, chosen.agrees, chosen.remark) == (
        "auto",
        "uring",
        None,
        "io_uring is allowed",
    )
    forced = settings(trial(workload={"backend": "aio"}, engine=backend))["backend"]
    assert forced.agrees is False


def test_factors_are_shown_as_read_back(trial: Callable[..., TrialContent]) -> None:
    row = {"asked_write_cache": "off", "achieved_write_cache": "on", "asked_filesystem": "xfs", "asked_backend": "auto"}
    found = settings(trial(row=row))
    assert found["write cache"] == Setting("write cache", "off", "on", False)
    assert found["filesystem"] == Setting("filesystem", "xfs", "not read back", None)


def test_a_length_is_told_by_whatever_limits_it(trial: Callable[..., TrialContent]) -> None:
    workload = {"limits": {"runtime_ns": 3 * 10**9, "count": 1000, "bytes": 2**20}}
    found = settings(trial(workload=workload, engine={"measured_ns": 10**9, "stopped_by": "count"}))["length"]
    assert (found.asked, found.achieved, found.remark) == (
        "3 s or 1\u202f000 I/Os or 1 MiB",
        "1 s",
        "its count was reached",
    )


def test_missed_arrivals_of_a_schedule_are_told(trial: Callable[..., TrialContent]) -> None:
    engine = {"arrivals": {"scheduled": 100, "issued": 90, "late": 5, "missed": 10}}
    workload = {"pacing": {"kind": "poisson", "rate_per_s": 50.0}}
    found = settings(trial(workload=workload, engine=engine))["arrivals"]
    assert (found.achieved, found.agrees) == ("90 issued, 5 late, 10 missed", False)


def test_a_setting_that_a_trial_does_not_have_is_empty_there(trial: Callable[..., TrialContent]) -> None:
    table = settings_table([trial(row={"asked_filesystem": "xfs"}), trial()])
    column = table.columns.index("filesystem")
    assert [row.settings[column].asked for row in table.rows] == ["xfs", ""]


def test_everything_recorded_about_a_trial_is_there(check_content: ReportContent) -> None:
    facts = dict(settings_table(check_content.trials).rows[0].facts)
    assert facts["workload · durability · method"] == "fdatasync"
    assert facts["engine · stopped by"] == "runtime"
    assert facts["context · temperature celsius · after"] == "36"
    assert facts["devices · device"] == "nvme0n1"


def test_a_file_system_that_was_mounted_as_asked_does_not_differ(trial: Callable[..., TrialContent]) -> None:
    row = {"asked_filesystem": "ext4", "achieved_filesystem": "ext4 rw,relatime"}
    assert settings(trial(row=row))["filesystem"].agrees is None, "its name is not what the kernel calls its options"


def test_what_was_left_as_it_was_does_not_differ_from_what_it_was(trial: Callable[..., TrialContent]) -> None:
    row = {"asked_scheduler": "as-found", "achieved_scheduler": "mq-deadline"}
    assert settings(trial(row=row))["scheduler"].agrees is None
