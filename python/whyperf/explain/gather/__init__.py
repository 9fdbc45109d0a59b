"""From a trial's tables to the facts that limits look at, a module a kind of evidence."""

from whyperf.explain.gather.all_facts import gather_facts
from whyperf.explain.gather.costs import costs_of, with_costs
from whyperf.explain.gather.direction import by_payload
from whyperf.explain.gather.half_duplex import with_link_use
from whyperf.explain.gather.program import with_program
from whyperf.explain.gather.sockets import carrying_device, stated_link_bps
from whyperf.explain.gather.stages import stages_of, with_stages

__all__ = [
    "by_payload",
    "carrying_device",
    "costs_of",
    "gather_facts",
    "stages_of",
    "stated_link_bps",
    "with_costs",
    "with_link_use",
    "with_program",
    "with_stages",
]
