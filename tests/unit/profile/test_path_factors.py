"""When a cell has an emulated path, what its settings mean, and what is refused."""
# ruff: noqa: E501 - a case is a line.

import pytest

from tests.unit.profile.given import cell, check_refused, levels
from whyperf.plan import build
from whyperf.profile import FACTORS, ProfileError, parse
from whyperf.profile.path import has_path, one_way_ms, packet_bytes, queue_bytes, rates_bps, red_thresholds_bytes
from whyperf.profile.path_factors import PATH_FACTORS


def test_a_cell_without_a_path_has_none_of_its_factors() -> None:
    assert not [name for name in cell("") if name.startswith("path_")]
    assert not has_path(cell(""))
    assert cell("path_rtt_ms=none")["path_rtt_ms"] == "none"
    assert not has_path(cell("path_rtt_ms=none"))


@pytest.mark.parametrize("maker", ["path_rtt_ms=0", "path_rate_bps=10M path_queue=100p", "path_loss=0"])
def test_what_says_a_path_makes_one_even_if_it_does_nothing(maker: str) -> None:
    assert has_path(cell(maker))
    assert has_path(cell(f"hosts=linux-6.18+nic adapters=1 {maker}", "model"))


#: Levels | delay forward and back in ms | rate forward and back in bit/s | bytes of the forward queue. The largest
#: packet is the MTU and 14 bytes; a bandwidth-delay product of 10 Mbit/s and 20 ms is 200,000 bits. Without a delay it is
#: what passes in 50 ms.
SIZES = """
path_rtt_ms=20 path_rate_bps=10M | 10 10 | 10000000 10000000 | 25000
path_rtt_ms=20 path_rate_bps=10M path_delay_back_ms=5 | 15 5 | 10000000 10000000 | 25000
path_rtt_ms=20 path_rate_bps=10M path_delay_back_ms=20 | 0 20 | 10000000 10000000 | 25000
path_rtt_ms=20 path_rate_bps=10M path_rate_back_bps=none | 10 10 | 10000000 None | 25000
path_rtt_ms=20 path_rate_bps=10M path_rate_back_bps=1M path_queue=100p | 10 10 | 10000000 1000000 | 151400
path_rtt_ms=20 path_rate_bps=10M path_queue=0.5bdp | 10 10 | 10000000 10000000 | 12500
path_rtt_ms=20 path_rate_bps=10M path_queue=9000 | 10 10 | 10000000 10000000 | 9000
path_rate_bps=10M | 0 0 | 10000000 10000000 | 62500
path_rate_bps=10M path_queue=2p mtu_bytes=9000 | 0 0 | 10000000 10000000 | 18028
"""


@pytest.mark.parametrize("case", SIZES.strip().splitlines())
def test_delays_rates_and_queues(case: str) -> None:
    given, delays, rates, queue = map(str.strip, case.split("|"))
    found = cell(given)
    assert " ".join(f"{delay:g}" for delay in one_way_ms(found)) == delays
    assert " ".join(map(str, rates_bps(found))) == rates
    assert queue_bytes(found, 10_000_000) == int(queue)
    assert packet_bytes(found) == int(found["mtu_bytes"]) + 14


def test_thresholds_of_red_are_a_sixth_and_half_of_the_queue_unless_given() -> None:
    red = "path_rtt_ms=20 path_rate_bps=10M path_discipline=red path_queue=24000"
    for given, thresholds in (
        ("", (4000, 12_000)),
        ("path_red_min_bytes=5000", (5000, 12_000)),
        ("path_red_max_bytes=20000", (4000, 20_000)),
    ):
        assert red_thresholds_bytes(cell(f"{red} {given}"), 10_000_000) == thresholds


def test_a_path_of_hosts_of_the_model_has_the_usual_mtu() -> None:
    found = cell("hosts=linux-6.18+nic path_rate_bps=10M path_queue=2p", "model")
    assert (packet_bytes(found), queue_bytes(found, 10_000_000)) == (1514, 3028)


