"""What a replay says: what voids its numbers before them, warnings behind them."""

from __future__ import annotations

from typing import Any

from drivelab.cli.replay_lines import answer_words, replay_lines, voids_of_answer


def document(*findings: dict[str, Any]) -> dict[str, Any]:
    quantiles = {"p50_ns": 1e5, "p99_ns": 2e5, "max_ns": 3e5}
    operation = {
        "count": 10,
        "recorded_count": 10,
        "waited_ns": 10**6,
        "recorded": None,
        "replayed": quantiles,
        "response": quantiles,
    }
    target = {
        "target": "/srv",
        "asked": {"count": 10, "length_ns": None, "queue_depth_max": 1},
        "achieved": {
            "count": 10,
            "late": 0,
            "missed": 0,
            "direct_files": None,
            "length_ns": None,
            "start_late_ns_p50": None,
            "start_late_ns_p99": None,
            "backend": "uring",
            "direct": True,
            "queue_depth_max": 1,
        },
        "measured_ns": 10**6,
        "waited_ns": 10**6,
        "rank_ns": 10**6,
        "errors": [],
        "operations": {"write": operation},
        "findings": list(findings),
    }
    return {
        "targets": [target],
        "speed": 1.0,
        "recording": {
            "length_ns": 9 * 10**9,
            "duration_ns": 98 * 10**8,
            "queue_depth": 1,
            "threads": 1,
            "made_room": False,
            "level": "ios",
            "files": [],
            "not_played": [],
            "not_compared": [],
            "doubt": "",
        },
    }


def finding(severity: str, text: str) -> dict[str, Any]:
    return {"severity": severity, "text": text}


def test_what_voids_the_numbers_is_said_before_them_and_once() -> None:
    lines = list(replay_lines(document(finding("invalid", "memory answered"), finding("warning", "it was short"))))
    assert lines[0] == "Not to be trusted on /srv: memory answered."
    assert lines[1].startswith("On /srv this load's writes took ")
    assert [line for line in lines if "memory answered" in line] == lines[:1]
    assert lines[-1] == "  warning: it was short"


def test_a_replay_that_holds_begins_with_its_answer() -> None:
    lines = list(replay_lines(document()))
    assert lines[0].startswith("On /srv this load's writes took ")
    assert not any("trusted" in line for line in lines)


def test_one_pass_each_ranks_nothing_for_sure() -> None:
    told = document() | {"speed": None}
    first, second = (told["targets"][0] | {"target": name} for name in ("/a", "/b"))
    told["targets"] = [first, second | {"rank_ns": 3 * 10**6}]
    assert next(iter(replay_lines(told))) == (
        "/a looked best for this load, as fast as possible: it took 1 ms there in all, 3.00x as long on /b; with one "
        "pass each that may be chance."
    )
    told["targets"] = [first, second | {"rank_ns": 1_050_000}]
    assert next(iter(replay_lines(told))) == (
        "/a and /b cannot be told apart for this load, as fast as possible: it took 1 ms and 1.05 ms in all."
    )


def test_the_gravest_warning_of_each_target_has_its_line() -> None:
    three = [finding("warning", f"warning {number}") for number in range(3)]
    first = document(*three)["targets"][0] | {"target": "/a"}
    second = document(finding("warning", "all of it was late"))["targets"][0] | {"target": "/b"}
    lines = list(replay_lines(document() | {"targets": [first, second]}))
    assert lines[-3:] == ["  warning: /a: warning 0", "  warning: /b: all of it was late", "  warning: /a: warning 1"]


def test_appends_that_become_overwrites_are_not_compared() -> None:
    told = document()
    told["recording"]["made_room"] = True
    told["targets"][0]["operations"]["write"]["recorded"] = {"p50_ns": 3e5, "p99_ns": 4e5}
    first = next(iter(replay_lines(told)))
    assert "not comparable with the recorded 300 us" in first
    assert "as long as recorded" not in first


def call(name: str, times: tuple[float, float | None, float | None], **more: Any) -> dict[str, Any]:
    value, low, high = times
    there, here = ({"p50_ns": factor * 1e6, "p99_ns": factor * 9e6} for factor in (1, value))
    found = {"call": name, "count": 123_456, "waited_ns": 10**9, "added_ns": 10**6, "recorded": there, "replayed": here}
    return found | {"response": here, "times": {"value": value, "low": low, "high": high}, "files": []} | more


