"""Plans whose cells, trials and times are counted by hand, and what cannot be planned."""
# ruff: noqa: E501 - a case is a line.

from random import Random
from typing import Any

import pytest
from scipy import stats

from tests.unit.profile.given import levels, parts
from whyperf.plan import (
    MODEL,
    Plan,
    StopRule,
    TimeLeft,
    build,
    cells_wanting,
    estimate,
    trial_seconds,
    wants_trial,
)
from whyperf.plan.stop import permutation
from whyperf.profile import Profile, ProfileError, parse

SWEEPS = """
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
#: The cells of `SWEEPS`, and what differs in them. Factors vary in the order of their table, the last one fastest.
CELLS = """
c0001 throughput window_bytes=4096 write_size_bytes=512 transfer_bytes=1048576 no_delay=false connections=1 read_size_bytes=131072
c0002 throughput window_bytes=8192 write_size_bytes=512
c0003 throughput window_bytes=8192 write_size_bytes=1024
c0004 throughput window_bytes=default write_size_bytes=512
c0005 throughput window_bytes=default write_size_bytes=1024
c0006 cpu connections=1 no_delay=true read_size_bytes=131072 duration_s=10 transfer_bytes=default
c0007 cpu connections=1 no_delay=false
c0008 cpu connections=2 no_delay=true
c0009 cpu connections=2 no_delay=false
c0010 cpu connections=3 no_delay=true
c0011 cpu connections=3 no_delay=false
"""


def profile(text: str) -> Profile:
    return parse(text, name="own", where="own.toml")


def sweeps(**options: Any) -> Plan:
    return build(profile(SWEEPS), **options)


def test_the_cells_of_a_plan() -> None:
    cells = sweeps().cells
    assert [f"{cell.id} {cell.sweep}" for cell in cells] == [
        " ".join(line.split()[:2]) for line in CELLS.strip().splitlines()
    ]
    for cell, line in zip(cells, CELLS.strip().splitlines(), strict=True):
        assert cell.factors.items() >= (levels(" ".join(line.split()[2:])) | {"mtu_bytes": 9188}).items()


def test_the_trials_of_a_plan() -> None:
    plan = sweeps()
    assert plan.varied == ("window_bytes", "write_size_bytes", "connections", "no_delay")
    # 5 cells three times, 6 cells twice, and a log trial of each of the 5.
    assert [len(block) for block in plan.blocks] == [11, 11, 5]
    assert (plan.trials_count, plan.log_trials_count, plan.measured_trials_count) == (32, 5, 27)
    assert (plan.stop, plan.pause_ms) == (StopRule(trials=3, sweep_trials={"cpu": 2}), 250)
    first, *_, last = plan.trials()
    assert (first.id, first.block, first.is_log) == (f"001-{plan.blocks[0][0]}", 1, False)
    assert (last.id, last.block, last.is_log) == (f"log01-{plan.log_blocks[0][-1]}", 1, True)
    assert (sweeps(trials=1).trials_count, sweeps(evidence="segments").log_trials_count) == (16, 11)
    single = build(profile("about = 'x'\n"), evidence="segments")
    assert (single.is_single, sweeps().is_single) == (True, False)
    assert (single.experiment, single.named("y").experiment, single.named("y").id) == (
        f"own-{single.id[:6]}",
        "y",
        single.id,
    )


#: Filters with blanks between them | the cells that stay, or what is said.
FILTERS = """
window_bytes=4096 | c0001
window_bytes=4096,8K | c0001 c0002 c0003
window_bytes=4096 window_bytes=8192 | c0001 c0002 c0003
window_bytes=8192 write_size_bytes=512 | c0002
no_delay=true connections=3 | c0010
sweep=cpu no_delay=on | c0006 c0008 c0010
mtu_bytes=9188 sweep=throughput | c0001 c0002 c0003 c0004 c0005
sweep=cpu window_bytes=4096 | ! no cell has all of these levels together
windw_bytes=4096 | ! --only: windw_bytes: there is no factor of this name; did you mean window_bytes?
window_bytes=5 | ! --only: window_bytes: no cell has 5; there are: 4096, 8192, default
window_bytes | ! --only: window_bytes: write factor=level,level
path_rtt_ms=3 | ! no cell has 3.0; there are: none, the factor has no part in this plan
=3 | ! there is no factor of this name
"""


@pytest.mark.parametrize(("filters", "cells"), parts(FILTERS))
def test_filters(filters: str, cells: str) -> None:
    if cells.startswith("! "):
        with pytest.raises(ProfileError, match=cells.removeprefix("! ")):
            sweeps(only=filters.split())
        return
    plan = sweeps(only=filters.split())
    assert " ".join(cell.id for cell in plan.cells) == cells
    assert [list(block) for block in plan.blocks] == [
        kept for block in sweeps().blocks if (kept := [cell for cell in block if cell in cells.split()])
    ]


#: Levels that a profile fixes | where it is run | seconds of a trial: 0.15 of overhead, and what it takes.
SECONDS = """
duration_s=3 warmup_s=1 cooldown_s=0.5 | testbed | 4.65
duration_s=3 warmup_s=1 cooldown_s=0.5 rest_s=2 | testbed | 6.65
transfer_bytes=1500000000 | testbed | 1.15
transfer_bytes=125000000 | host7 | 1.15
transfer_bytes=6000000 window_bytes=6000 | testbed | 0.21
transfer_bytes=6000000 window_bytes=6000 | host7 | 1.15
transfer_bytes=1000000 write_size_bytes=1 | testbed | 1.65
transfer_bytes=1T write_size_bytes=1 deadline_s=9 | testbed | 9.15
workload=rr transfer_bytes=1000000 request_size_bytes=3 response_size_bytes=7 | testbed | 0.3
duration_s=3 | model | 0.004
"""


@pytest.mark.parametrize(("fixed", "target", "seconds"), parts(SECONDS))
def test_estimates(fixed: str, target: str, seconds: str) -> None:
    plan = build(profile("about = 'x'\n"), overrides=levels(fixed), target=target)
    assert trial_seconds(plan, plan.cells[0]) == pytest.approx(float(seconds))
    assert estimate(plan).seconds == pytest.approx(float(seconds))


def test_a_plan_takes_the_time_of_its_trials_with_pauses() -> None:
    found = estimate(sweeps(overrides={"duration_s": 1.0, "warmup_s": 0.0, "cooldown_s": 0.0}))
    # A further connection adds 0.7 ms: two cells with 2 connections and two with 3, each measured twice.
    assert found.cells == 11
    per_trial = 0.15 + 0.25 + 1.0
    assert found.seconds == pytest.approx(32 * per_trial + 2 * 2 * (1 + 2) * 7e-4)
    assert (found.trials, found.payload_bytes, estimate(sweeps()).payload_bytes) == (32, 0, 20 * 2**20)
    three = levels("transfer_bytes=1000 connections=3")
    assert estimate(build(profile("[design]\ntrials = 5\n"), overrides=three)).payload_bytes == 15_000
    own = '[workload]\nname = "own"\n[[workload.group]]\n[[workload.group.transaction]]\niterations = 3\n'
    own += 'steps = [{ op = "write", size = 4 }, { op = "think", time = "2 s" }]\n'
    assert estimate(build(profile(own))).seconds == pytest.approx(6.15)


def test_time_left_is_in_proportion_to_what_trials_took() -> None:
    plan = sweeps()
    left = TimeLeft(plan)
    ids = [cell.id for cell in plan.cells]
    guess = {cell.id: trial_seconds(plan, cell) for cell in plan.cells}
    left.on_trial(ids[0], 3.0)
    left.on_trial(ids[0], 5.0)
    left.on_trial(ids[-1], 2 * guess[ids[-1]])
    assert left.seconds([]) == 0
    assert left.seconds([ids[0], ids[0]]) == pytest.approx(8)
    assert left.seconds([ids[1]]) == pytest.approx(guess[ids[1]] * 4 / guess[ids[0]])
    assert left.seconds([ids[5]]) == pytest.approx(2 * guess[ids[5]])


#: Goodputs of a cell | its trials | whether it needs one more, with a minimum of 3, a maximum of 6 and a width of 0.5.
#: Of three values the interval of the median goes from the smallest to the largest.
WANTED = """
| 5 | True
| 6 | False
1 1 | 2 | True
1 1 1 | 3 | False
1 2 3 | 3 | True
2 2.5 3 | 3 | False
2 2.5 3.5 | 3 | True
1 1 | 4 | True
"""


@pytest.mark.parametrize(("goodputs", "tried", "wanted"), parts(WANTED))
def test_when_trials_end(goodputs: str, tried: str, wanted: str) -> None:
    rule = StopRule(trials_min=3, trials_max=6, interval_width=0.5)
    assert wants_trial(rule, "main", list(map(float, goodputs.split())), int(tried), "s") is (wanted == "True")
    assert [wants_trial(StopRule(trials=3), "main", [], number, "s") for number in (0, 2, 3)] == [True, True, False]


def test_cells_want_trials_of_their_own_sweep() -> None:
    plan = sweeps()
    assert cells_wanting(plan, {}, {}) == {cell.id for cell in plan.cells}
    assert cells_wanting(plan, {}, dict.fromkeys([cell.id for cell in plan.cells], 2)) == {
        f"c000{number}" for number in range(1, 6)
    }


def test_every_order_is_equally_likely() -> None:
    orders = [tuple(permutation("abc", Random(seed))) for seed in range(1200)]
    counts = [orders.count(order) for order in sorted(set(orders))]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 0.001


#: A profile's TOML | levels of the command line | where it is run | what is said.
REFUSED = r"""
| tso=true gso=false | testbed | the command line: tso: segmentation offload
| tso=false | loopback | the command line: tso: loopback has no such setting; measure on the embedded testbed (--testbed veth), or leave the factor out
| workload=rr transport=udp | testbed | the command line: transport: rr does not run over udp
[testbed]\nkind = "veth" | | loopback | own.toml: testbed.kind: the profile needs the veth testbed; run it with privilege
[fixed]\npath_rtt_ms = 20 | | host7 | own.toml: path_rtt_ms: the path to host7 cannot be emulated
[[sweep]]\n[sweep.factors]\npath_rtt_ms = [20] | | loopback | own.toml: path_rtt_ms: loopback cannot be emulated
[[sweep]]\n[sweep.factors]\ntso = [true, false] | | host7 | own.toml: sweep.main.factors.tso: the path to host7 cannot vary it
[fixed]\nzero_copy = true | | model | own.toml: zero_copy: the model has no zero_copy = true; leave it out or set zero_copy=false
[fixed]\npath_rtt_ms = 3\npath_implementation = "netem" | | model | own.toml: path_implementation: the model has no path_implementation = netem; leave it out or set path_implementation=router
| io_model=epoll | model | io_model: the model has no io_model = epoll; leave it out or set io_model=blocking
[[sweep]]\non = "model"\nfixed.no_delay = true | | testbed | own.toml: sweep.on: no sweep is measured on hosts; use whyperf model simulate
[[sweep]]\non = "hosts"\nfixed.no_delay = true | | model | own.toml: sweep.on: no sweep is measured on the model; use whyperf run
[[sweep]]\nexclude = [{ connections = [1, 2] }]\nfactors.connections = [1, 2] | | testbed | own.toml: sweep.main.exclude: it leaves no cell of the sweep; exclude less
[[sweep]]\nexclude = [{ connections = 9 }]\nfactors.connections = [1, 2] | | testbed | own.toml: sweep.main.exclude: no cell matches {connections = [9]}
[[sweep]]\nfactors.write_size_bytes = { from = 1, to = 400, step = 1 }\nfactors.read_size_bytes = { from = 1, to = 251, step = 1 } | | testbed | own.toml: sweep: there are over 100000 cells; use larger steps
[design]\ntrials = 100000\n[[sweep]]\nfactors.connections = { from = 1, to = 21, step = 1 } | | testbed | own.toml: design: the plan has over 2000000 trials; ask for fewer
"""


@pytest.mark.parametrize(("text", "given", "target", "says"), parts(REFUSED))
def test_what_cannot_be_planned(text: str, given: str, target: str, says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        build(profile(text.replace("\\n", "\n")), overrides=levels(given), target=target)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seed": -1}, "--seed: -1 is not from 0 to 9223372036854775807"),
        ({"seed": 2**63}, "--seed: 9223372036854775808 is not from 0"),
        ({"trials": 0}, "--trials: 0 is not a number of trials; give 1 or more"),
        ({"trials": 181_819}, "--trials: the plan has over 2000000 trials; ask for fewer"),
        ({"overrides": {"workload": "bogus"}}, 'the command line: workload: there is no workload "bogus"'),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        sweeps(**options)
    assert str(caught.value).startswith(says)


def test_the_model_takes_what_changes_nothing_on_it() -> None:
    text = '[fixed]\nread_wait = "block"\nio_model = "blocking"\npath_implementation = "router"\npath_rtt_ms = 3\n'
    plan = build(profile(f"{text}firewall_rules = 0\n"), target=MODEL)
    factors = plan.cells[0].factors
    assert (plan.testbed.kind, factors["path_rtt_ms"], plan.warnings) == ("model", 3.0, ())
    assert "firewall_rules" not in factors