#: Levels | the factor at fault | what is said, of two parts where it has `…` in it.
REFUSED = """
path_queue=10p | path_queue | the cell has no emulated path; give path_rtt_ms, path_rate_bps or path_loss too
path_rtt_ms=40 path_queue=10p | path_queue | without a rate there is no bottleneck and no queue; give path_rate_bps
path_rtt_ms=40 path_cross_rate_bps=1M | path_cross_rate_bps | without a rate there is no bottleneck
path_rtt_ms=40 path_rate_bps=10M path_ecn=true | path_ecn | a queue with path_discipline codel or red has it, not drop_tail
path_rtt_ms=40 path_rate_bps=10M path_discipline=codel path_red_gentle=true | path_red_gentle | a queue with path_discipline red has it, not codel
path_rtt_ms=40 path_rate_bps=10M path_cross_amplitude_bps=1M | path_cross_amplitude_bps | there is no cross traffic; give
path_rtt_ms=40 path_rate_bps=10M path_queue=1513 | path_queue | 1513 is 1513 bytes at 10000000 bit/s, and holds no packet of 1514
path_rtt_ms=20 path_rate_bps=10M path_rate_back_bps=1000 | path_queue | bdp is 2 bytes at 1000 bit/s
path_rtt_ms=5 path_rate_bps=10M mtu_bytes=9000 | path_queue | bdp is 6250 bytes at 10000000 bit/s, and holds no packet of 9014
path_rtt_ms=10 path_rate_bps=100G | path_rate_bps | 100000000000 bit/s are more than the router carries; give at most 10000000000
path_rtt_ms=10 path_rate_bps=10M path_rate_back_bps=11G | path_rate_back_bps | 11000000000 bit/s are more than the router carries
path_rtt_ms=60000 path_rate_bps=10G | path_rate_bps | queue and delay hold 225000000000 bytes, and 1073741824 is the most; lower the rate, delay or queue
path_rtt_ms=40 path_delay_back_ms=41 | path_delay_back_ms | 41 ms back are more than path_rtt_ms
path_rtt_ms=1 path_jitter_us=501 | path_jitter_us | 501 us around a delay of 0.5 ms go below 0; lower it, or raise the delay
path_rtt_ms=20 path_delay_back_ms=15 path_jitter_us=5001 | path_jitter_us | 5001 us around a delay of 5 ms
path_loss=0 path_reorder=0.1 | path_reorder | packets overtake others by skipping the delay; give path_rtt_ms
path_loss=bursts:0.1/0 | path_loss | r = 0 never ends a burst
path_loss=segments:9 workload=udp-stream | path_loss | segments are TCP's, and the transport is udp
path_rtt_ms=40 path_loss_back=segments:9 transport=udt | path_loss_back | segments are TCP's, and the transport is udt
path_rtt_ms=40 path_rate_bps=10M path_cross_rate_bps=10 path_cross_amplitude_bps=11 | path_cross_amplitude_bps | 11 bit/s are more
path_rtt_ms=40 path_rate_bps=10M path_discipline=red path_red_max_bytes=50001 | path_red_max_bytes | thresholds of 8333 and 50001 bytes in a queue of 50000
path_rtt_ms=40 path_rate_bps=10M path_discipline=codel path_codel_target_ms=100 | path_codel_target_ms | 100 ms are not below path_codel_interval_ms (100)
path_rtt_ms=40 transport=unix | path_rtt_ms | unix sockets have both sides on one host and no path between them; choose another transport
path_loss=segments:9 path_implementation=netem | path_loss | netem cannot lose segments by number; choose path_implementation = "router"
path_rtt_ms=4 path_ack_thinning=2 path_implementation=netem | path_ack_thinning | netem does not do it as the router does
path_rtt_ms=4 path_rate_bps=1G path_cross_rate_bps=8 path_implementation=netem | path_cross_rate_bps | netem does not do it
path_rtt_ms=4 path_implementation=netem gso=true | gso | netem counts and drops a super-segment of 64 KiB as one packet; set it to false
path_rtt_ms=4 path_rate_bps=10000001 path_implementation=netem | path_rate_bps | netem has rates in bytes a second; give a multiple of 8 bit/s
path_rtt_ms=20 path_rate_bps=10M path_rate_back_bps=1000001 path_implementation=netem | path_rate_back_bps | netem has rates in bytes
path_rtt_ms=40 path_rate_bps=10M path_discipline=codel path_implementation=netem | path_queue | the kernel's CoDel counts packets; give packets such as 1000p, or …router
path_rtt_ms=40 path_rate_bps=10M path_discipline=red path_queue=100p path_implementation=netem | path_queue | the kernel's RED counts bytes; give bytes or bdp, or …router
"""


@pytest.mark.parametrize("case", REFUSED.strip().splitlines())
def test_what_cannot_be_names_the_thing_and_remedy(case: str) -> None:
    check_refused(case)


#: At the bounds of what `REFUSED` refuses.
ACCEPTED = """
path_rate_bps=10M path_queue=1514
path_rate_bps=10G path_queue=100p
path_rate_bps=11G path_queue=100p path_implementation=netem
path_rtt_ms=20 path_delay_back_ms=5 path_jitter_us=5000
path_loss=bursts:0/0
path_loss=segments:5+7 transport=tls
path_rtt_ms=40 path_rate_bps=10M path_cross_rate_bps=10 path_cross_amplitude_bps=10
path_rtt_ms=40 path_rate_bps=10M path_discipline=red path_red_max_bytes=50000
path_rtt_ms=40 path_rate_bps=10M path_discipline=codel path_codel_target_ms=99
path_rtt_ms=40 path_rate_bps=10M path_discipline=codel path_queue=100p path_implementation=netem
path_rtt_ms=40 path_rate_bps=10M path_discipline=red path_implementation=netem
"""


@pytest.mark.parametrize("given", ACCEPTED.strip().splitlines())
def test_what_can_be_is_accepted(given: str) -> None:
    assert cell(given).items() >= levels(given).items()


def test_a_path_joins_one_adapter_of_each_host_of_the_model() -> None:
    hosts = "hosts=linux-6.18+nic adapters=2"
    assert cell(f"{hosts} path_rtt_ms=none", "model")["adapters"] == 2
    check_refused(f"{hosts} path_rtt_ms=40 | adapters | a path joins one adapter of each host, not 2", "model")


PROFILE = """
about = "A path."
seed = 1
[fixed]
duration_s = 1.0
path_rtt_ms = 40
[[sweep]]
name = "path"
[sweep.factors]
connections = [1, 2]
"""


@pytest.mark.parametrize(("target", "place"), [("host7", "the path to host7"), ("loopback", "loopback")])
def test_a_real_path_is_not_emulated(target: str, place: str) -> None:
    with pytest.raises(ProfileError, match=f"path_rtt_ms: {place} cannot be emulated; .*--testbed veth"):
        build(parse(PROFILE, name="path", where="path.toml"), target=target)
    assert len(build(parse(PROFILE, name="path", where="path.toml")).cells) == 2


def test_no_factor_of_the_path_changes_the_name_of_an_older_plan() -> None:
    assert all(factor.later and factor.testbed for factor in PATH_FACTORS)
    assert set(PATH_FACTORS) <= set(FACTORS)
