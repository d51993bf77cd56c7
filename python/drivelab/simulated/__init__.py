"""Models of drives that are simulated, as TOML files. A user's own file is of the same format."""
