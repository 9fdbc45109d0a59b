"""Reads an experiment's record into the frames that the analysis works on."""
