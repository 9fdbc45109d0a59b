"""Searches the costs of study 1's hosts by differential evolution, within the bounds of the host profiles.

`.venv/bin/python scripts/fit_sunos.py FAMILY SEED GENERATIONS FILE` continues from the sets in FILE, if it exists, and
rewrites FILE after each generation. The family is `sparc2` or `sparc10`. The example `fit_sunos` of the crate
whyperf-sim judges each set. The same seed, file and generations give the same sets.
"""

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Floats = NDArray[np.float64]
POPULATION = 40
JUDGE = ["cargo", "run", "-q", "--release", "--locked", "-p", "whyperf-sim", "--example", "fit_sunos", "--"]


def search(judge: Callable[[str], Floats], space: Floats, seed: int, generations: int, file: Path) -> None:
    """Evolves the sets in `file`; `space` has the lowest, highest and present value of each number in its rows.

    `judge` reads the text of such a file, with a limit in place of each loss, and returns the losses. It may stop
    early, with any loss above the limit, where the loss exceeds it.
    """
    low, high, present = space.T
    rng = np.random.default_rng(seed)
    given = np.loadtxt(file, ndmin=2)[:, 4:] if file.exists() else present[None]
    shares = rng.random((max(POPULATION - len(given), 0), 1))
    first = np.vstack([given, present + shares * (rng.uniform(low, high, (len(shares), len(low))) - present)])
    limits = np.full(len(first), np.inf)

    def keep(intermediate_result: optimize.OptimizeResult) -> None:
        # A candidate replaces only the set in its own place, so the loss of that set is the candidate's limit.
        limits[:] = intermediate_result.population_energies
        file.write_text(_text(limits, intermediate_result.population))
        sys.stderr.write(f"generation {intermediate_result.nit}: loss {intermediate_result.fun:.3f}\n")

    optimize.differential_evolution(
        lambda columns, /: judge(_text(limits, columns.T)),  # type: ignore[arg-type, misc]  # not in stubs: vectorized
        bounds=optimize.Bounds(low, high),
        strategy="currenttobest1bin",
        init=first,
        maxiter=generations,
        mutation=(0.4, 0.9),
        recombination=0.7,
        rng=rng,
        callback=keep,
        vectorized=True,
        updating="deferred",
        polish=False,
        tol=0,
    )


def _text(losses: Floats, sets: Floats) -> str:
    """Rows of loss, three values that only `accept` determines, and numbers in steps of 0.1 as the study resolves."""
    np.savetxt(text := io.StringIO(), np.column_stack([losses, np.full((len(sets), 3), np.nan), sets.round(1)]), "%s")
    return text.getvalue()


def search_family(family: str, seed: int, generations: int, file: Path, command: list[str]) -> None:
    """Searches with the simulator as the judge."""

    def ask(verb: str, text: str) -> Floats:
        return np.loadtxt(io.StringIO(subprocess.check_output([*command, verb, family], input=text, text=True)))

    search(lambda text: ask("judge", text), ask("bounds", ""), seed, generations, file)


if __name__ == "__main__":
    search_family(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), JUDGE)