def followed(*calls: dict[str, Any]) -> dict[str, Any]:
    told = document()
    told["recording"]["level"] = "calls"
    told["targets"][0]["calls"] = list(calls)
    return told


def test_the_first_line_says_which_calls_became_slower_by_how_much_and_how_sure_that_is() -> None:
    read = call("pread64", (1.5, 1.2, 1.9), added_ns=4 * 10**8)
    told = followed(call("fdatasync", (2.31, 2.12, 2.61)), read, call("pwrite64", (1.5, 0.9, 1.9)))
    assert next(iter(replay_lines(told))) == (
        "On /srv this load's fdatasync calls took 2.31x as long as recorded (median 2.31 ms against 1 ms; 95 % "
        "interval 2.12x to 2.61x); slower too: pread64 1.50x."
    )
    told = followed(call("fdatasync", (0.5, 0.4, 0.6)), call("pread64", (1.05, 1.01, 1.1)))
    assert next(iter(replay_lines(told))).endswith("interval 0.40x to 0.60x); none became slower.")
    # 10 ms of 3 s: of calls that memory answers, twice as long is nothing that the program notices
    told = followed(call("fdatasync", (2.31, 2.12, 2.61)), call("write", (3, 2.2, 4.4), added_ns=10**7))
    assert next(iter(replay_lines(told))).endswith("2.61x); what else became slower adds less than 5 %.")
    told = followed(call("fsync", (1.53, 0.89, 3.02)))
    assert next(iter(replay_lines(told))) == (
        "On /srv this load's fsync calls cannot be told apart from those recorded (median 1.53 ms against 1 ms, "
        "1.53x; 95 % interval 0.89x to 3.02x)."
    )


def test_of_calls_without_an_interval_no_ratio_is_told_and_nothing_of_what_became_slower() -> None:
    read = call("pread64", (1.05, 1.01, 1.1))
    told = followed(call("fdatasync", (17.0, None, None), count=1), read)
    assert next(iter(replay_lines(told))) == (
        "On /srv this load's one fdatasync call took 17 ms, and 1 ms where it was recorded: one call tells no "
        "difference from chance."
    )
    told = followed(call("flush", (17.0, None, None), count=4), read)
    assert next(iter(replay_lines(told))) == (
        "On /srv this load's 4 flushes took 17 ms at the median, and 1 ms where they were recorded: without an "
        "interval no difference is told from chance."
    )
    told = followed(call("fsync", (17.0, None, None), count=4), call("pread64", (1.5, 1.2, 1.9), added_ns=4 * 10**8))
    assert next(iter(replay_lines(told))).endswith("is told from chance; slower: pread64 1.50x.")


OF_READS = "the page cache answered in place of vda: 0 B of 17.5 KiB of reads came there"


def with_void_reads(**reads: Any) -> dict[str, Any]:
    """A load that waits for durable writes, and whose reads came from memory here."""
    read = call("read", (0.1, 0.05, 0.2), waited_ns=10**7, void=OF_READS) | reads
    calls = [call("durable write", (0.69, 0.6, 0.8), void=None), read]
    told = followed(*sorted(calls, key=lambda one: -one["waited_ns"]))
    told["targets"][0]["findings"] = [finding("invalid", OF_READS)]
    return told


def test_reads_from_memory_void_their_row_and_not_the_answer_about_what_takes_the_time() -> None:
    told = with_void_reads()
    first, *lines = replay_lines(told)
    # of the reads nothing is known
    assert first == (
        "On /srv this load's durable writes took 0.69x as long as recorded (median 690 us against 1 ms; 95 % interval "
        "0.60x to 0.80x)."
    )
    assert f"  void: {OF_READS}" in lines
    assert [line.split()[:2] for line in lines if "(void)" in line] == [["read", "(void)"]]
    assert voids_of_answer(told, told["targets"][0]) == []


def test_reads_from_memory_void_the_answer_that_is_about_them() -> None:
    for told in (
        with_void_reads(waited_ns=10**10),
        # of a load at another speed, and of several targets, all calls are answered for
        with_void_reads(waited_ns=10**8) | {"speed": None},
    ):
        assert voids_of_answer(told, told["targets"][0]) == [OF_READS]
        first, *lines = replay_lines(told)
        assert first == f"Not to be trusted on /srv: {OF_READS}."
        assert not any(OF_READS in line for line in lines)
    seldom = with_void_reads() | {"speed": 2.0}
    assert voids_of_answer(seldom, seldom["targets"][0]) == []
    # what is about all of it voids all of it
    seldom["targets"][0]["findings"].append(finding("invalid", "another program wrote"))
    assert voids_of_answer(seldom, seldom["targets"][0]) == ["another program wrote"]


