"""Which source is taken for a trace, what is told about the others, and how the shared buffer is put back."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.run.tracing import sources
from drivelab.run.tracing.disk import TracedDisk, TracedLayer
from drivelab.run.tracing.source import BUFFER_BYTES_PER_CPU, SourceUnavailableError, buffer_bytes
from drivelab.run.tracing.sources import SOURCES, choose_source, probe_source
from drivelab.run.tracing.tracefs import lost_events_by_cpu
from drivelab.state import kernel_tracing
from drivelab.state.journal import Journal, begin_journal
from drivelab.state.undo import UNDO, undo_all

DISK = TracedDisk("sda", 8 << 20, (8 << 20 | 1,))


def refusing(why: str, code: str = "R431") -> Callable[[TracedDisk], None]:
    def require(_disk: TracedDisk) -> None:
        raise SourceUnavailableError(why, code)

    return require


def willing(_disk: TracedDisk) -> None:
    """Nothing is in the way."""


@pytest.fixture
def with_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Replaces what the three sources require."""

    def put(*required: Callable[[TracedDisk], None]) -> None:
        all_of_them = zip(sources.SOURCES, required, strict=True)
        monkeypatch.setattr(sources, "SOURCES", tuple(replace(one, require=needs) for one, needs in all_of_them))

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return put


def test_the_first_source_that_works_is_taken_and_the_others_reasons_are_told(
    with_sources: Callable[..., None],
) -> None:
    with_sources(willing, willing, willing)
    source, reason = choose_source(DISK)
    assert (source.name, reason) == ("tracefs", "it disturbs nobody and costs least")
    with_sources(refusing("this kernel has no private trace instances"), willing, willing)
    source, reason = choose_source(DISK)
    assert source.name == "relay"
    assert reason == "not a private trace instance: this kernel has no private trace instances"
    assert choose_source(DISK, "blk_tracer")[1] == "asked for"


@pytest.mark.provokes("R430")
def test_without_root_nothing_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert [probe_source(source, DISK).code for source in SOURCES] == ["R430"] * 3
    with pytest.raises(DrivelabError) as caught:
        choose_source(DISK)
    assert (caught.value.code, caught.value.do) == ("R430", "run it with sudo")
    assert caught.value.what == "the kernel's block layer can be traced by root only"


@pytest.mark.provokes("R431")
def test_where_no_source_works_each_says_why(with_sources: Callable[..., None]) -> None:
    with_sources(refusing("no events"), refusing("kernel lockdown"), refusing("no tracer"))
    with pytest.raises(DrivelabError) as caught:
        choose_source(DISK)
    assert caught.value.code == "R431"
    assert caught.value.what == (
        "a private trace instance: no events; the block trace interface: kernel lockdown; "
        "the kernel's blk tracer: no tracer"
    )
    with pytest.raises(DrivelabError, match="there is no source ebpf") as caught:
        choose_source(DISK, "ebpf")
    assert caught.value.do == "choose one of: tracefs, relay, blk_tracer"
    with pytest.raises(DrivelabError, match="the block trace interface: kernel lockdown") as caught:
        choose_source(DISK, "relay")
    assert caught.value.do == "leave out --source relay: the first source that works is taken"


def test_another_trace_in_the_way_is_worth_waiting_for(with_sources: Callable[..., None]) -> None:
    with_sources(refusing("no events"), refusing("somebody else traces sda", "R432"), refusing("no tracer"))
    with pytest.raises(DrivelabError) as caught:
        choose_source(DISK)
    assert (caught.value.code, caught.value.do) == ("R432", "wait until the other trace has ended")


def test_events_of_the_disk_and_its_partitions_are_kept() -> None:
    assert DISK.filter == "dev == 8388608 || dev == 8388609"


