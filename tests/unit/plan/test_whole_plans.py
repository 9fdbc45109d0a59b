"""Whole plans from profiles and options: cells, order, estimates and sentences, or what is said of them."""
# ruff: noqa: E501 - a case is a line.

import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.unit.profile.uperf.uperf_profiles import SHAPES
from tests.unit.snapshots import Snapshots, outcome
from whyperf.plan import (
    Plan,
    StopRule,
    TimeLeft,
    build,
    cells_wanting,
    estimate,
    relative_width,
    trial_seconds,
    wants_trial,
)
from whyperf.plan.blocks import permutation
from whyperf.plan.far_hosts import far_host_notes
from whyperf.profile import Profile, ProfileError, find, parse, shipped_names

SNAPSHOTS = Snapshots(Path(__file__).with_suffix(".json"))

SWEEPS = """
about = "A question."
[fixed]
mtu_bytes = 9188
[design]
trials = 3
pause_ms = 250
log_trials = 1
[[sweep]]
name = "throughput"
exclude = [{ window_bytes = 4096, write_size_bytes = [1024] }]
[sweep.fixed]
transfer_bytes = 1048576
[sweep.factors]
window_bytes = [4096, 8192, "default"]
write_size_bytes = [512, 1024]
[[sweep]]
name = "cpu"
trials = 2
log_trials = 0
[sweep.factors]
no_delay = [true, false]
connections = [1, 2, 3]
read_size_bytes = "=write_size_bytes"
"""
SINGLE = 'about = "x"\n'
TEXTS: Mapping[str, str] = {
    "sweeps": SWEEPS,
    "single": SINGLE,
    "timed": SINGLE + "[fixed]\nduration_s = 3\nwarmup_s = 1\ncooldown_s = 0.5\n",
    "transfer": SINGLE + "[fixed]\ntransfer_bytes = 1000000000\nconnections = 3\nwindow_bytes = 65536\n",
    "long transfer": SINGLE + "[fixed]\ntransfer_bytes = 1000000000000\nwrite_size_bytes = 1\n",
    "rr": SINGLE + '[fixed]\nworkload = "rr"\nrequest_size_bytes = 100\n',
    "rr transfer": SINGLE
    + '[fixed]\nworkload = "rr"\ntransfer_bytes = 100000\nrequest_size_bytes = 100\nresponse_size_bytes = 7\n',
    "iterations": SINGLE
    + '[workload]\nname = "own"\n[[workload.group]]\n[[workload.group.transaction]]\niterations = 3\nsteps = [{ op = "write", size = 4 }, { op = "think", time = "2 s" }]\n',
    "follows": SINGLE
    + '[[sweep]]\n[sweep.factors]\nwrite_size_bytes = [1, 2]\nread_size_bytes = ["=write_size_bytes", 1]\n',
    "stop rule": SINGLE
    + "[design]\ntrials_min = 3\ntrials_max = 6\ninterval_width = 0.05\n[[sweep]]\ntrials = 2\n[sweep.factors]\nconnections = [1, 2]\n",
    "excludes all": SINGLE + "[[sweep]]\nexclude = [{ connections = [1, 2] }]\n[sweep.factors]\nconnections = [1, 2]\n",
    "excludes none": SINGLE
    + "[[sweep]]\nexclude = [{ connections = 1 }, { connections = 9, no_delay = true }]\n[sweep.factors]\nconnections = [1, 2]\n",
    "many cells": SINGLE
    + "[[sweep]]\n[sweep.factors]\nwrite_size_bytes = { from = 1, to = 400, step = 1 }\nread_size_bytes = { from = 1, to = 251, step = 1 }\n",
    "many trials": SINGLE
    + "[design]\ntrials = 100000\n[[sweep]]\n[sweep.factors]\nconnections = { from = 1, to = 21, step = 1 }\n",
    "most trials": SINGLE + "[design]\ntrials = 100\n",
    "a path": SINGLE + "[fixed]\npath_rtt_ms = 20\n[[sweep]]\n[sweep.factors]\npath_rate_bps = [1000000, 10000000]\n",
    "a path of one level": SINGLE + "[[sweep]]\n[sweep.factors]\npath_rtt_ms = [20]\n",
    "no path": SINGLE + '[fixed]\npath_rtt_ms = "none"\ngro = false\n[[sweep]]\n[sweep.factors]\ntso = [false]\n',
    "varied testbed": SINGLE + "[[sweep]]\n[sweep.factors]\ntso = [true, false]\n",
    "veth": SINGLE + '[testbed]\nkind = "veth"\n',
    "loopback": SINGLE + '[testbed]\nkind = "loopback"\n',
    "model": SINGLE
    + '[fixed]\nhosts = "sparc2+sba-100@2.2.6"\nlink = "atm-taxi-100"\n[[sweep]]\n[sweep.factors]\nwindow_bytes = [4096, 8192]\n',
    "not of the model": SINGLE + "[fixed]\nno_delay = true\nzero_copy = true\n",
    "neutral on the model": SINGLE
    + '[fixed]\nread_wait = "block"\nio_model = "blocking"\npath_implementation = "router"\npath_rtt_ms = 3\n',
    "netem on the model": SINGLE + '[fixed]\npath_implementation = "netem"\npath_rtt_ms = 3\n',
    "a schedule": SINGLE + '[fixed]\nschedule = "mixed"\nschedule_scale = 0.1\n',
    "an own schedule": SINGLE
    + "[schedule]\nname = 'own'\n[[schedule.flow]]\nstart_s = 0.0\nstop_s = 4.0\n[[schedule.flow]]\nstart_s = 2.0\nstop_s = 5.5\nconnections = 2\n",
    "received": SINGLE + '[fixed]\nio_model = "epoll"\ndirection = "receive"\n',
    "datagrams": SINGLE + '[fixed]\nworkload = "udp-stream"\ndatagram_size_bytes = 1000\n',
    "uperf": SHAPES["operator-rr"],
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "on loopback": {"target": "loopback"},
    "to a host": {"target": "far.example", "near": ("local", "other.example")},
    "on the model": {"target": "model"},
    "seed": {"seed": 0},
    "trials": {"trials": 1},
    "logs": {"evidence": "segments"},
    "sockets alone": {"evidence": "user"},
    "counters": {"evidence": "counters"},
    "longer": {"overrides": {"duration_s": 30.0}},
    "several": {"overrides": {"no_delay": True, "write_size_bytes": (64, 128)}},
}


