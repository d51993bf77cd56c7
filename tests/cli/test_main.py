"""The program around the commands: help, version, errors, exit codes, signals and closed pipes."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from counted_time import processor_s
from drivelab import __version__
from drivelab.cli import main
from drivelab.cli.catalogue import BY_NAME, COMMANDS, SINGLE_COMMANDS, command_of
from drivelab.cli.command import Command
from drivelab.model.errors import EXIT_NOT_TRUSTED, EXIT_REFUSED, EXIT_USAGE, DrivelabError
from warm_program import warm_program

PROGRAM = [sys.executable, "-m", "drivelab"]
PYTHON_SOURCE = str(Path(main.__file__).resolve().parents[2])
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | {
    "PYTHONPATH": PYTHON_SOURCE
}


def run_program(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, env=ENVIRONMENT, **options)


@pytest.fixture
def errors_command_is(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Puts another function in the place of `drivelab errors`."""

    def put(function: Callable[[], Any]) -> None:
        monkeypatch.setattr(main, "_load", lambda _command: function)

    return put


def test_version_is_printed() -> None:
    answer = run_program("--version")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"drivelab {__version__}\n", "")


def test_version_comes_without_loading_the_command_line() -> None:
    code = (
        "import sys; sys.argv = ['drivelab', '--version']; from drivelab.__main__ import main; main();"
        "print(sorted({'typer', 'rich', 'pydantic', 'numpy', 'pyarrow', 'drivelab.cli'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert answer.stdout.splitlines()[-1] == "[]"


def test_version_takes_less_than_150_ms_of_the_processor() -> None:
    def seconds() -> float:
        started = processor_s()
        run_program("--version")
        return processor_s() - started

    assert min(seconds() for _ in range(5)) < 0.15


def test_help_comes_without_loading_any_library_that_measures() -> None:
    code = (
        "import sys; from drivelab.cli.main import run; run(['--help']);"
        "print(sorted({'scipy', 'pydantic', 'numpy', 'pyarrow', 'jinja2'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert answer.stdout.splitlines()[-1] == "[]"


def test_putting_back_loads_no_library_of_tables() -> None:
    code = "import sys; import drivelab.cli.restore; print('pyarrow' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert answer.stdout == "False\n"


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_the_commands_in_the_order_of_work(arguments: Sequence[str]) -> None:
    answer = run_program(*arguments)
    listed = re.findall(r"^│ (\w+)  ", answer.stdout, flags=re.MULTILINE)
    assert answer.returncode == 0
    assert listed == [command.name for command in COMMANDS]
    assert "3 refused for safety" in " ".join(answer.stdout.split())


def parser_of(command: Command) -> Any:
    """What reads the arguments of a command."""
    program: Any = typer.main.get_command(main.build_program(command.name))
    for word in command.name.split():
        program = program.commands[word]
    return program


@pytest.mark.parametrize("command", BY_NAME.values(), ids=lambda command: command.name)
def test_each_command_has_help_with_examples_within_80_columns(command: Command) -> None:
    answer = warm_program().run([*command.name.split(), "--help"], ENVIRONMENT)
    assert answer.returncode == 0, answer.stderr
    assert "Examples:" in answer.stdout
    assert max(len(line) for line in answer.stdout.splitlines()) <= 80
    assert "-------" not in answer.stdout, "a section of the docstring got into the help"


@pytest.mark.parametrize("command", SINGLE_COMMANDS, ids=lambda command: command.name)
def test_each_option_is_explained(command: Command) -> None:
    unexplained = [parameter.name for parameter in parser_of(command).params if not getattr(parameter, "help", None)]
    assert unexplained == []


@pytest.mark.parametrize("line", [example for command in BY_NAME.values() for example in command.examples])
def test_each_example_of_the_help_is_understood(line: str) -> None:
    words = shlex.split(line)
    command = command_of(words)
    assert command in SINGLE_COMMANDS
    parser_of(command).make_context(command.word, words[len(command.name.split()) :])


@pytest.mark.provokes("U006")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("chek",), "did you mean 'check'?"),
        (("--nonsense",), "no such option: --nonsense"),
        (("errors", "U001", "U002"), "unexpected extra argument"),
        (("errors", "--nonsense"), "no such option: --nonsense"),
    ],
)
def test_a_mistyped_command_line_says_what_where_and_what_to_do(arguments: Sequence[str], expected: str) -> None:
    answer = run_program(*arguments)
    assert answer.returncode == EXIT_USAGE
    assert answer.stdout == ""
    assert answer.stderr.startswith("error[U006] ")
    assert expected in answer.stderr.lower()
    assert f"  where: drivelab {' '.join(arguments)}\n" in answer.stderr
    assert re.search(r"  do:    drivelab .*--help\n", answer.stderr)


