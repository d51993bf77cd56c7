"""What the drive was told for each operation, as a table."""

from __future__ import annotations

from dataclasses import replace

from drivelab.model.trace import Explanation
from drivelab.report.content import TracedCombination
from drivelab.report.tables.device_work import WORK_NAMES, device_work_table
from made_up_explanations import explanation


def test_a_layer_that_does_not_say_what_it_wrote_for_the_journal_is_not_said_to_have_written_nothing() -> None:
    one = explanation("append", work={"journal_writes": 0, "journal_bytes": 0})
    layered = replace(one, conduct=replace(one.conduct, layers=("loop device loop0",)))

    def is_told(explained: Explanation) -> bool:
        table = device_work_table([TracedCombination(explained, "a")])
        assert table is not None
        return WORK_NAMES["journal_writes"] in [column.name for column in table.columns]

    assert is_told(one)
    assert not is_told(layered)
    assert is_told(replace(layered, work={**one.work, "journal_writes": 2.0}))
