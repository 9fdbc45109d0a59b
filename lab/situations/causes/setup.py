"""Causes of opening connections."""

from random import Random

from lab.disturb.disturbances import Firewall, Route, Sysctl
from lab.situations.distributions import log_integer
from lab.situations.injecting import Dose, injected
from lab.situations.setting import Setting

# Opening connections.


@injected("connection_setup", "reconnects path", slot="syn")
def lost_syns(rng: Random, _: Setting) -> Dose:
    """Some SYNs get lost: each costs a second (RFC 6298)."""
    rule = f"tcp flags & (syn | ack) == syn numgen random mod 100 < {log_integer(rng, 3, 40)} drop"
    return Dose({}, (Firewall(host="far", hook="input", rules=(rule,)),))


@injected("connection_setup", "reconnects many", slot="syn")
def full_accept_queue(rng: Random, _: Setting) -> Dose:
    """A listener with room for one or two."""
    return Dose({}, (Sysctl(host="far", settings={"net.core.somaxconn": str(rng.choice((1, 2)))}),))


@injected(
    "slow_start connection_setup round_trip",
    "reconnects path ipv4",
    connection_setup="Kept connections would have a window that has grown.",
    round_trip="A small first window costs round trips.",
)
def initial_window(rng: Random, setting: Setting) -> Dose:
    """Fewer segments in the first round trip than RFC 6928 allows."""
    return Dose({}, (Route(host=setting.sender, options=f"initcwnd {log_integer(rng, 1, 6)}"),))
