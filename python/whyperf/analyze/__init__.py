"""Judges: from a record's counts, sums and time stamps to goodput, CPU, windows and warnings.

`summarize` is the way in. Everything below it is pure: polars frames and plain values in, the same
out; only `reading` knows the record.
"""

from whyperf.analyze.read.record import read_inputs
from whyperf.analyze.summarize import summarize_inputs
from whyperf.analyze.summary import Summary
from whyperf.record import Experiment

__all__ = ["Summary", "read_inputs", "summarize", "summarize_inputs"]


def summarize(experiment: Experiment) -> Summary:
    """The result of an experiment, finished or not; `.model_dump(mode="json")` is what is published."""
    return summarize_inputs(read_inputs(experiment))
