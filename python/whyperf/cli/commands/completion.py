"""The words that the shell offers when Tab is pressed."""

import re
from collections.abc import Iterable
from pathlib import Path

OFFERED = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./=,+@-]*")
"""Text no shell evaluates, and no command takes for an option. Other users choose names of programs and files, and zsh
evaluates what typer hands to it, such as `\\$(command)`.
"""


def profiles(incomplete: str) -> list[str]:
    """Shipped profiles and workloads, and profile files of this folder."""
    from whyperf.profile import shipped_names  # noqa: PLC0415 - keeps help quick

    return _offered([*shipped_names(), *workloads(incomplete)], incomplete)


def workloads(incomplete: str) -> list[str]:
    """Shipped workloads, and files of this folder."""
    from whyperf.profile import shipped_workload_names  # noqa: PLC0415 - as above

    files = [str(path) for path in Path().glob("*.toml")]
    return _offered([*shipped_workload_names(), *files], incomplete)


def experiments(incomplete: str) -> list[str]:
    """Experiments under `results/`."""
    found = sorted(path.parent.name for path in Path("results").glob("*/plan.json"))
    return _offered(found, incomplete)


def views(incomplete: str) -> list[str]:
    """Parts of a result that `show` prints."""
    from whyperf.cli.groups import VIEWS  # noqa: PLC0415 - as above

    return _offered(VIEWS, incomplete)


def studies(incomplete: str) -> list[str]:
    """Studies and their entries."""
    from whyperf.studies.catalog import whole_catalog  # noqa: PLC0415 - as above

    catalog = whole_catalog()
    names = [*(study.name for study in catalog.studies), *(entry.id for entry in catalog.entries)]
    return _offered(names, incomplete)


def assignments(incomplete: str) -> list[str]:
    """`factor=`, and the levels of factors that have few."""
    from whyperf.profile import BY_NAME  # noqa: PLC0415 - as above

    name, equals, _ = incomplete.partition("=")
    factor = BY_NAME.get(name)
    if not equals or factor is None:
        return _offered((f"{factor}=" for factor in BY_NAME), name)
    levels = (
        ["true", "false"] if factor.kind == "bool" else [str(choice) for choice in (*factor.choices, *factor.keywords)]
    )
    return _offered((f"{name}={choice}" for choice in levels), incomplete)


def evidence(incomplete: str) -> list[str]:
    """Levels of evidence; behind a comma those that go with what is there."""
    given, comma, _ = incomplete.rpartition(",")
    more = ["profile", "stages"]
    levels = (
        [word for word in more if word not in given.split(",")] if comma else ["user", "counters", "segments", *more]
    )
    return _offered((f"{given}{comma}{level}" for level in levels), incomplete)


def programs(incomplete: str) -> list[str]:
    """Names of programs that run on this host, as `--program` compares them: kernel threads are none."""
    names = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            # One byte: a process chooses where its command line ends.
            with (process / "cmdline").open("rb", buffering=0) as line:
                has_one = bool(line.read(1))
            if has_one:
                names.add((process / "comm").read_text(errors="replace").rstrip("\n"))
        except OSError:
            # It has ended, or belongs to another user and is hidden.
            continue
    return _offered(sorted(names), incomplete)


def _offered(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete) and OFFERED.fullmatch(name)]