def test_what_lies_below_a_layer_is_known_with_its_partitions() -> None:
    crypt = TracedLayer("dm-0", "dm-crypt home", 253 << 20, ((7 << 20, 0, 100),))
    loop = TracedLayer("loop0", "loop0", 7 << 20, ((8 << 20, 10, 90),))
    stack = ((8 << 20, 8 << 20), (8 << 20 | 1, 8 << 20), (7 << 20, 7 << 20), (253 << 20, 253 << 20))
    disk = TracedDisk("dm-0", 253 << 20, (), layers=(crypt, loop), stack=stack)
    assert disk.layer_above == {"8:0": "loop0", "8:1": "loop0", "7:0": "dm-crypt home"}
    assert DISK.layer_above == {}


def test_buffers_are_smaller_where_there_are_very_many_processors() -> None:
    assert buffer_bytes(2) == buffer_bytes(64) == BUFFER_BYTES_PER_CPU
    assert buffer_bytes(128) == BUFFER_BYTES_PER_CPU // 2
    assert buffer_bytes(4096) == 2**20


def test_losses_are_those_of_each_processor(tmp_path: Path) -> None:
    for number, dropped in enumerate((0, 3)):
        directory = tmp_path / "per_cpu" / f"cpu{number}"
        directory.mkdir(parents=True)
        text = f"entries: 5\noverrun: {number}\ncommit overrun: 0\ndropped events: {dropped}\nread events: 1\n"
        (directory / "stats").write_text(text)
    assert lost_events_by_cpu(tmp_path) == {0: 0, 1: 4}


@pytest.fixture
def shared_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A made-up trace directory of the kernel's, and a journal."""
    root = tmp_path / "tracing"
    root.mkdir()
    for name, text in {
        "trace_clock": "[local] global mono\n",
        "buffer_size_kb": "7 (expanded: 1408)\n",
        "current_tracer": "nop\n",
        "trace": "",
    }.items():
        (root / name).write_text(text)

    @contextmanager
    def made_up(_kind: str):  # type: ignore[no-untyped-def]
        yield root

    monkeypatch.setattr(kernel_tracing, "kernel_filesystem", made_up)
    return SimpleNamespace(root=root, journal=begin_journal(tmp_path / "journals"))


def changed(root: Path, journal: Journal) -> None:
    for name, value in (("trace_clock", "mono"), ("buffer_size_kb", "8192"), ("current_tracer", "blk")):
        kernel_tracing.set_trace_file(root, name, value, journal)


def test_the_shared_buffers_settings_are_put_back_the_newest_first(shared_buffer: SimpleNamespace) -> None:
    changed(shared_buffer.root, shared_buffer.journal)
    # the kernel rounds up to whole pages
    (shared_buffer.root / "buffer_size_kb").write_text("8196")
    (shared_buffer.root / "trace").write_text("what was traced")
    assert undo_all(shared_buffer.journal) == [
        "set current_tracer of the kernel's tracing back to nop",
        "set buffer_size_kb of the kernel's tracing back to 1408",
        "set trace_clock of the kernel's tracing back to local",
    ]
    assert (shared_buffer.root / "trace").read_text() == ""
    shared_buffer.journal.close()


def test_what_somebody_else_has_set_since_stays(shared_buffer: SimpleNamespace) -> None:
    changed(shared_buffer.root, shared_buffer.journal)
    for name, value in (("trace_clock", "boot"), ("buffer_size_kb", "64"), ("current_tracer", "function")):
        (shared_buffer.root / name).write_text(value)
    assert undo_all(shared_buffer.journal) == []
    assert (shared_buffer.root / "current_tracer").read_text() == "function"
    shared_buffer.journal.close()


def test_after_a_reboot_there_is_nothing_to_put_back(
    shared_buffer: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(shared_buffer.root, shared_buffer.journal)
    shared_buffer.journal.will_change("block_trace", device="sda", interface="relay", boot=kernel_tracing.boot_id())
    monkeypatch.setattr(kernel_tracing, "boot_id", lambda: "another boot")
    assert undo_all(shared_buffer.journal) == []
    shared_buffer.journal.close()


def test_every_change_to_the_kernels_tracing_can_be_undone() -> None:
    assert set(kernel_tracing.UNDO) <= set(UNDO)
