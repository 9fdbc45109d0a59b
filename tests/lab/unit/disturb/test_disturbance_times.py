"""What a keeper does when, and which disturbances are refused."""

import pytest
from pydantic import TypeAdapter, ValidationError

from lab.disturb.disturbances import Disturbance
from lab.disturb.keeper import Schedule
from whyperf.disturb.action import Item


class Noted:
    """An action that notes when it is started and stopped."""

    def __init__(self) -> None:
        self.now = 0.0
        self.trace: list[tuple[float, str]] = []

    def start(self) -> None:
        self.trace.append((self.now, "start"))

    def stop(self) -> None:
        self.trace.append((self.now, "stop"))


def traced(item: Item, until_s: float) -> list[tuple[float, str]]:
    """What happens to an action that is scheduled at 0."""
    action, schedule = Noted(), Schedule()
    schedule.add_action(action, item, item["after_s"])
    while (wait_s := schedule.wait_s(action.now)) is not None and action.now + wait_s <= until_s:
        action.now = round(action.now + wait_s, 6)
        schedule.do_due(action.now)
    return action.trace


def test_once_and_for_a_time() -> None:
    item = {"after_s": 1.0, "for_s": 0.5, "every_s": None}
    assert traced(item, 10) == [(1.0, "start"), (1.5, "stop")]


def test_from_a_time_on() -> None:
    assert traced({"after_s": 1.0, "for_s": None, "every_s": None}, 10) == [(1.0, "start")]


def test_again_and_again() -> None:
    item = {"after_s": 0.5, "for_s": 0.25, "every_s": 1.0}
    assert traced(item, 2.6) == [(0.5, "start"), (0.75, "stop"), (1.5, "start"), (1.75, "stop"), (2.5, "start")]


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"kind": "burn", "programs": 0}, "greater than or equal to 1"),
        ({"kind": "burn", "programs": 1, "every_s": 1}, "every_s needs a for_s"),
        ({"kind": "burn", "programs": 1, "every_s": 1, "for_s": 1}, "every_s needs a for_s that is shorter"),
        ({"kind": "pause", "after_s": 1}, "a pause needs for_s"),
        ({"kind": "pause", "after_s": 1, "for_s": 3}, "at most 2.0 s"),
        ({"kind": "pause", "for_s": 1}, "give after_s"),
        ({"kind": "traffic", "protocol": "udp"}, "needs rate_bps"),
        ({"kind": "cpu_quota", "cpus": 0}, "greater than 0"),
        ({"kind": "flood"}, "does not match any of the expected tags"),
    ],
)
def test_a_disturbance_that_makes_no_sense_is_refused(item: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        TypeAdapter(Disturbance).validate_python({"host": "near", **item})
