"""Names from outside command no terminal, whatever prints them: they are spelled out."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from drivelab.cli.main import run
from drivelab.model.printable import printable
from hostile_run import make_hostile_run

ESCAPES = "\x1b[2J\x07\x9b31m\u202e\x7f"


@dataclass
class Hostile:
    """What commands are given: a poisoned run, another one, and a directory with a poisoned name."""

    run: str
    other: str
    traced: str
    place: str

    def words(self, words: str) -> list[str]:
        named = {"run": self.run, "other": self.other, "traced": self.traced, "place": self.place}
        return [word.format_map(named) for word in words.split("|")]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    """Runs and places whose names are meant to harm."""
    folder = tmp_path_factory.mktemp("hostile")
    runs = [make_hostile_run(name, folder) for name in ("check-directory", "ssd-latency-scratch", "explained-appends")]
    evil = folder / f"run{ESCAPES}"
    shutil.copytree(runs[1], evil)
    place = folder / f"place{ESCAPES}"
    place.mkdir()
    return Hostile(str(runs[0]), str(evil), str(runs[2]), str(place))


def commands_nothing(text: str) -> bool:
    """Whether a text holds no character that a terminal obeys, but newlines."""
    return not any(ord(one) < 0x20 or 0x7F <= ord(one) < 0xA0 or one in "\u202e\ud800" for one in text if one != "\n")


COMMANDS = {
    "report": "report|{run}|--text",
    "report-of-an-experiment": "report|{other}|--text",
    "report-of-several": "report|{run}|{other}|--text",
    "report-markdown": "report|{run}|--format|markdown|--pictures|none|--out|-",
    "report-json": "report|{run}|--format|json|--out|-",
    "compare": "compare|{run}|{other}",
    "compare-markdown": "compare|{run}|{other}|--format|markdown",
    "explain": "explain|{traced}",
    "sql-runs": "sql|select * from runs|{run}|{other}",
    "sql-csv": "sql|select * from runs|{run}|--csv",
    "export": "export|{run}|--to|csv|--out|-",
    "plan": "plan|write-size|{place}",
    "io": "io|{place}|--operation|create|--files|5",
    "error-of-a-target": "check|{other}\x1b[2J/missing",
    "error-of-an-argument": "run|--\x1b[2J\x9b",
    "error-of-an-option": "plan|no-such\x1b[31m\u202e|{place}",
    "error-as-json": "plan|no-such\x1b[31m\u202e|{place}|--json",
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_no_command_prints_what_a_terminal_obeys(
    hostile: Hostile, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str
) -> None:
    monkeypatch.setenv("DRIVELAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run(hostile.words(words))
    told = capsys.readouterr()
    assert told.out + told.err
    assert "bug:" not in told.err, told.err
    # the line of CSV ends so
    assert commands_nothing(told.out.replace("\r\n", "\n"))
    assert commands_nothing(told.err)


@pytest.mark.parametrize("words", ["report|{run}|--text", "io|{place}|--operation|create|--files|5"])
def test_on_a_terminal_only_our_own_styles_are_sent(hostile: Hostile, tmp_path: Path, words: str) -> None:
    master, slave = pty.openpty()
    path = os.pathsep.join(one for one in sys.path if one)
    environment = {**os.environ, "PYTHONPATH": path, "XDG_STATE_HOME": str(tmp_path), "DRIVELAB_RUNS": str(tmp_path)}
    given = hostile.words(words)
    process = subprocess.Popen(
        [sys.executable, "-m", "drivelab", *given], stdin=slave, stdout=slave, stderr=slave, env=environment
    )
    os.close(slave)
    said = b""
    try:
        while piece := os.read(master, 65536):
            said += piece
    except OSError:
        # that is how a terminal says that nobody writes any more
        pass
    os.close(master)
    process.wait()
    assert b"\x1b[2J" not in said
    assert b"\x1b]0;" not in said
    assert b"\x07" not in said
    assert "\x9b".encode() not in said
    assert "\u202e".encode() not in said
    # a table has one letter for each, so that its columns stay aligned
    assert b"\\x1b[2J" in said or b"?[2J" in said


@pytest.mark.parametrize("columns", ["0", "1"])
def test_a_terminal_of_no_width_still_gets_the_answer(
    hostile: Hostile, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["report", hostile.run, "--text"]) == 0
    assert len(capsys.readouterr().out) > 500


@pytest.mark.provokes("S501")
def test_no_home_is_made_that_does_not_exist(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("DRIVELAB_RUNS", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    (tmp_path / "data").mkdir()
    assert run(["run", "write-size", str(tmp_path / "data"), "--quick", "--skip-unavailable"]) != 0
    told = capsys.readouterr().err
    assert "S501" in told
    assert "does not exist" in told
    assert not (tmp_path / "nobody").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("tab\tand\nnewline", "tab\tand\nnewline"),
        ("\x7f\x80\x9f", "\\x7f\\x80\\x9f"),
        ("\u202eabc\u2069", "\\u202eabc\\u2069"),
        ("\ud800", "\\ud800"),
        ("1\r\n2\r3", "1\r\n2\\r3".replace("\\r", "\\x0d")),
        ("12\u202f345 \u00b5s", "12\u202f345 \u00b5s"),
    ],
)
def test_what_commands_a_terminal_is_spelled_out(text: str, expected: str) -> None:
    assert printable(text) == expected
