"""The command line: one file per command, one catch in main."""
