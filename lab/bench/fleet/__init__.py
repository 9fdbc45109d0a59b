"""Proofs of fleets: many hosts on one machine, as network namespaces."""
