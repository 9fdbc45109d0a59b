"""How far predictions and verdicts were off in truth experiments: the tables behind intervals and confidence.

`tables.py` reads `gains.toml` and `confidence.toml`; `fit.py` makes them from truth experiments. What follows from them
is in `rules/intervals.py` and `rules/confidence.py`.
"""
