"""A far host over real ssh: the agent goes there, measures, and is gone with the pipe."""
