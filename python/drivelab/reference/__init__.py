"""Published numbers, as data with their source, to compare with."""
