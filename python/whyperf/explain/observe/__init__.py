"""Named figures of a trial that the decision looks at, the same at every level of evidence and on every side."""

from whyperf.explain.observe.names import NAMED
from whyperf.explain.observe.observation import Named, Observation, Observations, Unit, observe

__all__ = ["NAMED", "Named", "Observation", "Observations", "Unit", "observe"]
