"""What reading a table leaves to threads of Arrow's: nothing, or they abort a program that ends at that moment."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pytest

from drivelab.interop.samples import tables
from drivelab.interop.samples.read import read_samples
from drivelab.model.errors import DrivelabError

FIRST = "time,host,drive,throughput,latency_us\n"


@pytest.mark.parametrize("second", ["bar,a,sdb,xx,200", "bar,a,sdb,,200", "2026-11-02 00:01:00,a,sdb,100,200"])
def test_no_thread_holds_anything_of_ours_once_a_table_is_read(
    second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[weakref.ref[Any]] = []

    class Options(pa_csv.ParseOptions):  # type: ignore[misc]
        def __init__(self, *, invalid_row_handler: Any, **others: Any) -> None:
            held.append(weakref.ref(invalid_row_handler))
            super().__init__(invalid_row_handler=invalid_row_handler, **others)

    monkeypatch.setattr(tables.pa_csv, "ParseOptions", Options)
    file = tmp_path / "bad.csv"
    for _ in range(20):
        first = second if ",," in second else "2026-11-02 00:00:00,a,sda,100,200"
        file.write_text(f"{FIRST}{first}\n{second}\n")
        caught: list[DrivelabError] = []
        try:
            read_samples([file])
        except DrivelabError as error:
            # with its frames, as the command line has it while it tells it
            caught.append(error)
        assert [error.code for error in caught] == (["I503"] if "bar" in second else [])
    assert len(held) >= 20
    assert [one() for one in held if one() is not None] == []
