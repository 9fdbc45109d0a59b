"""Proof that `whyperf watch` keeps its promises: what it costs, how soon it answers, and that it leaves nothing."""
