"""What a report says of hosts and plan is so of all of them."""

from whyperf.analyze.summary import Summary
from whyperf.plan import build
from whyperf.profile import find
from whyperf.report.properties import constant_factors, device_text, plan_facts

NOTHING = Summary(
    experiment="demo-1",
    origin="host",
    profile="demo",
    plan_id="1",
    testbed="veth",
    varied=[],
    cells=[],
    unfinished=[],
    warnings=[],
    facts=[],
)


def test_what_two_sweeps_fix_apart_is_not_the_same_in_all_cells() -> None:
    plan = build(find("demo"))
    constant = dict(constant_factors(plan))
    assert constant["MTU"] == "9,188 bytes"
    # The one follows the write size, the other is larger in the sweep for the CPU.
    assert {"read size", "transfer"}.isdisjoint(constant)
    facts = dict(plan_facts(plan, NOTHING))
    assert facts["read size"] == "1,024, 4,096, 8,192, 32,768"
    assert facts["transfer"] == "16,777,216, 134,217,728"


def test_log_trials_are_distinguished() -> None:
    facts = dict(plan_facts(build(find("demo")), NOTHING))
    assert facts["Blocks"] == "5 randomized complete blocks, 92 trials"
    assert facts["Segment log"] == "16 trials more, in blocks after the others"


def test_a_veth_has_no_speed() -> None:
    device = {"name": "veth-near", "driver": "veth", "speed_mbps": 10000, "mtu_bytes": 1500, "offloads": {"tso": True}}
    assert device_text(device) == "veth-near, driver veth, MTU 1500, TSO on"
    assert device_text(device | {"driver": "ice"}) == "veth-near, driver ice, 10,000 Mbit/s, MTU 1500, TSO on"
