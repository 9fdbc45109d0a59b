"""Runs a plan: pipes, agents, testbed, trials. The only package that talks to a measured host."""

from whyperf.run.ends import named_cpus
from whyperf.run.errors import AgentError, Fault, PipeClosedError, RunError
from whyperf.run.experiment import GoodputOf, keep_places, run_plan
from whyperf.run.leftovers import clean
from whyperf.run.levels import interleaved, run_levels
from whyperf.run.observer import Observer
from whyperf.run.offers import list_offers
from whyperf.run.session import Session, allowed_kind, describe_host
from whyperf.run.target import Kind, Target

__all__ = [
    "AgentError",
    "Fault",
    "GoodputOf",
    "Kind",
    "Observer",
    "PipeClosedError",
    "RunError",
    "Session",
    "Target",
    "allowed_kind",
    "clean",
    "describe_host",
    "interleaved",
    "keep_places",
    "list_offers",
    "named_cpus",
    "run_levels",
    "run_plan",
]
