"""The spread of the starts of many agents, the time until they are ready, and what a thousand cost the controller."""

import resource
import subprocess
import sys
import time
from statistics import median

import numpy as np
import polars as pl

from lab.bench.fleet.setting import Setting, hosts, named, run
from lab.bench.row import Row
from tests.fleet.rack import CONTROL, Rack
from whyperf.record import Experiment, read_table
from whyperf.run.agents import pipes
from whyperf.run.agents.agent import Agent
from whyperf.run.fleet import STARTS_AT_ONCE, at_once

CLIENTS = 15
MAX_SKEW_MS = 1.0
MIN_HELD_RATIO = 0.99
SSH_HOSTS = 64
MAX_READY_S = 15.0
AGENTS = 1000
MAX_AGENTS_READY_S = 10.0
MAX_FAN_OUT_S = 1.0
MAX_CONTROLLER_MB = 500.0

_BEGIN_ALL = """
import sys, time
from whyperf.plan import PlannedFleet, build
from whyperf.profile import find
from whyperf.run import Kind, Session, Target

addresses = dict(word.split("=") for word in sys.argv[1:])
hosts = tuple(addresses)
fleet = PlannedFleet(pattern="fan-out", far=hosts, addresses=addresses)
near = ("local",) * len(hosts)
plan = build(find("quick"), target="all", near=near, fleet=fleet)
start = time.monotonic()
with Session(plan, Target(Kind.NETWORK, "all", near=near, fleet=fleet)) as session:
    print(len(session.pairs), len(session.lost_pairs.reasons), time.monotonic() - start)
"""


def skew(setting: Setting) -> list[Row]:
    """First calls of 15 clients: how far they are apart by the one clock of this machine, and whether the stated bound
    of each clock holds. The controller does not know that the clock is one.

    The first call of a stream takes a CPU longer than the bar allows for all of them together. Requests of one byte
    show how close together the agents themselves begin.
    """
    trials = setting.of(200, 5)
    with hosts(named(CLIENTS + 1)) as made:
        return [row for workload in ("stream", "rr") for row in _skew_of(setting, made, workload, trials)]


def _skew_of(setting: Setting, made: Rack, workload: str, trials: int) -> list[Row]:
    out = setting.folder / f"skew-{workload}"
    short = ("--set", "warmup_s=0", "--set", "cooldown_s=0", "-t", "0.1", "--evidence", "user")
    ends = ("--from", f"node[1-{CLIENTS}]", "--to", f"node{CLIENTS + 1}", "--set", f"workload={workload}")
    done = run(made, *ends, *short, "--trials", trials, out=out)
    experiment = Experiment.open(out)
    manifests = experiment.trials().manifests
    assert manifests, done.stderr
    flows = read_table(experiment, "flows", trials=manifests).frame.filter(pl.col("host").str.starts_with("near"))
    spread = flows.group_by("trial").agg(
        ((pl.col("first_call_mono_ns").max() - pl.col("first_call_mono_ns").min()) / 1e6).alias("ms")
    )["ms"]
    clocks = [end.clock for manifest in manifests.values() for end in manifest.hosts.values() if end.clock]
    # All clocks are one, so each offset is an error.
    held = sum(abs(clock.offset_ns) <= clock.uncertainty_ns for clock in clocks) / len(clocks)
    late = np.array(spread.to_list())
    p99 = float(np.quantile(late, 0.99, method="higher"))
    values = {"median_ms": float(np.median(late)), "p99_ms": p99, "trials": len(manifests)}
    bound_us = max(clock.uncertainty_ns for clock in clocks) / 1e3
    return [
        Row("skew", f"{workload}: first calls of {CLIENTS} agents, p99 of {len(manifests)}", f"≤ {MAX_SKEW_MS} ms",
            f"{p99:.2f} ms (median {values['median_ms']:.2f})", p99 <= MAX_SKEW_MS, values=values),
        Row("skew", f"{workload}: stated bound of the clocks holds", f"≥ {MIN_HELD_RATIO:.0%}",
            f"{held:.2%} (bound up to {bound_us:.0f} µs)", held >= MIN_HELD_RATIO),
    ]  # fmt: skip


def over_ssh(setting: Setting) -> list[Row]:
    """Agents of many hosts with a real sshd each, and its usual MaxStartups: 64 that one host starts."""
    count = setting.of(SSH_HOSTS, 4)
    rows = []
    with hosts(named(count), with_sshd=True) as made:
        settings = [f"{name}={value}" for name, value in made.environment.items()]
        addresses = [f"{name}={made.address(name)}" for name in made.names]
        argv = made.inside(CONTROL, "env", *settings, sys.executable, "-c", _BEGIN_ALL, *addresses)
        # The first time the agent is copied to each host.
        for what in ("with a copy of the agent", "which have the agent"):
            done = subprocess.run(argv, capture_output=True, text=True, check=True)
            ready, lost, seconds = done.stdout.split()
            is_ok = int(ready) == count and float(seconds) <= MAX_READY_S
            rows.append(
                Row("ssh", f"{count} hosts with sshd's usual MaxStartups, {what}", f"≤ {MAX_READY_S:.0f} s, none lost",
                    f"{ready} ready in {float(seconds):.1f} s, {lost} lost", is_ok)
            )  # fmt: skip
    return rows


def thousand(setting: Setting) -> list[Row]:
    """The controller with a thousand agents that get nothing but messages."""
    count = setting.of(AGENTS, 20)
    argv = pipes.local()
    start = time.monotonic()
    agents, lost = at_once(lambda name: Agent(name, argv, shares_clock=True), named(count), STARTS_AT_ONCE)
    ready_s = time.monotonic() - start
    try:
        times = []
        for _ in range(5):
            start = time.monotonic()
            at_once(lambda name: agents[name].call({"request": "clock"}), list(agents), 64)
            times.append(time.monotonic() - start)
    finally:
        for agent in agents.values():
            agent.hang_up()
        for agent in agents.values():
            agent.close()
    used_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    fan_out_s = median(times)
    return [
        Row("agents", f"{count} agents ready", f"≤ {MAX_AGENTS_READY_S:.0f} s", f"{ready_s:.1f} s, {len(lost)} lost",
            ready_s <= MAX_AGENTS_READY_S and not lost),
        Row("agents", "a command to all, and its answers", f"≤ {MAX_FAN_OUT_S:.0f} s", f"{fan_out_s:.2f} s",
            fan_out_s <= MAX_FAN_OUT_S),
        Row("agents", "memory of the controller", f"≤ {MAX_CONTROLLER_MB:.0f} MB", f"{used_mb:.0f} MB",
            used_mb <= MAX_CONTROLLER_MB),
    ]  # fmt: skip
