"""Tests in a virtual machine: drives of every kind, and drivelab itself running beside them."""
