"""Many hosts that load each other at the same time: results by pair, host and group, and which host is slow.

`read.read_fleet` reads what only a fleet needs, `summary.summarize_fleet` makes its results.
"""
