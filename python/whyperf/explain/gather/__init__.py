"""From a trial's tables to the facts that limits look at, a module a kind of evidence."""

from whyperf.explain.gather.all_facts import gather_facts
from whyperf.explain.gather.application import with_program
from whyperf.explain.gather.delays import with_link_use
from whyperf.explain.gather.processors import costs_of, stages_of, with_costs, with_stages
from whyperf.explain.gather.read import by_payload
from whyperf.explain.gather.sockets import carrying_device, stated_link_bps

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
