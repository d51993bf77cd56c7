"""The commands of ``drivelab fleet``, in the order in which one works with them."""

from __future__ import annotations

from drivelab.cli.command import Command

COMMANDS = (
    Command(
        "fleet odd",
        "Which of many drives is slow, by monitoring data: the drive or its whole host?",
        ("fleet odd samples/", "fleet odd monday.csv.gz tuesday.csv.gz --details", "fleet odd iostat.json --json"),
    ),
)
