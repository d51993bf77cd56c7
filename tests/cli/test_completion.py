"""Completion of command lines: the scripts, and what they are answered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drivelab.cli.catalogue import COMMANDS
from drivelab.cli.main import run
from drivelab.experiments.load import built_in_names
from drivelab.needs.load import NEED_NAMES, OTHER_NAMES
from warm_program import warm_program

PYTHON_SOURCE = str(Path(__file__).resolve().parents[2] / "python")


def completed(line: str, shell: str) -> list[str]:
    """What a shell's script is answered for a line, whose last word is being typed."""
    words = line.split(" ")
    asked = {
        "_DRIVELAB_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    answer = warm_program().run([], os.environ | asked)
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("drivelab ", [command.name for command in COMMANDS]),
        ("drivelab ch", ["check"]),
        ("drivelab fleet o", ["odd"]),
        ("drivelab fleet odd --d", ["--details"]),
        ("drivelab check --f", ["--for"]),
        ("drivelab check --for ", [*NEED_NAMES, *OTHER_NAMES]),
        ("drivelab plan ", built_in_names()),
        ("drivelab run fill", ["fill-level"]),
        ("drivelab run --on-error s", ["stop"]),
        # nothing of ours: bash goes on with names of files
        ("drivelab report ", [""]),
        ("drivelab nonsense --x", [""]),
    ],
)
def test_bash_is_given_commands_options_and_names(line: str, expected: list[str]) -> None:
    assert completed(line, "bash") == expected


def test_fish_and_zsh_are_given_explanations_in_one_line() -> None:
    (fish,) = completed("drivelab check --f", "fish")
    assert fish.startswith("--for\tetcd, ")
    assert fish.endswith("of your own.")
    (zsh,) = completed("drivelab check --f", "zsh")
    assert zsh.startswith('_arguments \'*: :(("--for":"etcd, ')


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--show-completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_DRIVELAB_COMPLETE=complete_{shell}" in script
    assert "drivelab" in script


def test_a_shell_without_a_script_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--show-completion", "tcsh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


def test_bash_itself_completes_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "drivelab"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={PYTHON_SOURCE} exec {sys.executable} -m drivelab "$@"\n')
    program.chmod(0o755)
    run(["--show-completion", "bash"])
    (tmp_path / "script").write_text(capsys.readouterr().out)
    typed = f"source {tmp_path}/script; COMP_WORDS=(drivelab che); COMP_CWORD=1; _drivelab_completion {program}"
    answer = subprocess.run(
        ["bash", "--norc", "-c", f'{typed}; echo "${{COMPREPLY[@]}}"'], capture_output=True, text=True
    )
    assert (answer.stdout, answer.stderr) == ("check\n", "")
