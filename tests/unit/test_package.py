"""The tools that make packages and try them."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

import package
import try_packages

PROJECT = Path(__file__).resolve().parents[2]


def test_a_wheel_gets_files_for_the_prefix_and_lists_them_with_their_hashes(tmp_path: Path) -> None:
    wheel = tmp_path / "drivelab-1.0-cp311-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("drivelab/__init__.py", "x = 1\n")
        made.writestr("drivelab-1.0.dist-info/RECORD", "drivelab/__init__.py,,\ndrivelab-1.0.dist-info/RECORD,,\n")
    finished = tmp_path / "finished" / wheel.name
    finished.parent.mkdir()
    package.with_data(wheel, finished, {"share/man/man1/drivelab.1": b"page"})
    with zipfile.ZipFile(finished) as read:
        content = read.read("drivelab-1.0.data/data/share/man/man1/drivelab.1")
        rows = list(csv.reader(io.StringIO(read.read("drivelab-1.0.dist-info/RECORD").decode())))
        assert read.read("drivelab/__init__.py") == b"x = 1\n"
        assert sorted(read.namelist()) == sorted(row[0] for row in rows)
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"page").digest()).rstrip(b"=").decode()
    assert content == b"page"
    assert rows[-1] == ["drivelab-1.0.data/data/share/man/man1/drivelab.1", f"sha256={digest}", "4"]


def test_the_manual_page_is_the_same_for_the_same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767312000")
    files = package.shared_files()
    assert files == package.shared_files()
    assert b'"2026-01-02"' in files["man/man1/drivelab.1"]


@pytest.mark.parametrize("name", ["postinst", "prerm"])
def test_the_scripts_of_the_debian_package_are_shell(name: str) -> None:
    assert subprocess.run(["sh", "-n", PROJECT / "packaging" / "deb" / name]).returncode == 0


def test_each_trial_of_a_package_fails_with_any_of_its_steps() -> None:
    # sh -e passes over a failure before &&, and behind !
    trials = [text for name, text in vars(try_packages).items() if name.isupper() and isinstance(text, str)]
    assert len(trials) >= 8
    assert not [line for text in trials for line in text.splitlines() if "&&" in line or line.startswith("!")]


def test_the_tools_know_the_project_as_it_is() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"
    assert min(try_packages.SUITES) == (3, 11)
    assert re.search(r"^ziglang==", (PROJECT / "requirements" / "package.lock").read_text(), re.MULTILINE)
    assert "[all]" in (PROJECT / "packaging" / "Dockerfile").read_text()
