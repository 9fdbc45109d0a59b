"""Names of hosts: sets such as `node[1-15]`, groups and inventories, and which host loads which."""

from whyperf.hosts.inventory import read_inventory
from whyperf.hosts.known_hosts import (
    LOCAL,
    MAX_HOST_LENGTH,
    MAX_HOSTS,
    HostSetError,
    Inventory,
    KnownHost,
    is_usable_host,
)
from whyperf.hosts.pairs import MAX_PAIRS, PATTERNS, HostPair, Pattern, choose_pattern, pair_hosts
from whyperf.hosts.sets import expand, fold

__all__ = [
    "LOCAL",
    "MAX_HOSTS",
    "MAX_HOST_LENGTH",
    "MAX_PAIRS",
    "PATTERNS",
    "HostPair",
    "HostSetError",
    "Inventory",
    "KnownHost",
    "Pattern",
    "choose_pattern",
    "expand",
    "fold",
    "is_usable_host",
    "pair_hosts",
    "read_inventory",
]
