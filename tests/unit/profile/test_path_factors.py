"""When a cell has an emulated path, what its settings mean, and what is refused."""

import re

import pytest

from whyperf.plan import build
from whyperf.profile import FACTORS, Factors, Level, ProfileError, factor_named, parse, resolve
from whyperf.profile.path import has_path, queue_bytes
from whyperf.profile.path_factors import PATH_FACTORS


def cell(**given: Level) -> Factors:
    return resolve(given, testbed=True)


def refusal(**given: Level) -> str:
    with pytest.raises(ProfileError) as refused:
        cell(**given)
    return str(refused.value)


def test_a_cell_without_a_path_has_none_of_its_factors() -> None:
    assert not [name for name in cell() if name.startswith("path_")]
    assert not has_path(cell())


@pytest.mark.parametrize(
    "maker", [{"path_rtt_ms": 0}, {"path_rate_bps": 10**7, "path_queue": "100p"}, {"path_loss": 0}]
)
def test_what_says_a_path_makes_one_even_if_it_does_nothing(maker: dict[str, Level]) -> None:
    assert has_path(cell(**maker))


def test_a_path_joins_one_adapter_of_each_host_of_the_model() -> None:
    hosts: dict[str, Level] = {"hosts": "linux-6.18+nic", "path_rtt_ms": 40}
    assert has_path(resolve({**hosts, "adapters": 1}, testbed=False, model=True))
    resolve({**hosts, "path_rtt_ms": "none", "adapters": 2}, testbed=False, model=True)
    with pytest.raises(ProfileError) as refused:
        resolve({**hosts, "adapters": 2}, testbed=False, model=True)
    assert "a path joins one adapter of each host, not 2" in str(refused.value)


def test_none_is_no_path_with_others_that_are() -> None:
    assert cell(path_rtt_ms="none")["path_rtt_ms"] == "none"
    assert not has_path(cell(path_rtt_ms="none"))


def test_settings_stand_in_the_cells_in_which_they_mean_something() -> None:
    plain = cell(path_rtt_ms=40, path_rate_bps=50_000_000)
    assert "path_queue" in plain
    assert "path_codel_target_ms" not in plain
    assert "path_cross_period_ms" not in plain
    assert "path_codel_target_ms" in cell(path_rtt_ms=40, path_rate_bps=50_000_000, path_discipline="codel")
    unlimited = cell(path_rtt_ms=40)
    assert "path_queue" not in unlimited
    assert "path_jitter_us" in unlimited


@pytest.mark.parametrize(
    ("text", "level"),
    [("bdp", "bdp"), ("0.5bdp", "0.5bdp"), ("165p", "165p"), ("250000", 250_000), ("256K", 262_144)],
)
def test_a_queue_is_bytes_packets_or_products(text: str, level: Level) -> None:
    assert factor_named("path_queue").parse(text) == level


@pytest.mark.parametrize("text", ["0", "0p", "0bdp", "-1", "p", "1.5p", "bpd", "true"])
def test_what_is_no_queue_is_refused(text: str) -> None:
    with pytest.raises(ProfileError, match="165p"):
        factor_named("path_queue").parse(text)


def test_a_queue_in_each_form_has_its_bytes() -> None:
    base: Factors = {"path_rtt_ms": 40, "path_rate_bps": 50_000_000}
    held = [queue_bytes(cell(**base, path_queue=level), 50_000_000) for level in ("bdp", "0.5bdp", "165p", 9000)]
    assert held == [250_000, 125_000, 165 * 1514, 9000]


@pytest.mark.parametrize("text", ["0.001", "1e-06", "bursts:0.01/0.25", "bursts:1e-3/0.25/1/0", "segments:1000+1003"])
def test_loss_has_three_forms(text: str) -> None:
    assert factor_named("path_loss").parse(text) == (text if ":" in text else float(text))


