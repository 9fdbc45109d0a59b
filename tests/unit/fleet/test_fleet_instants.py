"""When hosts began: instants of several clocks on that of the controller."""

from typing import Any

from whyperf.analyze.fleet.sides import MIN_LATE_NS, instants_of
from whyperf.plan import HostPair
from whyperf.record import Manifest

START_NS = 1_000_000_000
MS = 1_000_000
PAIRS = tuple(HostPair(f"n{number}", "srv") for number in range(1, 5))
#: Clock of each near side minus the controller's, and the bound of its error.
OFFSETS = {"near": (0, 100), "near2": (5_000 * MS, 3_000), "near3": (-700 * MS, 200), "near4": (1, 50)}


def trial() -> Manifest:
    """A complete trial of four pairs."""
    hosts: dict[str, Any] = {}
    for name, (offset_ns, uncertainty_ns) in OFFSETS.items():
        clock = {"offset_ns": offset_ns, "uncertainty_ns": uncertainty_ns}
        hosts[name] = {"role": "sender", "outcome": {"ended": "complete"}, "clock": clock}
        hosts[name.replace("near", "far")] = {**hosts[name], "role": "receiver"}
    return Manifest.model_validate(
        {
            "trial": "001-c0001",
            "cell": "c0001",
            "block": 1,
            "status": "complete",
            "testbed": "network",
            "started_realtime": "2026-01-01T00:00:00+00:00",
            "factors": {},
            "hosts": hosts,
            "start_mono_ns": START_NS,
        }
    )


def on_own_clock(name: str, after_start_ns: int) -> int:
    return START_NS + after_start_ns + OFFSETS[name][0]


def test_skew_is_that_of_the_controllers_clock_and_its_bound_has_the_two_worst_errors() -> None:
    calls = {name: on_own_clock(name, late) for name, late in {"near": 10, "near2": 40_010, "near3": 20}.items()}
    skew = instants_of(trial(), calls, {}, PAIRS)["skew"]
    assert skew == {"first_call_ns": {"near": 10, "near2": 40_010, "near3": 20}, "bound_ns": 3_200}


def test_the_window_is_what_all_ends_have_in_common() -> None:
    phases = {
        "near": (on_own_clock("near", 100), on_own_clock("near", 900)),
        "near2": (on_own_clock("near2", 300), on_own_clock("near2", 1000)),
        "near3": (on_own_clock("near3", 200), on_own_clock("near3", 800)),
    }
    window = instants_of(trial(), {}, phases, PAIRS)["window"]
    assert window == {"start_ns": START_NS + 300, "stop_ns": START_NS + 800}


def test_who_begins_much_later_than_the_median_is_a_straggler() -> None:
    late = {"near": 0, "near2": 1000, "near3": 500, "near4": MIN_LATE_NS + 100 * MS}
    calls = {name: on_own_clock(name, after) for name, after in late.items()}
    (straggler,) = instants_of(trial(), calls, {}, PAIRS)["stragglers"]
    assert (straggler["host"], straggler["pair"]) == ("n4", 4)
    assert straggler["late_ns"] == MIN_LATE_NS + 100 * MS - 750
