"""The limits: what each cause takes of a trial by itself, whatever the others take.

One function for each cause, in a file for each family. It says how much of the time, or of the rate, the cause takes,
and the evidence; it asks no other. `decide.py` weighs them against each other.
"""
