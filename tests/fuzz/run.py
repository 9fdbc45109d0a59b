"""Fuzzes target after target and prints what was spent: `python -m tests.fuzz.run --seconds 600 [TARGET…]`.

Each target starts from its corpus. What reached something new stays in `--work`; `--keep` adds it to the corpus, the
shortest inputs first, as far as there is room. An input that a target fails on is copied to `--work` and named; the
other targets are still fuzzed, and the exit code is 1.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.fuzz import corpora
from tests.fuzz.targets import TARGETS

#: Targets in Rust (`fuzz` in crates/schema and crates/probe), with the corpus that each starts from; that of sockets is
#: empty, because the kernel's messages are found without one.
OF_THE_AGENT = {"agent-frames": "frames", "agent-messages": "replies", "agent-sockets": "sockets"}
BUILT = Path("target/fuzz/agent")
#: For each input: seconds on the clock, and memory of the whole process.
TIMEOUT_S = 20
MEMORY_MIB = 3000
#: Longest input that is tried.
MAX_BYTES = 16_000


@dataclass(frozen=True)
class Spent:
    """What a run of a target took and found."""

    target: str
    inputs: int
    cpu_s: float
    corpus: int
    failed: list[str]


def fuzz(target: str, seconds: int, work: Path, *, keep: bool, timeout_s: int = TIMEOUT_S) -> Spent:
    """Fuzzes a target for a time."""
    folder, failures = work / target / "corpus", work / target / "failed"
    failures.mkdir(parents=True, exist_ok=True)
    corpora.unpack(OF_THE_AGENT.get(target, target), folder)
    known = {path.name for path in failures.iterdir()}
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={failures}/", "-print_final_stats=1"]
    options += [f"-timeout={timeout_s}", f"-report_slow_units={timeout_s}"]
    said, cpu_s = _libfuzzer(target, [*options, str(folder)], work / target / "log")
    inputs = re.search(r"stat::number_of_executed_units: *(\d+)", said)
    # A run that ends at a failure prints no statistics, but what it had tried last.
    counted = int(inputs.group(1)) if inputs else max((int(n) for n in re.findall(r"^#(\d+)", said, re.M)), default=0)
    if keep and target in TARGETS:
        corpora.pack(target, folder)
    failed = sorted(str(path) for path in failures.iterdir() if path.name not in known)
    return Spent(target, counted, round(cpu_s, 1), len(corpora.load(target)), failed)


def built() -> dict[str, Path]:
    """The programs of targets in Rust that `scripts/fuzz` could build."""
    paths = {target: list(BUILT.glob(f"*/release/{target.removeprefix('agent-')}")) for target in OF_THE_AGENT}
    return {target: found[0] for target, found in paths.items() if found}


def _libfuzzer(target: str, options: list[str], log: Path) -> tuple[str, float]:
    """Runs a target's process; returns what it said and its CPU time, its children's counted."""
    limits = [f"-rss_limit_mb={MEMORY_MIB}", f"-max_len={MAX_BYTES}"]
    with log.open("ab") as file:
        start = file.tell()
        program = [sys.executable, "-m", "tests.fuzz", target]
        if target in OF_THE_AGENT:
            program = [str(built()[target])]
        process = subprocess.Popen([*program, *limits, *options], stdout=file, stderr=file)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    with log.open("rb") as file:
        file.seek(start)
        said = file.read().decode(errors="replace")
    return said, used.ru_utime + used.ru_stime


def main() -> int:
    """Returns 1 where a target failed on an input."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS, *OF_THE_AGENT], help="default: all")
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    slow = "seconds for each input; give more at a low priority, where a process may wait that long for a CPU"
    parser.add_argument("--timeout", type=int, default=TIMEOUT_S, help=slow)
    parser.add_argument("--work", type=Path, default=Path("target/fuzz"), help="folder for what is found")
    parser.add_argument("--keep", action="store_true", help="add to the corpus what reached something new")
    given = parser.parse_args()
    found = []
    for target in given.targets or [*TARGETS, *built()]:
        spent = fuzz(target, given.seconds, given.work.absolute(), keep=given.keep, timeout_s=given.timeout)
        found.append(spent)
        with (given.work / "spent.jsonl").open("a") as log:
            log.write(json.dumps(asdict(spent)) + "\n")
        print(
            f"{spent.target:10} {spent.inputs:>12,} inputs {spent.cpu_s:>9,.0f} s of CPU, {spent.corpus} in the corpus",
            *(f"failed: {path}" for path in spent.failed),
            flush=True,
        )
    return 1 if any(spent.failed for spent in found) else 0


if __name__ == "__main__":
    sys.exit(main())
