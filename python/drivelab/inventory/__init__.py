"""What is here: host, drives, targets, and what may be touched; reads only."""
