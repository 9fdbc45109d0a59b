"""Which host loads which: the patterns of pairs."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Literal, NamedTuple, get_args

from whyperf.hosts.known_hosts import HostSetError, shown

MAX_PAIRS = 4096
"""Each pair has two agents, and tables of its own."""

Pattern = Literal["pairs", "fan-in", "fan-out", "mesh"]
PATTERNS: tuple[Pattern, ...] = get_args(Pattern)
_OPTION = "--pattern"
_BOTH = "--from and --to"


class HostPair(NamedTuple):
    """Two hosts with a load between them: `near` opens the connections, `far` accepts them."""

    near: str
    far: str


def choose_pattern(pattern: str | None, near: Sequence[str], far: Sequence[str]) -> Pattern:
    """The pattern that is asked for, or the only sensible one for so many hosts.

    Raises:
        HostSetError: there is no such pattern, or the numbers of hosts leave the choice to the user.
    """
    for known in PATTERNS:
        if pattern == known:
            return known
    if pattern is not None:
        near_name = get_close_matches(pattern, PATTERNS, n=1)
        remedy = f"did you mean {near_name[0]}?" if near_name else f"choose one of {', '.join(PATTERNS)}"
        raise HostSetError(_OPTION, f"there is no pattern {shown(pattern)}; {remedy}")
    if len(far) == 1:
        return "fan-in"
    if len(near) == 1:
        return "fan-out"
    if len(near) == len(far):
        return "pairs"
    raise HostSetError(
        _BOTH,
        f"they have {len(near):,} and {len(far):,} hosts; write --pattern mesh for each to each, "
        "or name as many hosts in both for --pattern pairs",
    )


def pair_hosts(pattern: str | None, near: Sequence[str], far: Sequence[str]) -> tuple[HostPair, ...]:
    """The pairs of hosts, in the order of `near`, and for each of them in that of `far`.

    `pairs` has the first near host with the first far host, and so on; `fan-in` all with one far host; `fan-out` one
    near host with all; `mesh` each near host with each far host but itself. None: `choose_pattern`.

    Raises:
        HostSetError: the numbers of hosts do not fit the pattern, a host would load itself, or there are over
            `MAX_PAIRS` pairs.
    """
    chosen = choose_pattern(pattern, near, far)
    if chosen == "pairs" and len(near) != len(far):
        problem = f"pairs need as many hosts in both, and they have {len(near):,} and {len(far):,}; "
        raise HostSetError(_BOTH, problem + "name as many in both, or write --pattern mesh")
    if chosen == "fan-in" and len(far) != 1:
        raise HostSetError(
            "--to", f"fan-in goes to one host, and this set has {len(far):,}; name one, or write --pattern mesh"
        )
    if chosen == "fan-out" and len(near) != 1:
        raise HostSetError(
            "--from", f"fan-out starts at one host, and this set has {len(near):,}; name one, or write --pattern mesh"
        )
    count = len(near) if chosen == "pairs" else len(near) * len(far)
    # A mesh of a set with itself has fewer: as many as there are hosts in both.
    count -= len({*near} & {*far}) if chosen == "mesh" else 0
    if count > MAX_PAIRS:
        problem = (
            f"--pattern {chosen} makes {count:,} pairs of them, and a run takes up to {MAX_PAIRS:,}; name fewer hosts"
        )
        raise HostSetError(_BOTH, problem)
    if chosen == "pairs":
        pairs = tuple(map(HostPair, near, far))
    else:
        pairs = tuple(HostPair(host, peer) for host in near for peer in far if chosen != "mesh" or host != peer)
    if not pairs:
        raise HostSetError(
            _BOTH, f"both are {shown(near[0])}, which would load itself; name another host in one of them"
        )
    for pair in pairs:
        if pair.near == pair.far:
            raise HostSetError(_BOTH, f"{shown(pair.near)} would load itself by --pattern {chosen}; {_remedy(chosen)}")
    return pairs


def _remedy(pattern: Pattern) -> str:
    if pattern == "pairs":
        return "change the order of one set, or write --pattern mesh"
    return f"remove it from {'--from' if pattern == 'fan-in' else '--to'}"
