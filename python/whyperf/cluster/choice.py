"""The choice that `--cluster` names."""

import re
from dataclasses import dataclass
from enum import StrEnum

from whyperf.run.errors import Fault, RunError

#: Workers that are started where no number is given; `local` has one for each CPU.
DEFAULT_WORKERS = 4
MAX_WORKERS = 10_000
#: Schemes of a scheduler's address (distributed/comm); `inproc` is of no use between processes.
ADDRESS = re.compile(r"(tcp|tls|ws|wss)://[^\s/]+(:\d+)?/?")
SCHEMES_WITH_KEYS = frozenset({"tls", "wss"})
WITHOUT_KEYS = "--cluster-without-keys"


class Kind(StrEnum):
    """Who starts the workers."""

    NONE = "none"
    LOCAL = "local"
    SLURM = "slurm"
    KUBERNETES = "kubernetes"
    SCHEDULER = "scheduler"


@dataclass(frozen=True)
class Choice:
    """Where tasks run: `workers` processes of a kind, or those of the scheduler at `address`."""

    kind: Kind
    workers: int | None = None
    address: str = ""


#: In this process, without Dask.
HERE = Choice(Kind.NONE)


def choice_of(text: str, *, without_keys: bool = False) -> Choice:
    """The choice asked for: `none`, `local`, `slurm` or `kubernetes`, the last three perhaps with `:N`, or an address.

    A scheduler runs what anybody who reaches it asks for, on its workers and, by what it answers, on this host. So one
    without keys is taken only `without_keys`. The scheduler that dask-kubernetes starts has none.

    Raises:
        RunError: it is none of these, or `without_keys` does not go with it.
    """
    choice = _choice_of(text)
    if _has_keys(choice) == without_keys:
        if without_keys:
            needs_none = f"{WITHOUT_KEYS} is for kubernetes and tcp://; leave it out"
            raise RunError(f"--cluster {text} uses keys, or needs none; {needs_none}", Fault.USAGE)
        remedy = "use a tls:// address" if choice.kind is Kind.SCHEDULER else "use slurm or a tls:// address"
        raise RunError(
            f"--cluster {text} has no keys, so that everybody who reaches its port can run commands on the workers and "
            f"on this host; {remedy}, or accept it by {WITHOUT_KEYS}",
            Fault.USAGE,
        )
    return choice


def _has_keys(choice: Choice) -> bool:
    """True where nobody else can use its ports; `none` has no port."""
    if choice.kind is Kind.SCHEDULER:
        return choice.address.partition(":")[0] in SCHEMES_WITH_KEYS
    return choice.kind is not Kind.KUBERNETES


def _choice_of(text: str) -> Choice:
    if ADDRESS.fullmatch(text):
        return Choice(Kind.SCHEDULER, address=text.rstrip("/"))
    name, colon, number = text.partition(":")
    if name not in {Kind.LOCAL, Kind.SLURM, Kind.KUBERNETES} or not colon:
        if text not in {kind.value for kind in Kind if kind is not Kind.SCHEDULER}:
            known = "none, local, slurm, kubernetes, or the address of a scheduler such as tls://host:8786"
            raise RunError(f'--cluster "{text}" is not known; give {known}', Fault.USAGE)
        return Choice(Kind(text))
    if not (number.isascii() and number.isdecimal() and 1 <= int(number) <= MAX_WORKERS):
        raise RunError(f'--cluster {text}: "{number}" is no number of workers from 1 to {MAX_WORKERS}', Fault.USAGE)
    return Choice(Kind(name), int(number))
