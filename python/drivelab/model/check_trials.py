"""What the trials of a check are called, as far as others than its plan know them."""

from __future__ import annotations

# the trials that tell whether something compresses: of no use as a number of the drive
PROBE = "compression-"
