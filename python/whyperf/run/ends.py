"""The two ends of an experiment: which agents, which CPUs, which addresses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whyperf.profile.factor import cpus_of_list
from whyperf.run.agents.agent import Agent
from whyperf.run.errors import Fault, RunError
from whyperf.run.target import Kind
from whyperf.wire import HostFacts

NEAR, FAR = "near", "far"
"""The end that opens the connections, and the one that listens."""


def labels(pair: int) -> dict[str, str]:
    """Names of both agents of a pair, by side: pair 0 is `near` and `far`, the next `near2` and `far2`."""
    return {end: end if pair == 0 else f"{end}{pair + 1}" for end in (NEAR, FAR)}


@dataclass(frozen=True)
class End:
    """One side, ready for trials."""

    agent: Agent
    facts: HostFacts
    #: Address of the far host for data connections, by IP version; both empty on the near host.
    addresses: Mapping[int, str]


@dataclass(frozen=True)
class Cpus:
    """CPUs of one side's load; ``pin`` empty leaves the choice to the scheduler."""

    pin: tuple[int, ...]
    #: CPUs whose time counts as this end's.
    own: tuple[int, ...]
    #: True where no end of the other kind shares them.
    exclusive: bool


def share_cpus(kind: Kind, factors: Mapping[str, Any], facts: Mapping[str, HostFacts]) -> dict[str, Cpus]:
    """Give each side its CPUs as the factors ``near_cpus`` and ``far_cpus`` ask.

    ``auto`` splits a machine that holds both sides into halves; between two machines it pins nothing, and each side has
    its own to itself.

    Raises:
        RunError: a CPU that the host does not have.
    """
    together = kind is not Kind.NETWORK or _same_machine(facts)
    chosen: dict[str, tuple[int, ...]] = {}
    for label in (NEAR, FAR):
        online = tuple(facts[label]["cpus"])
        asked = str(factors[f"{label}_cpus"])
        if asked == "auto":
            chosen[label] = _half(online, label) if together and len(online) > 1 else ()
        else:
            chosen[label] = () if asked == "any" else _parse(asked, online, label)
    shares = {}
    for label, other in ((NEAR, FAR), (FAR, NEAR)):
        own = chosen[label] or tuple(facts[label]["cpus"])
        others = chosen[other] or tuple(facts[other]["cpus"])
        shares[label] = Cpus(chosen[label], own, not together or not set(own) & set(others))
    return shares


def place_router(
    online: Sequence[int], cpus: Mapping[str, Cpus], roles: Mapping[str, str]
) -> tuple[int, dict[str, list[int]]]:
    """The CPU of an emulated path's router, and by end the CPUs that process arriving packets.

    A CPU of neither end is best. Where there is none it is the receiver's last: a sender's processing of
    acknowledgments holds a CPU for milliseconds, and a router that waits for it is late. For the same reason no end
    processes arriving packets there.
    """
    taken = set(cpus[NEAR].own) | set(cpus[FAR].own)
    receiver = NEAR if roles[NEAR] == "receiver" else FAR
    router = next((cpu for cpu in reversed(online) if cpu not in taken), cpus[receiver].own[-1])
    others = [cpu for cpu in online if cpu != router]
    steered = {end: [cpu for cpu in cpus[end].own if cpu != router] or others for end in (NEAR, FAR)}
    return router, steered


def _same_machine(facts: Mapping[str, HostFacts]) -> bool:
    """True where an ssh host turns out to be this one, be it another container or namespace."""
    near, far = (facts[label]["boot_id"] for label in (NEAR, FAR))
    return bool(near) and near == far


def _half(online: tuple[int, ...], label: str) -> tuple[int, ...]:
    middle = len(online) // 2
    return online[:middle] if label == NEAR else online[middle:]


def named_cpus(text: str) -> set[int]:
    """The CPUs that a level of ``near_cpus`` or ``far_cpus`` names; none for words and references."""
    return set(cpus_of_list(text))


def _parse(text: str, online: tuple[int, ...], label: str) -> tuple[int, ...]:
    cpus = cpus_of_list(text)
    missing = [cpu for cpu in cpus if cpu not in online]
    if missing:
        have = ", ".join(map(str, online))
        raise RunError(f"{label}_cpus: the {label} host has no CPU {missing[0]} to use; it has {have}", Fault.USAGE)
    return tuple(dict.fromkeys(cpus))
