"""Error for what cannot be computed, in one sentence."""


class OverheadError(Exception):
    """A link, protocol, encapsulation or size that cannot be; the text names it and the remedy."""
