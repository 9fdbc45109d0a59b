"""Mutation tests: how many small changes of the code do the unit tests of its package notice?

`python -m scripts.mutants explain` draws a sample of mutants of `python/whyperf/explain` and runs the tests under
`tests/unit/explain` against each. `make mutants-python` does it for all packages of `PACKAGES`.
"""
