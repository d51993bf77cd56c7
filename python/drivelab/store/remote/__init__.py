"""Runs that are kept in one store for many computers: a bucket, or a directory that all of them reach."""
