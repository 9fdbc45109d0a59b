"""The figures fitted on measured trials: the table behind intervals of gains, and the weights of causes.

`tables.py` reads `gains.toml`, which `lab/truth/calibration` makes from truth experiments; what follows from it is in
`limits/joint.py`. It also reads `weights.json`, which `whyperf-lab fit` makes from drawn situations; what
follows from it is in `decide.py`.
"""
