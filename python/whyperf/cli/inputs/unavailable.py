"""Handling of what a host does not have or allow: the default congestion control, and `--leave-out-missing`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from whyperf.cli.exits import say
from whyperf.plan import Plan
from whyperf.profile import Factors, Level, Overrides, Profile, ProfileError, Sweep
from whyperf.profile.factors import BY_NAME
from whyperf.profile.options import OPTIONS
from whyperf.run import describe_host, list_offers
from whyperf.run.agents.pipes import SSH, PipeKind
from whyperf.run.spec import OWN_CONTROL
from whyperf.wire import Offer

CONTROL = "congestion_control"
#: Factors that name a congestion control of the kernel.
CONTROL_FACTORS = (CONTROL, "competitor")
#: Every Linux has it and lets every user choose it (tcp(7), tcp_allowed_congestion_control).
EVERYWHERE = "reno"
#: The levels that take the place of the usual controls where a host may refuse them.
OWN_LEVELS: Factors = {CONTROL: OWN_CONTROL, "competitor": EVERYWHERE}
OWN = "net.ipv4.tcp_congestion_control"


def with_allowed_controls(
    profile: Profile,
    overrides: Overrides,
    hosts: Sequence[str | None],
    planned: Callable[[Profile], Plan],
    *,
    asks_others: bool,
    pipe: PipeKind = SSH,
) -> Plan:
    """The plan of a profile with these overrides, in which no host refuses a level that nobody gave.

    Where one of `hosts` (names as for `pipe`, None being this host) refuses the usual congestion control, each host's
    own takes its place, and a line says so. Other hosts than this one are only asked where `asks_others`.

    Raises:
        RunError: a host cannot be reached.
        ProfileError: as `planned`.
    """
    plan = planned(profile)
    if not any(name not in overrides and _is_filled_in(name, profile, plan) for name in CONTROL_FACTORS):
        return plan
    asked = {host: describe_host(host, pipe=pipe) for host in hosts if host is None or asks_others}
    usual = str(BY_NAME[CONTROL].default)
    refusing = {
        host: why for host, facts in asked.items() if (why := _why_refused(usual, host, facts, pipe)) is not None
    }
    if not refusing:
        return plan
    plan = planned(replace(profile, usual=OWN_LEVELS))
    if any(cell.factors.get(CONTROL) == OWN_CONTROL for cell in plan.cells):
        host, why = next(iter(refusing.items()))
        own = ", ".join(f"{facts['sysctls'].get(OWN, 'not known')} on {_named(of)}" for of, facts in asked.items())
        say(f"Congestion control is each host's own ({own}), because {_named(host)} does not allow {usual}: {why}")
    return plan


def _is_filled_in(name: str, profile: Profile, plan: Plan) -> bool:
    """True where a cell has a level of this factor that neither the profile nor the command line gave."""
    given = {sweep.name for sweep in profile.sweeps if name in profile.fixed | sweep.fixed | sweep.levels}
    return any(name in cell.factors and cell.sweep not in given for cell in plan.cells)


def _why_refused(control: str, host: str | None, facts: Mapping[str, Any], pipe: PipeKind) -> str | None:
    """Why a host's user may not choose a congestion control; None where they may."""
    if control in facts["congestion_controls"]:
        return None
    return lacking(CONTROL, control, [list_offers(host, pipe)])


def _named(host: str | None) -> str:
    return host or "this host"


#: Factors whose levels a host may lack, in the order they are looked at: what carries a connection decides whose
#: congestion controls are meant.
OFFERED_FACTORS = ("transport", "congestion_control")
REFUSED = "refused"


def without_missing(profile: Profile, hosts: Sequence[str | None]) -> Profile:
    """The profile without levels that one of the hosts lacks; says which.

    `hosts` are names as for ssh, None being this host. A sweep that has no level left goes as a whole.

    Raises:
        ProfileError: nothing is left.
        RunError: a host cannot be reached.
    """
    offers = [list_offers(host) for host in hosts]
    sweeps = [kept for sweep in profile.sweeps if (kept := _kept(sweep, profile, offers)) is not None]
    if not sweeps:
        raise ProfileError("--leave-out-missing", "", "the host has none of the profile's transports")
    return replace(profile, sweeps=tuple(sweeps))


def _kept(sweep: Sweep, profile: Profile, offers: Sequence[Sequence[Offer]]) -> Sweep | None:
    levels = dict(sweep.levels)
    for factor in OFFERED_FACTORS:
        kinds = _kinds(factor, levels.get("transport") or (_fixed("transport", sweep, profile),))
        reasons = {
            level: why
            for level in levels.get(factor, ())
            if (why := next(filter(None, (lacking(kind, level, offers) for kind in kinds)), None)) is not None
        }
        if not reasons:
            continue
        for level, why in reasons.items():
            say(f"Left out: {factor} {level}: {why}")
        levels[factor] = tuple(level for level in levels[factor] if level not in reasons)
        if not levels[factor]:
            return None
    return replace(sweep, levels=levels)


def _kinds(factor: str, transports: Iterable[Level]) -> list[str]:
    """The kinds of offers that a factor's levels are among; congestion controls are QUIC's own where QUIC has them."""
    if factor != "congestion_control":
        return [factor]
    with_control = OPTIONS[factor].transports
    kinds = {"quic_congestion_control" if name == "quic" else factor for name in transports if name in with_control}
    return sorted(kinds)


def _fixed(factor: str, sweep: Sweep, profile: Profile) -> Level:
    return sweep.fixed.get(factor, profile.fixed.get(factor, BY_NAME[factor].default))


def lacking(kind: str, level: Level, offers: Iterable[Sequence[Offer]]) -> str | None:
    """Why one of the hosts with these offers lacks a level, of a kind of offer; None where all have it."""
    for of_host in offers:
        mine = [offer for offer in of_host if offer["kind"] == kind and level in _names(offer)]
        if any(offer["state"] != REFUSED for offer in mine):
            continue
        return str(mine[0]["reason"]) if mine and mine[0]["reason"] else "the host does not have it"
    return None


def _names(offer: Offer) -> set[object]:
    return {offer["name"], offer["registered_as"]}
