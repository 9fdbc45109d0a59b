"""Indicators of transports whose flows come and go: goodput, stability, fairness, round trips, recovery.

Pure functions, one idea a module; `indicators` puts those of a trial together, `summary` those of a cell's trials.
"""
