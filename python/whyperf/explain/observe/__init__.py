"""What the decision looks at: named figures of a trial, the same at every level of evidence and on every side."""

from whyperf.explain.observe.names import NAMED
from whyperf.explain.observe.observation import Named, Observation, Observations, Unit, observe

__all__ = ["NAMED", "Named", "Observation", "Observations", "Unit", "observe"]