def profile(name: str) -> Profile:
    return parse(TEXTS[name], name="own", where="own.toml")


def described(plan: Plan) -> dict[str, Any]:
    """A plan, of its cells what differs between them."""
    document = plan.model_dump(mode="json")
    cells = document.pop("cells")
    found = {key: value for key, value in document.items() if key not in {"profile", "about", "plan_version"}}
    names = sorted({name for cell in cells for name in cell["factors"]})
    differ = [name for name in names if len({str(cell["factors"].get(name)) for cell in cells}) > 1]
    levels = ("transfer_bytes", "duration_s", "deadline_s", "connections", "mtu_bytes", "schedule")
    found["cells"] = [
        [cell["id"], cell["sweep"], *(cell["factors"].get(name) for name in (*differ, *levels))] for cell in cells[:12]
    ]
    found["differ"], found["factors"] = differ, len(names)
    found["blocks"] = [list(block)[:12] for block in plan.blocks[:3]]
    found["log_blocks"] = [list(block)[:12] for block in plan.log_blocks[:3]]
    found["estimate"] = asdict(estimate(plan))
    found["seconds"] = [trial_seconds(plan, cell) for cell in plan.cells[:4]]
    found["trials"] = [trial.id for trial in plan.trials()][:12]
    return found


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "h": "far.example",
        "proto": "tcp",
        "nthr": "3",
        "iter": "5",
        "dur": "400ms",
        "size": "2k",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("name", TEXTS)
def test_plans(name: str) -> None:
    found = {
        how: outcome(lambda how=how: described(build(profile(name), **OPTIONS[how])), ProfileError)
        for how in (OPTIONS if name in {"sweeps", "single", "stop rule", "a path"} else list(OPTIONS)[:4])
    }
    # What an option does not change is stored once.
    for how, made in found.items():
        if how != "plain" and isinstance(made, dict) and isinstance(found["plain"], dict):
            found[how] = {key: part for key, part in made.items() if part != found["plain"].get(key)}
    SNAPSHOTS.check(name, found)


