"""Where one of the hosts does not let its user choose the usual congestion control, and nobody asked for it."""

from typing import Any

import pytest

from whyperf.cli.inputs import unavailable
from whyperf.plan import Plan, build
from whyperf.profile import Factors, Profile, find

#: This host allows cubic, the far one does not.
HOSTS: dict[str | None, dict[str, Any]] = {
    None: {"congestion_controls": ["reno", "cubic"], "sysctls": {unavailable.OWN: "cubic"}},
    "far": {"congestion_controls": ["reno", "bbr"], "sysctls": {unavailable.OWN: "bbr"}},
}
REFUSED = [{"kind": "congestion_control", "name": "cubic", "registered_as": None, "state": "refused", "reason": "no"}]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The hosts that are asked."""
    found: list[str | None] = []

    def describe(host: str | None, **_: object) -> dict[str, Any]:
        found.append(host)
        return HOSTS[host]

    monkeypatch.setattr(unavailable, "describe_host", describe)
    monkeypatch.setattr(unavailable, "list_offers", lambda *_: REFUSED)
    return found


def plan(overrides: Factors, *, asks_others: bool = True) -> Plan:
    def planned(profile: Profile) -> Plan:
        return build(profile, target="far", overrides=overrides)

    return unavailable.with_allowed_controls(find("quick"), overrides, [None, "far"], planned, asks_others=asks_others)


def test_each_host_has_its_own_and_a_line_says_so(asked: list[str | None], capsys: pytest.CaptureFixture[str]) -> None:
    (cell,) = plan({}).cells
    assert cell.factors["congestion_control"] == "default"
    assert asked == [None, "far"]
    assert capsys.readouterr().err == (
        "Congestion control is each host's own (cubic on this host, bbr on far), because far does not allow cubic: no\n"
    )


def test_what_was_asked_for_stays_and_nobody_is_asked(asked: list[str | None]) -> None:
    (cell,) = plan({"congestion_control": "cubic"}).cells
    assert cell.factors["congestion_control"] == "cubic"
    assert asked == []


@pytest.mark.parametrize("transport", ["unix", "udt"])
def test_where_nothing_has_a_congestion_control_nobody_is_asked(asked: list[str | None], transport: str) -> None:
    assert "congestion_control" not in plan({"transport": transport}).cells[0].factors
    assert asked == []


def test_a_dry_run_asks_no_other_host(asked: list[str | None]) -> None:
    assert plan({}, asks_others=False).cells[0].factors["congestion_control"] == "cubic"
    assert asked == [None]
