"""Grades as pages and as tables."""
