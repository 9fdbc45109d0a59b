"""Compares with a kernel in user mode; `make test-oracle` runs these tests, `make test` does not."""

import os

#: The program that asks the model; the Makefile says.
MODEL = "WHYPERF_ORACLE"

if MODEL not in os.environ:
    collect_ignore_glob = ["test_*.py"]
