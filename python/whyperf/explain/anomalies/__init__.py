"""The anomalies of a sweep: peaks and drops, knees and plateaus, each with what the evidence has otherwise there.

`anomalies_of` looks along every numeric factor with all others fixed. A peak or drop is a point 10 % and more
off what the nearest points that do not share it predict, as far as the trials' spread does not explain it; a
bend is where two lines say much more than one. Its cause is what differs between the point and its neighbors.
"""

from whyperf.explain.anomalies.found import anomalies_of

__all__ = ["anomalies_of"]
