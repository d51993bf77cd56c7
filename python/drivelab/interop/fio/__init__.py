"""fio's formats: job files, JSON results, logs."""
