"""What `--cluster` names."""

import re
from dataclasses import dataclass
from enum import StrEnum

from whyperf.run.errors import Fault, RunError

#: Workers that are started where no number is given; `local` has one for each CPU.
DEFAULT_WORKERS = 4
MAX_WORKERS = 10_000
#: Schemes of a scheduler's address (distributed/comm); `inproc` is of no use between processes.
ADDRESS = re.compile(r"(tcp|tls|ws|wss)://[^\s/]+(:\d+)?/?")


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


def choice_of(text: str) -> Choice:
    """What was asked: `none`, `local`, `slurm` or `kubernetes`, the last three perhaps with `:N`, or an address.

    Raises:
        RunError: it is none of these.
    """
    if ADDRESS.fullmatch(text):
        return Choice(Kind.SCHEDULER, address=text.rstrip("/"))
    name, colon, number = text.partition(":")
    if name not in {Kind.LOCAL, Kind.SLURM, Kind.KUBERNETES} or not colon:
        if text not in {kind.value for kind in Kind if kind is not Kind.SCHEDULER}:
            known = "none, local, slurm, kubernetes, or the address of a scheduler such as tcp://host:8786"
            raise RunError(f'--cluster "{text}" is not known; give {known}', Fault.USAGE)
        return Choice(Kind(text))
    if not (number.isascii() and number.isdecimal() and 1 <= int(number) <= MAX_WORKERS):
        raise RunError(f'--cluster {text}: "{number}" is no number of workers from 1 to {MAX_WORKERS}', Fault.USAGE)
    return Choice(Kind(name), int(number))
