"""What the numbers say, in sentences: one file for each thing that is told."""
