"""whyperf: how fast, why not faster, and the proof."""

from importlib.metadata import version

__version__ = version("whyperf")
