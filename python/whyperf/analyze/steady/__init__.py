"""Steady state of a trial: where the warm-up ends, and whether the rate changes level afterwards."""
