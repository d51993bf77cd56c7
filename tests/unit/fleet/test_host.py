"""What a host is told, refuses, and keeps for itself: whom it joins, versions, names, and one command at a time."""

from __future__ import annotations

import asyncio
import contextvars
import json
import shutil
from pathlib import Path

import pytest

from drivelab.cli.main import run
from drivelab.fleet import host_tasks
from drivelab.fleet.certificates import Keys, write_keys
from drivelab.fleet.fingerprint import difference, fingerprint
from drivelab.fleet.host import Joining, read_joining
from drivelab.fleet.local_address import address_of, address_towards, as_seen_here, place_of
from drivelab.fleet.local_commands import failure_in_words
from drivelab.fleet.session import listening_at
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_plan import FleetItem, FleetWork
from own_loop import in_own_loop

GOLDEN = Path(__file__).parents[2] / "golden" / "runs"
JOINING = Joining("tls://10.0.0.1:8786", "one", Keys("a", "c", "k"), 30.0, 60.0)


def told(line: bytes) -> Joining:
    async def read() -> Joining:
        reader = asyncio.StreamReader()
        reader.feed_data(line)
        reader.feed_eof()
        return await read_joining(reader)

    return in_own_loop(read())


def code_of(error: pytest.ExceptionInfo[DrivelabError]) -> str:
    return error.value.code


def test_whom_to_join_is_read_as_it_was_written() -> None:
    assert told(JOINING.to_line(fingerprint())) == JOINING


@pytest.mark.provokes("F906")
@pytest.mark.parametrize(
    "line", [b"", b"\n", b"hello\n", b"[]\n", b"{}\n", b'{"keys": 3, "fingerprint": {}}\n', b"\xff"]
)
def test_an_input_that_does_not_say_whom_to_join_is_refused(line: bytes) -> None:
    with pytest.raises(DrivelabError, match="does not say whom to join") as caught:
        told(line)
    assert code_of(caught) == "F906"


@pytest.mark.provokes("F908")
def test_another_version_is_refused_with_both_named() -> None:
    with pytest.raises(DrivelabError, match=r"another version: drivelab 0\.0 there and .+ here") as caught:
        told(JOINING.to_line(fingerprint() | {"drivelab": "0.0"}))
    assert code_of(caught) == "F908"


def test_the_difference_names_all_that_differs_and_nothing_else() -> None:
    ours = fingerprint()
    assert difference(ours) == ""
    assert difference(ours | {"more": "x"}) == ""
    theirs = {name: text for name, text in ours.items() if name != "distributed"} | {"Python": "3.0"}
    assert difference(theirs) == (
        f"distributed missing there and {ours['distributed']} here, Python 3.0 there and {ours['Python']} here"
    )


@pytest.mark.parametrize(
    ("fleet", "key"), [("..", "one/S1"), ("f", "../S1"), ("f", "/S1"), ("f", "a//b"), ("f", "a\0")]
)
def test_a_name_that_leads_out_of_the_host_s_own_directory_is_refused(fleet: str, key: str) -> None:
    with pytest.raises(DrivelabError, match="names no item of a fleet") as caught:
        host_tasks.item_folder(fleet, key)
    assert code_of(caught) == "F906"


def test_only_files_of_runs_of_fleets_are_handed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    (tmp_path / "fleets" / "f" / "run").mkdir(parents=True)
    (tmp_path / "own.txt").write_text("mine")
    directory = str(tmp_path / "fleets" / "f" / "run")
    (tmp_path / "fleets" / "f" / "run" / "link").symlink_to(tmp_path / "own.txt")
    for question in (
        host_tasks.files(str(tmp_path)),
        host_tasks.files(f"{directory}/../../.."),
        host_tasks.pieces(directory, [("../../../own.txt", 0, 4)]),
        host_tasks.pieces(directory, [(str(tmp_path / "own.txt"), 0, 4)]),
        host_tasks.pieces(directory, [("link", 0, 4)]),
    ):
        with pytest.raises(DrivelabError) as caught:
            in_own_loop(question)
        assert code_of(caught) == "F906"
    assert in_own_loop(host_tasks.files(directory)) == b"[]\n"


def test_a_host_that_measures_an_item_already_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    folder = host_tasks.item_folder("f", "one/S1")
    folder.mkdir(parents=True)
    item, work = FleetItem("one/S1", "one", "/dev/sda"), FleetWork("check")
    with host_tasks._held(folder):
        answer = in_own_loop(host_tasks.measure("f", item.to_json(), work.to_json(), 1.0))
        assert answer["state"] == "failed"
        assert answer["reason"] == "F907: this host measures it already"
        assert in_own_loop(host_tasks.outcome("f", "one/S1"))["state"] == "measuring"
    assert in_own_loop(host_tasks.outcome("f", "one/S1"))["state"] == "planned"


def test_where_a_host_can_keep_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "file"))
    item, work = FleetItem("one/S1", "one", "/dev/sda"), FleetWork("check")
    answer = in_own_loop(host_tasks.measure("f", item.to_json(), work.to_json(), 1.0))
    assert answer["state"] == "failed"
    assert f"({tmp_path / 'file'}" in answer["reason"]
    assert answer["reason"].endswith("; name another place: --out DIR")


@pytest.mark.parametrize("lines", [["one", "last"], ["last"]])
def test_a_failure_is_told_by_its_last_line_or_its_error(lines: list[str]) -> None:
    assert failure_in_words(3, lines) == "last (exit code 3)"
    assert failure_in_words(-9, lines) == "it was ended by SIGKILL"
    error = {"code": "T101", "what": "no drive", "where": "/dev/x", "do": "look"}
    assert failure_in_words(2, [*lines, json.dumps({"error": error}), "x"]) == "T101: no drive (/dev/x); look"


