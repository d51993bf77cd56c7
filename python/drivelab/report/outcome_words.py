"""The outcome of a judgement in words: the one place for them, whatever shows them."""

WORDS = {"pass": "Yes", "fail": "No", "undecided": "Undecided", "no_limit": "No limit", "mixed": "For some"}
# where there is room for a few letters
SHORT_WORDS = WORDS | {"undecided": "?", "no_limit": "-"}
SIGNS = {"pass": "✓", "fail": "✗", "undecided": "?", "no_limit": "–", "mixed": "±"}
OF_A_LIMIT = {"pass": "✓ met", "fail": "✗ not met", "undecided": "? undecided"}
