"""The report in a terminal: answer, tables and small plots in as many columns as there are."""
