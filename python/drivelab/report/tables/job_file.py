"""What a job file asked for and did not get, option by option."""

from __future__ import annotations

from drivelab.report.numerals import typeset
from drivelab.report.tables.table import Table, TableColumn, text_rows
from drivelab.store.run_record import RunRecord

TITLE = "Settings of the job file that were not honoured"
# by what became of an option; the others need no words
_WORDS = {"approximated": "nearly", "not-honoured": "no", "unknown": "no: not known"}
_COLUMNS = ("option", "value", "line", "honoured", "what was done instead")


def job_file_table(run: RunRecord) -> Table | None:
    """The options that a run did not have as its job file says; None where there are none, or was no job file."""
    record = run.job_file
    told = [note for note in record.get("notes", ()) if note.get("effect") in _WORDS]
    rows = [
        [
            str(note.get("option", "")),
            str(note.get("value", "")),
            str(note.get("line") or "default"),
            _WORDS[note["effect"]],
            typeset(str(note.get("what", ""))),
        ]
        for note in told
    ]
    rows += [
        ["", "", str(warning.get("line", "")), "as written", typeset(str(warning.get("what", "")))]
        for warning in record.get("warnings", ())
    ]
    if not rows:
        return None
    caption = (
        f"Of {record.get('path', 'the job file')}, which lies in the run's directory as {record.get('stored_as')}."
    )
    return Table("job-file", TITLE, tuple(TableColumn(name) for name in _COLUMNS), text_rows(rows), caption)
