"""The rules of a keeper are counted after they were set."""

import pytest

from whyperf.disturb import network
from whyperf.disturb.action import DisturbError
from whyperf.disturb.network import FirewallRules

LISTED = """table inet whyperf_disturb_1_1 {{ # handle 2
\tchain c {{ # handle 1
\t\ttype filter hook input priority filter; policy accept;
{rules}\t}}
}}
"""
RULES = (
    "\t\tth dport 0 counter packets 0 bytes 0 # handle {}\n",
    "\t\ttcp dport {{ 1, 2 }} counter packets 0 bytes 0 # handle {}\n",
)
ITEM = {"kind": "firewall", "host": "far", "hook": "input", "rules": ("th dport 0 counter", "tcp dport {1, 2} counter")}


def set_and_found(monkeypatch: pytest.MonkeyPatch, found: int) -> tuple[FirewallRules, list[str]]:
    """Rules to be set three times, where the kernel then has so many, and the commands of nft."""
    commands: list[str] = []

    def run(argv: list[str], text: str = "") -> str:
        assert argv[:6] == ["nsenter", "-t", "7", "-n", "--", "nft"]
        commands.append(" ".join(argv[6:-1]))
        assert (text.count("th dport 0"), text.count("tcp dport")) == ((3, 3) if text else (0, 0))
        return LISTED.format(rules="".join(RULES[place % 2].format(place + 2) for place in range(found)))

    monkeypatch.setattr(network, "run", run)
    return FirewallRules({**ITEM, "repeat": 3}, {"far": {"process": 7}}), commands


def test_as_many_rules_as_asked_for_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, commands = set_and_found(monkeypatch, 6)
    rules.start()
    rules.stop()
    rules.stop()
    assert commands == ["-f", "-a list table inet", "delete table inet"]


@pytest.mark.parametrize("found", [5, 7, 0])
def test_another_number_is_an_error_and_is_removed(monkeypatch: pytest.MonkeyPatch, found: int) -> None:
    rules, commands = set_and_found(monkeypatch, found)
    with pytest.raises(DisturbError, match=f"nft -f set 6 rules, and the kernel has {found}$"):
        rules.start()
    rules.stop()
    assert commands[-1] == "delete table inet"
