"""Finds words, names, sentences and commit subjects that break the project's rules for plain English."""
