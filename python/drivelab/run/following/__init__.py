"""Follows a program that runs: its system calls, its files, and the commands of the disk below them."""
