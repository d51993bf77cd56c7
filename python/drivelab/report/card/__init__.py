"""The card: one picture that holds a report's answer, to be shared."""
