"""Figures of the published studies, next to what was measured here."""