def test_a_failure_without_a_word_is_told_too() -> None:
    assert failure_in_words(1, []) == "it said nothing (exit code 1)"


@pytest.mark.provokes("F909")
@pytest.mark.parametrize(
    "address", ["10.0.0.1:8786", "tls://10.0.0.1", "tls://10.0.0.1:0", "tls://a:b:1", "tls://x:99999"]
)
def test_an_address_without_a_port_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str) -> None:
    with pytest.raises(DrivelabError, match="is no address with a port") as caught:
        listening_at(address, tmp_path)
    assert code_of(caught) == "F909"
    write_keys(tmp_path)
    assert run(["fleet", "worker", address, "--keys", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith(f"error[F909] '{address}' is no address with a port")


def test_our_address_is_the_one_on_the_way() -> None:
    assert address_towards("127.0.0.1") == address_of("lo") == "127.0.0.1"
    assert place_of("tls://[fe80::1]:8786") == ("fe80::1", 8786)
    assert place_of("tls://[fe80::1%eth0]:8786") == ("fe80::1%eth0", 8786)
    for ask in (lambda: address_of("nosuchinterface0"), lambda: address_towards("host.invalid")):
        with pytest.raises(DrivelabError) as caught:
            ask()
        assert code_of(caught) == "F909"


def test_an_interface_without_an_address_of_version_4_has_that_of_version_6(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "if_inet6"
    table.write_text(
        "fe800000000000000000000000860001 02 40 20 80 nowhere0\n"
        "fd860003000000000000000000000001 02 40 00 80 nowhere0\n"
        "fe800000000000000000000000860002 03 40 20 80 nowhere1\n"
    )
    monkeypatch.setattr("drivelab.fleet.local_address._ADDRESSES_V6", table)
    assert (address_of("nowhere0"), address_of("nowhere1")) == ("fd86:3::1", "fe80::86:2%nowhere1")


@pytest.mark.provokes("F909")
def test_a_link_local_address_to_which_no_interface_leads_is_told() -> None:
    assert in_own_loop(as_seen_here("tls://10.0.0.1:8786", 1)) == "tls://10.0.0.1:8786"
    with pytest.raises(DrivelabError, match="no interface leads to") as caught:
        in_own_loop(as_seen_here("tls://[fe80::86:99%elsewhere]:8786", 0.1))
    assert code_of(caught) == "F909"


@pytest.mark.parametrize(
    ("option", "text", "code"),
    [("--silent-for", "10s", "U003"), ("--join-within", "0s", "U003"), ("--deadline", "soon", "U002")],
)
def test_a_patience_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, text: str, code: str
) -> None:
    hosts = tmp_path / "hosts.toml"
    hosts.write_text("format = 1\n[hosts.a]\n")
    assert run(["fleet", "run", "ssd-latency", "--hosts", str(hosts), option, text]) == 2
    assert f"error[{code}]" in (said := capsys.readouterr().err)
    assert f"option {option}" in said


def test_what_was_never_asked_here_is_not_being_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    assert in_own_loop(host_tasks.outcome("f", "one/S1"))["state"] == "planned"


def test_lines_of_progress_have_one_form_once_a_command_tells_what_it_does_now() -> None:
    heard: list[str] = []
    context = contextvars.copy_context()
    context.run(host_tasks.PROGRESS.set, lambda news: heard.append(news["line"]))
    tell = context.run(host_tasks._teller, "fleet", "oak/S1", 0.0)
    now = json.dumps({"progress": {"line": "2/4  9 300/s", "left_ns": 1, "operations_per_s": 1.0, "bytes_per_s": 1}})
    for line in ("laying out ...", now, "1/4  write  3 us  about 2 s left", now, host_tasks.READY, '{"error": {}}'):
        tell(line)
    assert heard == ["laying out ...", "2/4  9 300/s", "2/4  9 300/s", host_tasks.READY]


def test_of_what_is_measured_its_host_says_which_trials_do_not_describe_the_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    for name, doubt in (
        ("fill-level-drive", ""),
        ("queue-depth-grid", "1 of 28 trials does not describe the drive (queue-not-filled)"),
    ):
        shutil.copytree(GOLDEN / name, host_tasks.item_folder("f", f"one/{name}") / "run")
        told = in_own_loop(host_tasks.outcome("f", f"one/{name}"))
        assert (told["state"], told["doubt"], told["is_void"]) == ("complete", doubt, False)
    run_directory = host_tasks.item_folder("f", "one/fill-level-drive") / "run"
    (run_directory / "trials.parquet").write_bytes(b"no table")
    told = in_own_loop(host_tasks.outcome("f", "one/fill-level-drive"))
    assert (told["state"], told["is_void"]) == ("complete", True)
    assert told["doubt"].startswith("it cannot be read (S506: ")


def test_of_a_check_for_a_need_its_host_says_what_it_came_to_and_why_that_is_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path))
    directory = host_tasks.item_folder("f", "one/S1") / "run"
    shutil.copytree(GOLDEN / "check-directory", directory)
    stored = json.loads((directory / "run.json").read_text())
    of_all_needs = in_own_loop(host_tasks.outcome("f", "one/S1"))
    assert (of_all_needs["state"], of_all_needs["outcome"], of_all_needs["why"]) == ("complete", "", "")
    verdict = stored["verdict"]["verdicts"][0] | {"outcome": "undecided", "why": "only read"}
    (directory / "run.json").write_text(json.dumps(stored | {"verdict": verdict}))
    of_one = in_own_loop(host_tasks.outcome("f", "one/S1"))
    assert (of_one["state"], of_one["outcome"], of_one["why"]) == ("complete", "undecided", "only read")
