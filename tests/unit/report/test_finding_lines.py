"""Findings on one line each: how many trials have them, and between what their numbers lie."""

from __future__ import annotations

import pytest

from drivelab.model.finding import Finding
from drivelab.model.merged_texts import merged_texts
from drivelab.report.finding_lines import finding_lines

CODE = "short-measurement"


def test_short_trials_are_one_line_whatever_their_severity() -> None:
    findings = [
        Finding(CODE, "note", "it was measured for 377 ms", "t1", {"measured_ns": 377e6}),
        Finding(CODE, "warning", "it was measured for 43 ms", "t2", {"measured_ns": 43e6}),
    ]
    (line,) = finding_lines(findings, 24)
    assert line.severity == "warning"
    assert line.text == "2 of 24 trials were shorter than 400 ms (43 to 377 ms): what changes more slowly is not seen"
    (quick,) = finding_lines(findings, 24, is_quick=True)
    assert "(43 to 377 ms), because of --quick: what" in quick.text
    assert quick.severity == "note", "what was asked for is no alarm"


def test_the_numbers_of_what_stands_for_many_trials_are_used() -> None:
    facts = {"measured_ns": 1e8, "lowest": {"measured_ns": 5e7}, "highest": {"measured_ns": 2e8}}
    (line,) = finding_lines([Finding(CODE, "warning", "x", "t1", facts, trial_count=830)], 900)
    assert line.text.startswith("830 of 900 trials were shorter than 300 ms (50 to 200 ms)")


def test_details_that_not_all_of_them_have_do_not_keep_the_numbers_of_one_for_all() -> None:
    texts = [
        "0 % of 100 MiB of writes reached the drive; the rest was memory (100 MiB still waited)",
        "less than 1 % of 500 MiB of writes reached the drive; the rest was memory",
    ]
    findings = [Finding("page-cache-answered", "invalid", text, f"t{at}") for at, text in enumerate(texts)]
    (line,) = finding_lines(findings, 24)
    assert line.text == "0 to 1 % of 100 to 500 MiB of writes reached the drive; the rest was memory"
    assert line.where == " [in 2 of 24 trials]"


def test_a_drive_of_two_targets_is_named_once() -> None:
    findings = [Finding("virtual-drive", "warning", "vda is virtual: a host answers", "", {}) for _ in range(2)]
    assert [line.text for line in finding_lines(findings, 3)] == ["vda is virtual: a host answers"]
    others = [Finding("virtual-drive", "warning", "vdb is virtual: a host answers", "", {})]
    (line,) = finding_lines([*findings, *others], 3)
    assert line.text == "vda and vdb are virtual: a host answers"


def test_what_disturbed_some_trials_is_told_by_kind() -> None:
    findings = [
        Finding("foreign-work", "warning", "x", "t1", {"cpu_pressure_some_share": 0.05, "cpu_steal_share": 0.02}),
        Finding("foreign-work", "warning", "y", "t2", {"cpu_pressure_some_share": 0.49}),
    ]
    (line,) = finding_lines(findings, 3)
    assert line.text == (
        "2 of 3 trials were not alone: the hypervisor took 2 % of the processors; "
        "tasks waited for a processor 5 to 49 % of the time"
    )


def test_what_a_few_trials_show_is_not_said_of_all() -> None:
    busy = {"other_processors": 1.0, "other_processor_share": 0.5}
    findings = [Finding("foreign-work", "warning", "x", f"t{number}", busy) for number in range(9)]
    findings += [
        Finding("foreign-work", "warning", "y", f"t{number}", {"excess_read_share": 8.12}) for number in (9, 10)
    ]
    (line,) = finding_lines(findings, 17)
    # and yet the gravest sign is told, since one such trial may be worth nothing
    told = "others read 812 % of what they moved (in 2 of them); others used 1.0 of 2 processors"
    assert line.text == f"11 of 17 trials were not alone: {told}"