def test_of_reads_from_memory_that_have_no_recorded_latency_nobody_knows_what_the_drive_would_take() -> None:
    told = with_void_reads() | {"speed": None}
    (target,) = told["targets"]
    target["operations"] = {one["call"]: one for one in target.pop("calls")}
    assert voids_of_answer(told, target) == [OF_READS]


def test_the_table_has_room_on_a_screen_and_says_what_is_set_against_what() -> None:
    told = followed(*(call(f"io_uring read{number}", (1234.5, 0.00123, 99_999.0)) for number in range(12)))
    told["targets"][0]["findings"] = [finding("warning", f"warning {number}") for number in range(9)]
    _, *lines = replay_lines(told)
    assert max(map(len, lines)) <= 80
    assert len(lines) < 25
    assert "  4 more kinds of call took less: --details" in lines
    assert "  calls against the same calls, on files laid out as the program had them" in lines
    assert len(list(replay_lines(told, details=True))) > 25
    told["recording"]["level"] = "commands"
    told["targets"][0]["calls"] = [
        call("write", (1, 1, 1)),
        call("flush", (1, 1, 1)) | {"times": None},
    ]
    lines = list(replay_lines(told))
    assert any("a sync call on a file is more than a flush, and not compared" in line for line in lines)
    # what the recording knows is told all the same
    assert [line.split()[-1] for line in lines if line.split()[:1] == ["flush"] and line.count(" ms") == 4] == ["-"]


def test_several_targets_have_a_row_each() -> None:
    told = followed(call("fdatasync", (2.0, 1.5, 3.0)))
    places = [f"/srv/of/a/long/name/{number:020}" for number in range(9)]
    told["targets"] = [
        told["targets"][0] | {"target": name, "rank_ns": 10**9 + number} for number, name in enumerate(places)
    ]
    _, *lines = replay_lines(told)
    assert max(map(len, lines)) <= 80
    assert len(lines) < 25
    assert all(any(name[-10:] in line for line in lines) for name in places)


def test_how_much_longer_it_took_is_told_so_that_it_can_be_read() -> None:
    told = document()
    told["speed"] = 1.0
    target = told["targets"][0]
    target["asked"]["length_ns"] = 10**9
    target["achieved"]["start_error_ns"] = {"p50": 10, "p99": 20_000, "max": 30_000}
    for length, words in (
        (1_030_000_000, "3 % longer than"),
        (4_400_000_000, "4.40x as long as"),
        (1_003_800_000, ""),
        (10**9, ""),
    ):
        target["achieved"]["length_ns"] = length
        text = "\n".join(replay_lines(told))
        assert ("did not keep up" in text) is bool(words)
        assert words in text
        assert "starts late by 10 ns, p99 20 us (0 late, 0 missed)" in text
    told["recording"]["threads"] = 4
    target["achieved"]["length_ns"] = 4 * 10**9
    assert "recorded: the target, or this computer with 4 threads, did not keep up" in "\n".join(replay_lines(told))


def at_speed(speed: float | None, taken_ns: int, **achieved: int) -> list[str]:
    """What is told of a load of two kinds of calls at a speed that took so long."""
    told = followed(call("fdatasync", (5.43, 4.86, 6.15)), call("write", (0.5, 0.4, 0.6))) | {"speed": speed}
    for one in told["targets"][0]["calls"]:
        one["times"] = None
    target = told["targets"][0] | {"measured_ns": taken_ns}
    asked_ns = None if speed is None else round(told["recording"]["length_ns"] / speed)
    target["asked"] |= {"length_ns": asked_ns}
    starts = {"start_error_ns": {"p50": 10, "p99": 20_000, "max": 30_000}}
    target["achieved"] |= {"length_ns": None if speed is None else taken_ns, **starts, **achieved}
    return list(replay_lines(told | {"targets": [target]}))


