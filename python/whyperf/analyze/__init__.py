"""Judges: from a record's counts, sums and time stamps to goodput, CPU, windows and warnings.

`summarize` is the way in. Everything below it is pure: polars frames and plain values in, the same
out; only `reading` knows the record.
"""

from whyperf.analyze.summarize import summarize_inputs
from whyperf.analyze.summary import Summary

__all__ = ["Summary", "summarize_inputs"]
