"""The factor `firewall_rules`: so many rules of nftables at the far host, there while a trial of the cell runs."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from whyperf.disturb.action import DisturbError
from whyperf.disturb.network import FirewallRules
from whyperf.disturb.orders import Firewall, Orders, Place
from whyperf.plan import Cell
from whyperf.run.agents.agent import Agent
from whyperf.run.ends import FAR
from whyperf.run.errors import Fault, RunError
from whyperf.run.keeping import Keeper

RULE = "th dport 0 counter"
"""Compares the destination port of each packet, of TCP and of UDP, with one that no packet has: port 0 is reserved (RFC
6335 section 6). A rule that does not match has no verdict, so the next one is evaluated, too."""


def rules_of(factors: Mapping[str, Any]) -> Firewall | None:
    """The rules that a cell asks for; None for none."""
    count = int(factors.get("firewall_rules", 0))
    return Firewall(host="far", hook="input", rules=(RULE,), repeat=count) if count else None


@contextmanager
def firewall(factors: Mapping[str, Any], far: Agent) -> Iterator[None]:
    """Has the rules of a cell in the far agent's namespace meanwhile; does nothing where there are none.

    Raises:
        RunError: they cannot be set, or are not what was set when they are read back.
        KeeperLostError: they may be there still.
    """
    asked = rules_of(factors)
    if asked is None:
        yield
        return
    orders = Orders(disturbances=(asked,), places={FAR: Place(process=far.pid, cpus=())})
    with Keeper(orders, f"firewall_rules {asked.repeat} cannot be set"):
        yield


def refuse_missing_firewall(cells: Iterable[Cell], far: Agent) -> None:
    """Refuses rules where this host cannot have them in the far agent's namespace: the kernel is asked, and sets none.

    Raises:
        RunError: with the reason.
    """
    asked = [rules for cell in cells if (rules := rules_of(cell.factors)) is not None]
    if not asked:
        return
    most = max(asked, key=lambda rules: rules.repeat)
    reason = "" if shutil.which("nft") else "the program nft is missing; install the package nftables"
    if not reason:
        try:
            FirewallRules(most.model_dump(), {FAR: {"process": far.pid}}).try_out()
        except DisturbError as error:
            reason = str(error)
    if reason:
        problem = f"firewall_rules {most.repeat} cannot be set on this host: {reason}; or set firewall_rules to 0"
        raise RunError(problem, Fault.USAGE)
