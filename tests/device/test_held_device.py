"""A device that is held keeps its name, whatever becomes of it meanwhile."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from drivelab.inventory.target import resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.state.held_device import held_if_device

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup")]


@pytest.mark.alone
def test_its_name_is_not_given_to_another(make_loop_device: Callable[..., Path], tmp_path: Path) -> None:
    device = make_loop_device()
    other = tmp_path / "other.img"
    other.write_bytes(bytes(2**20))
    with held_if_device(resolve_target(str(device))):
        subprocess.run(["losetup", "--detach", device], check=True)
        assert subprocess.run(["losetup", device, other], capture_output=True).returncode != 0
    # the detach comes about when nobody holds the device any more; the test gives it back as it was
    subprocess.run(["losetup", device, tmp_path / "loop-0.img"], check=True)


def test_it_can_still_be_had_alone(make_loop_device: Callable[..., Path], tmp_path: Path) -> None:
    device = make_loop_device()
    place = tmp_path / "place"
    place.mkdir()
    with held_if_device(resolve_target(str(device))):
        subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True)
        subprocess.run(["mount", device, place], check=True)
        subprocess.run(["umount", place], check=True)


@pytest.mark.provokes("C207")
def test_another_disk_under_the_name_is_refused(make_loop_device: Callable[..., Path]) -> None:
    facts = resolve_target(str(make_loop_device()))
    assert facts.identity is not None
    assert facts.identity.diskseq is not None
    earlier = replace(facts, identity=replace(facts.identity, diskseq=facts.identity.diskseq - 1))
    with pytest.raises(DrivelabError, match="is not the device that it was") as refusal, held_if_device(earlier):
        pass
    assert refusal.value.code == "C207"


def test_files_need_not_be_held(tmp_path: Path) -> None:
    with held_if_device(resolve_target(str(tmp_path))):
        tmp_path.rename(tmp_path.with_name("moved")).rename(tmp_path)
