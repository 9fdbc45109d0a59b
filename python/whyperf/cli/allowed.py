"""Which levels a plan takes where nobody gave one and a host does not allow the usual."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from whyperf.cli.exits import say
from whyperf.cli.missing import lacking
from whyperf.plan import Plan
from whyperf.profile import BY_NAME, Factors, Profile
from whyperf.run import describe_host, list_offers
from whyperf.run.spec import OWN_CONTROL

CONTROL = "congestion_control"
#: Factors that name a congestion control of the kernel.
FACTORS = (CONTROL, "competitor")
#: Every Linux has it and lets every user choose it (tcp(7), tcp_allowed_congestion_control).
EVERYWHERE = "reno"
OWN = "net.ipv4.tcp_congestion_control"


def with_allowed_controls(
    profile: Profile,
    overrides: Factors,
    hosts: Sequence[str | None],
    planned: Callable[[Profile], Plan],
    *,
    asks_others: bool,
) -> Plan:
    """The plan of a profile with these overrides, in which no host refuses a level that nobody gave.

    Where one of `hosts` (names as for ssh, None being this host) refuses the usual congestion control, each host's own
    takes its place, and a line says so. Other hosts than this one are only asked where `asks_others`.

    Raises:
        RunError: a host cannot be reached.
        ProfileError: as `planned`.
    """
    plan = planned(profile)
    if not any(name not in overrides and _is_filled_in(name, profile, plan) for name in FACTORS):
        return plan
    asked = {host: describe_host(host) for host in hosts if host is None or asks_others}
    usual = str(BY_NAME[CONTROL].default)
    refusing = {host: why for host, facts in asked.items() if (why := _why_refused(usual, host, facts)) is not None}
    if not refusing:
        return plan
    levels: Factors = {CONTROL: OWN_CONTROL, "competitor": EVERYWHERE}
    plan = planned(replace(profile, usual=levels))
    if any(cell.factors.get(CONTROL) == OWN_CONTROL for cell in plan.cells):
        host, why = next(iter(refusing.items()))
        own = ", ".join(f"{facts['sysctls'].get(OWN, 'not known')} on {_named(of)}" for of, facts in asked.items())
        say(f"Congestion control is each host's own ({own}), because {_named(host)} does not allow {usual}: {why}")
    return plan


def _is_filled_in(name: str, profile: Profile, plan: Plan) -> bool:
    """Whether a cell has a level of this factor that neither the profile nor the command line gave."""
    given = {sweep.name for sweep in profile.sweeps if name in profile.fixed | sweep.fixed | sweep.levels}
    return any(name in cell.factors and cell.sweep not in given for cell in plan.cells)


def _why_refused(control: str, host: str | None, facts: Mapping[str, Any]) -> str | None:
    """Why a host's user may not choose a congestion control; None where they may."""
    if control in facts["congestion_controls"]:
        return None
    return lacking(CONTROL, control, [list_offers(host)])


def _named(host: str | None) -> str:
    return host or "this host"
