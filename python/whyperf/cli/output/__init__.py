"""Printing of results: lines, tables, JSON, and the exit code."""
