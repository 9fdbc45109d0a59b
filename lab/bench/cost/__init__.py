"""Proves `whyperf cost` and `whyperf compare`: known costs are injected, and the figures must show them."""
