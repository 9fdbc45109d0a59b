"""`--leave-out-missing`: a profile without the congestion controls and transports that a host does not have."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from whyperf.cli.exits import say
from whyperf.profile import Level, Profile, ProfileError, Sweep
from whyperf.profile.applies import WITH_CONTROL
from whyperf.profile.factors import BY_NAME
from whyperf.run import list_offers
from whyperf.run.offers import Offer

#: Factors whose levels a host may lack, in the order they are looked at: what carries a connection decides whose
#: congestion controls are meant.
FACTORS = ("transport", "congestion_control")
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
    for factor in FACTORS:
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
    kinds = {"quic_congestion_control" if name == "quic" else factor for name in transports if name in WITH_CONTROL}
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
