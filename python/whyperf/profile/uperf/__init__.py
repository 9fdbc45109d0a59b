"""uperf's profiles, read by uperf's own rules and made into workloads.

They look like XML and are none: uperf cuts them into words by itself, and profiles rely on that.
docs/how-to/uperf.md says what runs and what differs.
"""

from whyperf.profile.uperf.tokens import looks_like_uperf

__all__ = ["looks_like_uperf"]
