"""Hosts, agents and pipes of a fleet that are killed while it measures: who is named, how soon, and what is left."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from lab.bench.fleet.setting import Setting, command, hosts, named
from lab.bench.row import Row
from tests.fleet.rack import CONTROL, Rack
from whyperf.record import Experiment

HOSTS = 64
KILLS = 100
MAX_NAMED_S = 2.0
KINDS = ("agent", "ssh", "host")
WITHIN_S = 90


def run(setting: Setting) -> list[Row]:
    """One of 64 agents, its ssh or its whole host dies at a random moment of a trial, so many times."""
    rng = random.Random(setting.seed)
    kills = setting.of(KILLS, 3)
    named_late: list[str] = []
    problems: list[str] = []
    times: list[float] = []
    rack_size = setting.of(HOSTS, 4)
    for number in range(kills):
        kind = KINDS[number % len(KINDS)]
        # A run of all 64 takes long on one machine: every tenth has them, the others have eight.
        size = rack_size if number % 10 == 0 else min(8, rack_size)
        found, named_s = _killed(rng, kind, size, setting.folder / f"kill-{number}")
        times.append(named_s)
        # What is broken off is not lost.
        print(f"kill {number} of {kind}, {size} hosts: named after {named_s:.2f} s, {len(found)} problems", flush=True)
        problems += [f"{number} {kind}: {problem}" for problem in found]
        if named_s > MAX_NAMED_S:
            named_late.append(f"{number} {kind}: {named_s:.1f} s")
    return [
        Row("kills", f"named after the kill, of {kills}", f"≤ {MAX_NAMED_S:.0f} s",
            f"{kills - len(named_late)} of {kills}, latest {max(times):.1f} s", not named_late,
            values={"late": named_late}),
        Row("kills", "others finish, resuming works, nothing is left", "100 %", f"{len(problems)} problems",
            not problems, values={"problems": problems}),
    ]  # fmt: skip


def _killed(rng: random.Random, kind: str, size: int, out: Path) -> tuple[list[str], float]:
    """Collects what went wrong with a kill, and how long it took until the pair was named."""
    clients = size - 1
    victim = f"node{rng.randint(1, clients)}"
    problems = []
    with hosts(named(size), with_sshd=True) as made:
        arguments = ("--from", f"node[1-{clients}]", "--to", f"node{size}", "-t", "3", "--evidence", "user")
        argv = command(made, *arguments, "--set", "write_rate_bps=10M", out=out, by_ssh=True)
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        _await_load(made, victim)
        time.sleep(rng.uniform(0, 1.5))
        killed_s = time.monotonic()
        _kill(made, victim, kind)
        named_s = WITHIN_S + 0.0
        said = ""
        for line in process.stderr:
            said += line
            if f"{victim} → node{size} is lost" in line:
                named_s = time.monotonic() - killed_s
        process.wait(WITHIN_S)
        manifests = Experiment.open(out).trials().manifests
        if len(manifests) != 1 or next(iter(manifests.values())).status != "complete":
            problems.append(f"no complete trial: {said[-300:]}")
        for name in (*made.names, CONTROL):
            left = [pid for pid in made.processes_of(name) if "agent" in _comm(pid)] if name in made.pids else []
            if left:
                problems.append(f"agents left on {name}: {left}")
        again = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if "nothing is missing" not in again.stderr and "1 of 1" not in again.stderr:
            problems.append(f"resuming: {again.stderr[-200:]}")
    return problems, named_s


def _await_load(made: Rack, host: str) -> None:
    end = time.monotonic() + WITHIN_S
    while time.monotonic() < end:
        text = Path(f"/proc/{made.pids[host]}/net/dev").read_text()
        line = next((line for line in text.splitlines() if "eth0" in line), "")
        # More than the agent's own reports: the load runs.
        if line and int(line.split(":")[1].split()[8]) > 400_000:
            return
        time.sleep(0.05)
    raise TimeoutError(f"no load from {host}")


def _kill(made: Rack, host: str, kind: str) -> None:
    if kind == "host":
        made.kill_host(host)
        return
    place = host if kind == "agent" else CONTROL
    for pid in made.processes_of(place):
        line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        is_agent = kind == "agent" and "agent" in _comm(pid)
        is_ssh = kind == "ssh" and _comm(pid) == "ssh" and host.encode() in line
        if is_agent or is_ssh:
            os.kill(pid, signal.SIGKILL)
            if kind == "ssh":
                return


def _comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