def test_another_speed_is_another_load_and_the_first_line_says_whether_the_target_kept_up() -> None:
    first, *lines = at_speed(4.0, 5_130_000_000)
    assert first == (
        "At 4x its recorded speed this load took 5.13 s on /srv in place of 2.25 s: the target did not keep up, and "
        "came to 1.75x; its fdatasync calls took 5.43 ms at the median."
    )
    assert "  at 4x its recorded speed the load is another one: latencies are not compared with those recorded" in lines
    assert not any("keep up" in line or "there" in line or "times as long" in line for line in lines)
    first, *_ = at_speed(0.5, 18_010_000_000)
    assert first.startswith(
        "At 0.5x its recorded speed this load took 18.0 s on /srv, as asked: the target kept up; its"
    )
    first, *_ = at_speed(4.0, 10**9, count=7)
    assert first.startswith("At 4x its recorded speed 7 of 10 I/Os of this load were done on /srv; its")


def test_as_fast_as_possible_the_whole_is_set_against_the_recording_and_no_call() -> None:
    first, *lines = at_speed(None, 409_000_000)
    assert first == (
        "As fast as possible this load took 409 ms on /srv, where the recording took 9.8 s with the program's own "
        "pauses; its fdatasync calls took 5.43 ms at the median."
    )
    assert any(line.startswith("  as fast as possible the load is another one: latencies are not") for line in lines)
    assert not any("times as long" in line for line in lines)
    first, *_ = at_speed(None, 12 * 10**9)
    assert first.startswith(
        "As fast as possible this load took 12 s on /srv, longer than the recorded 9.8 s: the target does not keep up;"
    )


def test_where_time_was_added_stands_by_file() -> None:
    files = [{"name": "/data/wal", "count": 9, "added_ns": 5 * 10**9}, {"name": "/data/db", "count": 9, "added_ns": -5}]
    lines = list(replay_lines(followed(call("fdatasync", (2.0, 1.5, 3.0), files=files))))
    assert "  longer in all by: fdatasync on wal 5 s" in lines


def test_what_is_not_played_belongs_to_the_answer_also_of_several_targets() -> None:
    told = followed(call("fdatasync", (2.31, 2.12, 2.61)))
    told["recording"]["not_played"] = ["61 of 244 sync calls: those on directories", "2 reads that found nothing"]
    words = " Not played: 61 of 244 sync calls: those on directories; 2 reads that found nothing."
    assert answer_words(told).endswith(words)
    told["targets"] = [told["targets"][0] | {"target": name} for name in ("/a", "/b")]
    assert answer_words(told).endswith(words)


def test_of_calls_that_may_have_been_durable_no_change_is_told() -> None:
    told = followed(call("pwritev2", (0.02, 0.01, 0.03)) | {"times": None, "added_ns": None})
    told["recording"] |= {"not_compared": ["pwritev2"], "doubt": "pwritev2, of which no flags were recorded"}
    assert next(iter(replay_lines(told))) == (
        "On /srv this load's pwritev2 calls took 20 us at the median. Not compared: pwritev2, of which no flags were "
        "recorded."
    )


def test_calls_without_a_comparison_hide_none_that_became_slower() -> None:
    durable = call("durable write", (1, 1, 1), waited_ns=2 * 10**9) | {"times": None, "added_ns": None}
    told = followed(durable, call("write", (8.88, 7.34, 11), added_ns=9 * 10**8))
    assert next(iter(replay_lines(told))) == (
        "On /srv this load's durable writes took 1 ms at the median; slower: write 8.88x."
    )
    # of what is not compared nobody knows whether it became slower
    told = followed(durable, call("write", (0.5, 0.4, 0.6)))
    assert next(iter(replay_lines(told))).endswith(" took 1 ms at the median; none is known to have become slower.")
    told = followed(call("write", (2.31, 2.12, 2.61)), call("read", (0.5, 0.4, 0.6)), durable)
    assert next(iter(replay_lines(told))).endswith("2.61x); no other is known to have become slower.")
    told = followed(durable, durable | {"call": "flush"})
    assert next(iter(replay_lines(told))).endswith("durable writes took 1 ms at the median.")


def test_a_p99_that_so_few_calls_do_not_carry_is_told_as_a_bound() -> None:
    few = {"p50_ns": 1e6, "p99_ns": None, "p99_at_least_ns": 2.36e6}
    told = followed(call("read", (1.5, None, None), recorded=few | {"p99_at_least_ns": None}, replayed=few, count=5))
    (row,) = (line for line in replay_lines(told) if line.startswith("read "))
    assert row.split() == ["read", "5", "1", "ms", "-", "1", "ms", ">=", "2.36", "ms", "1.50"]
