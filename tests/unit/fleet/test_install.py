"""Installing on hosts: a made-up ssh that works here, and wheels that hold next to nothing."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from drivelab.fleet.install import install, version_of
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_hosts import HostEntry

# what stands last is for the host's shell; one host cannot be reached
SSH = """#!/bin/sh
for word; do
  case $word in unreachable) echo 'ssh: connect to host unreachable port 22: No route to host' >&2; exit 255 ;; esac
done
exec sh -c "$word"
"""
MAIN = "def main() -> None:\n    print('it is there')\n"


def make_wheel(folder: Path, name: str, metadata: str, files: dict[str, str]) -> Path:
    """A wheel of a package in Python alone."""
    information = f"{name}-0.0.1.dist-info"
    content = {
        **files,
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n{metadata}",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*content, f"{information}/RECORD"])
    wheel = folder / f"{name}-0.0.1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**content, f"{information}/RECORD": record}.items():
            archive.writestr(path, text)
    return wheel


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with an ssh, a wheel, a wheel that this one needs for fleets, and hosts."""
    script = tmp_path / "bin" / "ssh"
    script.parent.mkdir()
    script.write_text(SSH)
    script.chmod(0o755)
    needs = 'Provides-Extra: fleet\nRequires-Dist: carrier ; extra == "fleet"\n'
    scripts = {"drivelab-0.0.1.dist-info/entry_points.txt": "[console_scripts]\ndrivelab = here:main\n"}
    make_wheel(tmp_path, "drivelab", needs, {"here.py": MAIN, **scripts})
    (tmp_path / "beside").mkdir()
    make_wheel(tmp_path / "beside", "carrier", "", {"carrier.py": ""})
    (tmp_path / "hosts.toml").write_text("format = 1\n[hosts]\nhere = {}\nunreachable = {}\n")
    return tmp_path


def test_a_wheel_and_what_it_needs_come_to_the_hosts_without_a_network(place: Path) -> None:
    wheel = place / "drivelab-0.0.1-py3-none-any.whl"
    command = ["fleet", "install", str(wheel), "--hosts", str(place / "hosts.toml"), "--with", str(place / "beside")]
    environment = {
        **os.environ,
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
        "HOME": str(place / "home of a user"),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    environment.pop("XDG_DATA_HOME", None)
    answer = subprocess.run(
        [sys.executable, "-m", "drivelab", *command, "--json"], capture_output=True, text=True, env=environment
    )
    assert answer.returncode == 1, answer.stderr
    told = json.loads(answer.stdout)
    reason = "ssh: connect to host unreachable port 22: No route to host (exit code 255)"
    assert told["not_installed"] == {"unreachable": reason}, answer.stderr
    installed = place / "home of a user" / ".local" / "share" / "drivelab" / "fleet-0.0.1" / "venv"
    assert told["hosts"] == {"here": shlex.quote(str(installed / "bin" / "drivelab"))}
    said = subprocess.run(shlex.split(told["hosts"]["here"]), capture_output=True, text=True, check=True)
    assert said.stdout == "it is there\n"
    assert list(installed.glob("lib/python*/site-packages/carrier.py"))


@pytest.mark.provokes("F912")
@pytest.mark.parametrize("name", ["other-1.0-py3-none-any.whl", "drivelab-1.0;rm -rf-py3-none-any.whl", "drivelab.deb"])
def test_what_is_no_wheel_of_drivelab_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(DrivelabError, match="is not named as a wheel of drivelab") as caught:
        version_of(tmp_path / name)
    assert caught.value.code == "F912"


@pytest.mark.provokes("F912")
def test_a_missing_wheel_and_an_empty_directory_are_told_before_any_host_is_asked(place: Path) -> None:
    with pytest.raises(DrivelabError, match="there is no such wheel"):
        version_of(place / "drivelab-9.9-py3-none-any.whl")
    (place / "empty").mkdir()
    asking = install(place / "drivelab-0.0.1-py3-none-any.whl", place / "empty", {"here": HostEntry()}, pytest.fail)
    with pytest.raises(DrivelabError, match="there are no wheels in it"):
        asking.send(None)
