"""IOzone: its results, a table or a report for spreadsheets."""
