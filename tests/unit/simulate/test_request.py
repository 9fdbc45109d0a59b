"""From a plan to what the model is asked, and what it is never asked."""

from pathlib import Path

import pytest

from whyperf.plan import MODEL, Plan, build
from whyperf.profile import Level, ProfileError, find, parse
from whyperf.simulate.request import line, user_profiles
from whyperf.simulate.run import refuse_unknown
from whyperf.wire import Simulation

HOSTS = "sparc10+sba-200,sparc2+sba-100@2.2.6"


def planned(profile: str, **overrides: Level) -> Plan:
    return build(find(profile), target=MODEL, trials=1, overrides={"hosts": HOSTS, **overrides})


def lines(plan: Plan) -> list[Simulation]:
    return [line(plan, trial, plan.cell(trial.cell), {}) for trial in plan.trials()]


def test_the_writer_is_the_first_host_whichever_end_it_is() -> None:
    sent = lines(planned("read-size"))[0]
    received = lines(planned("read-size", direction="receive"))[0]
    names = [[end["host"] for end in request["hosts"]] for request in (sent, received)]
    assert names == [HOSTS.split(","), HOSTS.split(",")[::-1]]
    assert (sent["near_role"], received["near_role"]) == ("sender", "receiver")


def test_every_trial_has_a_seed_of_its_own_that_the_plan_decides() -> None:
    plan = build(find("read-size"), target=MODEL, trials=2, overrides={"hosts": HOSTS})
    seeds = [line["seed"] for line in lines(plan)]
    assert len(set(seeds)) == len(seeds)
    assert seeds == [line["seed"] for line in lines(plan)]


def test_the_mtu_is_asked_for_only_where_the_profile_states_it() -> None:
    stated, silent = (lines(planned(name))[0] for name in ("read-size", "rr-ack"))
    assert stated["mtu_bytes"] == 9188
    assert "mtu_bytes" not in silent


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ("zero_copy = true", "zero_copy = true"),
        ('path_rtt_ms = 10\npath_implementation = "netem"', "path_implementation"),
        ('transport = "udp"\nworkload = "udp-stream"', "udp"),
        ('near_cpus = "0"', "near_cpus"),
    ],
)
def test_a_factor_that_the_model_does_not_know_is_named_with_the_remedy(table: str, named: str) -> None:
    profile = parse(
        f'about = "x"\n[fixed]\nhosts = "{HOSTS}"\n{table}\n[[sweep]]\nname = "one"\n[sweep.fixed]\nduration_s = 1\n',
        name="mine",
        where="mine.toml",
    )
    with pytest.raises(ProfileError) as caught:
        build(profile, target=MODEL)
    assert named in str(caught.value)
    assert "leave it out" in str(caught.value)


def test_a_profile_whose_workload_is_not_tcps_is_refused() -> None:
    """Its transport is a level that nobody stated."""
    with pytest.raises(ProfileError, match=r"transport: the model has TCP only, not udp"):
        refuse_unknown(planned("quick", workload="udp-stream"))


def test_the_congestion_control_is_asked_for() -> None:
    asked = lines(planned("read-size", congestion_control="reno"))[0]["socket"]
    assert isinstance(asked, dict)
    assert asked["congestion_control"] == "reno"


def test_a_host_profile_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ProfileError, match=r"mine\.toml is not UTF-8 text"):
        user_profiles(planned("read-size", hosts=str(path)))


def test_hosts_of_the_model_are_never_measured() -> None:
    with pytest.raises(ProfileError, match="whyperf model simulate"):
        build(find("first-study"), trials=1)


def test_the_pacing_rate_is_asked_for_in_bytes_a_second() -> None:
    asked = lines(planned("read-size", pacing_rate_bps=80_000_000))[0]["socket"]
    assert isinstance(asked, dict)
    assert asked["pacing_rate_bytes_per_second"] == 10_000_000
    assert "pacing_rate_bytes_per_second" not in lines(planned("read-size"))[0]["socket"]


def test_an_emulated_path_is_asked_for_in_the_way_of_the_payload() -> None:
    path: dict[str, Level] = {"path_rate_bps": 10_000_000, "path_rtt_ms": 40, "path_queue": 30_000, "path_loss": 0.01}
    sent = lines(planned("read-size", **path))[0]["path"]
    received = lines(planned("read-size", direction="receive", **path))[0]["path"]
    assert isinstance(sent, dict)
    assert isinstance(received, dict)
    assert (sent["forward"]["rate_bps"], sent["forward"]["delay_ns"]) == (10_000_000, 20_000_000)
    assert sent["forward"]["queue"]["limit"] == {"by": "bytes", "bytes": 30_000}
    assert (sent["forward"]["loss"]["by"], sent["backward"]["loss"]["by"]) == ("random", "none")
    assert received["backward"] == sent["forward"]
    assert "path" not in lines(planned("read-size"))[0]


def test_offloads_are_asked_for_where_the_profile_states_them() -> None:
    stated, silent = (lines(planned(name))[0] for name in ("packet-rate", "read-size"))
    assert (stated["has_segmentation"], stated["has_merging"]) == (False, False)
    assert not {"has_segmentation", "has_merging"} & set(silent)


def test_the_segments_that_solaris_copies_at_once_are_a_rule_of_both_hosts() -> None:
    asked = lines(build(find("copy-steps"), target=MODEL, trials=1))
    found = {tuple(host["set"]["maxpsz_multiplier"] for host in request["hosts"]) for request in asked}
    assert found == {(number, number) for number in (1, 2, 4, 8, 16, 44)}
    assert all("set" not in host for host in lines(planned("read-size"))[0]["hosts"])


def test_whether_small_writes_wait_is_asked_for_where_the_profile_states_it() -> None:
    assert lines(planned("packet-rate"))[0]["has_corking"] is False
    assert "has_corking" not in lines(planned("read-size"))[0]
