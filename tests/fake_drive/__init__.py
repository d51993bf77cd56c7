"""Drives that are not there: made-up trees of the kernel's files, and programs that answer for the drives."""