def test_options_that_cannot_be() -> None:
    cases: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("single", {"seed": -1}),
        ("single", {"seed": 2**63 - 1}),
        ("single", {"seed": 2**63}),
        ("single", {"trials": 0}),
        ("single", {"trials": 2_000_001}),
        ("single", {"overrides": {"tso": True, "gso": False}}),
        ("single", {"overrides": {"tso": False}, "target": "loopback"}),
        ("single", {"overrides": {"workload": "rr", "transport": "udp"}}),
        ("sweeps", {"overrides": {"workload": "bogus"}}),
        ("sweeps", {"overrides": {"duration_s": 70.0, "deadline_s": 70.0}}),
        ("sweeps", {"overrides": {"mtu_bytes": 1000, "ip_version": 6}}),
        ("excludes none", {"overrides": {"no_delay": True}}),
    )
    found = {
        f"{name} {options}": outcome(
            lambda name=name, options=options: build(profile(name), **options).id, ProfileError
        )
        for name, options in cases
    }
    SNAPSHOTS.check("options that cannot be", found)


def test_a_plan_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["whyperf.plan.build"], "MAX_TRIALS", 27)
    monkeypatch.setattr("whyperf.plan.cells.MAX_CELLS", 12)
    assert len(list(build(profile("sweeps"), evidence="user").trials())) == 27
    monkeypatch.setattr(sys.modules["whyperf.plan.build"], "MAX_TRIALS", 26)
    with pytest.raises(ProfileError, match="over 26 trials"):
        build(profile("sweeps"))
    monkeypatch.setattr("whyperf.plan.cells.MAX_CELLS", 11)
    with pytest.raises(ProfileError, match="over 11 cells"):
        build(profile("sweeps"))


def test_filters() -> None:
    filters = (
        *(
            "window_bytes=4096",
            "window_bytes=4096,8192",
            "window_bytes=default",
            "window_bytes=4K",
            "window_bytes=5",
            "sweep=cpu",
        ),
        *(
            "sweep=bogus",
            "bogus=1",
            "window_bytes",
            "window_bytes=",
            "=3",
            "no_delay=true",
            "no_delay=1",
            "connections=1, 2",
            "mtu_bytes=9188",
        ),
        *(
            "no_delay=true connections=3",
            "no_delay=true window_bytes=4096",
            "connections=1 connections=2",
            "path_rtt_ms=3",
            "window_bytes=x",
        ),
        "sweep=cpu,throughput",
    )
    found: dict[str, object] = {}
    for text in filters:
        only = text.split(" ") if ", " not in text else [text]
        plan = partial(build, profile("sweeps"), only=only)
        found[text] = outcome(
            lambda plan=plan: [(made := plan()).blocks, made.varied, made.stop, made.log_blocks, made.only],
            ProfileError,
        )
    SNAPSHOTS.check("filters", found)


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_profiles(name: str) -> None:
    shipped = find(name)
    found = {}
    for target in ("model",) if shipped.is_of_model else ("testbed", "far.example"):
        made = outcome(lambda target=target: described(build(shipped, target=target)), ProfileError)
        if isinstance(made, dict):
            made.pop("workloads", None)
        # An error names the file, which lies elsewhere in each checkout.
        found[target] = made.replace(shipped.where, "PROFILE") if isinstance(made, str) else made
    SNAPSHOTS.check(f"shipped: {name}", found)


def test_far_hosts() -> None:
    named: tuple[list[str], ...] = ([], ["a"], ["a", "b"], ["b", "a", "c"])
    targets = ("testbed", "loopback", "a", "model")
    SNAPSHOTS.check(
        "far hosts", {f"{hosts} {target}": far_host_notes(hosts, target) for hosts in named for target in targets}
    )


def test_what_is_left() -> None:
    plan = build(profile("sweeps"))
    left, found = TimeLeft(plan), []
    cells = [cell.id for cell in plan.cells]
    for cell, seconds in ((cells[0], 3.0), (cells[0], 5.0), (cells[-1], 40.0), (cells[1], 0.5)):
        left.on_trial(cell, seconds)
        found.append([left.seconds([name]) for name in cells] + [left.seconds(cells * 2), left.seconds([])])
    SNAPSHOTS.check("what is left", found)