def test_the_strongest_sign_stands_first_so_that_a_cut_line_keeps_it() -> None:
    findings = [
        Finding(
            "foreign-work",
            "warning",
            "x",
            "t1",
            {"other_processors": 1.6, "other_processor_share": 0.8, "cpu_pressure_some_share": 0.9},
        ),
        Finding(
            "foreign-work",
            "warning",
            "y",
            "t2",
            {"other_processors": 1.2, "other_processor_share": 0.6, "cpu_steal_share": 0.014},
        ),
    ]
    (line,) = finding_lines(findings, 24)
    assert line.text == (
        "2 of 24 trials were not alone: others used 1.2 to 1.6 of 2 processors; "
        "the hypervisor took 1 % of the processors; tasks waited for a processor 90 % of the time"
    )


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("from 8.54 ms to 4.19 ms", "the mean latency fell from 182 us to 164 us [in 2 of 17 trials, the first is t1]"),
        ("from 300 us to 190 us", "the mean latency fell from 182–300 us to 164–190 us [in 2 of 17 trials]"),
    ],
)
def test_two_changes_far_apart_do_not_read_as_an_interval_of_one(second: str, told: str) -> None:
    findings = [
        Finding("drift", "warning", f"the mean latency fell {text}", f"t{number}")
        for number, text in enumerate(("from 182 us to 164 us", second), start=1)
    ]
    (line,) = finding_lines(findings, 17)
    assert f"{line.text}{line.where}" == told


def test_too_few_ios_say_that_what_is_shown_is_marked() -> None:
    findings = [
        Finding("too-little-data", "note", "x", f"t{n}", {"quantile": at, "operations": count})
        for n, (at, count) in enumerate([(0.5, 8), (0.999, 362)])
    ]
    (line,) = finding_lines(findings, 24)
    assert line.text == (
        "2 of 24 trials have too few I/Os for an upper end of p99.9, some even of the median: 8 to 362; "
        "a lower bound stands beside the value"
    )


def test_texts_that_differ_in_numbers_become_one_with_ranges() -> None:
    texts = ["of 100 MiB on vda1 0 B reached it: 0%", "of 1 GiB on vda1 487 MiB reached it: 97%"]
    (line,) = finding_lines([Finding("a", "invalid", text, f"t{n}") for n, text in enumerate(texts)], 9)
    assert line.text == "of 100 MiB to 1 GiB on vda1 0 B to 487 MiB reached it: 0 to 97%"
    assert line.where == " [in 2 of 9 trials]"


def test_a_number_of_several_groups_of_digits_is_one_number() -> None:
    texts = [
        f"it was {rate} a second with the {time} that it took"
        for rate, time in (("4 400", "103 ms"), ("950", "1.15 s"))
    ]
    (line,) = finding_lines([Finding("a", "warning", text, f"t{n}") for n, text in enumerate(texts)], 9)
    assert line.text == "it was 950 to 4 400 a second with the 103 ms to 1.15 s that it took"


def test_from_one_number_to_another_their_ranges_have_another_sign() -> None:
    texts = [f"it rose from {low} to {high} of 32" for low, high in (("574 us", "644 us"), ("1.85 ms", "2.11 ms"))]
    (line,) = finding_lines([Finding("a", "warning", text, f"t{n}") for n, text in enumerate(texts)], 9)
    assert line.text == "it rose from 574 us–1.85 ms to 644 us–2.11 ms of 32"


def test_rates_are_held_against_each_other_whatever_their_units() -> None:
    findings = [Finding("a", "warning", f"it fell to {rate}", rate) for rate in ("1.38 GB/s", "472 MB/s", "9 kB/s")]
    assert [line.text for line in finding_lines(findings, 9)] == ["it fell to 9 kB/s–1.38 GB/s"]


def test_texts_that_differ_in_words_are_told_by_the_first() -> None:
    (line,) = finding_lines([Finding("a", "note", f"it got {word}", word) for word in ("slower", "faster")], 9)
    assert (line.text, line.where) == ("it got slower", " [in 2 of 9 trials, the first is slower]")


def test_one_trial_is_named_and_the_gravest_come_first() -> None:
    findings = [Finding("a", "note", "x", "t" * 60), Finding("b", "invalid", "y"), Finding("b", "invalid", "z")]
    lines = finding_lines(findings, 9)
    assert [(line.severity, line.text) for line in lines] == [("invalid", "y"), ("invalid", "z"), ("note", "x")]
    assert lines[-1].where == f" [{'t' * 37}...]"


