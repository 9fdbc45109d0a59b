"""uperf's profiles, read by uperf's own rules and made into workloads.

They look like XML and are none: uperf cuts them into words by itself, and profiles rely on that.
docs/uperf.md says what runs and what differs.
"""