def test_a_check_of_two_targets_says_how_they_are_put_beside_each_other() -> None:
    answer = run_program("check", "A", "B")
    assert answer.returncode == EXIT_USAGE
    assert "unexpected extra argument(s) (B)" in answer.stderr
    assert answer.stderr.endswith("check each by itself, then put both into one report: drivelab report 2 1\n")


@pytest.mark.provokes("U006")
def test_with_json_an_error_is_one_object_on_stderr() -> None:
    answer = run_program("errors", "--nonsense", "--json")
    assert answer.stdout == ""
    assert json.loads(answer.stderr)["error"] == {
        "code": "U006",
        "what": "no such option: --nonsense",
        "where": "drivelab errors --nonsense --json",
        "do": "drivelab errors --help",
        "exit_code": EXIT_USAGE,
    }


@pytest.mark.parametrize("returned", [None, 0, EXIT_NOT_TRUSTED])
def test_the_exit_code_is_what_the_command_returns(
    errors_command_is: Callable[[Any], None], returned: int | None
) -> None:
    errors_command_is(lambda: returned)
    assert main.run(["errors"]) == (returned or 0)


def test_a_command_may_leave_through_exit(errors_command_is: Callable[[Any], None]) -> None:
    def leave() -> None:
        raise typer.Exit(EXIT_NOT_TRUSTED)

    errors_command_is(leave)
    assert main.run(["errors"]) == EXIT_NOT_TRUSTED


def test_an_expected_error_is_told_in_three_lines_and_sets_the_exit_code(
    errors_command_is: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        error = DrivelabError("U005", "that was wrong", where="here", do="something else")
        monkeypatch.setattr(type(error), "exit_code", EXIT_REFUSED)
        raise error

    errors_command_is(refuse)
    assert main.run(["errors"]) == EXIT_REFUSED
    assert capsys.readouterr().err == "error[U005] that was wrong\n  where: here\n  do:    something else\n"


def test_an_unexpected_error_shows_no_traceback_but_saves_it(
    errors_command_is: Callable[[Any], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def fail() -> None:
        raise ValueError("nobody expected this\nsecond line")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    errors_command_is(fail)
    assert main.run(["errors"]) == 1
    (saved,) = tmp_path.iterdir()
    shown = capsys.readouterr().err
    assert shown.startswith("bug: ValueError: nobody expected this\n")
    assert str(saved) in shown
    assert "Traceback" not in shown
    assert "Traceback" in saved.read_text()
    assert "drivelab errors" in saved.read_text()


def test_an_unexpected_error_is_told_even_when_it_cannot_be_saved(
    errors_command_is: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere")
    errors_command_is(lambda: 1 / 0)
    assert main.run(["errors"]) == 1
    assert "could not be saved (No such file or directory)" in capsys.readouterr().err


@pytest.mark.alone
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
def test_a_signal_lets_the_command_clean_up(
    errors_command_is: Callable[[Any], None], capsys: pytest.CaptureFixture[str], number: int, status: int
) -> None:
    cleaned: list[str] = []

    def wait() -> None:
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        finally:
            cleaned.append("yes")

    errors_command_is(wait)
    assert main.run(["errors"]) == status
    assert cleaned == ["yes"]
    assert capsys.readouterr().err == "interrupted\n"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_reader_that_leaves_early_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    answer = subprocess.run(
        [*PROGRAM, "errors"], stdout=write_end, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True, check=False
    )
    os.close(write_end)
    assert (answer.returncode, answer.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.provokes("U007")
def test_results_that_find_no_room_are_an_error() -> None:
    with open("/dev/full", "w") as full:
        answer = subprocess.run([*PROGRAM, "errors"], stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True)
    assert answer.returncode == 1
    assert answer.stderr.startswith("error[U007] results could not be written: No space left on device\n")


def test_a_closed_stdout_is_no_bug() -> None:
    answer = subprocess.run(
        ["sh", "-c", f"{shlex.join(PROGRAM)} errors >&-"], capture_output=True, env=ENVIRONMENT, text=True
    )
    assert (answer.returncode, answer.stderr) == (0, "")


def test_no_colour_is_printed_where_it_is_not_wanted() -> None:
    script = ["script", "-qec", f"{shlex.join(PROGRAM)} --help", "/dev/null"]
    coloured = subprocess.run(script, capture_output=True, env=ENVIRONMENT, text=True, check=True).stdout
    plain = subprocess.run(script, capture_output=True, env=ENVIRONMENT | {"NO_COLOR": "1"}, text=True, check=True)
    colour = re.compile(r"\x1b\[[0-9;]*(?:3[0-7]|9[0-7])[0-9;]*m")
    assert colour.search(coloured), "the terminal of this test shows no colour at all"
    assert not colour.search(plain.stdout)
