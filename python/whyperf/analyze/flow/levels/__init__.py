"""The quantities of a segment flow, from the best evidence of each host: log, counters, or the sockets alone."""
