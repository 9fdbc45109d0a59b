"""Results of a fleet by pair, host and group, from records with known rates."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.fleet.fleet_records import PairOfHosts, write_fleet
from whyperf.analyze import summarize
from whyperf.analyze.fleet.result import Fleet
from whyperf.record import Experiment

TRIAL = made.Trial(duration_s=1.0, warmup_s=0.2)


def fleet_of(folder: Path) -> Fleet:
    (cell,) = summarize(Experiment.open(folder)).cells
    assert cell.fleet is not None
    return cell.fleet


def fan_in(names: list[str], **changes: PairOfHosts) -> list[PairOfHosts]:
    return [changes.get(name, PairOfHosts(name, "srv", trial=TRIAL)) for name in names]


def test_pairs_and_hosts_have_their_rates(tmp_path: Path) -> None:
    rates = [[1e9, 2e9], [1.2e9, 2.2e9], [1.1e9, 2.1e9]]
    found = fleet_of(write_fleet(tmp_path / "r", "fan-in", fan_in(["a", "b"]), rates=rates))
    assert [pair.goodput_bps.median for pair in found.pairs] == pytest.approx([1.1e9, 2.1e9], rel=1e-3)
    assert [(pair.pair, pair.sender, pair.receiver, pair.trials) for pair in found.pairs] == [
        (1, "a", "srv", 3),
        (2, "b", "srv", 3),
    ]
    by_name = {host.host: host for host in found.hosts}
    assert by_name["srv"].received_bps.median == pytest.approx(3.2e9, rel=1e-3)
    assert by_name["srv"].sent_bps.median == 0
    assert by_name["b"].sent_bps.median == pytest.approx(2.1e9, rel=1e-3)
    assert by_name["srv"].pairs == [1, 2]
    # Jain's index of 1.1 and 2.1, the median of three.
    assert found.fairness == pytest.approx(3.2**2 / (2 * (1.1**2 + 2.1**2)), rel=1e-3)
    assert not found.compared


def test_the_direction_decides_who_sends(tmp_path: Path) -> None:
    trial = replace(TRIAL, direction="receive")
    pairs = [PairOfHosts(name, "srv", trial=trial) for name in ("a", "b")]
    found = fleet_of(write_fleet(tmp_path / "r", "fan-in", pairs, rates=[[1e9, 2e9]]))
    assert [(pair.sender, pair.receiver) for pair in found.pairs] == [("srv", "a"), ("srv", "b")]
    assert {host.host: host.sent_bps.median for host in found.hosts}["srv"] == pytest.approx(3e9, rel=1e-3)


def test_groups_are_sums_of_their_hosts(tmp_path: Path) -> None:
    groups = {"left": ("a", "b"), "right": ("c", "d"), "servers": ("srv",)}
    rates = [[1e9, 2e9, 3e9, 3e9]]
    found = fleet_of(write_fleet(tmp_path / "r", "fan-in", fan_in(list("abcd")), rates=rates, groups=groups))
    left, right, servers = found.groups
    assert (left.group, left.hosts) == ("left", 2)
    assert left.sent_bps.median == pytest.approx(3e9, rel=1e-3)
    assert left.fairness == pytest.approx(0.9, rel=1e-3)
    assert right.fairness == pytest.approx(1.0)
    assert servers.received_bps.median == pytest.approx(9e9, rel=1e-3)
    assert servers.fairness is None


def test_the_slow_sender_of_a_fan_in_is_named_with_what_differs(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(1, 9)]
    slow = PairOfHosts("n3", "srv", trial=TRIAL, mtu_bytes=576, near_facts={"kernel": "5.10.0"})
    rates = [[(0.5 if name == "n3" else 1.0) * (1e9 + 1e7 * at) for at, name in enumerate(names)]]
    found = fleet_of(write_fleet(tmp_path / "r", "fan-in", fan_in(names, n3=slow), rates=rates))
    assert found.compared
    (host,) = found.slow
    assert (host.host, host.role, host.pairs) == ("n3", "sender", [3])
    assert host.ratio == pytest.approx(0.5, rel=0.05)
    assert host.p_value < 0.05
    assert [(row.code, row.host, row.others, row.of) for row in host.differences] == [
        ("mtu", "576 bytes", "1,500 bytes", 7),
        ("kernel", "5.10.0", "6.18.0", 7),
    ]


def test_settings_of_the_kernel_and_limits_of_the_host_are_differences(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(1, 6)]
    none = [("TcpExtTCPTimeouts", "", "", 5, 5), ("qdisc_rate", "eth0", "fq", None, None)]
    usual = {name: PairOfHosts(name, "srv", trial=TRIAL, counters=none) for name in names}
    shaped = [("qdisc_rate", "eth0", "tbf", 10**8, 10**8), ("TcpExtTCPTimeouts", "", "", 2, 30)]
    sysctls = {"net.ipv4.tcp_rmem": "4096 131072 262144"}
    own = PairOfHosts("n2", "srv", trial=TRIAL, counters=shaped, near_facts={"sysctls": sysctls})
    rates = [[1e8 if name == "n2" else 1e9 for name in names]]
    folder = write_fleet(tmp_path / "r", "fan-in", [*(usual | {"n2": own}).values()], rates=rates)
    found = fleet_of(folder)
    (host,) = found.slow
    assert [(row.code, row.host, row.detail) for row in host.differences] == [
        ("qdisc_rate", "100 Mbit/s", "tbf on eth0"),
        ("sysctl", "4096 131072 262144", "net.ipv4.tcp_rmem"),
        ("timeouts", "28.0", ""),
    ]
    assert [pair.timeouts for pair in found.pairs] == [0, 28, 0, 0, 0]


def test_a_program_next_to_the_load_and_losses_of_one_sender_are_differences(tmp_path: Path) -> None:
    busy = {"note": "busy_process", "name": "stress", "pid": 7, "cpu_ns": 950_000_000, "wall_ns": 1_000_000_000}
    names = [f"n{number}" for number in range(1, 6)]
    own = PairOfHosts("n4", "srv", trial=replace(TRIAL, notes=(busy,), retransmitted=4000))
    rates = [[4e8 if name == "n4" else 1e9 for name in names]]
    found = fleet_of(write_fleet(tmp_path / "r", "fan-in", fan_in(names, n4=own), rates=rates))
    rows = {row.code: row for row in found.slow[0].differences}
    assert rows.keys() == {"other_programs", "retransmitted_ratio"}
    assert (rows["other_programs"].host, rows["other_programs"].detail) == ("95 %", "stress")
    assert found.pairs[3].retransmitted_ratio is not None
    assert found.pairs[3].retransmitted_ratio > 0.01
    assert found.pairs[0].retransmitted_ratio == 0


def mesh(names: str, trial: made.Trial = TRIAL) -> list[PairOfHosts]:
    return [PairOfHosts(near, far, trial=trial) for near in names for far in names if near != far]


def test_a_mesh_separates_slow_senders_from_slow_receivers(tmp_path: Path) -> None:
    pairs = mesh("abcdef", replace(TRIAL, duration_s=0.4, interval_ms=200))
    rates = [[1e9 * (0.5 if pair.near == "b" else 1.0) * (0.6 if pair.far == "e" else 1.0) for pair in pairs]]
    found = fleet_of(write_fleet(tmp_path / "r", "mesh", pairs, rates=rates))
    assert [(host.host, host.role) for host in found.slow] == [("b", "sender"), ("e", "receiver")]
    assert [host.ratio for host in found.slow] == pytest.approx([0.5, 0.6], rel=0.01)
    # The pair of both is the slowest of each.
    both = next(at for at, pair in enumerate(pairs, start=1) if (pair.near, pair.far) == ("b", "e"))
    assert [host.pairs[0] for host in found.slow] == [both, both]


def test_of_two_hosts_the_one_that_differs_is_named(tmp_path: Path) -> None:
    names = [(f"a{number}", f"b{number}") for number in range(1, 7)]
    own = {"sysctls": {"net.ipv4.tcp_rmem": "4096 131072 65536"}}
    pairs = [PairOfHosts(near, far, trial=TRIAL, far_facts=own if far == "b2" else {}) for near, far in names]
    rates = [[3e8 if far == "b2" else 1e9 for _, far in names]]
    (host,) = fleet_of(write_fleet(tmp_path / "known", "pairs", pairs, rates=rates)).slow
    assert (host.host, host.role, host.pairs) == ("b2", "pair", [2])
    alike = [PairOfHosts(near, far, trial=TRIAL) for near, far in names]
    (host,) = fleet_of(write_fleet(tmp_path / "open", "pairs", alike, rates=rates)).slow
    assert (host.host, host.role, host.differences) == (None, "pair", [])


def test_gaps_are_where_nothing_arrives_from_a_sender(tmp_path: Path) -> None:
    silent = replace(TRIAL, duration_s=2.0, course=lambda at: 1e-9 if 1.0 <= at < 1.4 else 1.0)
    pairs = [PairOfHosts("a", "srv", trial=silent), PairOfHosts("b", "srv", trial=replace(TRIAL, duration_s=2.0))]
    first, second = fleet_of(write_fleet(tmp_path / "r", "fan-in", pairs)).pairs
    assert first.idle_ns_max == 400_000_000
    assert first.idle_ratio == pytest.approx(0.2)
    assert (second.idle_ns_max, second.idle_ratio) == (0, 0)


def test_a_lost_pair_hides_no_other(tmp_path: Path) -> None:
    folder = write_fleet(tmp_path / "r", "fan-in", fan_in(["a", "b", "c"]), rates=[[1e9, 2e9, 3e9]])
    for path in (folder / "trials").glob("*/*[rn]2.parquet"):
        path.unlink()
    for path in (folder / "trials").glob("*/*.near2.parquet"):
        path.unlink()
    found = fleet_of(folder)
    assert [pair.trials for pair in found.pairs] == [1, 0, 1]
    assert found.pairs[2].goodput_bps.median == pytest.approx(3e9, rel=1e-3)