def test_a_limit_of_bytes_is_not_told_as_one_of_ios() -> None:
    findings = [
        Finding("burst-credit", "warning", "3 000 IOPS, then 300 IOPS", "ios", {"token": "I/Os"}),
        Finding("burst-credit", "warning", "1.47 GB/s, then 134 MB/s", "bytes", {"token": "bytes"}),
    ]
    assert [(line.text, line.where) for line in finding_lines(findings, 2)] == [
        ("3 000 IOPS, then 300 IOPS", " [ios]"),
        ("1.47 GB/s, then 134 MB/s", " [bytes]"),
    ]


def test_what_only_one_of_two_targets_has_is_said_of_that_one() -> None:
    targets = {f"t{n}": "sdb" if n < 3 else "sdc" for n in range(6)}
    findings = [Finding("a", "warning", "it fell", f"t{n}") for n in (3, 4)]
    (line,) = finding_lines(findings, 6, targets=targets)
    assert line.where == " [in 2 of 3 trials on sdc]"
    (whole,) = finding_lines([*findings, Finding("a", "warning", "it fell", "t5")], 6, targets=targets)
    assert whole.where == " [sdc]"
    (both,) = finding_lines([*findings, Finding("a", "warning", "it fell", "t0")], 6, targets=targets)
    assert both.where == " [in 3 of 6 trials]"
    (alone,) = finding_lines(findings, 6, targets=dict.fromkeys(targets, "sdb"))
    assert alone.where == " [in 2 of 6 trials]"


def test_drives_of_which_the_same_is_said_share_a_line() -> None:
    said = [
        Finding("virtual-drive", "warning", f"{name} is virtual: the numbers are of the file behind it", "")
        for name in ("loop0", "loop1")
    ]
    other = Finding("virtual-drive", "warning", "vda is virtual: the numbers are of the host's storage", "")
    assert [line.text for line in finding_lines([*said, other], 4)] == [
        "loop0 and loop1 are virtual: the numbers are of the file behind it",
        "vda is virtual: the numbers are of the host's storage",
    ]
    models = [
        Finding("virtual-drive", "warning", f"sim:{name} is simulated ({name}, 4 TB): the numbers are of a model", "")
        for name in ("a", "b")
    ]
    (line,) = finding_lines(models, 2)
    assert line.text == "sim:a and sim:b are simulated: the numbers are of a model"


def test_what_is_said_of_a_volume_counts_no_trials() -> None:
    shown = [Finding("burst-possible", "warning", "3 000 I/Os a second may be a burst", name) for name in ("a", "b")]
    targets = {"a": "gp2", "b": "gp2", "c": "gp2", "d": "ssd"}
    (line,) = finding_lines(shown, 4, targets=targets)
    assert (line.text, line.where, line.of) == (shown[0].text, " [gp2]", "")
    (alone,) = finding_lines(shown, 3, targets=dict.fromkeys("abc", "gp2"))
    assert (alone.where, alone.of) == ("", "")


def test_thousands_are_one_number_whatever_blank_stands_between_them() -> None:
    for blank in (" ", "\u202f"):
        texts = [f"64 are best: {number}{blank}000\u00a0IOPS" for number in (423, 424)]
        assert merged_texts(texts) == f"64 are best: 423{blank}000 to 424{blank}000\u00a0IOPS"


def test_what_is_not_known_is_not_told_as_what_is_not_so() -> None:
    said = [("warning", "not steady", "it had not become steady: 2 %")]
    said += [("note", "undecided", f"whether it was steady is not known: {n} rounds") for n in (1, 2, 3, 4)]
    findings = [
        Finding("not-steady", severity, text, f"t{n}", {"verdict": verdict})
        for n, (severity, verdict, text) in enumerate(said)
    ]
    assert [(line.severity, line.text, line.where) for line in finding_lines(findings, 5)] == [
        ("warning", "it had not become steady: 2 %", " [t0]"),
        ("note", "whether it was steady is not known: 1 to 4 rounds", " [in 4 of 5 trials]"),
    ]
