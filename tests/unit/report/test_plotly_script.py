"""The charts' script: read in pieces, safe inside its element, never imported."""

from __future__ import annotations

import base64
import gzip
import hashlib
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.report import plotly_script
from drivelab.report.plotly_script import PlotlyScript

PYTHON_SOURCE = Path(plotly_script.__file__).resolve().parents[2]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plotly package of the test's own; its script is the path that is given back."""
    script = tmp_path / "plotly" / "package_data" / "plotly.min.js"
    script.parent.mkdir(parents=True)
    spec = ModuleSpec("plotly", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path / "plotly")]
    monkeypatch.setattr(plotly_script, "find_spec", lambda _name: spec)
    return script


def test_the_script_is_whole_and_knows_its_version_and_licence() -> None:
    script = PlotlyScript()
    whole = b"".join(script.pieces())
    assert b"plotly.js v" + script.version.encode() in whole[:400]
    assert len(whole) > 3_000_000
    assert "Permission is hereby granted" in script.licence


def test_the_script_is_read_in_small_pieces() -> None:
    assert max(map(len, PlotlyScript().pieces())) < 2**19


def test_the_hash_is_that_of_the_pieces() -> None:
    script = PlotlyScript()
    digest = hashlib.sha256(b"".join(script.pieces())).digest()
    assert script.content_hash() == f"sha256-{base64.b64encode(digest).decode()}"


def test_packed_it_is_the_same_script_in_a_third_of_the_bytes() -> None:
    script = PlotlyScript()
    packed = b"".join(script.packed_pieces())
    whole = b"".join(script.pieces())
    assert gzip.decompress(base64.b64decode(packed, validate=True)) == whole
    assert len(packed) < 0.45 * len(whole)
    # no time of day is in it
    assert b"".join(script.packed_pieces()) == packed


@pytest.mark.provokes("O801")
def test_a_package_without_its_script_is_an_error(package: Path) -> None:
    with pytest.raises(DrivelabError) as caught:
        PlotlyScript()
    assert caught.value.code == "O801"
    assert "has no plotly.min.js" in caught.value.what


def test_a_missing_package_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plotly_script, "find_spec", lambda _name: None)
    with pytest.raises(DrivelabError, match="not installed"):
        PlotlyScript()


def test_the_package_itself_is_not_imported() -> None:
    program = (
        "from drivelab.report.html import PlotlyScript; PlotlyScript(); import sys; print('plotly' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(PYTHON_SOURCE)}
    )
    assert (answer.stdout, answer.stderr) == ("False\n", "")
