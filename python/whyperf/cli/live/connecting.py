"""Says that hosts are being connected to, where that takes long; and after Ctrl-C, what was tried."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from whyperf.cli.exits import say

#: An ssh over a long path takes 5 to 10 round trips: more than this is worth a line.
PATIENCE_S = 2.0
#: Hosts that are named.
SHOWN_HOSTS = 3


@contextmanager
def said_to_connect(
    hosts: Iterable[str | None], *, by_ssh: bool = True, patience_s: float = PATIENCE_S
) -> Iterator[None]:
    """Within, `hosts` are connected to, None being this one: after `patience_s` a line says so."""
    others = list(dict.fromkeys(host for host in hosts if host is not None))
    if not others:
        yield
        return
    more = len(others) - SHOWN_HOSTS
    names = ", ".join(others[:SHOWN_HOSTS]) + (f" and {more} more" if more > 0 else "")
    timer = threading.Timer(patience_s, say, (f"Connecting to {names} (Ctrl-C ends)",))
    timer.daemon = True
    timer.start()
    try:
        yield
    except KeyboardInterrupt:
        check = f"; does `ssh {others[0]} true` work?" if by_ssh else ""
        say(f"whyperf: was connecting to {names}{check}")
        raise
    finally:
        timer.cancel()
