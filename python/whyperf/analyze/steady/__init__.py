"""Steady state of a trial: where the warm-up ends, and whether the rate changes level afterwards."""

MATERIAL_RATIO = 0.05
"""A change smaller than this part of the mean is no concern, however significant."""
