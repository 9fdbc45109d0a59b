"""Cost of work to an end that sleeps between its pieces, and of the same work to one that does not.

A CPU that wakes up is cold: it leaves its idle state, is interrupted by another CPU, changes to a thread, and what the
stack's path reads is no longer in its caches, the less the longer it slept. Without the sleep that is not paid, so a
piece of work costs less by it. How much it is depends on the host; these figures are of one virtual machine of an AMD
EPYC, where an end paid them for each piece of 14 to 130 KB, whether it wrote, read, or was paced.
"""

from math import exp

WAKE_NS = 4_000.0
"""For a wake-up after the shortest sleep."""
COLD_NS = 90_000.0
"""More than that for one after a sleep that leaves nothing in the caches."""
COLD_AFTER_NS = 4_000_000.0
"""The time in which all but 1/e of the caches is lost."""
MAX_COLDER = 5.0
"""Largest factor by which cold work costs more."""
CORE_BPS = 32e9
"""Usual rate of a CPU in large packets when it does nothing else: 25 to 38 Gbit/s on that host, 42 on another (Cai
et al., Understanding Host Network Stack Overheads, SIGCOMM 2021). What coldness costs is taken off no further."""


def cold_ns(slept_ns: float) -> float:
    """Cost of waking up after a sleep to a host's CPU in addition to its work."""
    return WAKE_NS + COLD_NS * (1 - exp(-max(0.0, slept_ns) / COLD_AFTER_NS))


def warm_ns(work_ns: float, slept_ns: float) -> float:
    """Time that a piece of work that takes `work_ns` after such a sleep would take without it."""
    return max(work_ns - cold_ns(slept_ns), work_ns / MAX_COLDER)
