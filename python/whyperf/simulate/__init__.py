"""The same experiments on the model of two end systems: from a plan to a record, without a measured host."""

from whyperf.simulate.hosts import hosts_facts, parameters_of
from whyperf.simulate.run import Known, refuse_unknown, simulate_plan

__all__ = ["Known", "hosts_facts", "parameters_of", "refuse_unknown", "simulate_plan"]
