"""What became of a fleet, in few lines: the sum first, reasons once each, and what to type next."""

from __future__ import annotations

from typing import Any

from drivelab.model.fleet_plan import NO_DRIVE_MEETS, FleetItem, is_done
from drivelab.report.terminal.fleet_run import fleet_run_lines


def item(host: str, name: str = "S1", **changes: Any) -> FleetItem:
    return FleetItem(f"{host}/{name}", host, "/dev/sda", **changes)


def lines(hosts: dict[str, tuple[str, tuple[str, ...]]], *items: FleetItem) -> list[str]:
    return fleet_run_lines("F", "queue-depth", hosts, items, plain=True, go_on="drivelab fleet resume F")


def test_all_that_is_measured_is_told_in_a_line_each() -> None:
    items = [item(f"host{number}", state="complete", answer=f"{number} us", gathered="x") for number in range(3)]
    assert lines({f"host{number}": ("", ()) for number in range(3)}, *items) == [
        "queue-depth: 3 of 3 targets on 3 hosts are measured.",
        "",
        "host0/S1  0 us",
        "host1/S1  1 us",
        "host2/S1  2 us",
        "",
        "compare the drives: drivelab fleet report F",
    ]


def test_what_is_missing_is_told_once_for_each_reason() -> None:
    hosts = {f"host{number}": ("it has left", ()) for number in range(5)}
    hosts |= {"slow": ("", ("its clock is 1 h ahead of this one",)), "full": ("", ())}
    items = [item(f"host{number}", state="cut_off", reason="it has left") for number in range(5)]
    items += [item("slow", state="complete", answer="2 us"), item("full", state="failed", reason="S502: no space")]
    assert lines(hosts, *items) == [
        "queue-depth: 1 of 7 targets on 7 hosts is measured; 5 cut off, 1 failed: 6 hosts",
        "in all.",
        "",
        "- host0, host1, host2 and 2 more: it has left",
        "- slow: its clock is 1 h ahead of this one",
        "- full/S1: S502: no space",
        "",
        "slow/S1  2 us",
        "",
        "go on: drivelab fleet resume F",
    ]


def test_a_host_that_could_not_be_asked_counts_where_no_target_of_it_is_told() -> None:
    lost = ("it has left", ())
    (first, *_) = lines({"one": lost}, item("one", state="cut_off", reason="it has left"))
    assert first == "queue-depth: 0 of 1 target on 1 host is measured; 1 cut off."
    hosts = {"one": lost, "two": lost, "three": lost}
    told = " ".join(lines(hosts, item("one", state="cut_off"), item("two", state="complete")))
    assert told.startswith(
        "queue-depth: 1 of 2 targets on 2 of 3 hosts is measured; 1 cut off, 2 hosts could not be asked to the end: "
        "3 hosts in all."
    )
    told = " ".join(lines({"one": lost, "two": lost, "three": ("", ())}, item("three", state="complete")))
    assert "is measured; 2 hosts could not be asked to the end." in told


def test_why_nothing_began_together_is_told_once() -> None:
    reason = "C220: /srv/oak.dat exists"
    hosts = {"oak": (reason, ()), "fir": ("all were to begin together, and oak could not", ())}
    assert lines(hosts, item("oak", state="failed", reason=reason), item("fir")) == [
        "queue-depth: nothing began: all were to begin together, and oak could not.",
        "",
        "- oak: C220: /srv/oak.dat exists",
        "",
        "go on: drivelab fleet resume F",
    ]


def test_long_lists_end() -> None:
    hosts = {f"host{number}": (f"reason {number}", ()) for number in range(20)}
    items = [item(f"host{number}", f"S{drive}", state="complete") for number in range(20) for drive in range(3)]
    found = lines(hosts, *items)
    assert "and 8 more: drivelab fleet status F --json" in found
    assert "and 20 more" in found
    assert len(found) < 65


def test_nothing_measured_is_said_so() -> None:
    (first, *rest) = lines({"one": ("", ("no drive meets serial S9",))})
    assert first == "Nothing was measured: no drive of 1 host is meant, or none could be asked."
    assert "- one: no drive meets serial S9" in rest


def test_control_characters_of_a_host_do_not_reach_the_terminal() -> None:
    hosts = {"one": ("bad\x1b[2Jword\nnext", ())}
    found = lines(hosts, item("one", state="complete", answer="fast\x1b]0;x\x07"))
    assert not any("\x1b" in line or "\x07" in line or "\n" in line for line in found)


def test_done_is_when_all_is_measured_and_all_answered() -> None:
    whole = {"one/S1": item("one", state="complete")}
    assert is_done({"one": ""}, whole)
    assert not is_done({"one": "it has left"}, whole)
    assert not is_done({"one": ""}, {})
    assert not is_done({"one": ""}, whole | {"one/S2": item("one", "S2", state="failed")})


