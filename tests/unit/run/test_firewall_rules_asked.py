"""The factor `firewall_rules` before a run: who has it, what is planned, and what a host refuses."""

import shutil
from types import SimpleNamespace
from typing import Any

import pytest

from tests.e2e.experiments import plan_of, profile_text
from whyperf.disturb import network
from whyperf.disturb.action import DisturbError
from whyperf.plan import MODEL, build
from whyperf.profile import ProfileError, parse
from whyperf.run import Kind, RunError
from whyperf.run.firewall import RULE, firewall, refuse_missing_firewall, rules_of

FAR_AGENT: Any = SimpleNamespace(pid=7)


def written(**levels: Any) -> Any:
    return parse(profile_text(**levels), name="test", where="test.toml")


def test_each_level_is_a_cell_with_so_many_rules() -> None:
    plan = plan_of(firewall_rules=[0, 10, 10_000])
    found = [rules_of(cell.factors) for cell in plan.cells]
    assert found[0] is None
    assert [(rules.repeat, rules.host, rules.hook, rules.rules) for rules in found if rules is not None] == [
        (10, "far", "input", (RULE,)),
        (10_000, "far", "input", (RULE,)),
    ]


def test_a_plan_without_rules_is_the_plan_that_it_was_before_the_factor() -> None:
    assert plan_of().id == plan_of(firewall_rules=0).id != plan_of(firewall_rules=1).id


@pytest.mark.parametrize("level", [-1, 10_001, 1.5, True, "many"])
def test_other_levels_are_refused(level: Any) -> None:
    with pytest.raises(ProfileError, match=r"firewall_rules: invalid value .*; give a whole number from 0 to 10000"):
        written(firewall_rules=level)


def test_the_loopback_and_another_host_have_no_such_setting() -> None:
    with pytest.raises(ProfileError, match="loopback cannot vary it; measure on the embedded testbed"):
        plan_of(kind=Kind.LOOPBACK, firewall_rules=[0, 10])
    with pytest.raises(ProfileError, match="the path to host7 has no such setting"):
        build(written(), target="host7", overrides={"firewall_rules": 10})


def test_the_model_has_none() -> None:
    with pytest.raises(ProfileError, match=r"the model has no firewall_rules = 10; .* set firewall_rules=0"):
        build(written(firewall_rules=10, hosts="sparc2+sba-100@2.2.6"), target=MODEL)
    plan = build(written(firewall_rules=0, hosts="sparc2+sba-100@2.2.6"), target=MODEL)
    assert "firewall_rules" not in plan.cells[0].factors


def test_nothing_is_asked_of_a_host_for_a_plan_without_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> str:
        raise AssertionError("nobody asked for rules")

    monkeypatch.setattr(network, "run", fails)
    monkeypatch.setattr(shutil, "which", fails)
    cells = plan_of().cells
    refuse_missing_firewall(cells, FAR_AGENT)
    with firewall(cells[0].factors, FAR_AGENT):
        pass


def test_the_rules_are_undone_after_a_trial_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    class Keeping:
        def __init__(self, *_: object) -> None:
            done.append("set")

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            done.append("undone")

    monkeypatch.setattr("whyperf.run.firewall.Keeper", Keeping)
    (cell,) = plan_of(firewall_rules=10).cells
    with pytest.raises(RunError, match="the trial failed"), firewall(cell.factors, FAR_AGENT):
        raise RunError("the trial failed")
    assert done == ["set", "undone"]


def test_a_host_without_nft_is_reported_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    sentence = (
        "firewall_rules 100 cannot be set on this host: the program nft is missing; install the package nftables; or "
        "set firewall_rules to 0"
    )
    with pytest.raises(RunError, match=f"^{sentence}$"):
        refuse_missing_firewall(plan_of(firewall_rules=[100, 0, 10]).cells, FAR_AGENT)


def test_a_kernel_without_nf_tables_is_reported_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], str]] = []

    def refuses(argv: list[str], text: str = "") -> str:
        asked.append((argv, text))
        raise DisturbError("nft --check -f -: Operation not supported")

    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(network, "run", refuses)
    with pytest.raises(
        RunError, match=r"firewall_rules 3 cannot be set on this host: nft --check .* not supported; or"
    ):
        refuse_missing_firewall(plan_of(firewall_rules=[3, 1]).cells, FAR_AGENT)
    ((argv, text),) = asked
    assert argv == ["nsenter", "-t", "7", "-n", "--", "nft", "--check", "-f", "-"]
    assert text.count(RULE) == 3
