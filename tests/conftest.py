"""What all tests have in common."""

from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile("whyperf", deadline=None)
settings.load_profile("whyperf")
