"""`--scale`: all times of a schedule, and none of anything else."""

import pytest

from whyperf.cli.exits import UsageError
from whyperf.cli.inputs.scheduled import scaled
from whyperf.plan import build
from whyperf.profile import Overrides, ProfileError, find, parse


def lengths(name: str, scale: str | None, given: Overrides | None = None) -> dict[str, set[float]]:
    """The lengths of the cells' schedules, by sweep."""
    plan = build(scaled(find(name), scale, given or {}), target="testbed")
    found: dict[str, set[float]] = {}
    for cell in plan.cells:
        assert cell.schedule is not None
        found.setdefault(cell.sweep, set()).add(max(flow.stop_ns for flow in cell.schedule) / 1e9)
    return found


def test_a_scale_multiplies_the_times_of_every_sweep() -> None:
    assert lengths("wan-transports", "0.05") == {"tcp": {48.0}, "udp": {48.0}}
    assert lengths("wan-transports", None) == {"tcp": {960.0}, "udp": {960.0}}
    # A scale of a sweep's own is kept in proportion.
    own, twice = lengths("control-fairness", None), lengths("control-fairness", "2")
    assert own == {"near": {4.8}, "middle": {19.2}, "far": {38.4}}
    assert twice == {sweep: {2 * length for length in found} for sweep, found in own.items()}


@pytest.mark.parametrize("text", ["0", "nan", "fast", "1e9"])
def test_what_is_no_scale_is_refused(text: str) -> None:
    with pytest.raises(ProfileError, match=r"--scale: .*|--scale"):
        scaled(find("wan-transports"), text, {})


@pytest.mark.parametrize(
    ("name", "scale", "given", "said"),
    [
        ("quick", "0.5", {}, "quick has none; use --time"),
        ("wan-transports", "0.5,1", {}, "give one number; several scales are --set schedule_scale=0.5,1"),
        ("wan-transports", "0.5", {"schedule_scale": 0.1}, "--scale and --set schedule_scale both"),
        ("wan-transports", "0.5", {"duration_s": 10.0}, "--scale and --time both"),
    ],
)
def test_a_scale_that_says_nothing_or_too_much_is_refused(name: str, scale: str, given: Overrides, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        scaled(find(name), scale, given)


def test_levels_of_a_scale_are_multiplied_and_unscheduled_sweeps_stay() -> None:
    text = """
about = "x"
[fixed]
path_rtt_ms = 10
[[sweep]]
name = "one"
[sweep.fixed]
schedule = "mixed"
[sweep.factors]
schedule_scale = [0.1, 0.2]
[[sweep]]
name = "two"
[sweep.fixed]
duration_s = 1
"""
    profile = scaled(parse(text, name="mine", where="mine.toml"), "0.5", {})
    assert profile.sweeps[0].levels["schedule_scale"] == (0.05, 0.1)
    assert "schedule_scale" not in profile.sweeps[1].fixed
