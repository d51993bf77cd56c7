"""What is typed becomes a target, or an error that says what is wrong with it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from drivelab.inventory.target import require_writable, resolve_target
from drivelab.model.errors import DrivelabError
from drivelab.model.target import FilesystemFacts, TargetFacts


def code_for(text: str) -> str:
    with pytest.raises(DrivelabError) as caught:
        resolve_target(text)
    assert caught.value.do
    return caught.value.code


def test_a_directory_has_a_file_system_and_no_size(tmp_path: Path) -> None:
    target = resolve_target(str(tmp_path))
    assert (target.kind, target.exists, target.size_bytes) == ("directory", True, 0)
    assert target.filesystem is not None
    assert target.filesystem.available_bytes > 0
    assert not target.is_read_only
    require_writable(target)


def test_a_file_has_its_size_and_links_are_followed(tmp_path: Path) -> None:
    file = tmp_path / "data.bin"
    file.write_bytes(bytes(12345))
    (tmp_path / "link").symlink_to(file)
    target = resolve_target(str(tmp_path / "link"))
    assert (target.kind, target.size_bytes, target.path) == ("file", 12345, str(file.resolve()))


def test_a_new_file_in_an_existing_directory_is_a_target(tmp_path: Path) -> None:
    target = resolve_target(str(tmp_path / "new.bin"))
    assert (target.kind, target.exists, target.path) == ("missing_file", False, str(tmp_path.resolve() / "new.bin"))
    assert target.filesystem is not None
    assert not (tmp_path / "new.bin").exists()


def test_a_path_relative_to_here_is_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_target(".").path == str(tmp_path.resolve())
    assert resolve_target("new").path == str(tmp_path.resolve() / "new")


def test_a_file_system_in_memory_is_a_fact_and_no_error() -> None:
    target = resolve_target("/dev/shm")
    assert target.filesystem is not None
    assert target.filesystem.is_memory
    assert target.devices == target.drives == ()
    assert target.drive is None
    assert "in memory" in target.no_device_reason


def test_a_scratch_drive_has_the_size_that_was_asked() -> None:
    target = resolve_target("scratch:64MiB")
    assert (target.kind, target.size_bytes, target.path) == ("scratch", 64 * 2**20, "")
    require_writable(target)


@pytest.mark.parametrize(
    "text", ["", "  ", "a\0b", "/nowhere/at/all", "/dev/no_such_drive", "x" * 300, "/etc/hostname/x"]
)
@pytest.mark.provokes("T101")
def test_what_does_not_exist_is_no_target(text: str) -> None:
    assert code_for(text) == "T101"


def test_a_drive_that_is_named_without_its_folder_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    device = next((path for path in sorted(Path("/dev").iterdir()) if path.is_block_device()), None)
    if device is None:
        pytest.skip("there is no block device in /dev")
    with pytest.raises(DrivelabError, match=device.name) as caught:
        resolve_target(device.name)
    assert caught.value.code == "T101"
    assert f"did you mean {device}?" in caught.value.do
    # whoever wants such a file says where
    assert resolve_target(f"./{device.name}").kind == "missing_file"
    (tmp_path / device.name).mkdir()
    assert resolve_target(device.name).kind == "directory"


def test_links_that_lead_nowhere_or_in_circles_are_no_target(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    assert code_for(str(tmp_path / "dangling")) == "T101"
    assert code_for(str(tmp_path / "circle")) == "T101"
    assert code_for(f"{tmp_path}/new/") == "T101"


@pytest.mark.provokes("T105")
def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"b\xff")
    odd.mkdir()
    assert code_for(str(odd)) == "T105"
    (tmp_path / "link").symlink_to(odd)
    assert code_for(str(tmp_path / "link")) == "T105"


@pytest.mark.parametrize("text", ["/dev/null", "/dev/zero"])
@pytest.mark.provokes("T105")
def test_a_character_device_is_no_target(text: str) -> None:
    assert code_for(text) == "T105"


def test_pipes_and_sockets_are_no_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert code_for(str(tmp_path / "pipe")) == "T105"
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert code_for("socket") == "T105"


@pytest.mark.provokes("T106")
def test_simulated_drives_do_not_exist_yet() -> None:
    assert code_for("sim:slow") == "T106"


@pytest.mark.provokes("T108", "U001")
def test_a_scratch_drive_needs_a_sensible_size() -> None:
    assert code_for("scratch:1MiB") == "T108"
    assert code_for("scratch:0") == "T108"
    assert code_for("scratch:") == "U001"
    assert code_for("scratch:4G") == "U001"


def filesystem(*, read_only: bool) -> FilesystemFacts:
    return FilesystemFacts("ext4", "/dev/sda1", "/mnt/x", ("ro",), "8:1", 1, 1, 1, 4096, read_only)


@pytest.mark.parametrize("kind", ["directory", "file", "missing_file"])
@pytest.mark.provokes("T103")
def test_a_read_only_file_system_cannot_be_written(kind: str) -> None:
    target = TargetFacts("x", kind, "/mnt/x/y", True, filesystem(read_only=True), (), (), 0, 512, True)
    with pytest.raises(DrivelabError) as caught:
        require_writable(target)
    assert caught.value.code == "T103"
    assert "/mnt/x" in caught.value.do


@pytest.mark.provokes("T102")
def test_what_belongs_to_others_cannot_be_written() -> None:
    target = TargetFacts("x", "missing_file", "/mnt/x/y", False, filesystem(read_only=False), (), (), 0, 512, True)
    with pytest.raises(DrivelabError) as caught:
        require_writable(target)
    assert caught.value.code == "T102"
    assert "/mnt/x" in caught.value.what


def test_a_target_is_complete_as_json(tmp_path: Path) -> None:
    document = resolve_target(str(tmp_path)).to_json()
    assert document["kind"] == "directory"
    assert document["filesystem"]["mount_point"]
    assert isinstance(document["drives"], list)
