"""The tool that names missing system packages, and what it asks people to type."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import system_packages
from system_packages import BUILD_TOOLS, GOALS, Tool, install_command, rust_complaint

PROJECT = Path(__file__).resolve().parents[2]
SCRIPT = PROJECT / "tools" / "system_packages.py"
ABSENT = Tool("no-such-program-here", "deb-name", "fedora-name", "arch-name")


@pytest.mark.parametrize(
    ("installer", "as_root", "command"),
    [
        ("apt-get", True, "apt-get install -y --no-install-recommends deb-name"),
        ("apt-get", False, "sudo apt-get install -y --no-install-recommends deb-name"),
        ("dnf", False, "sudo dnf install -y fedora-name"),
        ("pacman", False, "sudo pacman -S --needed --noconfirm arch-name"),
        (None, False, "install these programs: no-such-program-here"),
    ],
)
def test_one_command_installs_what_is_missing(installer: str | None, as_root: bool, command: str) -> None:
    assert install_command([ABSENT], installer, as_root=as_root) == command


def test_a_package_is_named_once_even_if_it_has_two_of_the_tools() -> None:
    assert install_command(BUILD_TOOLS, "apt-get", as_root=True).split().count("python3-venv") == 1


def test_a_tool_that_is_here_is_not_missing() -> None:
    assert Tool("sh", "dash", "bash", "bash").is_installed()
    assert Tool("python:venv", "", "", "").is_installed()
    assert not ABSENT.is_installed()
    assert not Tool("python:no_such_module", "", "", "").is_installed()


def test_tools_in_the_system_directories_are_found_without_them_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(system_packages, "SYSTEM_PATH", "/bin:/usr/bin")
    assert system_packages.find_program("sh") is not None


@pytest.mark.parametrize(
    ("printed", "complaint"),
    [
        (None, "cargo (Rust) is not installed"),
        ("cargo 1.63.0 (fd9c4297c 2022-07-01)\n", "this is cargo 1.63.0"),
        ("error: no toolchain\n", "this is error: no toolchain"),
        ("cargo 1.999.0\n", None),
        ("cargo 2.0.0\n", None),
    ],
)
def test_an_old_or_missing_rust_is_named(printed: str | None, complaint: str | None) -> None:
    found = rust_complaint(printed)
    assert (found is None) if complaint is None else (found is not None and complaint in found)


@pytest.mark.parametrize("goal", sorted(GOALS))
def test_each_tool_has_a_package_on_every_system(goal: str) -> None:
    assert all(tool.debian and tool.fedora and tool.arch for tool in GOALS[goal])


def test_without_a_compiler_and_rust_the_build_ends_with_2_and_says_how_to_go_on(tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import system_packages as s; s.SYSTEM_PATH = ''; "
    code += "sys.argv = ['x', 'build']; sys.exit(s.main())"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | {"PATH": str(tmp_path)}
    )
    assert answer.returncode == 2
    assert "not installed: cc (the build needs them)" in answer.stderr
    assert "cargo (Rust) is not installed" in answer.stderr
    assert "https://sh.rustup.rs" in answer.stderr
