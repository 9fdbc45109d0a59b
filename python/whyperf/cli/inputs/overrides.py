"""Options that set a factor, and `--set factor=value`."""

import re
from collections.abc import Iterable, Mapping

from whyperf.profile import Factors, Level, ProfileError, factor_named

#: The options of `run` that stand for a factor, by the factor's name. iperf3 has most of them.
OPTIONS: dict[str, str] = {
    "duration_s": "--time",
    "transfer_bytes": "--bytes",
    "connections": "--connections",
    "window_bytes": "--window",
    "write_size_bytes": "--write-size",
    "direction": "--reverse",
    "congestion_control": "--congestion",
    "ip_version": "--ipv6",
    "no_delay": "--no-delay",
    "hosts": "--hosts",
    "link": "--link",
}


def overrides(options: Mapping[str, str | None], assignments: Iterable[str]) -> Factors:
    """The factors that the command line sets; `options` maps factors to what was given, None for nothing.

    Raises:
        ProfileError: naming the option.
    """
    found: Factors = {}
    for name, text in options.items():
        if text is not None:
            found[name] = _level(name, text, OPTIONS[name])
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals or not text:
            raise ProfileError("--set", assignment, "write factor=level, for example mtu_bytes=9000")
        if name in found:
            raise ProfileError(
                "--set", name, f"the factor is set twice; keep one ({OPTIONS.get(name, '--set')} sets it too)"
            )
        found[name] = _level(name, text, "--set")
    return found


def in_words_of(error: ProfileError, given: Factors, with_option: Iterable[str]) -> ProfileError:
    """An error of the command line in its words: options of their own for the factors `with_option`, --set for others
    that were `given`.
    """
    options = {name: OPTIONS[name] for name in with_option}
    problem = error.problem.replace("; it takes ", "; it takes, with --set, ") if error.key in given else error.problem
    for name, option in options.items():
        problem = re.sub(rf"\b{name}\b", option, problem)
    if error.key in given:
        return ProfileError(options.get(error.key, f"--set {error.key}"), "", problem)
    return ProfileError(error.where, error.key, problem)


def _level(name: str, text: str, option: str) -> Level:
    try:
        return factor_named(name).parse(text)
    except ProfileError as error:
        raise error.at(option) from None
