"""Measures all transports over long paths for half an hour; `make test-wan` runs these tests, `make test` does not."""

import os

#: Where the experiment's folder goes; the Makefile says.
RESULTS = "WHYPERF_WAN"

if RESULTS not in os.environ:
    collect_ignore_glob = ["test_*.py"]
