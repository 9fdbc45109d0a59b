"""Proof of the stage times: sums, planted delays, sampling and overhead."""
