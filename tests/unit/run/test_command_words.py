"""A command that is followed may be typed as words, or quoted as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.run.following.processes import command_words


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["dd", "if=/dev/zero", "of=x"], ["dd", "if=/dev/zero", "of=x"]),
        (["dd if=/dev/zero of=x"], ["dd", "if=/dev/zero", "of=x"]),
        (["cp 'my file' there"], ["cp", "my file", "there"]),
        (["true"], ["true"]),
        (["no-such-program"], ["no-such-program"]),
        (["sh", "-c", "echo 1 > x"], ["sh", "-c", "echo 1 > x"]),
    ],
)
def test_a_quoted_command_is_taken_apart(typed: list[str], words: list[str]) -> None:
    assert command_words(typed) == words


@pytest.mark.provokes("R444")
@pytest.mark.parametrize("line", ["dd if=a of=b | sort", "dd if=a 'of=b", "echo 1 > file"])
def test_a_line_for_a_shell_is_given_to_one(line: str) -> None:
    with pytest.raises(DrivelabError) as refusal:
        command_words([line])
    assert refusal.value.code == "R444"
    assert refusal.value.do.startswith("drivelab explain --command -- sh -c ")


def test_a_program_whose_name_holds_a_space_is_itself(tmp_path: Path) -> None:
    program = tmp_path / "my program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert command_words([str(program)]) == [str(program)]
