"""whyperf: how fast, why not faster, and the proof."""

__version__: str


def __getattr__(name: str) -> str:
    """The version, read from the installed package when it is first used.

    `importlib.metadata` takes longer to load than `whyperf --help` to print.
    """
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version  # noqa: PLC0415

    found = version("whyperf")
    globals()["__version__"] = found
    return found
