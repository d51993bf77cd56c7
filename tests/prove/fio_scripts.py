"""axboe/fio's own scripts that drive a fio binary, pointed at ``drivelab fio``.

``make prove ARGS="-k fio_scripts" FIO_SOURCE=/path/to/fio`` runs them: a checkout of fio, of which nothing is built and
nothing is copied. They want an empty stderr of a run that went well, so what drivelab says there goes to a file of its
own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SOURCE = "FIO_SOURCE"
_LINE = re.compile(r"^Test (?P<name>\S+) (?P<outcome>PASSED|FAILED|SKIPPED)", re.MULTILINE)
_WRAPPER = """#!/bin/sh
{python} -m drivelab fio "$@" 2>{complaints}
status=$?
[ $status -eq 0 ] || cat {complaints} >&2
exit $status
"""


@dataclass(frozen=True, slots=True)
class Script:
    """One script, and which of its tests cannot pass.

    Attributes
    ----------
    arguments : tuple of str
        Behind the one that names the program.
    fails : mapping of str to str
        Why tests fail here, by their name.
    """

    arguments: tuple[str, ...] = ("--fio",)
    fails: Mapping[str, str] = field(default_factory=dict)


_CHANCE = "verify_only of a mix is refused: chance decided which blocks were written"
SCRIPTS = {
    "readonly.py": Script(),
    "strided.py": Script(),
    "jsonplus2csv_test.py": Script(("--script", "{source}/tools/fio_jsonplus_clat2csv", "--fio")),
    "latency_percentiles.py": Script(),
    # a name stands for tests in several modes, of which verify_only of a mix fails
    "verify.py": Script(("--csum", "crc32c", "--fio"), dict.fromkeys(map(str, range(2000, 2005)), _CHANCE)),
}
# scripts that need what drivelab has not
LEFT_OUT = {
    "client_server.py": "--client and --server: drivelab measures where it runs",
    "io_uring_cmd.py": "needs an NVMe drive that may be written to; io_uring_cmd is tested in the guest",
    "io_uring_pi.py": "protection information is not honoured",
    "log_compression.py": "log_store_compressed and --inflate-log: logs are texts",
    "numberio_overlap.py": "verify_state_load: no state is kept between runs",
    "nvmept_fdp.py": "data placement is not honoured",
    "nvmept_pi.py": "protection information is not honoured",
    "nvmept_streams.py": "data placement is not honoured",
    "nvmept_trim.py": "num_range: a trim has one range",
    "nvmept_write_mode.py": "write_mode of io_uring_cmd is not honoured",
    "random_seed.py": "reads --debug=random, fio's own messages",
    "run-fio-tests.py": "runs programs that fio's build makes, and job files of the scripts above",
    "sequence.py": "random_distribution=sequence is not honoured",
    "sgunmap-perf.py": "the engine sg is refused",
    "sgunmap-test.py": "the engine sg is refused",
    "sprandom.py": "sprandom is not honoured: write the drive twice",
    "steadystate_tests.py": "steadystate ends no job: whether it was steady is judged afterwards",
    "verify-trim.py": "trim_percentage is not honoured",
    "verify_state_save.py": "no state is kept between runs",
}


@pytest.fixture(scope="module")
def source() -> Path:
    asked = os.environ.get(SOURCE)
    if not asked:
        pytest.skip(f"no checkout of axboe/fio: {SOURCE}=/path/to/fio")
    return Path(asked).resolve()


# each of the hundreds of jobs that some have takes a second beside its I/O
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_of_fio_passes(name: str, source: Path, tmp_path: Path) -> None:
    script = SCRIPTS[name]
    program = tmp_path / "fio"
    program.write_text(_WRAPPER.format(python=sys.executable, complaints=tmp_path / "complaints"))
    program.chmod(0o755)
    arguments = [each.format(source=source) for each in script.arguments]
    command = [sys.executable, str(source / "t" / name), *arguments, str(program)]
    environment = os.environ | {"XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    outcomes = [(match["name"], match["outcome"]) for match in _LINE.finditer(done.stdout)]
    assert "PASSED" in {outcome for _, outcome in outcomes}, done.stdout + done.stderr
    failed = {each for each, outcome in outcomes if outcome == "FAILED"}
    assert failed == set(script.fails), done.stdout


def test_every_script_of_fio_is_run_or_left_out_for_a_reason(source: Path) -> None:
    libraries = {"fiotestcommon.py", "fiotestlib.py"}
    found = {path.name for path in (source / "t").glob("*.py")} - libraries
    assert found <= set(SCRIPTS) | set(LEFT_OUT)
