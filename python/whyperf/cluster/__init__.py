"""Work on other processes and hosts by Dask: tasks in, results out in the order of the tasks.

Which hosts, how they are reached and when a task runs is Dask's business. What a task does, and that its result
depends on its arguments alone, is the caller's.
"""

from whyperf.cluster.choice import HERE, Choice, Kind, choice_of
from whyperf.cluster.connect import connected
from whyperf.cluster.workers import Workers

__all__ = ["HERE", "Choice", "Kind", "Workers", "choice_of", "connected"]