@pytest.mark.parametrize(
    "values", [[5.0], [1.0, 3.0], [3.0, 1.0, 2.0], [4.0, 4.0, 4.0], [-2.0, -1.0, -3.0], [1.0, 2.0, 4.0, 8.0, 16.0]]
)
def test_the_width_is_that_of_scipys_percentile_interval(values: list[float]) -> None:
    found = relative_width(values, "seed")
    if len(set(values)) < 2:
        assert found == 0
        return
    interval = stats.bootstrap(
        (values,), np.median, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    # The median of few values takes few values, and 2000 resamples find the same ends.
    assert found == pytest.approx((interval.high - interval.low) / abs(np.median(values)))


def test_when_trials_end() -> None:
    rule = StopRule(trials_min=3, trials_max=6, interval_width=0.5)
    samples: tuple[list[float], ...] = (
        [],
        [1.0],
        [1.0, 1.0],
        [1.0, 1.0, 1.0],
        [1.0, 2.0, 3.0],
        [1.0, 1.0, 1.0, 1.0, 2.0],
        [3.0, 3.2, 3.1, 2.9],
        [2.0, 2.5, 3.0],
    )
    found = {
        f"{sample} of {tried}": wants_trial(rule, "main", sample, tried, "s")
        for sample in samples
        for tried in range(2, 8)
    }
    found |= {f"fixed {tried}": wants_trial(StopRule(trials=3), "main", [], tried, "s") for tried in range(6)}
    SNAPSHOTS.check("when trials end", {"wanted": " | ".join(what for what, is_wanted in found.items() if is_wanted)})
    with pytest.raises(ValueError, match="a stop rule has trials"):
        wants_trial(
            StopRule.model_construct(trials=None, trials_min=3, trials_max=None, interval_width=0.1, sweep_trials={}),
            "x",
            [],
            0,
            "",
        )
    plan = build(profile("stop rule"))
    assert cells_wanting(plan, {}, {}) == {cell.id for cell in plan.cells}
    assert cells_wanting(plan, {}, {plan.cells[0].id: 2}) == {plan.cells[1].id}


def test_every_order_is_equally_likely() -> None:
    orders = [tuple(permutation("abc", Random(seed))) for seed in range(1200)]
    counts = [orders.count(order) for order in sorted(set(orders))]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 0.001
    SNAPSHOTS.check("orders", ["".join(permutation("abcdefgh", Random(seed))) for seed in range(3)])
    blocks = [build(profile("sweeps"), seed=seed).blocks for seed in range(4)]
    assert all(first != second for first, second in pairwise(blocks))


def test_the_file_of_a_plan() -> None:
    plan = build(profile("rr"), trials=2)
    text = plan.to_json()
    assert Plan.from_json(text, "plan.json") == plan
    assert [line for line in text.splitlines() if line.startswith(("{", "}", "]", ' {"id": "c', ' ["'))] == [
        "{",
        *(line for line in text.splitlines() if line.startswith(' {"id": "c0001"')),
        "],",
        ' ["c0001"],',
        ' ["c0001"]',
        "],",
        "}",
    ]
    wrong = {
        "changed": text.replace('"pause_ms": 0', '"pause_ms": 1'),
        "another version": text.replace('"plan_version": 1', '"plan_version": 2'),
        "a key that is not known": text.replace('"pause_ms": 0', '"pause": 0'),
        "another type": text.replace('"pause_ms": 0', '"pause_ms": "0"'),
        "cut": text[:-4],
    }
    found = {
        name: outcome(partial(Plan.from_json, changed, "plan.json"), ProfileError) for name, changed in wrong.items()
    }
    SNAPSHOTS.check("files that are wrong", {name: str(made).replace(plan.id, "ID") for name, made in found.items()})


def test_properties_of_plans() -> None:
    single, sweeps = build(profile("single")), build(profile("sweeps"), evidence="segments")
    assert (single.is_single, build(profile("single"), trials=2).is_single) == (True, False)
    assert build(profile("single"), evidence="segments").is_single
    named = single.named("other")
    assert (named.experiment, named.id, single.experiment) == ("other", single.id, f"own-{single.id[:6]}")
    assert (sweeps.trials_count, sweeps.log_trials_count) == (27 + 11, 11)
    trials = list(sweeps.trials())
    assert [trial.is_log for trial in trials] == [False] * 27 + [True] * 11
    assert [trial.block for trial in trials[-11:]] == [1] * 11
    assert trials[-1].id.startswith("log01-c")
    assert {trial.evidence for trial in build(profile("single"), evidence="user").trials()} == {"user"}
    both = [build(profile(name)).workloads for name in ("iterations", "datagrams", "rr")]
    assert [[workload.strands_count for workload in workloads.values()] for workloads in both] == [[1], [None], [1]]
    assert build(profile("rr"), overrides={"connections": 3}).workload("c0001") != build(profile("rr")).workload(
        "c0001"
    )
    assert single.workload("c0001") is None
