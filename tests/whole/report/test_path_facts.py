"""What a page says of who carried an emulated path."""

from typing import Any

from whyperf.report.properties import path_facts


def path(**audit: object) -> dict[str, Any]:
    counted = {
        "released_packets": 1000,
        "late_packets": 0,
        "lateness_ns_max": 5_000,
        "socket_dropped_frames": 0,
        "device_dropped_packets": 0,
        "refused_frames": 0,
        "cpu_ns": 1_000_000_000,
        "wall_ns": 10_000_000_000,
    }
    return {"asked": {}, "audit": counted | audit}


def test_the_audits_of_all_trials_are_put_together() -> None:
    middle = {"implementation": "router", "cpu": 1}
    trials = [path(late_packets=10), path(socket_dropped_frames=2, refused_frames=1, lateness_ns_max=2_000_000)]
    assert path_facts(middle, trials) == [
        ("Path emulated by", "router on CPU 1"),
        ("Trials with a path", "2"),
        ("Packets forwarded", "2,000"),
        ("Packets later than the limit", "10 packets (0.5 %)"),
        ("Latest", "2.00 ms"),
        ("Lost outside the model", "3 frames"),
        ("Time of one CPU", "10 %"),
    ]


def test_what_netem_does_not_show_is_said_once() -> None:
    unseen = "how late packets left: netem does not report it"
    trial = path(late_packets=None, lateness_ns_max=None, unaudited=[unseen])
    facts = path_facts({"implementation": "netem", "cpu": None}, [trial, trial])
    assert ("Not audited", unseen) in facts
    assert not {"Latest", "Later than the budget"} & {name for name, _ in facts}
    assert facts.count(("Not audited", unseen)) == 1


def test_without_a_path_nothing_is_said() -> None:
    assert path_facts(None, [{}]) == []
    assert path_facts({"implementation": "router", "cpu": None}, [{"asked": {}, "audit": None}]) == []
