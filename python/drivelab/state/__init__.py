"""One file per setting: read, set, read back, restore."""
