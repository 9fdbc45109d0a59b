"""Changes the crates without I/O in small ways, one at a time, and counts how many of these mutants their tests notice.

`make mutants-rust` runs it. cargo-mutants makes the mutants; `.cargo/mutants.toml` lists what is left out, and why.
Of each crate a sample is drawn from a seed, which is printed.
"""

import os
import random
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

ROOT = Path(__file__).resolve().parents[1]
VERSION = "27.1.0"
TOOLS = ROOT / ".tools" / "cargo-mutants"
# What notices the mutants of each crate: all tests but its documentation's, or of a crate with many large ones its unit
# tests.
TESTS = {"workload": "--tests", "emulate": "--tests", "schema": "--tests", "sim": "--lib"}
MIN_SHARE = 0.8
# A failing property test need not look for the smallest counterexample.
SETTINGS = {"PROPTEST_MAX_SHRINK_ITERS": "0", "CARGO_TARGET_DIR": str(ROOT / "target" / "mutants")}
# Tests of a mutant that take longer count as noticed. A machine that does other work needs more.
TIMEOUT_S = 60
# A mutant that grows without end fails at this address space, before the machine has no memory left. rustc needs less.
MEMORY_BYTES = 6 << 30


def main(
    crates: Annotated[list[str] | None, typer.Argument(help="crates, without whyperf-; default: all four")] = None,
    sample: Annotated[int, typer.Option(help="mutants of each crate; 0: all")] = 100,
    seed: Annotated[int | None, typer.Option(help="of the draw; default: a random one")] = None,
    timeout: Annotated[int, typer.Option(help="seconds that a mutant's tests may take at least")] = TIMEOUT_S,
) -> None:
    """Prints one line a crate. Exit code 1: a crate's tests notice less than 80 % of its mutants."""
    install()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    typer.echo(f"seed {seed}")
    shares = [share(crate, sample, seed, timeout) for crate in crates or TESTS]
    sys.exit(0 if min(shares) >= MIN_SHARE else 1)


def install() -> None:
    """Installs cargo-mutants into .tools, unless this version is there."""
    installed = TOOLS / "bin" / "cargo-mutants"
    if installed.exists() and VERSION in subprocess.check_output([installed, "mutants", "--version"], text=True):
        return
    command = ["cargo", "install", "--quiet", "--locked", "--root", str(TOOLS), "--version", VERSION, "cargo-mutants"]
    subprocess.run(command, check=True)


def share(crate: str, sample: int, seed: int, timeout: int) -> float:
    """The share of a crate's mutants that its tests notice. Those that do not compile do not count."""
    command = [str(TOOLS / "bin" / "cargo-mutants"), "mutants", "--package", f"whyperf-{crate}"]
    names = subprocess.check_output([*command, "--list"], cwd=ROOT, text=True).splitlines()
    drawn = set(names if sample == 0 else random.Random(seed).sample(names, min(sample, len(names))))
    results = ROOT / "target" / "mutants" / crate
    results.mkdir(parents=True, exist_ok=True)
    # A pattern for each name, for cargo-mutants draws no samples. Mutants that no pattern leaves out are not counted.
    patterns = [f"--re=^{re.escape(name)}$" for name in sorted(drawn)]
    options = [
        "--no-shuffle",
        "--minimum-test-timeout",
        str(timeout),
        "--output",
        str(results),
        *patterns,
        "--",
        TESTS[crate],
    ]
    ended = subprocess.run([*command, *options], cwd=ROOT, env={**os.environ, **SETTINGS}, check=False)
    if ended.returncode not in {0, 2, 3}:  # 2: some were missed; 3: some ran into the time limit.
        sys.exit(f"error: cargo-mutants ended with {ended.returncode}; its log is in {results}/mutants.out/log")
    missed, caught, timeouts = (
        drawn & set((results / "mutants.out" / f"{outcome}.txt").read_text().splitlines())
        for outcome in ("missed", "caught", "timeout")
    )
    noticed = len(caught) + len(timeouts)
    counted = noticed + len(missed)
    percent = 100 * noticed / max(counted, 1)
    typer.echo(
        f"{crate}: {noticed} of {counted} mutants noticed ({percent:.0f} %), {len(timeouts)} by the time limit; "
        f"drawn from {len(names)}",
    )
    return noticed / max(counted, 1)


if __name__ == "__main__":
    typer.run(main)
