"""`python -m scripts.mutants PACKAGE… [--sample N] [--seed N] [--jobs N] [--again FILE] [--only WORD] [--resume]`."""

import argparse
import json
import os
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from scripts.mutants.judge import BROKEN, KILLED, OPTIONS, SURVIVED, Judge
from scripts.mutants.operators import Mutant, Source

ROOT = Path(__file__).parents[2]
PACKAGES = ("explain", "analyze", "plan", "record", "profile")
REVIEWED = Path(__file__).with_name("equivalent.toml")
"""Mutants that behave as the code does, each with the reason."""


def main(arguments: Sequence[str]) -> int:
    """Judges a sample of each package and prints its counts and survivors."""
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants", description=__doc__)
    parser.add_argument("packages", nargs="+", metavar="PACKAGE", help="package of python/whyperf, for example explain")
    parser.add_argument("--sample", type=int, default=400, metavar="N", help="mutants of each package (default: 400)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the sample (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at the same time (default: 2)")
    parser.add_argument("--only", default="", metavar="WORD", help="only files with WORD in their path")
    parser.add_argument("--again", type=Path, metavar="FILE", help="the survivors of an earlier run, not a sample")
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted run of the same code and seed")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "mutants", metavar="FOLDER", help="for results")
    chosen = parser.parse_args(arguments)
    # Before the tests import polars.
    os.environ["POLARS_MAX_THREADS"] = "1"
    return max([_package(package, chosen) for package in chosen.packages])


def _package(package: str, chosen: argparse.Namespace) -> int:
    if chosen.again:
        rows = _rows(chosen.again)
        keys = {_key(row) for row in rows if row["outcome"] == SURVIVED and f"/{package}/" in row["path"]}
        name = f"{package}-again"
    else:
        keys = set()
        name = f"{package}-{chosen.seed}"
    drawn, total = sample(package, chosen.sample, chosen.seed, chosen.only, keys)
    chosen.out.mkdir(parents=True, exist_ok=True)
    written = chosen.out / f"{name}.jsonl"
    equivalent = {_key(row) for row in reviewed()}
    done = _rows(written) if chosen.resume and written.exists() else []
    results = [(_mutant(row), str(row["outcome"])) for row in done]
    judged = {_key(row) for row in done}
    mutants = (
        source.mutant(number, with_code=True) for source, number in drawn if source.mutant(number).key not in judged
    )
    with written.open("a" if done else "w") as file:

        def report(mutant: Mutant, outcome: str, tests: int, seconds: float, ran: list[str]) -> None:
            if outcome == SURVIVED and mutant.key in equivalent:
                outcome = "equivalent"
            results.append((mutant, outcome))
            killer = ran[-1] if outcome == KILLED and ran else ""
            passed = sorted({test.partition("::")[0] for test in (ran[:-1] if killer else ran)})
            judged = {"outcome": outcome, "tests": tests, "seconds": round(seconds, 2), "by": killer, "passed": passed}
            row = asdict(replace(mutant, code="")) | judged
            file.write(json.dumps(row) + "\n")
            file.flush()

        folder = ROOT / "tests" / "unit" / package
        judge = Judge(ROOT, mutants, chosen.jobs, report, chosen.out / f"{package}-{_state(folder)}.json")
        status = pytest.main([*OPTIONS, "--rootdir", str(ROOT), str(folder)], plugins=[judge])
    if judge.error or status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.stderr.write(f"{judge.error or f'pytest ended with status {status}.'}\n")
        return 1
    lines = [*_summary(package, name, total, results), *_without_kill(_rows(written))]
    sys.stdout.write("\n".join(lines) + f"\nAll outcomes: {written}\n")
    return 0


def sample(
    package: str, size: int, seed: int, only: str = "", keys: set[tuple[object, ...]] | None = None
) -> tuple[list[tuple[Source, int]], int]:
    """Mutants drawn at random, or those with `keys`, and the number of all."""
    folder = ROOT / "python" / "whyperf" / package
    sources = [Source(ROOT, path) for path in sorted(folder.rglob("*.py")) if only in str(path)]
    places = [(source, number) for source in sources for number in range(len(source))]
    if keys:
        paths = {key[0] for key in keys}
        drawn = [
            (source, number) for source, number in places if source.path in paths and source.mutant(number).key in keys
        ]
    else:
        drawn = random.Random(seed).sample(places, min(size, len(places)))
    return drawn, len(places)


def reviewed() -> list[dict[str, object]]:
    """The equivalent mutants, each with its reason."""
    rows: list[dict[str, object]] = tomllib.loads(REVIEWED.read_text()).get("mutant", [])
    return rows


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _mutant(row: dict[str, Any]) -> Mutant:
    return Mutant(**{field.name: row[field.name] for field in fields(Mutant)})


def _state(tests: Path) -> str:
    """Short for what the code and the tests are now."""
    found = sha256()
    for path in sorted([*(ROOT / "python" / "whyperf").rglob("*.py"), *tests.rglob("*")]):
        if path.is_file() and path.suffix != ".pyc":
            found.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return found.hexdigest()[:12]


def _key(row: dict[str, object]) -> tuple[object, ...]:
    return (row["path"], str(row["text"]).strip(), row["column"], row["kind"], row["before"], row["after"])


def _summary(package: str, name: str, total: int, results: list[tuple[Mutant, str]]) -> list[str]:
    lines = [f"{package}: {len(results)} of {total:,} mutants ({name})"]
    groups = {"all": results}
    for mutant, outcome in results:
        parts = Path(mutant.path).parts[3:]
        groups.setdefault(parts[0] if len(parts) > 1 else "(files)", []).append((mutant, outcome))
    for mutant, outcome in results:
        groups.setdefault(f"kind: {mutant.kind}", []).append((mutant, outcome))
    for group, members in groups.items():
        counts = Counter(outcome for _, outcome in members)
        judged = len(members) - counts["equivalent"] - counts[BROKEN]
        killed = judged - counts[SURVIVED]
        if judged:
            low, high = binomtest(killed, judged).proportion_ci(method="wilson")
            share = f"{killed / judged:6.1%} killed (95 %: {low:.0%}–{high:.0%})"
            lines.append(f"  {group:26} {killed:4} of {judged:4} {share} {dict(counts)}")
    survivors = sorted((m.path, m.line, m.column, m.before, m.after) for m, outcome in results if outcome == SURVIVED)
    lines += [f"  {path}:{line}:{column}  {before}  →  {after}" for path, line, column, before, after in survivors]
    return lines


def _without_kill(rows: list[dict[str, Any]]) -> list[str]:
    """Test files that ran against mutants and killed none; quicker ones run first."""
    ran = Counter(file for row in rows for file in row["passed"])
    killers = {row["by"].partition("::")[0] for row in rows}
    return [f"  {file} killed none of {count} mutants" for file, count in ran.most_common() if file not in killers]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
