"""Watching connections of other programs: what is asked of the agents, and the result that is made of their tables."""
