"""Small files of the kernel's, as text."""

from __future__ import annotations

from pathlib import Path

from drivelab.run.kernel_text import kernel_text


def test_a_name_that_is_no_text_is_read_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "stat").write_bytes(b"7 (\xff) S 1\n")
    assert kernel_text(f"{tmp_path}/stat") == "7 (\ufffd) S 1\n"


def test_what_is_gone_or_not_to_be_read_is_empty(tmp_path: Path) -> None:
    assert kernel_text(f"{tmp_path}/stat") == ""
    # opens, and fails when it is read, as a file of a process that ends meanwhile
    assert kernel_text(str(tmp_path)) == ""
