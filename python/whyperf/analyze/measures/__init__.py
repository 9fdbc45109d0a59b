"""One measure per module, per trial: goodput, CPU time, costs, segments, transactions, latency."""
