"""Settings: one small file each."""
