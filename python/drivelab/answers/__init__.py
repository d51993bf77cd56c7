"""What stored runs come to: reads what the store has of them, and has it analysed."""