@pytest.mark.parametrize(
    "text", ["1.1", "-0.1", "nan", "bursts:0.1", "bursts:2/1", "segments:0", "segments:5+5", "segments:"]
)
def test_what_is_no_loss_is_refused(text: str) -> None:
    with pytest.raises(ProfileError, match="segments:1000"):
        factor_named("path_loss").parse(text)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"path_queue": "10p"}, "path_queue: the cell has no emulated path; give path_rtt_ms"),
        ({"path_rtt_ms": 40, "path_queue": "10p"}, "path_queue: without a rate .* give path_rate_bps"),
        (
            {"path_rtt_ms": 40, "path_rate_bps": 10**7, "path_ecn": True},
            "path_ecn: .* codel or red has it, not drop_tail",
        ),
        (
            {"path_rtt_ms": 40, "path_rate_bps": 10**7, "path_queue": 1513},
            "path_queue: 1513 .* holds no packet of 1514",
        ),
        (
            {"path_rtt_ms": 0, "path_rate_bps": 10**7},
            "path_queue: bdp, .* set path_rtt_ms, or a queue such as path_queue=100p",
        ),
        ({"path_rtt_ms": 10, "path_rate_bps": 10**11}, "path_rate_bps: .* more than the router carries"),
        ({"path_rtt_ms": 60_000, "path_rate_bps": 10**10}, "path_rate_bps: .* lower the rate, delay or queue"),
        ({"path_rtt_ms": 40, "path_delay_back_ms": 41}, "path_delay_back_ms: 41 ms back are more"),
        ({"path_rtt_ms": 1, "path_jitter_us": 501}, "path_jitter_us: .* raise the delay"),
        ({"path_loss": 0, "path_reorder": 0.1}, "path_reorder: .* give path_rtt_ms"),
        ({"path_loss": "bursts:0.1/0"}, "path_loss: .* never ends a burst"),
        ({"path_loss": "segments:9", "path_implementation": "netem"}, "path_loss: netem cannot .*router"),
        ({"path_rtt_ms": 4, "path_ack_thinning": 2, "path_implementation": "netem"}, "path_ack_thinning: netem"),
        ({"path_rtt_ms": 4, "path_implementation": "netem", "gso": True}, "gso: netem counts .* set it to false"),
        (
            {"path_rtt_ms": 4, "path_rate_bps": 10**7 + 1, "path_implementation": "netem"},
            "path_rate_bps: netem has rates in bytes .* multiple of 8",
        ),
        (
            {"path_rtt_ms": 40, "path_rate_bps": 10**7, "path_discipline": "codel", "path_implementation": "netem"},
            "path_queue: the kernel's CoDel counts packets; give packets such as 1000p, or .*router",
        ),
        (
            {
                "path_rtt_ms": 40,
                "path_rate_bps": 10**7,
                "path_discipline": "red",
                "path_queue": "100p",
                "path_implementation": "netem",
            },
            "path_queue: the kernel's RED counts bytes; give bytes or bdp, or .*router",
        ),
        ({"path_rtt_ms": 40, "transport": "unix"}, "path_rtt_ms: unix sockets .* choose another transport"),
        ({"path_loss": "segments:9", "workload": "udp-stream", "transport": "udp"}, "path_loss: segments are TCP's"),
        (
            {"path_rtt_ms": 40, "path_rate_bps": 10**7, "path_cross_rate_bps": 10, "path_cross_amplitude_bps": 11},
            "path_cross_amplitude_bps: 11 bit/s are more",
        ),
        (
            {"path_rtt_ms": 40, "path_rate_bps": 10**7, "path_discipline": "red", "path_red_max_bytes": 50_001},
            "path_red_max_bytes: thresholds of 8333 and 50001 bytes in a queue of 50000",
        ),
        (
            {"path_rtt_ms": 40, "path_rate_bps": 10**7, "path_discipline": "codel", "path_codel_target_ms": 100},
            "path_codel_target_ms: 100 ms are not below",
        ),
    ],
)
def test_what_cannot_be_names_the_thing_and_remedy(given: dict[str, Level], says: str) -> None:
    assert re.match(says, refusal(**given))


@pytest.mark.parametrize("given", [{}, {"gro": True}])
def test_netem_takes_super_segments_off_unless_requested(given: dict[str, Level]) -> None:
    cell = resolve({"path_rtt_ms": 4, "path_implementation": "netem", **given}, testbed=True)
    assert [cell[name] for name in ("tso", "gso", "gro")] == [False, False, bool(given)]
    assert resolve({"path_rtt_ms": 4}, testbed=True)["tso"] is True


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