def test_a_drive_that_several_hosts_see_is_told_as_one() -> None:
    items = [item(host, state="complete", answer="2 us", drive={"serial": "S1"}) for host in ("fir", "oak")]
    found = lines({"fir": ("", ()), "oak": ("", ())}, *items)
    assert found[2] == "- fir/S1 and oak/S1 are one drive: it is measured from one host after the other"


def test_what_does_not_describe_its_drive_is_told_and_not_recommended_for_comparison() -> None:
    doubt = "25 of 25 trials do not describe the drive (page-cache-answered): use direct I/O"
    done = {"state": "complete", "answer": "not judged", "gathered": "x"}
    void = [item(host, doubt=doubt, is_void=True, **done) for host in ("fir", "oak")]
    hosts = dict.fromkeys(("fir", "oak", "elm"), ("", ()))
    assert lines(hosts, *void, item("elm", **done)) == [
        "queue-depth: 1 of 3 targets on 3 hosts gives a usable number; 2 were measured",
        "and do not describe the drive.",
        "",
        "- fir/S1, oak/S1: measured, but 25 of 25 trials do not describe the drive",
        "  (page-cache-answered): use direct I/O",
        "",
        "fir/S1  not judged",
        "oak/S1  not judged",
        "elm/S1  not judged",
    ]
    partly = [item(host, doubt=doubt, **done) for host in ("fir", "oak")]
    assert lines(hosts, *partly)[-1] == "compare the drives: drivelab fleet report F"


def test_where_no_number_can_be_used_that_comes_first_and_every_host_is_counted() -> None:
    done = {"state": "complete", "doubt": "10 of 10 trials do not describe the drive", "is_void": True}
    hosts = dict.fromkeys(("fir", "oak", "elm", "full"), ("", ()))
    hosts |= dict.fromkeys(("down", "bare", "nobody"), ("it did not join", ()))
    hosts["ash"] = ("", (f"{NO_DRIVE_MEETS} model SAMSUNG*",))
    items = [item(host, **done) for host in ("fir", "oak", "elm")] + [
        item("full", state="failed", reason="S502: no room")
    ]
    told = " ".join(" ".join(lines(hosts, *items)).split())
    assert told.startswith(
        "queue-depth: none of 4 targets on 4 of 8 hosts gives a usable number; 3 were measured and do not describe the "
        "drive, 1 failed, 3 hosts could not be asked to the end, 1 host has no drive that is meant: 5 hosts in all. "
    )
    one = " ".join(lines({"fir": ("", ())}, item("fir", **done)))
    assert one.startswith("queue-depth: none of 1 target on 1 host gives a usable number; 1 was measured and does not")


def test_a_host_that_was_not_asked_yet_has_no_drive_that_is_not_meant() -> None:
    told = " ".join(lines({"fir": ("", ()), "oak": ("", ())}, item("fir", state="complete")))
    assert told.startswith("queue-depth: 1 of 1 target on 1 of 2 hosts is measured. ")


def test_a_check_for_a_need_counts_verdicts_and_says_why_each_is_undecided() -> None:
    hosts = dict.fromkeys(("fir", "oak", "elm", "ash"), ("", ()))
    why = "only read: half of random reads take 28 us at most; writes need --erase-list with the line oak:loop3"
    done = {"state": "complete", "gathered": "x"}
    items = [
        item("fir", outcome="undecided", why="the interval has the limit of 10 ms in it", **done),
        item("oak", outcome="undecided", why=why, answer="undecided: etcd", **done),
        item("elm", outcome="fail", answer="no: etcd 21.8 ms, limit 10 ms", **done),
        item("ash", outcome="pass", answer="yes", **done),
    ]

    def told(*of: FleetItem, need: str = "etcd") -> str:
        names = {name: hosts[name] for name in (one.host for one in of)}
        return " ".join(" ".join(fleet_run_lines("F", "check", names, of, plain=True, need=need)).split())

    assert told(*items).startswith("check: 1 of 4 targets on 4 hosts is fit for etcd; 2 undecided, 1 not fit. ")
    assert f"- oak/S1: undecided: {why}" in told(*items)
    assert "- fir/S1: undecided: the interval has the limit of 10 ms in it" in told(*items)
    assert told(*items[:2]).startswith("check: none of 2 targets on 2 hosts is fit for etcd; 2 undecided. ")
    measured = [item("fir", outcome="no_limit", **done), item("oak", state="failed", reason="T101: no drive")]
    assert told(*measured).startswith("check: 1 of 2 targets on 2 hosts is measured; 1 failed. ")
