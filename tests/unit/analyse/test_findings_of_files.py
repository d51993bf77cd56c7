"""Findings about the file that was written into: each when it must, and not when it must not."""

from __future__ import annotations

from simulated_trials import counted, evidence, latencies, measured, workload

from drivelab.analyse.findings import file_state_not_as_asked, page_cache_answered, unwritten_range
from drivelab.model.measurement import Measurement
from drivelab.model.workload import Access, Durability, FileState, TargetRange


class TestFileStateNotAsAsked:
    size = 8 << 20

    def found(self, state: FileState, operation: str = "write", size: int = 0, **parts: int) -> list[str]:
        asked = workload(operation, file_state=state, target=TargetRange(path="/data/file", size_bytes=size))
        extents = {"method": "fiemap", "range_bytes": self.size, **parts}
        trial = measured(asked, {operation: latencies()}, context={"extents": extents})
        return [one.text for one in file_state_not_as_asked.find(evidence(trial)) if one.severity == "invalid"]

    def test_each_state_has_its_contraries(self) -> None:
        assert "8 MiB already written" in self.found("preallocated", written_bytes=self.size)[0]
        assert "reserved, never written" in self.found("overwrite", unwritten_bytes=self.size)[0]
        assert "not even reserved" in self.found("overwrite", hole_bytes=self.size // 2)[0]
        assert self.found("sparse", written_bytes=self.size)
        assert self.found("sparse", unwritten_bytes=self.size)
        assert self.found("preallocated", hole_bytes=self.size)

    def test_a_file_as_asked_is_fine(self) -> None:
        assert self.found("preallocated", unwritten_bytes=self.size) == []
        assert self.found("overwrite", written_bytes=self.size) == []
        assert self.found("sparse", hole_bytes=self.size) == []
        assert self.found("append", written_bytes=self.size) == []

    def test_a_hundredth_of_the_range_does_not_matter(self) -> None:
        assert self.found("overwrite", written_bytes=self.size, hole_bytes=self.size // 100) == []

    def test_what_the_file_lacked_in_length_is_made_as_asked(self) -> None:
        assert self.found("preallocated", size=100 * self.size, written_bytes=self.size) == []
        assert self.found("preallocated", size=2 * self.size, hole_bytes=self.size) == []
        assert self.found("preallocated", size=2 * self.size, written_bytes=self.size)

    def test_it_is_said_of_writes_and_where_there_is_a_map(self) -> None:
        assert self.found("overwrite", "read", hole_bytes=self.size) == []
        trial = measured(
            workload("write"), {"write": latencies()}, context={"extents": {"method": "", "range_bytes": 0}}
        )
        assert file_state_not_as_asked.find(evidence(trial)) == []


def test_what_is_checked_was_written_whatever_else_the_range_holds() -> None:
    def found(*, is_checked: bool) -> list[str]:
        asked = workload("read", verify=is_checked)
        trial = measured(asked, {"read": latencies()}, context={"extents": {"written_share": 0.03}})
        return [one.code for one in unwritten_range.find(evidence(trial))]

    assert found(is_checked=True) == []
    assert found(is_checked=False) == ["unwritten-range"]


class TestMemoryThatWasAskedFor:
    """Memory that answers because somebody asked for that is a note; otherwise the trial is invalid."""

    def found(self, trial: Measurement) -> list[tuple[str, str]]:
        return [(one.severity, one.text) for one in page_cache_answered.find(evidence(trial))]

    def test_a_file_without_data_was_answered_by_no_memory(self) -> None:
        nothing = {"extents": {"written_share": 0, "hole_bytes": 2**20}}
        assert self.found(measured(workload("read"), devices=[counted()], context=nothing)) == []
        assert self.found(measured(workload("read"), devices=[counted()]))

    def test_reads_of_what_was_read_in_before(self) -> None:
        asked = workload("read", direct=False)
        ((severity, text),) = self.found(measured(asked, devices=[counted()], context={"warmed_page_cache": {}}))
        assert (severity, text) == ("invalid", self.found(measured(asked, devices=[counted()]))[0][1])
        warmed = {"warmed_page_cache": {"resident_bytes": 4096}}
        assert self.found(measured(asked, devices=[counted()], context=warmed)) == [
            ("note", page_cache_answered.WARMED)
        ]

    def test_writes_to_one_place_with_one_sync_in_the_end(self) -> None:
        same = {"access": Access(kind="same"), "direct": False}
        once = Durability(method="fdatasync", at_end=True)
        for durability, severity in (
            (once, "note"),
            (Durability(), "note"),
            (Durability(method="fdatasync"), "invalid"),
        ):
            asked = workload("write", durability=durability, **same)
            assert [kind for kind, _ in self.found(measured(asked, devices=[counted(writes=1)]))] == [severity]

    def test_writes_to_many_places_are_invalid_as_ever(self) -> None:
        asked = workload("write", direct=False, durability=Durability(method="fdatasync", at_end=True))
        assert [kind for kind, _ in self.found(measured(asked, devices=[counted(writes=1)]))] == ["invalid"]
